/**
 * Chooses the method of a join: its tables, or none, where all codes are compared with all. Two
 * codes within distance d agree in at least m - d of m blocks (pigeonhole principle), so a table
 * for each choice of m - d blocks brings every such pair together. Few tables have short keys and
 * many candidates; many tables have long keys and few. The cost of each layout is estimated by a
 * sample of the codes. The choice changes the time, never the answer.
 */

import {
  type BitRun,
  binomial,
  blocksOf,
  choicesOf,
  keyBits,
  mankuLayout,
  type TableLayout,
} from '../codes/pigeonhole';
import { MAX_BUCKET_BITS } from '../kernels/joins/join-memory';
import { bucketOf, type JoinKey } from '../kernels/joins/joins.scalar';

/** How a join finds its pairs, and its expected cost. */
export interface JoinMethod {
  /** The key of each table; empty if all codes are compared with all. */
  readonly layout: TableLayout;
  /** Expected number of pairs of codes to compare. */
  readonly comparisons: number;
  readonly expectedMs: number;
}

/** A sample of the codes of a join, by which its method is chosen. */
export interface JoinSample {
  readonly codes: Uint32Array;
  readonly words: number;
  /** Number of codes in the sample. */
  readonly count: number;
  /** Codes of a bucket up to which they are compared in pairs; more are joined by other bits. */
  readonly longestRun: number;
}

/** Layouts with more tables are not considered. */
const MAX_TABLES = 64;
/** Most tables where each has one block: with more, comparing all with all is cheaper. */
const MAX_BLOCKS = 256;
/** Most blocks of a layout beyond the distance. */
const MAX_BLOCKS_MORE = 8;
/** Costs in nanoseconds, measured on the machine of bench/results.md; only their ratios matter. */
const ENTRY_NS = 27;
/** An entry of a table where there are more than MAX_NEAR, which do not fit the caches. */
const FAR_ENTRY_NS = 43;
const MAX_NEAR = 2 ** 21;
const GATHERED_WORD_NS = 1.5;
const COMPARED_NS = 0.85;
const COMPARED_WIDE_NS = 2.3;
const SCANNED_NS = 0.25;
const SCANNED_WORD_NS = 0.15;
/** Codes of the sample in one bucket from which on the bucket's size is estimated by them. */
const MIN_SURE = 4;
/** Bits of a key that choose its bucket; further ones are compared only. */
const MAX_KEY_BITS = 64;

/**
 * The cheapest method to join `count` codes that may differ in the bits of `runs`. Pairs must agree
 * in the bits of `agree`, which are then part of each key, and can be the key of the only table.
 */
export function chooseMethod(
  sample: JoinSample,
  count: number,
  runs: readonly BitRun[],
  maxDistance: number,
  agree: readonly BitRun[] = [],
): JoinMethod {
  let best = byChance(sample.words, count, []);
  for (const layout of layouts(runs, maxDistance, agree)) {
    const ideal = byChance(sample.words, count, layout);
    // The estimate for random codes is a lower bound, and skips most layouts without the sample.
    if (ideal.expectedMs >= best.expectedMs) continue;
    const work = layout.map((key) => tableBySample(sample, count, key));
    for (const table of work) {
      const bits = keyBits(runs) + keyBits(agree) - table.keyBits;
      table.splitMs = table.full * splitMs(sample.words, table.fullRows, bits, maxDistance);
    }
    const method = costed(sample.words, count, layout, work);
    if (method.expectedMs < best.expectedMs) best = method;
  }
  return best;
}

/** The work of one table. */
interface TableWork {
  readonly keyBits: number;
  readonly comparisons: number;
  /** Buckets too large for pairs: their number, their mean size, and the time to join them all. */
  readonly full: number;
  readonly fullRows: number;
  splitMs: number;
}

/** A method with its cost: comparing, sorting into tables, and splitting large buckets. */
function costed(
  words: number,
  count: number,
  layout: TableLayout,
  tables: readonly TableWork[],
): JoinMethod {
  const comparisons = tables.reduce((sum, table) => sum + table.comparisons, 0);
  const splitting = tables.reduce((sum, table) => sum + table.splitMs, 0);
  const scanned = SCANNED_NS + words * SCANNED_WORD_NS;
  const compared = words === 2 ? COMPARED_NS : COMPARED_WIDE_NS;
  const comparing = comparisons * (layout.length === 0 ? scanned : compared);
  const entry = count > MAX_NEAR ? FAR_ENTRY_NS : ENTRY_NS;
  const sorting = layout.length * count * (entry + words * GATHERED_WORD_NS);
  return { layout, comparisons, expectedMs: (comparing + sorting) / 1e6 + splitting };
}

/** The cost of a layout if bits were random; exact without tables. */
function byChance(words: number, count: number, layout: TableLayout): JoinMethod {
  const tables = layout.length === 0 ? [[]] : layout;
  return costed(
    words,
    count,
    layout,
    tables.map((key) => tableByChance(key, count)),
  );
}

/** The lowest cost in milliseconds to join `count` random codes by `bits` bits. */
function splitMs(words: number, count: number, bits: number, maxDistance: number): number {
  if (count < 2) return 0;
  const runs = [{ firstBit: 0, bits }];
  let least = byChance(words, count, []).expectedMs;
  for (const layout of layouts(runs, maxDistance)) {
    least = Math.min(least, byChance(words, count, layout).expectedMs);
  }
  return least;
}

