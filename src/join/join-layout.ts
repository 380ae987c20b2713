/**
 * Which tables a join makes. Two codes within distance d agree in at least m - d of m blocks
 * (pigeonhole), so a table for each choice of m - d blocks brings every such pair together: few
 * wide tables of many candidates, or many narrow ones. Picked by what they are expected to cost on
 * a sample of the codes; with no tables all codes are compared with all.
 */

import {
  type BandLayout,
  type BitRun,
  binomial,
  blocksOf,
  choicesOf,
  keyBits,
  mankuLayout,
} from '../codes/pigeonhole';
import { MAX_BUCKET_BITS } from '../kernels/joins/join-memory';
import { bucketOf, type JoinKey } from '../kernels/joins/joins.scalar';

export interface JoinPlan {
  /** Empty where all are compared with all. */
  readonly layout: BandLayout;
  /** Pairs that are expected to be compared. */
  readonly comparisons: number;
  readonly expectedMs: number;
}

/** Codes to plan by: some of those that are to be joined. */
export interface JoinSample {
  readonly codes: Uint32Array;
  readonly words: number;
  /** How many the sample has. */
  readonly count: number;
  /** Codes of a bucket that are compared in pairs, at most. */
  readonly longestRun: number;
}

const MOST_TABLES = 64;
/** Tables of one block each: beyond so many all with all is cheaper. */
const MOST_BLOCKS = 256;
const MOST_BLOCKS_MORE = 8;
/** Nanoseconds, on the machine of bench/results.md; ratios are what counts. */
const ENTRY_NS = 27;
/** Of entries beyond the caches. */
const FAR_ENTRY_NS = 43;
const MOST_NEAR = 2 ** 21;
const GATHERED_WORD_NS = 1.5;
const COMPARED_NS = 0.85;
const COMPARED_WIDE_NS = 2.3;
const SCANNED_NS = 0.25;
const SCANNED_WORD_NS = 0.15;
/** A bucket is full when so many of a sample are in it. */
const LEAST_SURE = 4;
/** Wider keys are told apart by fewer bits. */
const MOST_KEY_BITS = 64;

/** The cheapest way to join so many codes that may differ in the bits of these runs. */
export function planJoin(
  sample: JoinSample,
  count: number,
  runs: readonly BitRun[],
  maxDistance: number,
): JoinPlan {
  let best = byChance(sample.words, count, []);
  for (const layout of layouts(runs, maxDistance)) {
    const hoped = byChance(sample.words, count, layout);
    if (hoped.expectedMs >= best.expectedMs) continue;
    const work = layout.map((key) => tableBySample(sample, count, key));
    for (const table of work) {
      const bits = keyBits(runs) - table.keyBits;
      table.splitMs = table.full * splitMs(sample.words, table.fullRows, bits, maxDistance);
    }
    const plan = planOf(sample.words, count, layout, work);
    if (plan.expectedMs < best.expectedMs) best = plan;
  }
  return best;
}

/** What a table brings together. */
interface TableWork {
  readonly keyBits: number;
  readonly comparisons: number;
  /** Buckets that are too full, their mean rows, and the time to join these over the bits left. */
  readonly full: number;
  readonly fullRows: number;
  splitMs: number;
}

function planOf(
  words: number,
  count: number,
  layout: BandLayout,
  tables: readonly TableWork[],
): JoinPlan {
  const comparisons = tables.reduce((sum, table) => sum + table.comparisons, 0);
  const splitting = tables.reduce((sum, table) => sum + table.splitMs, 0);
  const scanned = SCANNED_NS + words * SCANNED_WORD_NS;
  const compared = words === 2 ? COMPARED_NS : COMPARED_WIDE_NS;
  const comparing = comparisons * (layout.length === 0 ? scanned : compared);
  const entry = count > MOST_NEAR ? FAR_ENTRY_NS : ENTRY_NS;
  const sorting = layout.length * count * (entry + words * GATHERED_WORD_NS);
  return { layout, comparisons, expectedMs: (comparing + sorting) / 1e6 + splitting };
}

