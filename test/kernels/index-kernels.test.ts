import { describe, expect, it } from 'vitest';
import { ByteMemory } from '../../src/kernels/byte-memory';
import { CodeMemory } from '../../src/kernels/code-memory';
import { byteScale, ONE_WEIGHT, scalarCosines8 } from '../../src/kernels/cosines8.scalar';
import { wasmCosines8 } from '../../src/kernels/cosines8.wasm';
import { scalarDots } from '../../src/kernels/dots.scalar';
import { wasmDots } from '../../src/kernels/dots.wasm';
import { scalarHamming } from '../../src/kernels/hamming.scalar';
import { popcnt8Hamming, popcnt64Hamming } from '../../src/kernels/hamming.wasm';
import { NO_ROW } from '../../src/kernels/hits';
import { Arena } from '../../src/kernels/memory';
import { integerWidth, scalarProducts, UNIT } from '../../src/kernels/products.scalar';
import { wasmProducts } from '../../src/kernels/products.wasm';
import { scalarWeighted } from '../../src/kernels/weighted.scalar';
import { wasmWeighted } from '../../src/kernels/weighted.wasm';
import { Draws } from '../reference/random';

/** The kernels of the index: both twins against sums that are written bit by bit. */

const byte = (draws: Draws) => Math.floor(draws.uniform() * 256);

/** Codes, the rows they stand for, and for each bit the weight of its two values. */
function example(bytesPerCode: number, count: number, seed: number) {
  const draws = new Draws(seed);
  const memory = new CodeMemory(bytesPerCode, count);
  for (let i = 0; i < count * bytesPerCode; i++) memory.codes[i] = byte(draws);
  for (let code = 0; code < count; code++) memory.rows[code] = code % 7 === 3 ? NO_ROW : 5 * code;
  const tables = new Uint8Array(Math.ceil(bytesPerCode / 8) * 256);
  let most = 0;
  for (let group = 0; group < 2 * bytesPerCode; group++) {
    const entries = Array.from({ length: 16 }, () => Math.floor(draws.uniform() * 32));
    tables.set(entries, 16 * group);
    most += Math.max(...entries);
  }
  const weights = Array.from({ length: count }, (_, code) => {
    let sum = 0;
    for (let group = 0; group < 2 * bytesPerCode; group++) {
      const value = memory.codes[code * bytesPerCode + (group >> 1)];
      sum += tables[16 * group + ((value >> (4 * (group & 1))) & 15)];
    }
    return sum;
  });
  return { memory, tables, most, weights };
}

describe.each([scalarWeighted, wasmWeighted])('weighted, $name twin', (kernel) => {
  it.each([1, 2, 7, 8, 9, 13, 16, 25, 32, 64, 128])('finds the lightest of %i bytes', (bytes) => {
    for (const count of [1, 15, 16, 17, 333]) {
      const { memory, tables, most, weights } = example(bytes, count, 1000 * bytes + count);
      for (const want of [1, 10, 400]) {
        const search = kernel.search(memory, { tables, most }, want);
        search.range(0, Math.min(5, count));
        search.range(Math.min(5, count), count);
        const { limit } = search;
        const { codes, weights: found, count: held } = search.hits();
        const hits = Array.from({ length: held }, (_, i) => [codes[i], found[i]]);
        const live = weights.map((w, code) => [code, w]).filter(([code]) => code % 7 !== 3);
        const sorted = live.map(([, w]) => w).sort((a, b) => a - b);
        expect(limit).toBe(want < sorted.length ? sorted[want - 1] : limit);
        const expected = live.filter(([, w]) => w <= limit);
        expect(expected.length).toBeGreaterThanOrEqual(Math.min(want, sorted.length));
        expect(hits.filter(([, w]) => w <= limit).sort((a, b) => a[0] - b[0])).toEqual(expected);
      }
    }
  });

  it('loses nothing when more hits come than its room holds', () => {
    const count = 120_000;
    const memory = new CodeMemory(8, count);
    memory.rows.fill(1, 0, count);
    const search = kernel.search(memory, { tables: new Uint8Array(256), most: 0 }, 10);
    search.range(0, count);
    expect(search.hits().count).toBe(count);
  });
});

