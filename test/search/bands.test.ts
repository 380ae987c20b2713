import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Codes } from '../../src/codes/codes';
import {
  type BandLayout,
  binomial,
  blockLayout,
  chooseBlocks,
  guaranteedDistance,
  isDisjoint,
  keyBits,
  MANKU_TABLES,
  mankuLayout,
  scanUnits,
  searchCost,
} from '../../src/search/band-layout';
import { Bands, type BandsOptions } from '../../src/search/bands';
import type { Collector } from '../../src/search/nearest';
import { scan, scanWithin } from '../../src/search/scan';
import { naiveNeighbors } from '../reference/brute-force';
import { difference } from '../reference/difference';
import { Draws } from '../reference/random';

/** Multi-index hashing misses nothing and tells nothing twice: it equals a look at every code. */
const SEED = 2012;

/** Takes hits in any order, refuses a second one of a slot, and holds the limit as low as it may. */
class AnyOrder implements Collector {
  readonly hits: { slot: number; distance: number }[] = [];
  readonly #slots = new Set<number>();
  readonly #k: number;
  limit: number;

  constructor({ k, maxDistance }: { k?: number; maxDistance: number }) {
    this.#k = k ?? Number.POSITIVE_INFINITY;
    this.limit = maxDistance + 1;
  }