/** The plan where bits are tossed coins; without tables, the same for all codes. */
function byChance(words: number, count: number, layout: BandLayout): JoinPlan {
  const tables = layout.length === 0 ? [[]] : layout;
  return planOf(
    words,
    count,
    layout,
    tables.map((key) => tableByChance(key, count)),
  );
}

/** The least time to join so many codes over so many bits. */
function splitMs(words: number, count: number, bits: number, maxDistance: number): number {
  if (count < 2) return 0;
  const runs = [{ firstBit: 0, bits }];
  let least = byChance(words, count, []).expectedMs;
  for (const layout of layouts(runs, maxDistance)) {
    least = Math.min(least, byChance(words, count, layout).expectedMs);
  }
  return least;
}

/** No layout has more tables. */
export function mostTables(maxDistance: number): number {
  return Math.max(MOST_TABLES, Math.min(MOST_BLOCKS, maxDistance + 1));
}

/** The layouts that find all pairs within the distance. */
function* layouts(runs: readonly BitRun[], maxDistance: number): Generator<BandLayout> {
  const bits = keyBits(runs);
  if (bits === 64 && runs.length === 1 && maxDistance === 3) yield mankuLayout(16);
  for (let blocks = maxDistance + 1; blocks <= maxDistance + MOST_BLOCKS_MORE; blocks++) {
    if (blocks > bits || binomial(blocks, maxDistance) > MOST_TABLES) {
      const isPlain = blocks === maxDistance + 1 && blocks <= Math.min(bits, MOST_BLOCKS);
      if (isPlain) yield blocksOf(runs, blocks);
      return;
    }
    yield choicesOf(blocksOf(runs, blocks), blocks - maxDistance);
  }
}

/** Where bits are tossed coins. */
function tableByChance(key: readonly BitRun[], count: number): TableWork {
  const { lowBits, highBits } = joinKeyOf(key, count);
  const comparisons = (count * (count - 1)) / 2 ** (lowBits + highBits + 1);
  return { keyBits: keyBits(key), comparisons, full: 0, fullRows: 0, splitMs: 0 };
}

/** The same as the sample shows it, where that is more. */
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
    if (size >= LEAST_SURE && rows > longestRun) {
      full++;
      fullRows += rows;
    } else pairs += (size * (size - 1)) / 2;
  }
  const sure = pairs - 3 * Math.sqrt(pairs + 1);
  const comparisons = (sure * all * (all - 1)) / Math.max(1, count * (count - 1));
  const chance = tableByChance(key, all);
  return {
    ...{ ...chance, full, fullRows: fullRows / Math.max(1, full) },
    // What full buckets hold is not compared in pairs.
    comparisons: full > 0 ? Math.max(0, comparisons) : Math.max(comparisons, chance.comparisons),
  };
}

/** How codes come to the buckets of a table, about one a code. */
export function joinKeyOf(key: readonly BitRun[], count: number): JoinKey {
  const parts: JoinKey['parts'][number][] = [];
  let left = MOST_KEY_BITS;
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
  const width = MOST_KEY_BITS - left;
  const wanted = Math.max(8, 32 - Math.clz32(count));
  const bucketBits = Math.min(width, wanted, MAX_BUCKET_BITS);
  const lowBits = Math.ceil(bucketBits / 2);
  const hashShift = bucketBits < width ? 32 - bucketBits : 0;
  return { parts, hashShift, lowBits, highBits: bucketBits - lowBits };
}

/** The bits of these runs that are not in the key. */
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

/** Ones at the bits of a key, over the words of a code. */
export function maskOf(key: readonly BitRun[], words: number): Uint32Array {
  const mask = new Uint32Array(words);
  for (const { firstBit, bits } of key) {
    for (const bit of range(firstBit, bits)) mask[bit >> 5] |= 1 << (bit & 31);
  }
  return mask;
}
