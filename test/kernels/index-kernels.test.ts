import { describe, expect, it } from 'vitest';
import { CodeMemory } from '../../src/kernels/code-memory';
import { dotsInto } from '../../src/kernels/dots';
import { NO_ROW } from '../../src/kernels/hits';
import { Arena } from '../../src/kernels/memory';
import {
  errorOf,
  PairedRows,
  pointWidth,
  product,
  productsKernel,
  scaleOf,
} from '../../src/kernels/products';
import { ResidualMemory } from '../../src/kernels/residual-memory';
import {
  copyResiduals,
  EntryRooms,
  EntrySearch,
  entriesAt,
  newResiduals,
  ONE_WEIGHT,
  residualByte,
  scalesOf,
  setScale,
} from '../../src/kernels/residuals';
import { eachWithin } from '../../src/kernels/weighted';
import { Draws } from '../reference/random';
import { residualCodes } from './residual-codes';
import { scalarDotsInto } from './scalar/dots';
import { pointsFrom, scalarProducts, scalarSeconds } from './scalar/products';
import { ScalarEntrySearch } from './scalar/residuals';
import { scalarWithin } from './scalar/weighted';

/** The kernels of the index: both kernels against sums that are written bit by bit. */

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

describe.each([
  ['scalar', scalarWithin],
  ['WebAssembly', eachWithin],
] as const)('weighted, %s kernel', (_, each) => {
  it.each([1, 2, 7, 8, 9, 13, 16, 25, 32, 64, 128])('weighs codes of %i bytes', (bytes) => {
    for (const count of [1, 15, 16, 17, 333]) {
      const { memory, tables, most, weights } = example(bytes, count, 1000 * bytes + count);
      const live = weights.map((w, code) => [code, w]).filter(([code]) => code % 7 !== 3);
      const sorted = live.map(([, w]) => w).sort((a, b) => a - b);
      for (const limit of [most, sorted[Math.min(10, sorted.length - 1)], 0]) {
        const hits: number[][] = [];
        const middle = Math.min(5, count);
        for (const range of [
          { first: 0, end: middle },
          { first: middle, end: count },
        ]) {
          const take = (...hit: number[]) => hits.push(hit);
          each(memory, range, tables, () => limit, take);
        }
        expect(hits).toEqual(live.filter(([, w]) => w <= limit));
      }
    }
  });

  it('reads the limit again for each block, and code 0 where it is', () => {
    const { memory, tables, most, weights } = example(8, 20_000, 5);
    let limit = most;
    const seen: number[] = [];
    each(
      memory,
      { first: 7, end: 19_993, codesAt: memory.codes.byteOffset },
      tables,
      () => limit,
      (code, weight) => {
        expect(weight).toBe(weights[code]);
        seen.push(code);
        limit = Math.min(limit, weight);
      },
    );
    const live = weights.map((w, code) => [w, code]).filter(([, code]) => code % 7 !== 3);
    const [[lightest]] = live.slice(6, -6).sort((a, b) => a[0] - b[0]);
    expect(limit).toBe(lightest);
    expect(seen.length).toBeLessThan(2000);
  });
});