describe.each([scalarProducts, wasmProducts])('products, $name twin', (kernel) => {
  it.each([1, 8, 100, 257])('gives the integer products of %i dimensions', (dimensions) => {
    const draws = new Draws(dimensions);
    const width = integerWidth(dimensions);
    const rowCount = 133;
    const queryCount = 67;
    const arena = new Arena(2 * (rowCount + 3) * width);
    const rows = new Int16Array(arena.bytes.buffer, arena.bytes.byteOffset, rowCount * width);
    const queries = new Int16Array(queryCount * width);
    const most = Math.floor(30_000 / Math.sqrt(width));
    for (const values of [rows, queries]) {
      for (let i = 0; i < values.length; i++) {
        if (i % width < dimensions) values[i] = Math.round((2 * draws.uniform() - 1) * most);
      }
    }
    rows.copyWithin(5 * width, 0, width); // equal rows: the first is to be the nearest
    const product = (row: number, query: number) => {
      let sum = 0;
      for (let i = 0; i < width; i++) sum += rows[row * width + i] * queries[query * width + i];
      return sum;
    };
    const expected = Array.from({ length: queryCount }, (_, query) =>
      Array.from({ length: rowCount }, (_, row) => product(row, query)),
    );
    const one = new Int32Array(rowCount);
    kernel.productsInto({ values: rows, width }, queries.subarray(0, width), one);
    expect([...one]).toEqual(expected[0]);
    const nearest = new Uint32Array(queryCount);
    kernel.nearestInto({ values: rows, width }, queries, nearest);
    expect([...nearest]).toEqual(expected.map((list) => list.indexOf(Math.max(...list))));
    for (const values of [rows, rows.slice()]) {
      const all = expected.map(() => [] as number[]);
      kernel.productsOfMany({ values, width }, 3, 130, queries, (row, count, query, found, at) => {
        for (let i = 0; i < count; i++) all[query][row + i - 3] = found[at + i];
      });
      expect(all).toEqual(expected.map((list) => list.slice(3, 130)));
    }
  });
});

describe.each([scalarDots, wasmDots])('dots of listed rows, $name twin', (kernel) => {
  it.each([1, 7, 8, 100, 301])('are those of the rows themselves, %i wide', (width) => {
    const draws = new Draws(width);
    const count = 40;
    const query = draws.gaussians(width);
    const list = Uint32Array.from({ length: 90 }, (_, i) => (i * 17) % count);
    for (const Type of [Float64Array, Float32Array, Int8Array]) {
      const arena = new Arena(count * width * Type.BYTES_PER_ELEMENT + 8);
      const { buffer, byteOffset } = arena.bytes;
      const values = new Type(buffer, byteOffset, count * width);
      for (let i = 0; i < values.length; i++) values[i] = draws.uniform() * 100 - 50;
      for (const rows of [values, values.slice()]) {
        const all = new Float64Array(count);
        const some = new Float64Array(list.length);
        scalarDots.dotsInto(values, 0, count, query, all);
        kernel.dotsOfRows(rows, list, query, some);
        expect([...some]).toEqual(Array.from(list, (row) => all[row]));
      }
    }
  });
});

describe.each([scalarHamming, popcnt64Hamming, popcnt8Hamming])('nearest, $name twin', (kernel) => {
  it.each([1, 7, 8, 12, 16, 32, 64, 100])('finds the nearest of %i bytes', (bytes) => {
    const { memory } = example(bytes, 333, bytes);
    const query = Uint8Array.from({ length: bytes }, (_, i) => 37 * i);
    const all = Array.from({ length: 333 }, (_, code) => {
      const own = memory.codes.subarray(code * bytes, (code + 1) * bytes);
      return [code, own.reduce((sum, value, i) => sum + bitsOf(value ^ query[i]), 0)];
    }).filter(([code]) => code % 7 !== 3);
    for (const want of [1, 20, 1000]) {
      const search = kernel.search(memory, query, want);
      search.range(0, 100);
      search.range(100, 333);
      const { limit } = search;
      const { codes, weights, count } = search.hits();
      const hits = Array.from({ length: count }, (_, i) => [codes[i], weights[i]]);
      const expected = all.filter(([, d]) => d <= limit);
      expect(hits.filter(([, d]) => d <= limit).sort((a, b) => a[0] - b[0])).toEqual(expected);
      const distances = all.map(([, d]) => d).sort((a, b) => a - b);
      expect(limit).toBe(want < all.length ? distances[want - 1] : 8 * bytes);
    }
  });
});

function bitsOf(value: number): number {
  return [...value.toString(2)].filter((digit) => digit === '1').length;
}