  take(slot: number, distance: number): void {
    if (this.#slots.has(slot)) throw new Error(`slot ${slot} is offered twice`);
    this.#slots.add(slot);
    this.hits.push({ slot, distance });
    if (distance >= this.limit) throw new Error(`distance ${distance} is of no use`);
    if (this.hits.length < this.#k) return;
    const distances = this.hits.map((hit) => hit.distance).sort((a, b) => a - b);
    this.limit = Math.min(this.limit, distances[this.#k - 1] + 1);
  }

  result() {
    const sorted = this.hits
      .sort((a, b) => a.distance - b.distance || a.slot - b.slot)
      .slice(0, this.#k);
    return {
      rows: Uint32Array.from(sorted, ({ slot }) => slot),
      distances: Uint16Array.from(sorted, ({ distance }) => distance),
    };
  }
}

const KINDS = ['uniform', 'clustered', 'equal', 'duplicates'] as const;
type Kind = (typeof KINDS)[number];

function flipped(code: Uint8Array, bits: number, flips: number, draws: Draws): Uint8Array {
  const other = code.slice();
  for (let i = 0; i < flips; i++) {
    const bit = draws.integer(bits);
    other[bit >> 3] ^= 1 << (bit & 7);
  }
  return other;
}

function randomCode(bits: number, draws: Draws): Uint8Array {
  const code = draws.bytes(Math.ceil(bits / 8));
  if (bits % 8 !== 0) code[code.length - 1] &= (1 << (bits % 8)) - 1;
  return code;
}

function makeRows(kind: Kind, count: number, bits: number, draws: Draws): Uint8Array[] {
  const centres = Array.from({ length: kind === 'equal' ? 1 : 5 }, () => randomCode(bits, draws));
  return Array.from({ length: count }, () => {
    if (kind === 'uniform') return randomCode(bits, draws);
    const flips = kind === 'clustered' ? draws.integer(5) : 0;
    return flipped(draws.pick(centres), bits, flips, draws);
  });
}

function joined(rows: readonly Uint8Array[], bits: number): Uint8Array {
  const width = Math.ceil(bits / 8);
  const bytes = new Uint8Array(rows.length * width);
  rows.forEach((row, i) => {
    bytes.set(row, i * width);
  });
  return bytes;
}

function build(
  rows: readonly Uint8Array[],
  bits: number,
  layout: BandLayout,
  options: Partial<BandsOptions> = {},
): Bands {
  return Bands.build(joined(rows, bits), { bits, count: rows.length, layout, ...options });
}

/** Tables of random runs, which may overlap other tables and leave bits out. */
function randomLayout(bits: number, draws: Draws): BandLayout {
  const table = () => {
    const places = draws.shuffled(Array.from({ length: bits }, (_, bit) => bit));
    const some = places.slice(0, 1 + draws.integer(Math.min(bits, 40)));
    return some.map((firstBit) => ({ firstBit, bits: 1 }));
  };
  return Array.from({ length: 1 + draws.integer(6) }, table);
}

function bitsOf(table: BandLayout[number]): number[] {
  return table.flatMap(({ firstBit, bits }) =>
    Array.from({ length: bits }, (_, i) => firstBit + i),
  );
}

describe('layouts', () => {
  it('cut a code in blocks that differ by one bit at most and cover it in order', () => {
    for (const bits of [1, 2, 7, 64, 100, 256]) {
      for (let blocks = 1; blocks <= bits; blocks++) {
        const layout = blockLayout(bits, blocks);
        const widths = layout.map(keyBits);
        expect(layout.flatMap(bitsOf)).toEqual(Array.from({ length: bits }, (_, bit) => bit));
        expect(Math.max(...widths) - Math.min(...widths)).toBeLessThanOrEqual(1);
        expect([layout.length, isDisjoint(layout)]).toEqual([blocks, true]);
      }
    }
  });

  it.each([
    [4, [16]],
    [10, [25, 26]],
    [16, [28]],
    [20, [31, 32, 33]],
  ] as const)('are those of Manku et al., section 3: %i tables of %j bits', (tables, widths) => {
    const layout = mankuLayout(tables);
    expect(layout.length).toBe(tables);
    expect([...new Set(layout.map(keyBits))].sort()).toEqual(widths);
    expect(new Set(layout.map((table) => bitsOf(table).sort().join())).size).toBe(tables);
    expect(guaranteedDistance(layout)).toBe(3);
    expect(isDisjoint(layout)).toBe(tables === 4);
  });

  it.each(MANKU_TABLES)('leave one of %i tables alone, whichever three bits differ', (tables) => {
    const keys = mankuLayout(tables).map((table) => new Set(bitsOf(table)));
    let triples = 0;
    let missed = 0;
    for (let a = 0; a < 64; a++) {
      for (let b = 0; b < a; b++) {
        for (let c = 0; c < b; c++, triples++) {
          if (!keys.some((key) => !key.has(a) && !key.has(b) && !key.has(c))) missed++;
        }
      }
    }
    expect([triples, missed]).toEqual([41_664, 0]);
  });

  it('guarantee one less than the fewest bits that touch all tables', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 1, max: 10 }), (seed, bits) => {
        const layout = randomLayout(bits, new Draws(seed));
        const keys = layout.map((table) =>
          bitsOf(table).reduce((mask, bit) => mask | (1 << bit), 0),
        );
        let fewest = bits;
        for (let set = 1; set < 1 << bits; set++) {
          if (!keys.every((key) => (key & set) !== 0)) continue;
          fewest = Math.min(fewest, [...set.toString(2)].filter((digit) => digit === '1').length);
        }
        expect(guaranteedDistance(layout)).toBe(fewest - 1);
      }),
      { seed: SEED, numRuns: 200 },
    );
  });

  it('cost what a search of uniform codes meets', () => {
    const draws = new Draws('cost');
    const rows = makeRows('uniform', 20_000, 64, draws);
    for (const [layout, radius] of [
      [blockLayout(64, 4), 6],
      [blockLayout(64, 5), 3],
      [blockLayout(64, 2), 3],
      [mankuLayout(10), 3],
      [mankuLayout(20), 3],
    ] as const) {
      const bands = build(rows, 64, layout);
      let units = 0;
      for (let i = 0; i < 200; i++) {
        const query = randomCode(64, draws);
        const { lookUps, candidates } = bands.search(query, new AnyOrder({ maxDistance: radius }));
        units += (lookUps + candidates) / 200;
      }
      expect(units / searchCost(layout, rows.length, radius)).toBeGreaterThan(0.9);
      expect(units / searchCost(layout, rows.length, radius)).toBeLessThan(1.1);
    }
    expect(searchCost(mankuLayout(20), 1000, 4)).toBe(Number.POSITIVE_INFINITY);
  });

  it('are chosen by that cost, also for the widest codes', () => {
    for (const [bits, count, radius] of [
      [64, 1e6, 3],
      [64, 1e7, 14],
      [256, 1e6, 20],
      [9, 500, 2],
    ]) {
      const costs = Array.from({ length: Math.min(bits, 64) }, (_, i) =>
        searchCost(blockLayout(bits, i + 1), count, radius),
      );
      expect(costs[chooseBlocks(bits, count, radius) - 1]).toBe(Math.min(...costs));
    }
    expect(chooseBlocks(64, 1e7, 3)).toBe(3); // 22 of 2^23 bits, all but one table by equal keys
    expect(chooseBlocks(64, 1e7, 14, { sketches: true })).toBe(4);
    expect(chooseBlocks(65_535, 1e6, 100)).toBeGreaterThan(20);
  });
});