describe.each([
  ['scalar', scalarProducts],
  ['WebAssembly', productsKernel],
] as const)('products, %s kernel', (_, kernel) => {
  it.each([1, 8, 100, 257])('gives the products of %i dimensions', (dimensions) => {
    const draws = new Draws(dimensions);
    const width = pointWidth(dimensions);
    const rowCount = 133;
    const queryCount = 67;
    const [made, { values: queries }] = [rowCount, queryCount].map((count) =>
      pointsFrom(Array.from({ length: count }, () => draws.gaussians(dimensions))),
    );
    const arena = new Arena((rowCount + 3) * width);
    const rows = new Int8Array(arena.bytes.buffer, arena.bytes.byteOffset, rowCount * width);
    rows.set(made.values);
    rows.copyWithin(5 * width, 0, width); // equal rows: the first is to be the nearest
    const expected = Array.from({ length: queryCount }, (_, query) =>
      Array.from({ length: rowCount }, (_, row) =>
        product(rows, row * width, queries, query * width, width),
      ),
    );
    const one = new Float32Array(rowCount);
    kernel.productsInto({ values: rows, width }, queries.subarray(0, width), one);
    expect([...one]).toEqual(expected[0]);
    const oneGroup = { starts: Uint32Array.of(0, rowCount), near: new Uint32Array(queryCount) };
    const nearest = kernel.nearest({ values: rows, width }, queries, oneGroup);
    expect([...nearest]).toEqual(expected.map((list) => list.indexOf(Math.max(...list))));
    const [sums, same] = [kernel, scalarProducts].map((one) => {
      const sums = new Float64Array(dimensions).fill(0.5);
      one.addRows({ values: rows, width }, Uint32Array.of(130, 2, 130, 7), sums);
      return sums;
    });
    expect(sums).toEqual(same);
    sums.forEach((sum, i) => {
      const of = (row: number) => rows[row * width + i] * scaleOf(rows, row * width, width);
      expect(sum).toBeCloseTo(0.5 + 2 * of(130) + of(2) + of(7), 6);
    });
    const byProduct = (list: number[]) =>
      [...list.keys()].sort((a, b) => list[b] - list[a] || a - b);
    // Groups of rows, of which one is empty and one has no vectors.
    const starts = Uint32Array.of(0, 70, 70, 91, 120, 133);
    const groupsOf = (query: number) => [[4, 0, 2][query % 3], 1];
    const near = Uint32Array.from([...expected.keys()].flatMap(groupsOf));
    for (const values of [rows, rows.slice()]) {
      const found = kernel.nearest({ values, width }, queries, { starts, near });
      found.forEach((row, query) => {
        const own = byProduct(expected[query]).find((one) =>
          groupsOf(query).some((group) => one >= starts[group] && one < starts[group + 1]),
        );
        expect(row).toBe(own);
      });
      const lists = kernel.nearestLists({ values, width }, queries, 5);
      expect([...lists]).toEqual(expected.flatMap((list) => byProduct(list).slice(0, 5)));
      const least = Float32Array.from(expected, (list, i) => list[byProduct(list)[i % 7]]);
      const high = kernel.highRows({ values, width }, queries, least);
      expected.forEach((list, query) => {
        const own = [...high.places.subarray(high.ends[query - 1] ?? 0, high.ends[query])];
        const reaches = (row: number) => Math.fround(list[row] + errorOf(rows, row * width, width));
        expect(own).toEqual([...list.keys()].filter((row) => reaches(row) >= least[query]));
      });
    }
  });

  it('adds rows as often as they are listed', () => {
    const { values, width } = pointsFrom([
      [0, 1],
      [1, 1],
    ]);
    const sums = new Float64Array(2);
    kernel.addRows({ values, width }, new Uint32Array(200_000).fill(1), sums);
    for (const sum of sums) expect(sum / (200_000 * Math.SQRT1_2)).toBeCloseTo(1, 4);
  });

  it('finds all rows of more products than one call has room for', () => {
    const points = pointsFrom(Array(2000).fill([1, 0, 0]));
    const least = new Float32Array(1100).fill(1);
    least[1050] = 1.1;
    const queries = points.values.slice(0, 1100 * points.width);
    const { ends, places } = kernel.highRows(points, queries, least);
    expect(ends[1049]).toBe(2000 * 1050);
    expect(ends[1099]).toBe(2000 * 1099);
    expect(places.every((place, i) => place === i % 2000)).toBe(true);
  });
});

it('products differ from those of the vectors by their errors at most', () => {
  const draws = new Draws(9);
  for (const dimensions of [2, 16, 100, 784]) {
    const vectors = Array.from({ length: 200 }, (_, i) =>
      draws.gaussians(dimensions).map((value) => value ** (1 + 2 * (i % 2))),
    );
    const { values, width } = pointsFrom(vectors);
    vectors.forEach((vector, i) => {
      const scale = scaleOf(values, i * width, width);
      const length = Math.hypot(...vector);
      const off = vector.map((value, j) => value / length - values[i * width + j] * scale);
      const error = errorOf(values, i * width, width);
      expect(error).toBeGreaterThan(Math.hypot(...off));
      // Next to it only what changes the length, which is little of many values.
      if (dimensions > 16) expect(error).toBeLessThan(1.1 * Math.hypot(...off) + 2e-5);
    });
    let worst = 0;
    for (let i = 0; i + 1 < 200; i++) {
      const [a, b] = [vectors[i], vectors[i + 1]];
      const exact = a.reduce((sum, value, j) => sum + value * b[j], 0);
      const cosine = exact / (Math.hypot(...a) * Math.hypot(...b));
      const [errorA, errorB] = [i, i + 1].map((one) => errorOf(values, one * width, width));
      const off = Math.abs(product(values, i * width, values, (i + 1) * width, width) - cosine);
      worst = Math.max(worst, off / (errorA + errorB));
    }
    expect(worst).toBeLessThan(1);
    expect(worst).toBeGreaterThan(0.001);
  }
});

