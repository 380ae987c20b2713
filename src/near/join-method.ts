/**
 * Chooses the tables of a join, or none, where all codes are compared with all. Two codes within
 * distance d agree in at least m - d of m blocks (pigeonhole principle), so a table for each choice
 * of m - d blocks brings every such pair together. Few tables have short keys and many candidates;
 * many tables have long keys and few. The choice changes the time, never the answer.
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
import { type JoinKey, MAX_BUCKET_BITS } from '../kernels/joins';

/** Layouts with more tables are not considered. */
const MAX_TABLES = 64;
/** Most tables where each has one block: with more, comparing all with all is cheaper. */
const MAX_BLOCKS = 256;
/** Most blocks of a layout beyond the distance. */
const MAX_BLOCKS_MORE = 8;
/**
 * Nanoseconds by bench/pairs.mjs, of which only the ratios matter: of an entry of a table, of a
 * comparison of two codes of a bucket, where codes of more than 64 bits miss the cache more often,
 * and of one where all are compared with all, for a code and for each of its 32-bit words.
 */
const ENTRY_NS = 32;
const COMPARED_NS = 0.85;
const COMPARED_WIDE_NS = 2.3;
const SCANNED_NS = 0.25;
const SCANNED_WORD_NS = 0.15;
/** Bits of a key that choose its bucket; further ones are compared only. */
const MAX_KEY_BITS = 64;

/**
 * The cheapest layout to join `count` codes of `words` 32-bit words that may differ in the bits of
 * `runs`, as if these were random; without tables to compare all codes with all. Buckets that are
 * larger than chance makes them are joined by their other bits.
 */
export function chooseLayout(
  words: number,
  count: number,
  runs: readonly BitRun[],
  maxDistance: number,
): TableLayout {
  const pairs = (count * (count - 1)) / 2;
  const compared = words === 2 ? COMPARED_NS : COMPARED_WIDE_NS;
  let best: TableLayout = [];
  let least = pairs * (SCANNED_NS + words * SCANNED_WORD_NS);
  for (const layout of layoutsFor(runs, maxDistance)) {
    const inBuckets = layout.reduce((sum, key) => {
      const { lowBits, highBits } = joinKeyOf(key, count);
      return sum + pairs / 2 ** (lowBits + highBits);
    }, 0);
    const cost = layout.length * count * ENTRY_NS + inBuckets * compared;
    if (cost < least) [best, least] = [layout, cost];
  }
  return best;
}

/** Most tables of any layout for a distance: kernels need a mask for each. */
export function maxTables(maxDistance: number): number {
  return Math.max(MAX_TABLES, Math.min(MAX_BLOCKS, maxDistance + 1));
}

/** The layouts that find all pairs within a distance, those with the fewest tables first. */
function layoutsFor(runs: readonly BitRun[], maxDistance: number): TableLayout[] {
  const bits = keyBits(runs);
  const isManku = runs.length === 1 && runs[0].firstBit === 0 && bits === 64;
  const found = isManku && maxDistance === 3 ? [mankuLayout()] : [];
  const first = maxDistance + 1;
  for (let blocks = first; blocks <= maxDistance + MAX_BLOCKS_MORE; blocks++) {
    const isFew = blocks <= bits && binomial(blocks, maxDistance) <= MAX_TABLES;
    const isPlain = blocks === first && blocks <= Math.min(bits, MAX_BLOCKS);
    if (isFew) found.push(choicesOf(blocksOf(runs, blocks), blocks - maxDistance));
    else if (isPlain) found.push(blocksOf(runs, blocks));
    if (!isFew) break;
  }
  return found;
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
