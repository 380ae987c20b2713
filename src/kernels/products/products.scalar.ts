/**
 * Dot products of vectors of 16-bit integers: the contract, and the scalar kernel in plain loops.
 * Sums are exact 32-bit integers, so every kernel gives equal numbers: products of vectors of
 * length UNIT cannot overflow (Cauchy and Schwarz).
 */

import { padded } from '../../base/arrays';

/** The length to which vectors are scaled before they are rounded to integers. */
export const UNIT = 32_767;

/** Vectors of `width` integers, one after another; `width` is a multiple of 8, padded by zeros. */
export interface IntegerRows {
  readonly values: Int16Array;
  readonly width: number;
}

export interface ProductsKernel {
  readonly name: string;

  /** Writes the product of each row with the query to `out`, in order of row. */
  productsInto(rows: IntegerRows, query: Int16Array, out: Int32Array): void;

  /**
   * Writes for each query the rows of the largest products to its part of `orders`, an equal part
   * for each, and these products to `products`. The order is coarse: by the difference from the
   * largest product, in at most 1,024 steps of equal width, then by row.
   */
  orderInto(
    rows: IntegerRows,
    queries: Int16Array,
    orders: Uint32Array,
    products: Int32Array,
  ): void;

  /** The same for one query among some rows: of equal steps those that `among` has first. */
  orderAmong(
    rows: IntegerRows,
    query: Int16Array,
    among: Uint32Array,
    order: Uint32Array,
    products: Int32Array,
  ): void;

  /** Writes for each query the row of the largest product, the first of equal ones, to `out`. */
  nearestInto(rows: IntegerRows, queries: Int16Array, out: Uint32Array): void;

  /**
   * Compares rows `first` to `end - 1` with all queries. Calls `take` for each query and block of
   * rows in which a product is at least `least[query]`, with the block's first row, its row count,
   * the query, and its products from index `at` on, valid during the call. `take` may raise
   * `least`.
   */
  productsOfMany(
    rows: IntegerRows,
    first: number,
    end: number,
    queries: Int16Array,
    least: Int32Array,
    take: (row: number, count: number, query: number, products: Int32Array, at: number) => void,
  ): void;
}

/** Leading zeros of the largest difference, 1,023, that needs no shift to have 1,024 steps. */
const ORDER_BITS = 22;

/** The width of rows for vectors of `dimensions` values: the next multiple of 8. */
export function integerWidth(dimensions: number): number {
  return padded(dimensions);
}

/** The product of two vectors of `width` values that begin at `aAt` and `bAt`. */
export function product(
  a: Int16Array,
  aAt: number,
  b: Int16Array,
  bAt: number,
  width: number,
): number {
  let sum = 0; // below 2^31 by the lengths of the vectors, so exact
  for (let i = 0; i < width; i++) sum += a[aAt + i] * b[bAt + i];
  return sum;
}

/** Writes the numbers of the largest products to `order`, and these to `products`. */
function orderOf(all: Int32Array, order: Uint32Array, products: Int32Array): void {
  let most = all[0];
  let least = all[0];
  for (const one of all) {
    most = Math.max(most, one);
    least = Math.min(least, one);
  }
  const shift = Math.max(0, ORDER_BITS - Math.clz32(most - least));
  const steps = all.map((one) => (most - one) >>> shift);
  const sorted = Uint32Array.from(steps.keys()).sort((a, b) => steps[a] - steps[b] || a - b);
  order.set(sorted.subarray(0, order.length));
  for (let i = 0; i < order.length; i++) products[i] = all[order[i]];
}

export const scalarProducts: ProductsKernel = {
  name: 'scalar',

  productsInto({ values, width }, query, out) {
    for (let row = 0; row * width < values.length; row++) {
      out[row] = product(values, row * width, query, 0, width);
    }
  },

  orderInto(rows, queries, orders, products) {
    const { width } = rows;
    const all = new Int32Array(rows.values.length / width);
    const probes = (orders.length * width) / queries.length;
    for (let query = 0, to = 0; to < orders.length; query++, to += probes) {
      scalarProducts.productsInto(rows, queries.subarray(query * width, (query + 1) * width), all);
      orderOf(all, orders.subarray(to, to + probes), products.subarray(to, to + probes));
    }
  },

  orderAmong({ values, width }, query, among, order, products) {
    const all = Int32Array.from(among, (row) => product(values, row * width, query, 0, width));
    orderOf(all, order, products);
    for (let i = 0; i < order.length; i++) order[i] = among[order[i]];
  },

  nearestInto({ values, width }, queries, out) {
    for (let query = 0; query * width < queries.length; query++) {
      let largest = -Infinity;
      for (let row = 0; row * width < values.length; row++) {
        const value = product(values, row * width, queries, query * width, width);
        if (value <= largest) continue;
        largest = value;
        out[query] = row;
      }
    }
  },

  productsOfMany({ values, width }, first, end, queries, least, take) {
    const products = new Int32Array(end - first);
    for (let query = 0; query * width < queries.length; query++) {
      for (let row = first; row < end; row++) {
        products[row - first] = product(values, row * width, queries, query * width, width);
      }
      if (products.some((one) => one >= least[query])) {
        take(first, end - first, query, products, 0);
      }
    }
  },
};