describe.each([
  ['scalar', scalarDotsInto],
  ['WebAssembly', dotsInto],
] as const)('dots of listed rows, %s kernel', (_, into) => {
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
        scalarDotsInto(values, null, query, all);
        into(rows, list, query, some);
        expect([...some]).toEqual(Array.from(list, (row) => all[row]));
      }
    }
  });
});

it.each([
  [2, 0, 16],
  [26, 5, 60],
  [32, 16, 40],
  [96, 0, 33],
  [256, 31, 100],
])('rows of %i bytes put together from row %i on lie as one by one', (width, first, count) => {
  const { rows } = residualCodes(width, count);
  const [each, all] = [new ResidualMemory(width, 200), new ResidualMemory(width, 200)];
  rows.forEach(({ residualCode, scale }, i) => {
    each.setRows(first + i, residualCode, Float32Array.of(scale));
  });
  const codes = Uint8Array.from(rows.flatMap(({ residualCode }) => [...residualCode]));
  const scales = Float32Array.from(rows, ({ scale }) => scale);
  all.setRows(first, codes, scales);
  expect(all.bytes).toEqual(each.bytes);
  const at = residualByte(all, first + count - 1, width - 1);
  expect(all.bytes[at]).toBe(rows.at(-1)?.residualCode.at(-1));

  const block = newResiduals(width, count); // its last 16 rows may be fewer
  copyResiduals(each, first, block, 0, count);
  expect(block.bytes.length).toBe(count * (width + 6));
  const [last, lanes] = [count - 1, ((count - 1) % 16) + 1];
  const lastSides = (count - lanes) * (width / 2 + 2);
  const byOne = rows.slice(-lanes).map(({ residualCode }) => residualCode[0]);
  expect([...block.bytes.subarray(lastSides, lastSides + lanes)]).toEqual(byOne);
  expect(scalesOf(block, last).scale).toBe(rows[last].scale);
  const copy = new ResidualMemory(width, 200);
  copyResiduals(block, 0, copy, first, count);
  expect(copy.bytes).toEqual(each.bytes);
  setScale(copy, first, 0);
  expect(scalesOf(copy, first)).toEqual({ scale: 0, coarse: 0 });
});

