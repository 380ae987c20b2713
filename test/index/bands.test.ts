import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Codes } from '../../src/codes/codes';
import { binomial } from '../../src/codes/pigeonhole';
import { scan } from '../../src/codes/scan';
import { maxReads } from '../../src/index/bands/band-layout';
import { naiveNeighbors } from '../reference/brute-force';
import { difference } from '../reference/difference';
import { Draws } from '../reference/random';
import {
  AnyOrder,
  build,
  DistinctCodes,
  flipped,
  joined,
  KINDS,
  makeRows,
  queriesNear,
  randomCode,
} from './band-rows';

/** Multi-index hashing misses nothing and tells nothing twice: it equals a look at every code. */
const SEED = 2012;

describe('look-ups', () => {
  const draws = new Draws('look-ups');
  const rows = makeRows('uniform', 50, 64, draws);
  const lookUps = (blocks: number, maxDistance: number) =>
    build(rows, 64, blocks).search(rows[3], new AnyOrder({ maxDistance })).lookUps;

  it('are all 43,745 codes within distance 3 where the whole code is the key', () => {
    expect([0, 1, 2, 3].map((radius) => binomial(64, radius))).toEqual([1, 64, 2016, 41_664]);
    expect([0, 1, 2, 3].map((radius) => lookUps(1, radius))).toEqual([1, 65, 2081, 43_745]);
  });

  it('go block after block, then at one more differing bit', () => {
    const expected = [1, 2, 3, 4, 20, 36, 52, 68, 188, 308];
    expect(expected.map((_, radius) => lookUps(4, radius))).toEqual(expected);
    // Two blocks of 3 bits: 1, 1, 3, 3, 3, 3, 1, 1 keys; none is left beyond.
    const small = build(
      rows.map((row) => row.slice(0, 1).map((byte) => byte & 63)),
      6,
      2,
    );
    const counts = [0, 1, 2, 3, 4, 5, 6].map(
      (maxDistance) => small.search(Uint8Array.of(5), new AnyOrder({ maxDistance })).lookUps,
    );
    expect(counts).toEqual([1, 2, 5, 8, 11, 14, 15]);
  });

  it('end as soon as the nearest are certain', () => {
    const bands = build(rows, 64, 4);
    const found = bands.search(rows[3], new AnyOrder({ k: 1, maxDistance: 64 }));
    expect(found).toMatchObject({ isComplete: true, radius: 0, lookUps: 1 });
    const nothing = bands.search(rows[3], new AnyOrder({ maxDistance: -1 }));
    expect(nothing).toMatchObject({ isComplete: true, radius: -1, lookUps: 0 });
  });
});

describe('a search', () => {
  it('finds all within every distance, whatever the blocks: small codes', () => {
    for (const bits of [1, 2, 3, 7, 8, 9, 12]) {
      for (const kind of KINDS) {
        const draws = new Draws(`${kind} ${bits}`);
        const rows = makeRows(kind, 60, bits, draws);
        const queries = [rows[7], randomCode(bits, draws)];
        for (let blocks = 1; blocks <= bits; blocks++) {
          const bands = build(rows, bits, blocks);
          for (const query of queries) {
            for (let maxDistance = 0; maxDistance <= bits; maxDistance++) {
              const collector = new AnyOrder({ maxDistance });
              expect(bands.search(query, collector).isComplete).toBe(true);
              expect(collector.result()).toEqual(naiveNeighbors(rows, query, { maxDistance }));
            }
          }
        }
      }
    }
  });

  it('finds all within a distance: widths of 1 to 200 bits, 256 and 1,024', {
    tags: 'full',
  }, () => {
    fc.assert(
      fc.property(
        fc.record({
          seed: fc.integer(),
          bits: fc.oneof(fc.integer({ min: 1, max: 200 }), fc.constantFrom(64, 256, 1024)),
          kind: fc.constantFrom(...KINDS),
          count: fc.integer({ min: 0, max: 300 }),
          share: fc.double({ min: 0, max: 1, noNaN: true }),
          maxDistance: fc.integer({ min: 0, max: 6 }),
        }),
        ({ seed, bits, kind, count, share, maxDistance: most }) => {
          const draws = new Draws(seed);
          const rows = makeRows(kind, count, bits, draws);
          // At most 3 flips in a block, so that a search ends.
          const blocks = Math.max(
            Math.ceil(Math.min(bits, most + 1) / 3),
            Math.floor(share * bits),
            1,
          );
          const bands = build(rows, bits, blocks);
          const maxDistance = Math.min(bits, most);
          for (const query of queriesNear(rows, bits, draws)) {
            const collector = new AnyOrder({ maxDistance });
            const found = bands.search(query, collector);
            expect(found.isComplete).toBe(true);
            expect(collector.result()).toEqual(naiveNeighbors(rows, query, { maxDistance }));
          }
        },
      ),
      { seed: SEED, numRuns: 300 },
    );
  });

  it('finds the k nearest, the least codes among equally near ones', () => {
    let complete = 0;
    fc.assert(
      fc.property(
        fc.record({
          seed: fc.integer(),
          bits: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(64, 100, 256)),
          kind: fc.constantFrom(...KINDS),
          count: fc.integer({ min: 0, max: 200 }),
          k: fc.constantFrom(1, 2, 5, 10, 50, 1000),
          blocks: fc.integer({ min: 1, max: 12 }),
        }),
        ({ seed, bits, kind, count, k, blocks }) => {
          const draws = new Draws(seed);
          const rows = makeRows(kind, count, bits, draws);
          const bands = build(rows, bits, Math.min(bits, blocks));
          for (const query of queriesNear(rows, bits, draws)) {
            const collector = new AnyOrder({ k, maxDistance: bits });
            if (!bands.search(query, collector, { maxReads: 100_000 }).isComplete) continue;
            complete++;
            expect(collector.result()).toEqual(naiveNeighbors(rows, query, { k }));
          }
        },
      ),
      { seed: SEED, numRuns: 200 },
    );
    expect(complete).toBeGreaterThan(300);
  });

  it.each(KINDS)('equals the scan among 100,000 codes: %s', (kind) => {
    const draws = new Draws(`many ${kind}`);
    for (const bits of [64, 40, 256]) {
      const rows = makeRows(kind, kind === 'duplicates' ? 70_000 : 100_000, bits, draws);
      const codes = Codes.from(joined(rows, bits), { bits });
      for (const blocks of [Math.ceil(bits / 16), Math.ceil(bits / 26)]) {
        const bands = build(rows, bits, blocks);
        const query = flipped(rows[5000], bits, 2, draws);
        const within = new DistinctCodes(4, codes.count);
        expect(bands.search(query, within).isComplete).toBe(true);
        expect(
          difference(within.members(), scan(codes, query, { maxDistance: 3 }).rows.sort()),
        ).toBeNull();
        const nearest = new AnyOrder({ k: 5, maxDistance: bits });
        const how = { maxReads: 100 * maxReads(bits, codes.count) };
        if (kind !== 'uniform' && kind !== 'clustered') continue;
        const { isComplete } = bands.search(query, nearest, how);
        if (isComplete) expect(nearest.result()).toEqual(scan(codes, query, { k: 5 }));
        if (kind === 'clustered' || bits === 256) expect(isComplete).toBe(kind === 'clustered');
      }
    }
  });
});