describe('look-ups', () => {
  const draws = new Draws('look-ups');
  const rows = makeRows('uniform', 50, 64, draws);
  const lookUps = (layout: BandLayout, maxDistance: number) =>
    build(rows, 64, layout).search(rows[3], new AnyOrder({ maxDistance })).lookUps;

  it('are all 43,745 codes within distance 3 where the whole code is the key', () => {
    expect([0, 1, 2, 3].map((radius) => binomial(64, radius))).toEqual([1, 64, 2016, 41_664]);
    const whole = blockLayout(64, 1);
    expect([0, 1, 2, 3].map((radius) => lookUps(whole, radius))).toEqual([1, 65, 2081, 43_745]);
  });

  it('are one a table where equal keys are enough, and no more tables than needed', () => {
    for (const tables of MANKU_TABLES) expect(lookUps(mankuLayout(tables), 3)).toBe(tables);
    for (const tables of MANKU_TABLES) expect(lookUps(mankuLayout(tables), 0)).toBe(1);
    expect([0, 1, 2, 3].map((radius) => lookUps(mankuLayout(4), radius))).toEqual([1, 2, 3, 4]);
    expect([0, 1, 2].map((radius) => lookUps(mankuLayout(10), radius))).toEqual([1, 4, 7]);
  });

  it('go block after block, then at one more differing bit', () => {
    const four = blockLayout(64, 4);
    const expected = [1, 2, 3, 4, 20, 36, 52, 68, 188, 308];
    expect(expected.map((_, radius) => lookUps(four, radius))).toEqual(expected);
    // Two blocks of 3 bits: 1, 1, 3, 3, 3, 3, 1, 1 keys; none is left beyond.
    const small = build(
      rows.map((row) => row.slice(0, 1).map((byte) => byte & 63)),
      6,
      blockLayout(6, 2),
    );
    const counts = [0, 1, 2, 3, 4, 5, 6].map(
      (maxDistance) => small.search(Uint8Array.of(5), new AnyOrder({ maxDistance })).lookUps,
    );
    expect(counts).toEqual([1, 2, 5, 8, 11, 14, 15]);
  });

  it('end as soon as the nearest are certain', () => {
    const bands = build(rows, 64, blockLayout(64, 4));
    const found = bands.search(rows[3], new AnyOrder({ k: 1, maxDistance: 64 }));
    expect(found).toMatchObject({ isComplete: true, radius: 0, lookUps: 1 });
    const nothing = bands.search(rows[3], new AnyOrder({ maxDistance: -1 }));
    expect(nothing).toMatchObject({ isComplete: true, radius: -1, lookUps: 0 });
  });
});