describe.each([
  ['scalar', ScalarEntrySearch],
  ['WebAssembly', EntrySearch],
] as const)('entries, %s kernel', (_, Search) => {
  it.each([2, 8, 26, 32, 42, 256])('finds the nearest of %i bytes', (bytesPerRow) => {
    const { memory, rows, query } = residualCodes(bytesPerRow, 333);
    const half = bytesPerRow / 2;
    const { tables, zero, factor } = query;
    const cosines = rows.map(({ residualCode, scale }) => {
      const sumOf = (code: Uint8Array) =>
        code.reduce(
          (sum, byte, i) => sum + tables[32 * i + (byte & 15)] + tables[32 * i + 16 + (byte >> 4)],
          0,
        );
      const [sides, halves] = [residualCode.subarray(0, half), residualCode.subarray(half)].map(
        sumOf,
      );
      return {
        bySides: (sides - zero) * scale * factor * 2.2184,
        error: 1.25 * 1.336 * ONE_WEIGHT * scale,
        whole: (2 * sides + halves - 3 * zero) * scale * factor,
      };
    });
    const live = [...rows.keys()].filter((row) => row % 7 !== 3);
    // Rows of each range, and what it adds to 2,048 times their cosines.
    const ranges: [number, number, number][] = [
      [0, 7, 0],
      [7, 101, -250],
      [101, 333, 300.25],
    ];
    for (const want of [1, 20, 1000]) {
      const search = new Search(() => query, want);
      /** Of each row 2,048 less 2,048 times its cosine, or that by its sides if it is less. */
      const expected = new Map<number, number>();
      for (const [first, end, more] of ranges) {
        for (const row of live.filter((one) => one >= first && one < end)) {
          const { bySides, error, whole } = cosines[row];
          const weight = ONE_WEIGHT - more - Math.min(whole, bySides + error);
          expected.set(row, Math.min(Math.max(weight, 0), 2 * ONE_WEIGHT));
        }
        const [bits] = new Uint32Array(Float32Array.of(more).buffer);
        // Codes are told 1,000 above their places; one centroid comes in two pieces.
        const middle = first + Math.min(5, end - first);
        const pieces = [first, middle].map((from, i) => [
          ...[
            ...entriesAt(memory, memory.bytes.byteOffset),
            from,
            1000 + from,
            (i === 0 ? middle : end) - from,
            bits,
            0,
          ],
        ]);
        search.look({ memory, rowOf: (entry) => entry }, Uint32Array.from(pieces.flat()));
      }
      const hits = foundBy(search).map(([row, weight]) => [row - 1000, weight]);
      const seen = new Set(hits.map(([row]) => row));
      const limit = hits.length < want ? 2 * ONE_WEIGHT : Math.max(...hits.map(([, one]) => one));
      expect(seen.size).toBe(hits.length);
      // Weights are integers, and those by sides come from a product of 15 bits.
      for (const [row, weight] of hits) {
        expect(Math.abs(weight - (expected.get(row) ?? -9))).toBeLessThan(1.5);
      }
      const missed = [...expected].filter(([row, one]) => one < limit - 1.5 && !seen.has(row));
      expect(missed).toEqual([]);
    }
  });

  it('finds the same whatever comes first, and all where so many are wanted', () => {
    const { memory, query } = residualCodes(32, 480);
    const bits = new Uint32Array(Float32Array.from({ length: 10 }, (_, i) => 90 - i).buffer);
    const ranges = Array.from(bits, (one, i) => [
      ...entriesAt(memory, memory.bytes.byteOffset),
      48 * i,
      48 * i,
      48,
      one,
      0,
    ]);
    const found = (want: number, some: number[][]) => {
      const search = new Search(() => query, want);
      search.look({ memory, rowOf: (entry) => entry }, Uint32Array.from(some.flat()));
      return foundBy(search);
    };
    const all = found(480, ranges);
    expect(all.length).toBe(480 - Math.ceil((480 - 3) / 7));
    const least = all.filter(([, weight]) => weight <= all[19][1]);
    expect(found(20, ranges)).toEqual(least);
    expect(found(20, [...ranges].reverse())).toEqual(least);
  });
});

it.each([1, 9, 16, 17, 31, 32, 41, 64, 75])(
  'entries as files have %i of them are found',
  (count) => {
    const { memory: from, query } = residualCodes(24, 80);
    const arena = new Arena(10_000).bytes.fill(255);
    const byteLength = count * (24 + 6);
    // Not at a multiple of 16 bytes, with other bytes on both sides.
    const memory = { bytesPerRow: 24, capacity: count, bytes: arena.subarray(8, 8 + byteLength) };
    copyResiduals(from, 0, memory, 0, count);
    const [bits] = new Uint32Array(Float32Array.of(300).buffer);
    for (const [first, end] of [
      [0, count],
      [count >> 1, count],
      [0, (count + 1) >> 1],
    ]) {
      const found = [ScalarEntrySearch, EntrySearch].map((Search) => {
        const search = new Search(() => query, 7);
        const range = [
          ...entriesAt(memory, memory.bytes.byteOffset),
          first,
          first,
          end - first,
          bits,
          0,
        ];
        search.look({ memory, rowOf: (entry) => entry }, Uint32Array.from(range));
        return foundBy(search);
      });
      expect(found[0].length).toBeGreaterThan(0);
      expect(found[1]).toEqual(found[0]);
    }
  },
);

