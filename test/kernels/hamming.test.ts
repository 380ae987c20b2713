import { describe, expect, it } from 'vitest';
import { scalarHamming } from '../../src/kernels/hamming';
import { popcnt8Hamming, popcnt64Hamming } from '../../src/kernels/hamming.wasm';
import { allocateCodes, memoryOf } from '../../src/kernels/memory';
import { naiveDistances } from '../reference/brute-force';
import { difference } from '../reference/difference';
import { Draws } from '../reference/random';
import { quickIf } from '../reference/tags';

/** One suite runs every kernel over every width and offset, against a count of one bit at a time. */
const KERNELS = [scalarHamming, popcnt64Hamming, popcnt8Hamming];
/** Every rest of a division by the 16 bytes that kernels read at once, with and without such reads. */
const WIDTHS = [
  ...Array.from({ length: 20 }, (_, i) => i + 1),
  ...[24, 31, 32, 33, 40, 48, 64, 65, 100, 128, 1000, 8192],
];

/** Enough rows to fill several of the blocks in which kernels work, whatever the width. */
function rowsFor(width: number): number {
  if (width <= 40) return 8300;
  return width < 8192 ? Math.max(320, Math.ceil(300_000 / width)) : 70;
}

interface Case {
  codes: Uint8Array;
  query: Uint8Array;
  distances: Uint16Array;
}
const cases = new Map<number, Case>();

/** Random codes of a width, the first two the query and its opposite; their distances are counted once. */
function caseOf(width: number): Case {
  const known = cases.get(width);
  if (known) return known;
  const draws = new Draws(`hamming ${width}`);
  const count = rowsFor(width);
  const codes = draws.bytes(count * width);
  const query = draws.bytes(width);
  codes.set(query, 0);
  codes.set(
    query.map((byte) => ~byte),
    width,
  );
  if (width === 8192) {
    query[8191] &= 127; // 65,535 bits: the widest code
    for (let at = 8191; at < codes.length; at += 8192) codes[at] &= 127;
  }
  const made = { codes, query, distances: naiveDistances(codes, count, query) };
  cases.set(width, made);
  return made;
}

/** The same bytes at `offset` of a larger buffer whose other bytes are no zeros. */
function placed(bytes: Uint8Array, offset: number): Uint8Array {
  const buffer = new Uint8Array(offset + bytes.length + 40).fill(0x5a);
  buffer.set(bytes, offset);
  return buffer.subarray(offset, offset + bytes.length);
}

/** The same bytes at `offset` of a linear memory. */
function resident(bytes: Uint8Array, offset: number): Uint8Array {
  const memory = allocateCodes(Math.max(1 << 16, offset + bytes.length));
  memory.fill(0x5a);
  memory.set(bytes, offset);
  const codes = memory.subarray(offset, offset + bytes.length);
  expect(memoryOf(codes)).toBeDefined();
  return codes;
}

/** Pairs (row, distance) below `limit`, in order of row. */
function naiveHits(distances: Uint16Array, first: number, count: number, limit: number): number[] {
  const pairs: number[] = [];
  for (let row = first; row < first + count; row++) {
    if (distances[row] < limit) pairs.push(row, distances[row]);
  }
  return pairs;
}

/** Distances by the scalar kernel, which stands trial against the naive count below. */
function distancesOf(query: Uint8Array, codes: Uint8Array, count: number): Uint16Array {
  const hits = new Uint32Array(2 * count);
  scalarHamming.hitsInto(codes, 0, count, query, 8 * query.length + 1, hits);
  return Uint16Array.from({ length: count }, (_, i) => hits[2 * i + 1]);
}

/** The distances of many queries of a width to its codes, counted once for all kernels. */
const distancesByWidth = new Map<number, Uint16Array[]>();

function distancesOfAll(width: number, queries: Uint8Array, count: number): Uint16Array[] {
  const known = distancesByWidth.get(width);
  if (known !== undefined) return known;
  const { codes } = caseOf(width);
  const made = Array.from({ length: queries.length / width }, (_, i) =>
    distancesOf(queries.subarray(i * width, (i + 1) * width), codes, count),
  );
  distancesByWidth.set(width, made);
  return made;
}

