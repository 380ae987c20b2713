/**
 * The WebAssembly kernel of integer products, see products.assembly.ts. Rows in a separate linear
 * memory are read in place; others are copied. Queries and rows are multiplied in tiles of 64 by
 * 64, which stay in the cache. Vectors too wide for the scratch space go to the scalar kernel.
 */

import { CODES_START, memoryOf, SCAN_BYTES, scratch } from '../memory';
import { type IntegerRows, type ProductsKernel, scalarProducts } from './products.scalar';

/** Rows of a tile, and queries of a tile: its products take 16 KiB. */
const TILE = 64;

/** Bytes of the counts of `orderInto`. */
const ORDER_BYTES = 4096;
/** The smallest integer: no product is less. */
const MIN_PRODUCT = -0x8000_0000;

/** True where a tile's queries, products, and largest products fit the scratch space. */
function fits(width: number): boolean {
  return 2 * TILE * width + 4 * TILE * TILE + 8 * TILE + 64 <= SCAN_BYTES;
}

export const wasmProducts: ProductsKernel = {
  name: 'wasm',

  productsInto(rows, query, out) {
    const { width } = rows;
    if (!fits(width)) return scalarProducts.productsInto(rows, query, out);
    const { memory, at, count } = staged(rows, 0, rows.values.length / width);
    const { free } = memory;
    new Int16Array(memory.bytes.buffer, free, width).set(query);
    const outAt = free + 2 * width;
    const room = Math.floor((free + SCAN_BYTES - outAt) / 16) * 4;
    for (let row = 0; row < count; row += room) {
      const here = Math.min(room, count - row);
      const padded = (here + 3) & ~3;
      memory.kernels.productsInto(at + 2 * row * width, padded, free, 1, width, outAt, padded);
      out.set(new Int32Array(memory.bytes.buffer, outAt, here), row);
    }
  },

  orderInto(rows, queries, orders, products) {
    const { width } = rows;
    const queryCount = queries.length / width;
    const probes = orders.length / queryCount;
    const count = rows.values.length / width;
    const padded = (count + 3) & ~3;
    const roomBytes = SCAN_BYTES - ORDER_BYTES - 4 * padded - 16;
    const some = Math.min(TILE, queryCount, Math.floor(roomBytes / (2 * width + 4 * padded)));
    if (some < 1) return scalarProducts.orderInto(rows, queries, orders, products);
    const { memory, at } = staged(rows, 0, count);
    const { kernels, bytes, free } = memory;
    const { buffer } = bytes;
    const countsAt = free + 2 * width * some;
    const productsAt = countsAt + ORDER_BYTES;
    const orderAt = productsAt + 4 * padded * some;
    // Rows of a tile stay in the cache while all queries of it are multiplied with them.
    const tile = some === 1 ? padded : TILE;
    for (let query = 0; query < queryCount; query += some) {
      const here = Math.min(some, queryCount - query);
      const own = queries.subarray(query * width, (query + here) * width);
      new Int16Array(buffer, free, own.length).set(own);
      for (let row = 0; row < padded; row += tile) {
        const rowCount = Math.min(tile, padded - row);
        const [rowAt, outAt] = [at + 2 * row * width, productsAt + 4 * row];
        kernels.productsInto(rowAt, rowCount, free, here, width, outAt, padded);
      }
      for (let i = 0; i < here; i++) {
        const ownAt = productsAt + 4 * padded * i;
        kernels.orderInto(ownAt, count, probes, countsAt, orderAt);
        const to = (query + i) * probes;
        orders.set(new Uint32Array(buffer, orderAt, probes), to);
        const all = new Int32Array(buffer, ownAt, count);
        for (let j = to; j < to + probes; j++) products[j] = all[orders[j]];
      }
    }
  },

  orderAmong(rows, query, among, order, products) {
    const { values, width } = rows;
    const home = memoryOf(values);
    const padded = (among.length + 3) & ~3;
    // The query, and for each row its number, its product and its place in the order.
    if (home === undefined || 2 * width + 12 * padded + ORDER_BYTES > SCAN_BYTES) {
      return scalarProducts.orderAmong(rows, query, among, order, products);
    }
    const { kernels, bytes, free } = home;
    const { buffer } = bytes;
    const amongAt = free + 2 * width;
    const productsAt = amongAt + 4 * padded;
    const countsAt = productsAt + 4 * padded;
    const orderAt = countsAt + ORDER_BYTES;
    new Int16Array(buffer, free, width).set(query);
    const own = new Uint32Array(buffer, amongAt, padded);
    own.set(among);
    own.fill(0, among.length);
    kernels.productsAmong(values.byteOffset, amongAt, padded, free, width, productsAt);
    kernels.orderInto(productsAt, among.length, order.length, countsAt, orderAt);
    const all = new Int32Array(buffer, productsAt, padded);
    const places = new Uint32Array(buffer, orderAt, order.length);
    for (let i = 0; i < order.length; i++) {
      order[i] = among[places[i]];
      products[i] = all[places[i]];
    }
  },

  nearestInto(rows, queries, out) {
    const { width } = rows;
    if (!fits(width)) return scalarProducts.nearestInto(rows, queries, out);
    const total = rows.values.length / width;
    eachTile(rows, 0, total, queries, false, ({ query, places }) => out.set(places, query));
  },

  productsOfMany(rows, first, end, queries, least, take) {
    const { width } = rows;
    if (!fits(width)) return scalarProducts.productsOfMany(rows, first, end, queries, least, take);
    eachTile(rows, first, end, queries, true, ({ row, here, padded, query, products, largest }) => {
      for (let i = 0; i < largest.length; i++) {
        if (largest[i] >= least[query + i]) take(row, here, query + i, products, i * padded);
      }
    });
  },
};

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
  const { memory, at } = staged(rows, first, end);
  const { kernels, free } = memory;
  const productsAt = free + ((2 * TILE * width + 15) & ~15);
  const largestAt = productsAt + 4 * TILE * TILE;
  const placesAt = largestAt + 4 * TILE;
  for (let query = 0; query < queryCount; query += TILE) {
    const some = Math.min(TILE, queryCount - query);
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
 * The memory and the address of rows `first` to `end - 1`: their own, or a copy in the scratch
 * memory. Kernels may read three more rows behind them.
 */
function staged(rows: IntegerRows, first: number, end: number) {
  const { values, width } = rows;
  const count = end - first;
  const home = memoryOf(values);
  if (home !== undefined) {
    return { memory: home, at: values.byteOffset + 2 * first * width, count };
  }
  const memory = scratch(SCAN_BYTES + 2 * (count + 3) * width);
  const copy = new Int16Array(memory.bytes.buffer, CODES_START, (count + 3) * width);
  copy.set(values.subarray(first * width, end * width));
  return { memory, at: CODES_START, count };
}