/** Rows and weights of what a search of either kernel found, the lowest weights first. */
function foundBy(search: EntrySearch | ScalarEntrySearch): number[][] {
  const { rows, weights } = search.found(true);
  const found = Array.from(rows ?? [], (row, i) => [row, weights[i]]);
  return found.sort(([row, weight], [other, more]) => weight - more || row - other);
}

it('searches that look at entries together in small rooms find what each alone does', () => {
  const { memory, query } = residualCodes(24, 960);
  const list = { memory, positions: null, rowOf: (entry: number) => entry };
  // Round after round of lighter entries, more than a room holds; all of the last ones have weight 0.
  const products = Float32Array.of(
    ...Array.from({ length: 60 }, (_, i) => 40 * i - 1900),
    9000,
    9000,
  );
  const bits = new Uint32Array(products.buffer);
  const [sides, seconds, capacity] = entriesAt(memory, memory.bytes.byteOffset);
  // Rows 480 on, of which each has 12 + 2 bytes in the first halves and 12 + 4 in the second ones.
  const lastRows = [sides + 480 * 14, seconds + 480 * 16, capacity - 480];
  const { tables } = query;
  const queryOf = (i: number) => {
    return { ...query, tables: tables.map((_, at) => tables[(at + 16 * i) % tables.length]) };
  };
  for (const [want, rounds] of [
    [5, 60],
    [40, 10],
    [9000, 60], // of weights below and above 2,048
    [5, 62],
  ]) {
    const rooms = EntryRooms.of(list, want) as EntryRooms;
    expect(rooms.count).toBeGreaterThan(19);
    const searches = Array.from({ length: 20 }, (_, i) => new EntrySearch(() => queryOf(i), want));
    const states = searches.map((search, i) => search.enter(list, rooms.at(i)));
    const plain = searches.map((_, i) => new ScalarEntrySearch(() => queryOf(i), want));
    for (let round = 0; round < rounds; round++) {
      const ranges = searches.map((_, i) => {
        // The second search has the rounds in the other order, the third every other one.
        const one = i === 1 ? rounds - 1 - round : round - (i === 2 ? round % 2 : 0);
        // From the middle of a block to that of another one. The last search goes on to the end,
        // and the fourth one looks at other rows every other time.
        const isElsewhere = i === 3 && round % 2 === 1;
        const first = isElsewhere ? 487 : 7;
        const range = [960 * round + first, i === 19 ? 473 : 466, bits[one]];
        plain[i].look(list, Uint32Array.of(sides, seconds, capacity, first, ...range, 0));
        const where = isElsewhere ? lastRows : [sides, seconds, capacity];
        return [...where, 7, ...range, i * rooms.roomBytes];
      });
      rooms.look(list, Uint32Array.from(ranges.flat()), states);
    }
    searches.forEach((search, i) => {
      const { rows, positions, weights } = search.found(false);
      const found = Array.from(rows ?? (positions as Uint32Array), (row, j) => [row, weights[j]]);
      found.sort(([row, weight], [other, more]) => weight - more || row - other);
      expect(found).toEqual(foundBy(plain[i]));
    });
  }
});

it('entries in several memories, of searches that take turns, are as in plain loops', () => {
  const { memory, query } = residualCodes(24, 480);
  const { memory: other } = residualCodes(24, 320);
  const lists = [
    { memory, rowOf: (entry: number) => 2 * entry },
    { memory: other, rowOf: (entry: number) => 2 * entry + 1 },
  ];
  // Tables that are overwritten as soon as a search has looked at entries.
  const shared = { ...query, tables: query.tables.slice() };
  const tablesOf = () => {
    shared.tables.set(query.tables);
    return shared;
  };
  const bits = new Uint32Array(Float32Array.from({ length: 10 }, (_, i) => 900 - 100 * i).buffer);
  const keysOf = (Search: typeof EntrySearch | typeof ScalarEntrySearch, areInTurn: boolean) => {
    const searches = [1, 20, 5000].map((want) => new Search(tablesOf, want));
    for (const [round, one] of bits.entries()) {
      for (const search of searches) {
        // Rows one by one, and ranges without rows: more in all than one call of a kernel takes.
        for (const list of round % 2 ? lists : [lists[1], lists[0]]) {
          const pieces = Array.from({ length: 500 }, (_, j) => {
            const entry = 32 * round + Math.min(j, 31);
            return [
              ...entriesAt(list.memory, list.memory.bytes.byteOffset),
              entry,
              entry,
              j < 32 ? 1 : 0,
              one,
              0,
            ];
          });
          search.look(list, Uint32Array.from(pieces.flat()));
          shared.tables.fill(0);
        }
        search.suspend();
      }
      if (!areInTurn) continue;
      const between = new Search(() => query, 3);
      between.look(
        lists[0],
        Uint32Array.of(...entriesAt(memory, memory.bytes.byteOffset), 0, 0, 480, bits[0], 0),
      );
      between.suspend();
    }
    return searches.map(foundBy);
  };
  const expected = keysOf(ScalarEntrySearch, false);
  expect(expected.map(({ length }) => length > 0)).toEqual([true, true, true]);
  expect(keysOf(EntrySearch, true)).toEqual(expected);
});