const GUARD = 0xaaaa_aaaa;

describe.each(KERNELS)('$name', (kernel) => {
  /** The hits, after a look at what lies behind them. */
  function hitsOf(
    codes: Uint8Array,
    first: number,
    count: number,
    query: Uint8Array,
    limit: number,
  ) {
    const hits = new Uint32Array(2 * count + 8).fill(GUARD);
    const found = kernel.hitsInto(codes, first, count, query, limit, hits);
    let end = hits.length;
    while (end > 2 * found && hits[end - 1] === GUARD) end--;
    expect(end).toBe(2 * found);
    return hits.subarray(0, 2 * found);
  }

  it.each(WIDTHS)('gives the distances of 0 to 70 codes of %i bytes, and no more', (width) => {
    const { codes, query, distances } = caseOf(width);
    for (let count = 0; count <= 70; count++) {
      const some = placed(codes.subarray(0, count * width), count % 17);
      const everything = 8 * width + 1;
      const hits = hitsOf(some, 0, count, placed(query, count % 13), everything);
      const expected = Uint32Array.from(naiveHits(distances, 0, count, everything));
      expect(difference(hits, expected)).toBeNull();
    }
  });

  it.each(WIDTHS)('gives the rows of %i bytes below a limit, in order', (width) => {
    const { codes, query, distances } = caseOf(width);
    const median = Uint16Array.from(distances).sort()[distances.length >> 1];
    const places = [placed(codes, 5), resident(codes, 11)];
    const windows = [
      [0, distances.length],
      [0, 0],
      [1, 1],
      [7, 41],
      [distances.length - 9, 9],
    ];
    for (const [first, count] of windows) {
      for (const limit of [0, 1, median, 8 * width, 8 * width + 1, 65_537]) {
        const expected = Uint32Array.from(naiveHits(distances, first, count, limit));
        for (const place of places) {
          expect(difference(hitsOf(place, first, count, query, limit), expected)).toBeNull();
        }
      }
    }
  });

  it.each([1, 7, 8, 16, 32, 33])('reads codes of %i bytes at the end of their memory', (width) => {
    const count = 130;
    const queries = new Draws(`query ${width}`).bytes(9 * width);
    const limits = new Uint32Array(9).fill(4 * width);
    const query = queries.subarray(0, width);
    // Whole pages of codes, and whole pages but for the 16 bytes that may be kept free behind them.
    for (const byteLength of [4 * 65_536, 4 * 65_536 - 16]) {
      const memory = allocateCodes(byteLength);
      memory.set(new Draws(`end ${width}`).bytes(memory.length));
      const codes = memory.subarray(memory.length - count * width);
      const expected = naiveDistances(codes, count, query);
      const hits = naiveHits(expected, 2, count - 2, 4 * width);
      expect(difference(hitsOf(codes, 2, count - 2, query, 4 * width), hits)).toBeNull();
      const ofFirst: number[] = [];
      kernel.hitsOfMany(codes, 2, count - 2, queries, limits, (asked, ...hit) => {
        if (asked === 0) ofFirst.push(...hit);
      });
      expect(difference(ofFirst, hits)).toBeNull();
    }
  });

  it('counts the widest code, 65,535 of 65,535 bits apart', () => {
    const ones = new Uint8Array(8192).fill(255);
    ones[8191] = 127;
    expect([...hitsOf(new Uint8Array(2 * 8192), 0, 2, ones, 65_535)]).toEqual([]);
    expect([...hitsOf(new Uint8Array(2 * 8192), 0, 2, ones, 65_536)]).toEqual([
      0, 65_535, 1, 65_535,
    ]);
  });

  describe('many queries at once', () => {
    /** Pairs (row, distance) of each query, as they came. */
    function hitsOfMany(
      codes: Uint8Array,
      first: number,
      count: number,
      queries: Uint8Array,
      limits: Uint32Array,
    ): number[][] {
      const found = Array.from(limits, (): number[] => []);
      kernel.hitsOfMany(codes, first, count, queries, limits, (query, ...hit) => {
        found[query].push(...hit);
      });
      return found;
    }

    /** The last of `count` queries of a width is as far as can be from row 0, the one before equal. */
    function queriesOf(width: number, count: number): Uint8Array {
      const queries = new Draws(`queries ${width}`).bytes(count * width);
      const { codes } = caseOf(width);
      if (count > 1) queries.set(codes.subarray(0, width), (count - 2) * width);
      if (count > 0) queries.set(codes.subarray(width, 2 * width), (count - 1) * width);
      if (width === 8192) for (let at = 8191; at < queries.length; at += width) queries[at] &= 127;
      return queries;
    }

    const few = [1, 8, 9, 33, 128, 257];
    for (const width of [...WIDTHS.filter((one) => one <= 128), 255, 256, 257]) {
      const options = quickIf(few.includes(width));
      it(`find what one at a time find: codes of ${width} bytes`, options, () => {
        const { codes } = caseOf(width);
        const count = 300;
        const queries = queriesOf(width, 131);
        const home = resident(codes.subarray(0, (count + 20) * width), width % 23);
        const ofAll = distancesOfAll(width, queries, count + 20);
        for (const queryCount of [1, 8, 9, 130, 131]) {
          const some = queries.subarray(queries.length - queryCount * width);
          const distances = ofAll.slice(ofAll.length - queryCount);
          // Limits of every kind, 0 (no hit wanted) and one beyond all distances among them.
          const everything = 8 * width + 1;
          const limits = Uint32Array.from({ length: queryCount }, (_, query) => {
            if (queryCount === 130 || query % 5 === 3) return everything;
            return query % 5 === 4 ? 0 : 4 * width + (query % 5) - 1;
          });
          for (const [first, rows] of [
            [0, 0],
            [3, 1],
            [0, 127],
            [5, 128],
            [1, 129],
            [20, count],
          ]) {
            const expected = distances.map((all, query) =>
              naiveHits(all, first, rows, limits[query]),
            );
            const places = rows < count ? [home] : [home, placed(codes, 3)];
            for (const place of places) {
              const found = hitsOfMany(place, first, rows, some, limits);
              for (let query = 0; query < queryCount; query++) {
                const wrong = difference(found[query], expected[query]);
                if (wrong !== null) expect.fail(`query ${query} of ${queryCount}: ${wrong}`);
              }
            }
          }
          expect(difference(home, codes.subarray(0, home.length))).toBeNull();
        }
      });
    }

    it('miss nothing when a limit falls on the way, as that of the nearest does', () => {
      const width = 32;
      const { codes } = caseOf(width);
      const home = resident(codes, 0);
      const queries = queriesOf(width, 20);
      const limits = new Uint32Array(20).fill(8 * width + 1);
      const nearest = Array.from(limits, () => ({ row: -1, distance: 8 * width + 1 }));
      kernel.hitsOfMany(home, 0, 8300, queries, limits, (query, row, distance) => {
        if (distance < nearest[query].distance) nearest[query] = { row, distance };
        limits[query] = nearest[query].distance;
      });
      nearest.forEach(({ row, distance }, query) => {
        const all = distancesOf(queries.subarray(query * width, (query + 1) * width), codes, 8300);
        const least = all.reduce((a, b) => Math.min(a, b));
        expect([row, distance]).toEqual([all.indexOf(least), least]);
      });
    });

    it('ask nothing where there are no queries', () => {
      expect(
        hitsOfMany(resident(caseOf(8).codes, 0), 0, 300, new Uint8Array(0), new Uint32Array(0)),
      ).toEqual([]);
    });
  });

  it('changes neither codes nor query', () => {
    const { codes, query } = caseOf(24);
    const before = [codes.slice(), query.slice()];
    kernel.hitsInto(codes, 0, 900, query, 96, new Uint32Array(1800));
    expect(difference(codes, before[0])).toBeNull();
    expect(difference(query, before[1])).toBeNull();
  });
});