/** Most tables of any layout for a distance: kernels need a mask for each. */
export function maxTables(maxDistance: number): number {
  return Math.max(MAX_TABLES, Math.min(MAX_BLOCKS, maxDistance + 1));
}

/** The layouts that find all pairs within a distance which agree in the bits of `agree`. */
function* layouts(
  runs: readonly BitRun[],
  maxDistance: number,
  agree: readonly BitRun[] = [],
): Generator<TableLayout> {
  if (agree.length > 0) yield [agree];
  for (const layout of blockLayouts(runs, maxDistance)) {
    yield agree.length === 0 ? layout : layout.map((key) => [...agree, ...key]);
  }
}

/** The layouts over the bits that may differ, those with the fewest tables first. */
function* blockLayouts(runs: readonly BitRun[], maxDistance: number): Generator<TableLayout> {
  const bits = keyBits(runs);
  const isManku = runs.length === 1 && runs[0].firstBit === 0 && bits === 64;
  if (isManku && maxDistance === 3) yield mankuLayout();
  for (let blocks = maxDistance + 1; blocks <= maxDistance + MAX_BLOCKS_MORE; blocks++) {
    if (blocks > bits || binomial(blocks, maxDistance) > MAX_TABLES) {
      const isPlain = blocks === maxDistance + 1 && blocks <= Math.min(bits, MAX_BLOCKS);
      if (isPlain) yield blocksOf(runs, blocks);
      return;
    }
    yield choicesOf(blocksOf(runs, blocks), blocks - maxDistance);
  }
}

/** The work of a table if bits were random. */
function tableByChance(key: readonly BitRun[], count: number): TableWork {
  const { lowBits, highBits } = joinKeyOf(key, count);
  const comparisons = (count * (count - 1)) / 2 ** (lowBits + highBits + 1);
  return { keyBits: keyBits(key), comparisons, full: 0, fullRows: 0, splitMs: 0 };
}

/** The work of a table as the sample shows it, at least that of random bits. */
function tableBySample(sample: JoinSample, all: number, key: readonly BitRun[]): TableWork {
  const { codes, words, count, longestRun } = sample;
  const joinKey = joinKeyOf(key, all);
  const buckets = Uint32Array.from({ length: count }, (_, i) =>
    bucketOf(codes, i * words, joinKey),
  );
  buckets.sort();
  let pairs = 0;
  let [full, fullRows] = [0, 0];
  for (let from = 0, to = 0; from < count; from = to) {
    while (to < count && buckets[to] === buckets[from]) to++;
    const size = to - from;
    const rows = (size / count) * all;
    if (size >= MIN_SURE && rows > longestRun) {
      full++;
      fullRows += rows;
    } else pairs += (size * (size - 1)) / 2;
  }
  // A lower confidence limit of three standard errors, so that chance in the sample decides little.
  const sure = pairs - 3 * Math.sqrt(pairs + 1);
  const comparisons = (sure * all * (all - 1)) / Math.max(1, count * (count - 1));
  const chance = tableByChance(key, all);
  return {
    ...{ ...chance, full, fullRows: fullRows / Math.max(1, full) },
    // Codes of large buckets are not compared in pairs, so there can be fewer than by chance.
    comparisons: full > 0 ? Math.max(0, comparisons) : Math.max(comparisons, chance.comparisons),
  };
}

/** How codes are mapped to the buckets of a table: about as many buckets as codes. */
export function joinKeyOf(key: readonly BitRun[], count: number): JoinKey {
  const parts: JoinKey['parts'][number][] = [];
  let left = MAX_KEY_BITS;
  for (const { firstBit, bits } of key) {
    const end = firstBit + Math.min(bits, left);
    left -= end - firstBit;
    for (let bit = firstBit; bit < end; ) {
      const length = Math.min(32 - (bit % 32), end - bit);
      const shift = bit % 32;
      parts.push({ word: bit >> 5, left: 32 - shift - length, right: 32 - length });
      bit += length;
    }
  }
  const width = MAX_KEY_BITS - left;
  const wanted = Math.max(8, 32 - Math.clz32(count));
  const bucketBits = Math.min(width, wanted, MAX_BUCKET_BITS);
  const lowBits = Math.ceil(bucketBits / 2);
  const hashShift = bucketBits < width ? 32 - bucketBits : 0;
  return { parts, hashShift, lowBits, highBits: bucketBits - lowBits };
}

/** The bits of `runs` that are not in the key, as runs. */
export function runsWithout(runs: readonly BitRun[], key: readonly BitRun[]): BitRun[] {
  const taken = new Set(key.flatMap(({ firstBit, bits }) => range(firstBit, bits)));
  const rest: BitRun[] = [];
  for (const { firstBit, bits } of runs) {
    for (const bit of range(firstBit, bits)) {
      if (taken.has(bit)) continue;
      const last = rest.at(-1);
      if (last !== undefined && last.firstBit + last.bits === bit) {
        rest[rest.length - 1] = { firstBit: last.firstBit, bits: last.bits + 1 };
      } else rest.push({ firstBit: bit, bits: 1 });
    }
  }
  return rest;
}

function range(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => first + i);
}

/** The bits of a key as a mask over the words of a code. */
export function maskOf(key: readonly BitRun[], words: number): Uint32Array {
  const mask = new Uint32Array(words);
  for (const { firstBit, bits } of key) {
    for (const bit of range(firstBit, bits)) mask[bit >> 5] |= 1 << (bit & 31);
  }
  return mask;
}
