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
import { bucketOf, type JoinKey, MAX_BUCKET_BITS } from '../kernels/joins';

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
/**
 * Nanoseconds by bench/pairs.mjs, of which only the ratios matter: of an entry of a table (27 where
 * all fit the caches, 43 beyond 2 million), of a comparison of two codes of a bucket, and of one in
 * a scan. Codes of more than 64 bits miss the cache more often.
 */
const ENTRY_NS = 32;
const COMPARED_NS = 0.85;
const COMPARED_WIDE_NS = 2.3;
const SCANNED_NS = 0.25;
const SCANNED_WORD_NS = 0.15;
/** Comparisons that take as long as to join a code of a large bucket again, by other bits. */
const AGAIN_COMPARISONS = 2 ** 8;
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
  const { words } = sample;
  let best = costed(words, count, [], (count * (count - 1)) / 2);
  for (const layout of layouts(runs, maxDistance, agree)) {
    const least = layout.reduce((sum, key) => sum + comparisonsByChance(key, count), 0);
    // The estimate for random codes is a lower bound, and skips most layouts without the sample.
    if (costed(words, count, layout, least).expectedMs >= best.expectedMs) continue;
    const all = layout.reduce((sum, key) => sum + comparisonsBySample(sample, count, key), 0);
    const method = costed(words, count, layout, all);
    if (method.expectedMs < best.expectedMs) best = method;
  }
  return best;
}

/** A method with its cost: sorting into tables, and comparing. */
function costed(
  words: number,
  count: number,
  layout: TableLayout,
  comparisons: number,
): JoinMethod {
  const compared = words === 2 ? COMPARED_NS : COMPARED_WIDE_NS;
  const scanned = SCANNED_NS + words * SCANNED_WORD_NS;
  const each = layout.length === 0 ? scanned : compared;
  const expectedMs = (layout.length * count * ENTRY_NS + comparisons * each) / 1e6;
  return { layout, comparisons, expectedMs };
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

/** Comparisons in the buckets of a table if bits were random. */
function comparisonsByChance(key: readonly BitRun[], count: number): number {
  const { lowBits, highBits } = joinKeyOf(key, count);
  return (count * (count - 1)) / 2 ** (lowBits + highBits + 1);
}

/**
 * The same as the sample shows them, at least those of random bits. Buckets that are too large for
 * pairs are joined again, by other bits.
 */
function comparisonsBySample(sample: JoinSample, all: number, key: readonly BitRun[]): number {
  const { codes, words, count, longestRun } = sample;
  const joinKey = joinKeyOf(key, all);
  const buckets = Uint32Array.from({ length: count }, (_, i) =>
    bucketOf(codes, i * words, joinKey),
  );
  buckets.sort();
  let pairs = 0;
  let long = 0;
  for (let from = 0, to = 0; from < count; from = to) {
    while (to < count && buckets[to] === buckets[from]) to++;
    const size = to - from;
    const rows = (size / count) * all;
    if (size >= MIN_SURE && rows > longestRun) long += rows * AGAIN_COMPARISONS;
    else pairs += (size * (size - 1)) / 2;
  }
  // A lower confidence limit of three standard errors, so that chance in the sample decides little.
  const sure = pairs - 3 * Math.sqrt(pairs + 1);
  const comparisons = (sure * all * (all - 1)) / Math.max(1, count * (count - 1));
  return Math.max(comparisons, comparisonsByChance(key, all)) + long;
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
