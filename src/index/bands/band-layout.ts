/**
 * Which bits of a code are the keys of which table. Cut in m blocks, two codes within distance
 * m - 1 agree in a whole block (pigeonhole), and within r in a block to floor(r / m) bits: Norouzi,
 * Punjani & Fleet 2012. Keys of several blocks make buckets small at the price of more tables:
 * Manku, Jain & Das Sarma 2007, section 3.
 */

import { checkBits, checkInteger, wrongType, wrongValue } from '../../base/check';

/** Bits of a code that follow one another. */
export interface BitRun {
  readonly firstBit: number;
  readonly bits: number;
}

/** A table a list of runs, whose bits one after another are the table's key. */
export type BandLayout = readonly (readonly BitRun[])[];

/** Tables of `mankuLayout`. */
export const MANKU_TABLES = [4, 10, 16, 20] as const;
export type MankuTables = (typeof MANKU_TABLES)[number];

/** Offsets of a table take 4 bytes a bucket. */
const MAX_BUCKET_BITS = 28;

/** Number of key bits of one table. */
export function keyBits(table: readonly BitRun[]): number {
  return table.reduce((sum, { bits }) => sum + bits, 0);
}

/** A run cut in nearly equal parts, the wider ones first. */
function cut({ firstBit, bits }: BitRun, parts: number): BitRun[] {
  const wider = bits % parts;
  return Array.from({ length: parts }, (_, part) => ({
    firstBit: firstBit + part * Math.floor(bits / parts) + Math.min(part, wider),
    bits: Math.floor(bits / parts) + (part < wider ? 1 : 0),
  }));
}

/** The code in `blocks` nearly equal blocks, each the key of one table. */
export function blockLayout(bits: number, blocks: number): BandLayout {
  checkInteger('blocks', blocks, 1, checkBits(bits));
  return blocksOf([{ firstBit: 0, bits }], blocks);
}

/**
 * The four ways of Manku et al. to look up all 64-bit codes within distance 3 by equal keys:
 * 4 tables of 16 bits, 10 of two of five blocks (25 or 26 bits), 16 of one of four blocks and one
 * of four parts of the rest (28 bits), 20 of three of six blocks (31 to 33 bits).
 */
export function mankuLayout(tables: MankuTables): BandLayout {
  if (tables === 4) return blockLayout(64, 4);
  if (tables === 10) return choicesOf(blockLayout(64, 5), 2);
  if (tables === 20) return choicesOf(blockLayout(64, 6), 3);
  if (tables !== 16) throw wrongValue('tables', `one of ${MANKU_TABLES.join(', ')}`, tables);
  const blocks = cut({ firstBit: 0, bits: 64 }, 4);
  return blocks.flatMap((block) => {
    const rest = blocks.filter((other) => other !== block);
    return cut({ firstBit: 0, bits: 48 }, 4).map((part) => [block, ...slice(rest, part)]);
  });
}

/** All ways to take `count` of the blocks, each block a list of runs. */
export function choicesOf(blocks: BandLayout, count: number): BitRun[][] {
  if (count === 0) return [[]];
  return blocks.flatMap((block, i) =>
    choicesOf(blocks.slice(i + 1), count - 1).map((others) => [...block, ...others]),
  );
}

/** The bits of some runs, laid end to end, in nearly equal blocks. */
export function blocksOf(runs: readonly BitRun[], blocks: number): BandLayout {
  const whole = { firstBit: 0, bits: keyBits(runs) };
  return cut(whole, blocks).map((part) => slice(runs, part));
}

/** The bits of `runs`, laid end to end, that `part` names. */
function slice(runs: readonly BitRun[], part: BitRun): BitRun[] {
  let before = 0;
  return runs.flatMap(({ firstBit, bits }) => {
    const from = Math.max(0, part.firstBit - before);
    const to = Math.min(bits, part.firstBit + part.bits - before);
    before += bits;
    return from < to ? [{ firstBit: firstBit + from, bits: to - from }] : [];
  });
}

/** A layout of at least one table, each with a key inside the code and no bit twice in it. */
export function checkLayout(layout: BandLayout, bits: number): BandLayout {
  if (!Array.isArray(layout)) throw wrongType('layout', 'an array of tables', layout);
  if (layout.length === 0) throw wrongValue('layout', 'at least one table', 'none');
  layout.forEach((table, t) => {
    const seen = new Set<number>();
    for (const run of table) {
      checkInteger(`layout[${t}]: bits`, run.bits, 1, bits);
      checkInteger(`layout[${t}]: firstBit`, run.firstBit, 0, bits - run.bits);
      for (let bit = run.firstBit; bit < run.firstBit + run.bits; bit++) seen.add(bit);
    }
    if (seen.size === 0 || seen.size < keyBits(table)) {
      const got = `${seen.size} bits in runs of ${keyBits(table)}`;
      throw wrongValue(`layout[${t}]`, 'a key of different bits, at least one', got);
    }
  });
  return layout;
}

/** True when no bit is in the keys of two tables; only then can keys be varied to go farther. */
export function isDisjoint(layout: BandLayout): boolean {
  return [...tablesOfBits(layout).values()].every((tables) => tables.length === 1);
}