it.each([24, 136])('second rows are those of the least loss, %i wide', (width) => {
  const draws = new Draws(width);
  const [rows, { values: vectors }] = [700, 67].map((count) =>
    pointsFrom(Array.from({ length: count }, () => draws.gaussians(width))),
  );
  // So many rows that the memory of their products grows.
  const many = Uint32Array.of(0, 170, 170, 171, 700);
  const three = Uint32Array.from({ length: 3 * 67 }, (_, i) => ((i % 3) + Math.floor(i / 3)) % 4);
  for (const [near, starts, most] of [
    [new Uint32Array(67), Uint32Array.of(0, 700), 1],
    [three, many, 3],
    [three, many, 2],
  ] as const) {
    const each = near.length / 67;
    const nearest = near.filter((_, i) => i % each < most);
    const own = scalarProducts.nearest(rows, vectors, { starts, near: nearest });
    // Of equal losses the first row counts.
    const all = near.slice();
    for (let i = 0; i < all.length; i += each) all.subarray(i, i + each).sort();
    const pairs = new PairedRows(rows, starts);
    for (let times = 0; times < 2; times++) {
      const found = pairs.nearestTwo(vectors, near, most);
      expect([...found.own]).toEqual([...own]);
      expect([...found.seconds]).toEqual([
        ...scalarSeconds(rows, vectors, own, { starts, near: all }),
      ]);
    }
  }
});

it('both kernels of the order of products agree', () => {
  const draws = new Draws(5);
  const { values: query, width } = pointsFrom([draws.gaussians(24)]);
  for (const count of [1, 57, 2000]) {
    const points = pointsFrom(Array.from({ length: count }, () => draws.gaussians(24)));
    const orders = [scalarProducts, productsKernel].map((kernel) => {
      const [order, own] = [new Uint32Array(count), new Float32Array(count)];
      kernel.orderInto(points, [{ first: 0, end: count }], query, order, own);
      return { order: [...order], own: [...own] };
    });
    expect(orders[0]).toEqual(orders[1]);
    // Some of the rows in other ranges than all, one of them empty, and fewer than these have.
    const third = Math.ceil(count / 3);
    const ranges = [
      { first: 2 * third, end: count },
      { first: third, end: third },
      { first: 0, end: third },
    ].filter(({ first, end }) => first <= end);
    const [some, other] = [scalarProducts, productsKernel].map((kernel) => {
      const [order, own] = [new Uint32Array(third), new Float32Array(third)];
      kernel.orderInto(points, ranges, query, order, own);
      return { order: [...order], own: [...own] };
    });
    expect(other).toEqual(some);
    expect(some.order.every((row) => row < third || row >= 2 * third)).toBe(true);
    expect([...orders[0].order].sort((x, y) => x - y)).toEqual([...Array(count).keys()]);
    const ordered = orders[0].order.map((row) =>
      product(points.values, row * width, query, 0, width),
    );
    expect(orders[0].own).toEqual(ordered);
    const range = ordered[0] - Math.min(...ordered);
    for (let i = 1; i < count; i++) {
      expect(ordered[i]).toBeLessThanOrEqual(ordered[i - 1] + range / 512 + 1e-6);
    }
  }
});