describe('a search', () => {
  it('finds all within every distance, whatever the layout: small codes', () => {
    for (const bits of [1, 2, 3, 7, 8, 9, 12]) {
      for (const kind of KINDS) {
        const draws = new Draws(`${kind} ${bits}`);
        const rows = makeRows(kind, 60, bits, draws);
        const queries = [rows[7], randomCode(bits, draws)];
        for (let blocks = 1; blocks <= bits; blocks++) {
          const bands = build(rows, bits, blockLayout(bits, blocks));
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

  it('finds all within a distance: widths of 1 to 200 bits, 256 and 1,024', () => {
    fc.assert(
      fc.property(
        fc.record({
          seed: fc.integer(),
          bits: fc.oneof(fc.integer({ min: 1, max: 200 }), fc.constantFrom(64, 256, 1024)),
          kind: fc.constantFrom(...KINDS),
          count: fc.integer({ min: 0, max: 300 }),
          share: fc.double({ min: 0, max: 1, noNaN: true }),
          maxDistance: fc.integer({ min: 0, max: 6 }),
          sketches: fc.boolean(),
        }),
        ({ seed, bits, kind, count, share, maxDistance: most, sketches }) => {
          const draws = new Draws(seed);
          const rows = makeRows(kind, count, bits, draws);
          // At most 3 flips in a block, so that a search ends.
          const blocks = Math.max(
            Math.ceil(Math.min(bits, most + 1) / 3),
            Math.floor(share * bits),
            1,
          );
          const bands = build(rows, bits, blockLayout(bits, blocks), { sketches });
          const maxDistance = Math.min(bits, most);
          for (const query of queriesNear(rows, bits, draws)) {
            const collector = new AnyOrder({ maxDistance });
            const found = bands.search(query, collector);
            expect(found.isComplete).toBe(true);
            expect(found.compared).toBeLessThanOrEqual(found.candidates);
            expect(collector.result()).toEqual(naiveNeighbors(rows, query, { maxDistance }));
          }
        },
      ),
      { seed: SEED, numRuns: 300 },
    );
  });

  it('finds the k nearest, the least slots among equally near ones', () => {
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
          sketches: fc.boolean(),
        }),
        ({ seed, bits, kind, count, k, blocks, sketches }) => {
          const draws = new Draws(seed);
          const rows = makeRows(kind, count, bits, draws);
          const layout = blockLayout(bits, Math.min(bits, blocks));
          const bands = build(rows, bits, layout, { sketches });
          for (const query of queriesNear(rows, bits, draws)) {
            const collector = new AnyOrder({ k, maxDistance: bits });
            if (!bands.search(query, collector, { budget: 100_000 }).isComplete) continue;
            complete++;
            expect(collector.result()).toEqual(naiveNeighbors(rows, query, { k }));
          }
        },
      ),
      { seed: SEED, numRuns: 200 },
    );
    expect(complete).toBeGreaterThan(300);
  });

  it('by layouts that overlap finds all within their distance, and says so beyond', () => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.integer({ min: 1, max: 80 }),
        fc.constantFrom(...KINDS),
        fc.boolean(),
        (seed, bits, kind, sketches) => {
          const draws = new Draws(seed);
          const rows = makeRows(kind, 150, bits, draws);
          const layout =
            bits === 64 ? mankuLayout(draws.pick(MANKU_TABLES)) : randomLayout(bits, draws);
          const bands = build(rows, bits, layout, { sketches });
          const reach = guaranteedDistance(layout);
          expect(bands.guaranteedDistance).toBe(reach);
          for (const query of queriesNear(rows, bits, draws)) {
            const collector = new AnyOrder({ maxDistance: reach });
            expect(bands.search(query, collector)).toMatchObject({ isComplete: true });
            expect(collector.result()).toEqual(naiveNeighbors(rows, query, { maxDistance: reach }));
            if (isDisjoint(layout)) continue;
            const far = new AnyOrder({ maxDistance: reach + 1 });
            expect(bands.search(query, far)).toMatchObject({ isComplete: false, radius: reach });
            const known = far.result().distances.filter((distance) => distance <= reach);
            expect(known).toEqual(collector.result().distances);
          }
        },
      ),
      { seed: SEED, numRuns: 300 },
    );
  });

  it.each(MANKU_TABLES)('by %i tables finds near duplicates and not one more', (tables) => {
    const draws = new Draws(`manku ${tables}`);
    const rows = KINDS.flatMap((kind) => makeRows(kind, 150, 64, draws));
    for (const sketches of [false, true]) {
      const bands = build(rows, 64, mankuLayout(tables), { sketches });
      for (const query of queriesNear(rows, 64, draws)) {
        for (const maxDistance of [0, 1, 2, 3]) {
          const collector = new AnyOrder({ maxDistance });
          expect(bands.search(query, collector).isComplete).toBe(true);
          expect(collector.result()).toEqual(naiveNeighbors(rows, query, { maxDistance }));
        }
      }
    }
  });

  it.each(KINDS)('equals the scan among 100,000 codes: %s', (kind) => {
    const draws = new Draws(`many ${kind}`);
    for (const bits of [64, 40, 256]) {
      const rows = makeRows(kind, kind === 'duplicates' ? 70_000 : 100_000, bits, draws);
      const codes = Codes.from(joined(rows, bits), { bits });
      for (const blocks of [Math.ceil(bits / 16), Math.ceil(bits / 26)]) {
        const layout = blockLayout(bits, blocks);
        const sketches = blocks === Math.ceil(bits / 16);
        const bands = Bands.build(codes.bytes, { bits, count: codes.count, layout, sketches });
        const query = flipped(rows[5000], bits, 2, draws);
        const within = new Slots(4, codes.count);
        expect(bands.search(query, within).isComplete).toBe(true);
        expect(
          difference(within.slots(), scanWithin(codes, query, { maxDistance: 3 }).rows.sort()),
        ).toBeNull();
        const nearest = new AnyOrder({ k: 5, maxDistance: bits });
        const budget = scanUnits(bits, codes.count) * 50;
        if (kind !== 'uniform' && kind !== 'clustered') continue;
        const { isComplete } = bands.search(query, nearest, { budget });
        if (isComplete) expect(nearest.result()).toEqual(scan(codes, query, { k: 5 }));
        expect(isComplete).toBe(kind === 'clustered' || bits === 40);
      }
    }
  });
});

/** Rows, near ones and others, for queries. */
function queriesNear(rows: readonly Uint8Array[], bits: number, draws: Draws): Uint8Array[] {
  const other = randomCode(bits, draws);
  if (rows.length === 0) return [other];
  const near = [1, 2, 3].map((flips) => flipped(draws.pick(rows), bits, flips, draws));
  return [rows[0], ...near, other];
}

/** Many hits below a fixed limit, marked. */
class Slots implements Collector {
  readonly limit: number;
  readonly #marks: Uint8Array;

  constructor(limit: number, count: number) {
    this.limit = limit;
    this.#marks = new Uint8Array(count);
  }

  take(slot: number): void {
    if (this.#marks[slot]++ > 0) throw new Error(`slot ${slot} is offered twice`);
  }

  slots(): number[] {
    return [...this.#marks.keys()].filter((slot) => this.#marks[slot] > 0);
  }

  result(): never {
    throw new Error('not asked for');
  }
}
