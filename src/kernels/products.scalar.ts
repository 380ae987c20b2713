/**
 * Dot products of vectors of 16-bit integers in plain loops: the reference twin. Sums are 32-bit
 * integers and exact: unit vectors times UNIT, rounded, cannot overflow (Cauchy and Schwarz).
 */

/** The length at which vectors are rounded to integers. */
export const UNIT = 32_767;

/** Vectors of `width` integers, a multiple of 8: those beyond the dimensions are 0. */
export interface IntegerRows {
  readonly values: Int16Array;
  readonly width: number;
}

export interface ProductsKernel {
  readonly name: string;

  /** Row i . query to out[i], for all rows. */
  productsInto(rows: IntegerRows, query: Int16Array, out: Int32Array): void;

  /** For each query the row of the largest product, the first of equals, to out. */
  nearestInto(rows: IntegerRows, queries: Int16Array, out: Uint32Array): void;

  /**
   * Rows `first` to `end - 1` against all queries, told in blocks: `take` gets the first row of a
   * block, how many rows, a query, and their products from `at` on.
   */
  productsOfMany(
    rows: IntegerRows,
    first: number,
    end: number,
    queries: Int16Array,
    take: (row: number, count: number, query: number, products: Int32Array, at: number) => void,
  ): void;
}

/** Width of the integer rows that hold so many dimensions. */
export function integerWidth(dimensions: number): number {
  return (dimensions + 7) & ~7;
}

function product(a: Int16Array, aAt: number, b: Int16Array, bAt: number, width: number): number {
  let sum = 0; // below 2^31 by the lengths, so exact
  for (let i = 0; i < width; i++) sum += a[aAt + i] * b[bAt + i];
  return sum;
}

export const scalarProducts: ProductsKernel = {
  name: 'scalar',

  productsInto({ values, width }, query, out) {
    for (let row = 0; row * width < values.length; row++) {
      out[row] = product(values, row * width, query, 0, width);
    }
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

  productsOfMany({ values, width }, first, end, queries, take) {
    const products = new Int32Array(end - first);
    for (let query = 0; query * width < queries.length; query++) {
      for (let row = first; row < end; row++) {
        products[row - first] = product(values, row * width, queries, query * width, width);
      }
      take(first, end - first, query, products, 0);
    }
  },
};
