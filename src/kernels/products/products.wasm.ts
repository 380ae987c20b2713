/**
 * The WebAssembly kernel of integer products, see products.assembly.ts. Rows in a separate linear
 * memory are read in place; others are copied. Queries and rows are multiplied in tiles of 64 by
 * 64, which stay in the cache. Vectors too wide for the scratch space go to the scalar kernel.
 */

import { CODES_START, type LinearMemory, memoryOf, SCAN_BYTES, scratch } from '../memory';
import { type IntegerRows, type ProductsKernel, scalarProducts } from './products.scalar';

/** Rows of a tile, and queries of a tile: its products take 16 KiB. */
const TILE = 64;

/** Bytes of the counts of `orderInto`. */
const ORDER_BYTES = 4096;

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
      memory.kernels.productsInto(at + 2 * row * width, (here + 3) & ~3, free, 1, width, outAt);
      out.set(new Int32Array(memory.bytes.buffer, outAt, here), row);
    }
  },

  orderInto(rows, query, out, products) {
    const { width } = rows;
    const count = rows.values.length / width;
    const roomBytes = 2 * width + 8 * (count + 3) + ORDER_BYTES + 16;
    if (roomBytes > SCAN_BYTES) return scalarProducts.orderInto(rows, query, out, products);
    const { memory, at } = staged(rows, 0, count);
    const { kernels, bytes, free } = memory;
    new Int16Array(bytes.buffer, free, width).set(query);
    const countsAt = free + 2 * width;
    const productsAt = countsAt + ORDER_BYTES;
    const padded = (count + 3) & ~3;
    const orderAt = productsAt + 4 * padded;
    kernels.productsInto(at, padded, free, 1, width, productsAt);
    kernels.orderInto(productsAt, count, out.length, countsAt, orderAt);
    out.set(new Uint32Array(bytes.buffer, orderAt, out.length));
    const all = new Int32Array(bytes.buffer, productsAt, count);
    for (let i = 0; i < out.length; i++) products[i] = all[out[i]];
  },

  nearestInto(rows, queries, out) {
    const { width } = rows;
    if (!fits(width)) return scalarProducts.nearestInto(rows, queries, out);
    const total = rows.values.length / width;
    const queryCount = queries.length / width;
    const { memory, at } = staged(rows, 0, total);
    const { largestAt, placesAt, ...tile } = tileOf(memory, width);
    for (let query = 0; query < queryCount; query += TILE) {
      const some = Math.min(TILE, queryCount - query);
      const { buffer } = memory.bytes;
      const tileValues = queries.subarray(query * width, (query + some) * width);
      new Int16Array(buffer, tile.queriesAt, tileValues.length).set(tileValues);
      new Int32Array(buffer, largestAt, some).fill(-0x8000_0000);
      new Int32Array(buffer, placesAt, some).fill(0);
      for (let row = 0; row < total; row += TILE) {
        const here = Math.min(TILE, total - row);
        const padded = (here + 3) & ~3;
        const rowsAt = at + 2 * row * width;
        memory.kernels.productsInto(rowsAt, padded, tile.queriesAt, some, width, tile.productsAt);
        if (padded > here) lowerPadding(memory, tile.productsAt, some, padded, here);
        memory.kernels.largestInto(tile.productsAt, some, padded, row, largestAt, placesAt);
      }
      out.set(new Uint32Array(buffer, placesAt, some), query);
    }
  },

  productsOfMany(rows, first, end, queries, least, take) {
    const { width } = rows;
    if (!fits(width)) return scalarProducts.productsOfMany(rows, first, end, queries, least, take);
    const queryCount = queries.length / width;
    const { memory, at } = staged(rows, first, end);
    const { queriesAt, productsAt, largestAt, placesAt } = tileOf(memory, width);
    for (let query = 0; query < queryCount; query += TILE) {
      const some = Math.min(TILE, queryCount - query);
      const { buffer } = memory.bytes;
      const largest = new Int32Array(buffer, largestAt, some);
      const tileValues = queries.subarray(query * width, (query + some) * width);
      new Int16Array(buffer, queriesAt, tileValues.length).set(tileValues);
      const products = new Int32Array(buffer, productsAt, TILE * TILE);
      for (let row = first; row < end; row += TILE) {
        const here = Math.min(TILE, end - row);
        const padded = (here + 3) & ~3;
        const rowsAt = at + 2 * (row - first) * width;
        memory.kernels.productsInto(rowsAt, padded, queriesAt, some, width, productsAt);
        if (padded > here) lowerPadding(memory, productsAt, some, padded, here);
        largest.fill(-0x8000_0000);
        memory.kernels.largestInto(productsAt, some, padded, row, largestAt, placesAt);
        for (let i = 0; i < some; i++) {
          if (largest[i] >= least[query + i]) take(row, here, query + i, products, i * padded);
        }
      }
    }
  },
};

/** Addresses of a tile's queries and products, and of each query's largest product and its row. */
function tileOf({ free: queriesAt }: LinearMemory, width: number) {
  const productsAt = queriesAt + ((2 * TILE * width + 15) & ~15);
  const largestAt = productsAt + 4 * TILE * TILE;
  return { queriesAt, productsAt, largestAt, placesAt: largestAt + 4 * TILE };
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

/** Sets the products of rows behind the last to the smallest integer, so that they never win. */
function lowerPadding(
  { bytes }: LinearMemory,
  productsAt: number,
  queries: number,
  padded: number,
  rows: number,
): void {
  const products = new Int32Array(bytes.buffer, productsAt, queries * padded);
  for (let query = 0; query < queries; query++) {
    products.fill(-0x8000_0000, query * padded + rows, (query + 1) * padded);
  }
}