describe.each([scalarCosines8, wasmCosines8])('cosines of 8-bit vectors, $name twin', (kernel) => {
  it.each([3, 8, 13, 100, 1030])('finds the nearest of %i dimensions', (dimensions) => {
    const draws = new Draws(dimensions);
    const rows = Array.from({ length: 333 }, () =>
      Int8Array.from({ length: dimensions }, () => Math.floor(draws.uniform() * 255) - 127),
    );
    const memory = new ByteMemory((dimensions + 7) & ~7, 10);
    memory.reserve(rows.length);
    const length = (row: ArrayLike<number>) =>
      Math.sqrt(Array.from(row).reduce((sum, value) => sum + value * value, 0));
    rows.forEach((row, i) => {
      const padded = new Int8Array(memory.width);
      padded.set(row);
      memory.set(i, padded, i % 7 === 3 ? 0 : byteScale(length(row)));
    });
    const query = Float64Array.from({ length: dimensions }, () => draws.uniform() - 0.4);
    const rounded = new Int16Array(memory.width);
    query.forEach((value, i) => {
      rounded[i] = Math.round((value / length(query)) * UNIT);
    });
    const cosines = rows.map((row) => {
      const dot = row.reduce((sum, value, i) => sum + value * query[i], 0);
      return dot / length(row) / length(query);
    });
    const live = [...rows.keys()].filter((row) => row % 7 !== 3);
    for (const want of [1, 20, 1000]) {
      const search = kernel.search(memory, rounded, want);
      search.ranges(Uint32Array.of(0, 2, 2, 7, 7, 101));
      search.ranges(Uint32Array.of(101, 333));
      const { limit } = search;
      const { codes, weights, count } = search.hits();
      const hits = Array.from({ length: count }, (_, i) => i).filter((i) => weights[i] <= limit);
      for (const i of hits) {
        const cosine = 1 - weights[i] / ONE_WEIGHT;
        expect(Math.abs(cosine - cosines[codes[i]])).toBeLessThan(0.002);
      }
      // A step of the weights, and what rounding the query takes away.
      const least = live.map((row) => cosines[row]).sort((a, b) => b - a)[want - 1] ?? -1;
      const found = new Set(hits.map((i) => codes[i]));
      expect(live.filter((row) => cosines[row] > least + 0.002 && !found.has(row))).toEqual([]);
      expect(hits.length).toBeGreaterThanOrEqual(Math.min(want, live.length));
    }
  });
});

it('both twins of 8-bit cosines, and of the order of products, agree', () => {
  const draws = new Draws(5);
  const memory = new ByteMemory(24, 500);
  for (let i = 0; i < 500; i++) {
    const integer = () => Math.floor(draws.uniform() * 255) - 127;
    const row = Int8Array.from({ length: 24 }, (_, j) => (j < 20 ? integer() : 0));
    memory.set(i, row, byteScale(300 + 10 * draws.uniform()));
  }
  const query = Int16Array.from({ length: 24 }, (_, i) =>
    i < 20 ? Math.floor(draws.uniform() * 14_000) - 7000 : 0,
  );
  const [a, b] = [scalarCosines8, wasmCosines8].map((kernel) => {
    const search = kernel.search(memory, query, 25);
    search.ranges(Uint32Array.of(17, 300, 301, 500));
    const { codes, weights, count } = search.hits();
    const { limit } = search;
    const hits = Array.from({ length: count }, (_, i) => [codes[i], weights[i]]);
    return hits.filter(([, weight]) => weight <= limit).sort((x, y) => x[0] - y[0]);
  });
  expect(a).toEqual(b);
  expect(a.length).toBeGreaterThanOrEqual(25);
  for (const [count, step] of [
    [1, 1],
    [57, 1],
    [2000, 30],
  ]) {
    const values = Int16Array.from({ length: 24 * count }, () =>
      Math.floor((draws.uniform() - 0.5) * step),
    );
    const orders = [scalarProducts, wasmProducts].map((kernel) => {
      const order = new Uint32Array(count);
      kernel.orderInto({ values, width: 24 }, query, order);
      return [...order];
    });
    expect(orders[0]).toEqual(orders[1]);
    expect([...orders[0]].sort((x, y) => x - y)).toEqual([...Array(count).keys()]);
    const products = new Int32Array(count);
    scalarProducts.productsInto({ values, width: 24 }, query, products);
    const ordered = orders[0].map((row) => products[row]);
    const range = ordered[0] - Math.min(...ordered);
    for (let i = 1; i < count; i++) {
      expect(ordered[i]).toBeLessThanOrEqual(ordered[i - 1] + range / 512 + 1);
    }
  }
});