/** For each bit that is in a key, the tables that have it. */
function tablesOfBits(layout: BandLayout): Map<number, number[]> {
  const tables = new Map<number, number[]>();
  layout.forEach((table, t) => {
    for (const { firstBit, bits } of table) {
      for (let bit = firstBit; bit < firstBit + bits; bit++) {
        tables.set(bit, [...(tables.get(bit) ?? []), t]);
      }
    }
  });
  return tables;
}

/**
 * The largest distance at which two codes surely agree in the whole key of some table: one less
 * than the fewest bits that touch every table.
 */
export function guaranteedDistance(layout: BandLayout): number {
  if (isDisjoint(layout)) return layout.length - 1;
  const kinds = new Map<string, number[]>();
  for (const tables of tablesOfBits(layout).values()) kinds.set(tables.join(), tables);
  const touches = [...kinds.values()];
  /** Whether `bits` more bits can touch the rest: one of them has to touch its first table. */
  const canTouch = (rest: readonly number[], bits: number): boolean => {
    if (rest.length === 0) return true;
    if (bits === 0) return false;
    return touches.some(
      (tables) =>
        tables.includes(rest[0]) &&
        canTouch(
          rest.filter((table) => !tables.includes(table)),
          bits - 1,
        ),
    );
  };
  const all = layout.map((_, table) => table);
  let distance = 0;
  while (!canTouch(all, distance + 1)) distance++;
  return distance;
}

/** The number of ways to take `some` of `all`, exact below 2^53; 0 where there is none. */
export function binomial(all: number, some: number): number {
  if (some > all) return 0;
  let ways = 1;
  for (let i = 1; i <= Math.min(some, all - some); i++) ways = (ways * (all - i + 1)) / i;
  return ways;
}

/**
 * How many bits number the buckets of a table, and whether they are the key itself: they are while
 * there are not many more keys than codes; beyond, keys are hashed to about a bucket a code.
 */
export function bucketBits(width: number, count: number): { bits: number; isDirect: boolean } {
  const near = 31 - Math.clz32(Math.max(1, Math.floor(1.4 * count))); // 2^near about count
  const distinct = 32 - Math.clz32(width); // enough to tell single flips apart
  const hashed = Math.min(MAX_BUCKET_BITS, Math.max(near, distinct));
  if (width <= Math.min(MAX_BUCKET_BITS, Math.max(near + 1, hashed))) {
    return { bits: width, isDirect: true };
  }
  return { bits: hashed, isDirect: false };
}

/** What a search is expected to meet. */
export interface Expectation {
  /** How many times fuller than by chance the buckets near a query are: `Bands.skew`. */
  skew?: number;
  /** Whether the tables hold sketches. */
  sketches?: boolean;
}

/** Candidates that a sketch lets pass, roughly: few near by, more at a fifth of the bits. */
const PASSED = 1 / 16;
/**
 * While a unit waits for memory a scan reads about so many bytes: 45 to 60 ns here, where codes by
 * the million do not fit the caches and a scan runs at 8 to 15 GB/s. In the caches both are faster.
 */
const SCANNED_BYTES = 512;

/**
 * Work units, one being to fetch the code of a candidate: a look-up reads where its bucket is, the
 * slots, and the sketches if any, which are read in order. Fitted to times of 10,000,000 codes.
 */
export function unitsOf(sketches: boolean): { lookUp: number; entry: number } {
  return sketches ? { lookUp: 3, entry: 1 / 8 } : { lookUp: 2, entry: 1 };
}

/** Work units that take as long as a scan: a limit for the budget of a search. */
export function scanUnits(bits: number, count: number): number {
  return (count * Math.ceil(bits / 8)) / SCANNED_BYTES;
}

/**
 * The expected work units of a search to `radius` where bits are tossed coins. Infinity where the
 * layout cannot reach the radius.
 */
export function searchCost(
  layout: BandLayout,
  count: number,
  radius: number,
  expected: Expectation = {},
): number {
  const costs = layout.map((table) => lookUpCost(keyBits(table), count, expected));
  if (isDisjoint(layout)) return disjointCost(layout.map(keyBits), costs, radius);
  if (radius > guaranteedDistance(layout)) return Number.POSITIVE_INFINITY;
  return costs.reduce((sum, cost) => sum + cost, 0);
}

/** One look-up and its candidates, those of hashed keys that share a bucket included. */
function lookUpCost(width: number, count: number, { skew = 1, sketches }: Expectation): number {
  const candidates = skew * count * 2 ** -bucketBits(width, count).bits;
  const { lookUp, entry } = unitsOf(sketches ?? false);
  return lookUp + candidates * (sketches ? entry + PASSED : entry);
}

/** Step by step as `Bands.search` goes: block r mod m at floor(r / m) differing bits. */
function disjointCost(widths: readonly number[], costs: readonly number[], radius: number): number {
  let cost = 0;
  for (let step = 0; step <= radius && cost < Number.POSITIVE_INFINITY; step++) {
    const table = step % widths.length;
    cost += binomial(widths[table], Math.floor(step / widths.length)) * costs[table];
  }
  return cost;
}
