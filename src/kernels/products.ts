/**
 * Dot products of vectors of 16-bit integers. Sums are exact 32-bit integers, so every engine gives
 * equal numbers: products of vectors of length UNIT cannot overflow (Cauchy and Schwarz). Rows in a
 * separate linear memory are read in place; others are copied, as are those of any memory where the
 * vectors are too wide for its scratch space. Queries and rows are multiplied in tiles of up to 64
 * by 64, which stay in the cache.
 */

import { padded, type Range, runOf } from '../base/arrays';
import { FREE_START, type LinearMemory, memoryOf, SCAN_BYTES, scratch } from './memory';
import { searchKernels } from './search-kernels';

/** The length to which vectors are scaled before they are rounded to integers. */
export const UNIT = 32_767;

/** Vectors of `width` integers, one after another; `width` is a multiple of 8, padded by zeros. */
interface IntegerRows {
  readonly values: Int16Array;
  readonly width: number;
}

/** Rows of a tile, and queries of a tile: its products take 16 KiB. */
const TILE = 64;
/** Bytes of the products of a tile, and of the largest of each query. */
const TILE_BYTES = 4 * TILE * TILE + 8 * TILE;
/** Rows whose products with one query are computed in one call. */
const ROWS_OF_ONE = 4096;
/** Bytes of the counts of `orderInto`. */
const ORDER_BYTES = 4096;
/** The smallest integer: no product is less. */
const MIN_PRODUCT = -0x8000_0000;

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

/** The next multiple of 4: kernels take rows four at a time. */
const inFours = (count: number) => (count + 3) & ~3;

export const productsKernel = {
  /** Writes the product of each row with the query to `out`, in order of row. */
  productsInto(rows: IntegerRows, query: Int16Array, out: Int32Array): void {
    const { width } = rows;
    const count = rows.values.length / width;
    const { memory, at, free } = placed(rows, 0, count, 2 * width + 4 * ROWS_OF_ONE);
    const outAt = free + 2 * width;
    new Int16Array(memory.bytes.buffer, free, width).set(query);
    for (let row = 0; row < count; row += ROWS_OF_ONE) {
      const here = Math.min(ROWS_OF_ONE, count - row);
      const rowAt = at + 2 * row * width;
      searchKernels(memory).productsInto(
        rowAt,
        inFours(here),
        free,
        1,
        width,
        outAt,
        inFours(here),
      );
      out.set(new Int32Array(memory.bytes.buffer, outAt, here), row);
    }
  },

  /**
   * Writes the rows of the largest products with a query, of those in some ranges, to `order`, and
   * these products to `products`. The order is coarse: by the difference from the largest product,
   * in at most 1,024 steps of equal width, then by place in the ranges.
   */
  orderInto(
    rows: IntegerRows,
    ranges: readonly Range[],
    query: Int16Array,
    order: Uint32Array,
    products: Int32Array,
  ): void {
    const { width } = rows;
    const count = rows.values.length / width;
    const room = inFours(count) + 4;
    const { memory, at, free } = placed(rows, 0, count, ORDER_BYTES + 8 * room + 2 * width);
    const kernels = searchKernels(memory);
    const { bytes } = memory;
    const countsAt = free + 2 * width;
    const productsAt = countsAt + ORDER_BYTES;
    const orderAt = productsAt + 4 * room;
    new Int16Array(bytes.buffer, free, width).set(query);
    const starts: number[] = [];
    let done = 0;
    for (const { first, end } of ranges) {
      starts.push(done);
      // Up to three products behind a range are of other rows: those of the next one replace them.
      const [some, outAt] = [inFours(end - first), productsAt + 4 * done];
      if (some > 0) kernels.productsInto(at + 2 * first * width, some, free, 1, width, outAt, some);
      done += end - first;
    }
    kernels.orderInto(productsAt, done, order.length, countsAt, orderAt);
    const places = new Uint32Array(bytes.buffer, orderAt, order.length);
    const all = new Int32Array(bytes.buffer, productsAt, done);
    for (let i = 0; i < places.length; i++) {
      const range = runOf(starts, places[i]);
      order[i] = ranges[range].first + places[i] - starts[range];
      products[i] = all[places[i]];
    }
  },

  /**
   * Writes for each query the row of the largest product, the first of equal ones, to `out`, and
   * that product to `products`.
   */
  nearestInto(
    rows: IntegerRows,
    queries: Int16Array,
    out: Uint32Array,
    products: Int32Array | null = null,
  ): void {
    const total = rows.values.length / rows.width;
    eachTile(rows, 0, total, queries, false, ({ query, places, largest }) => {
      out.set(places, query);
      products?.set(largest, query);
    });
  },

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
  ): void {
    eachTile(rows, first, end, queries, true, ({ row, here, padded, query, products, largest }) => {
      for (let i = 0; i < largest.length; i++) {
        if (largest[i] >= least[query + i]) take(row, here, query + i, products, i * padded);
      }
    });
  },
};

export type ProductsKernel = typeof productsKernel;

/** Products of `here` rows from `row` on with some queries from `query` on. */
interface Tile {
  readonly row: number;
  readonly here: number;
  readonly query: number;
  /** Of each query `padded` products: those of `here` rows, and more that never win. */
  readonly padded: number;
  readonly products: Int32Array;
  /** The largest product of each query, and its row. */
  readonly largest: Int32Array;
  readonly places: Uint32Array;
}

/**
 * Multiplies queries with rows `first` to `end - 1`, tile after tile. The largest products are
 * those of one tile if `isOfTile`, else those of all tiles of a query so far.
 */
function eachTile(
  rows: IntegerRows,
  first: number,
  end: number,
  queries: Int16Array,
  isOfTile: boolean,
  visit: (tile: Tile) => void,
): void {
  const { width } = rows;
  const queryCount = queries.length / width;
  const fitting = Math.floor((SCAN_BYTES - TILE_BYTES - 16) / (2 * width));
  const tile = Math.min(TILE, Math.max(1, fitting));
  const { memory, at, free } = placed(rows, first, end, 2 * tile * width + 16 + TILE_BYTES);
  const kernels = searchKernels(memory);
  const productsAt = (free + 2 * tile * width + 15) & ~15;
  const largestAt = productsAt + 4 * TILE * TILE;
  const placesAt = largestAt + 4 * TILE;
  for (let query = 0; query < queryCount; query += tile) {
    const some = Math.min(tile, queryCount - query);
    const { buffer } = memory.bytes;
    const tileValues = queries.subarray(query * width, (query + some) * width);
    new Int16Array(buffer, free, tileValues.length).set(tileValues);
    const products = new Int32Array(buffer, productsAt, TILE * TILE);
    const largest = new Int32Array(buffer, largestAt, some);
    const places = new Uint32Array(buffer, placesAt, some).fill(0);
    for (let row = first; row < end; row += TILE) {
      const here = Math.min(TILE, end - row);
      const padded = (here + 3) & ~3;
      const rowAt = at + 2 * (row - first) * width;
      kernels.productsInto(rowAt, padded, free, some, width, productsAt, padded);
      for (let to = padded; padded > here && to <= some * padded; to += padded) {
        products.fill(MIN_PRODUCT, to - padded + here, to);
      }
      if (isOfTile || row === first) largest.fill(MIN_PRODUCT);
      kernels.largestInto(productsAt, some, padded, row, largestAt, placesAt);
      visit({ row, here, padded, query, products, largest, places });
    }
  }
}

/**
 * A memory with rows `first` to `end - 1` from address `at` on, and with `workBytes` bytes from
 * `free` on: the rows' own where it has both, else the scratch memory with a copy. Kernels may read
 * three more rows behind them.
 */
function placed(
  { values, width }: IntegerRows,
  first: number,
  end: number,
  workBytes: number,
): { memory: LinearMemory; at: number; free: number } {
  const home = memoryOf(values);
  if (home !== undefined && workBytes <= SCAN_BYTES) {
    return { memory: home, at: values.byteOffset + 2 * first * width, free: home.free };
  }
  const at = FREE_START + ((workBytes + 15) & ~15);
  const memory = scratch(at - FREE_START + 2 * (end - first + 3) * width);
  new Int16Array(memory.bytes.buffer, at, (end - first) * width).set(
    values.subarray(first * width, end * width),
  );
  return { memory, at, free: FREE_START };
}
