/**
 * All pairs of distinct codes within a distance, each once, in no order. Each table sorts the codes
 * by some of their bits and compares those that agree in all of these. A pair is reported only by
 * the first table in which it agrees, so no set of seen pairs is needed. Codes of a bucket that is
 * too large to be compared in pairs are joined by their other bits.
 *
 * Two codes within distance d agree in at least m - d of m blocks (pigeonhole principle), so that a
 * table for each choice of m - d blocks brings every such pair together. Few tables have short keys
 * and many candidates; many tables have long keys and few. Which tables there are, or none, changes
 * the time, never the answer.
 */

import { lowerBound } from '../base/arrays';
import type { LongWork } from '../base/long-work';
import {
  ENTRY,
  HIT,
  JOIN_WORK_AT,
  type JoinKey,
  JoinMemory,
  MAX_BUCKET_BITS,
} from '../kernels/joins';
import type { Job } from '../threads/job';
import { runJob } from '../threads/parallel';
import {
  type AllPart,
  BucketJob,
  JOINING,
  type JoinFound,
  type JoinPart,
  type JoinState,
  type Near,
} from './join-job';

/** Distinct codes, the first `count` of a memory that the join kernels read. */
interface JoinCodes {
  readonly memory: JoinMemory;
  readonly count: number;
  readonly bits: number;
}

/** Which pairs a join finds. */
export interface JoinWanted {
  readonly maxDistance: number;
  /** Bits in which the codes of a pair must agree. */
  readonly agree?: readonly BitRun[];
  /** Sets of bits; pairs that agree in all bits of one are left out. */
  readonly differ?: readonly (readonly BitRun[])[];
  /**
   * The lower distinct code of a pair must lie in `from` to `to - 1`. Read again for each part, so
   * that callers can narrow it.
   */
  readonly range: () => readonly [from: number, to: number];
  /** The tables; tests choose others than the cheapest. */
  readonly layout?: TableLayout;
}

/** Takes hits: two distinct codes, the lower first, and their distance. Valid during the call. */
type TakeHits = (hits: Uint32Array, count: number) => void;

/**
 * What is known of the codes where a join is nested in a large bucket of another: the bits that may
 * still differ, the bits in which pairs must agree, and the keys of earlier tables, in which pairs
 * must not agree entirely, since those tables report them.
 */
interface Around {
  readonly runs: readonly BitRun[];
  readonly required: readonly BitRun[];
  readonly rejects: readonly (readonly BitRun[])[];
}

/** Codes that are copied, and comparisons, between two steps: some milliseconds of work. */
const STEP_ROWS = 2 ** 18;
const STEP_COMPARISONS = 2 ** 22;
/** Queries of a block where all codes are compared with all. */
const QUERIES = 128;

/** Passes all pairs to `take`, each once; reports the share of the work that is done. */
export async function join(
  codes: JoinCodes,
  wanted: JoinWanted,
  take: TakeHits,
  work: LongWork,
): Promise<void> {
  const { agree = [], differ = [], maxDistance } = wanted;
  const runs = runsWithout([{ firstBit: 0, bits: codes.bits }], agree);
  const { memory, count } = codes;
  // Codes that must agree in some bits need one table, whose large buckets are joined by the rest.
  const cheapest = () => chooseLayout(memory.words, count, runs, maxDistance);
  const layout = agree.length > 0 ? [agree] : (wanted.layout ?? cheapest());
  await joinAs(codes, layout, wanted, { runs, required: agree, rejects: differ }, take, work);
}

/** A join of codes of which some bits are known to agree, see `Around`. */
async function joinAs(
  codes: JoinCodes,
  layout: TableLayout,
  wanted: JoinWanted,
  around: Around,
  take: TakeHits,
  work: LongWork,
): Promise<void> {
  if (layout.length === 0) await joinAll(codes, wanted, around, take, work);
  else await joinTables(codes, layout, wanted, around, take, work);
  await work.step(1, 1);
}

/** Sorts the codes by the key of each table, and compares those with equal keys. */
async function joinTables(
  codes: JoinCodes,
  layout: TableLayout,
  wanted: JoinWanted,
  around: Around,
  take: TakeHits,
  work: LongWork,
): Promise<void> {
  const { memory, count } = codes;
  const total = layout.length * count;
  const { range, maxDistance } = wanted;
  for (const [t, table] of layout.entries()) {
    const required = [...around.required, ...table];
    // The keys of earlier tables reject: their pairs were reported there.
    const rejects = [...around.rejects, ...layout.slice(0, t)];
    setMasks(memory, required, rejects);
    const near = { maxDistance, rejects: rejects.length };
    const buckets = { key: joinKeyOf(table, count), near };
    const progress = (done: number) => [t * count + done, total] as const;
    const client = { range, take, progress, budget: comparisonsOfStep(memory) };
    const job = new BucketJob(memory, count, buckets, client);
    await runJob(job, work);
    for (const [first, end] of job.long) {
      const inside = { runs: runsWithout(around.runs, table), required, rejects };
      await joinLong(codes, first, end, wanted, inside, take, work.quiet());
    }
  }
}

/** Writes the masks that kernels read: bits in which pairs must agree, then each reject. */
function setMasks(
  { arrays: { masks }, words }: JoinMemory,
  required: readonly BitRun[],
  rejects: readonly (readonly BitRun[])[],
): void {
  [required, ...rejects].forEach((runs, i) => {
    masks.set(maskOf(runs, words), i * words);
  });
}

/** Comparisons between two steps: fewer for wide codes. */
function comparisonsOfStep({ words }: JoinMemory): number {
  return Math.max(1024, Math.floor((2 * STEP_COMPARISONS) / words));
}

/** Copies the codes of a large bucket, and joins them by the bits outside of its key. */
async function joinLong(
  { memory, bits }: JoinCodes,
  first: number,
  end: number,
  wanted: JoinWanted,
  around: Around,
  take: TakeHits,
  work: LongWork,
): Promise<void> {
  const distincts = new Uint32Array(end - first);
  const { arrays, words } = memory;
  // One mask for what must agree, one for each reject so far, and one for each table to come.
  const masks = around.rejects.length + 1 + maxTables(wanted.maxDistance);
  const inner = JoinMemory.allocate(distincts.length, arrays.bytesPerCode, masks);
  for (let i = 0; i < distincts.length; i++) {
    const distinct = arrays.entries[ENTRY * (first + i)];
    distincts[i] = distinct;
    const [from, to] = [distinct * words, i * words];
    for (let w = 0; w < words; w++) inner.arrays.codes[to + w] = arrays.codes[from + w];
    if (i % STEP_ROWS === STEP_ROWS - 1) await work.step();
  }
  const codes = { memory: inner, count: distincts.length, bits };
  const layout = chooseLayout(words, codes.count, around.runs, wanted.maxDistance);
  // The range is of the outer codes; `distincts` ascend, so bisection finds the inner ones.
  const range = () => {
    const [from, to] = wanted.range();
    return [lowerBound(distincts, from), lowerBound(distincts, to)] as const;
  };
  const takeInner: TakeHits = (hits, count) => {
    for (let i = 0; i < HIT * count; i += HIT) {
      hits[i] = distincts[hits[i]];
      hits[i + 1] = distincts[hits[i + 1]];
    }
    take(hits, count);
  };
  await joinAs(codes, layout, { ...wanted, range }, around, takeInner, work);
}

/** Compares all codes with all, in blocks of queries; each pair by its lower code. */
async function joinAll(
  { memory, count }: JoinCodes,
  { maxDistance, range }: JoinWanted,
  { required, rejects }: Around,
  take: TakeHits,
  work: LongWork,
): Promise<void> {
  setMasks(memory, required, rejects);
  const near: Near = { maxDistance, rejects: rejects.length };
  const state: JoinState = { arrays: memory.arrays, key: null, near };
  const rows = Math.ceil(comparisonsOfStep(memory) / QUERIES);
  const parts: AllPart[] = [];
  const [from, to] = range();
  for (let query = QUERIES * Math.floor(from / QUERIES); query < Math.min(count, to); ) {
    const queries = Math.min(QUERIES, count - query);
    for (let first = query; first < count; first += rows) {
      parts.push({ stage: 'all', query, queries, first, end: Math.min(count, first + rows) });
    }
    query += queries;
  }
  const job: Job<JoinState, JoinPart, JoinFound> = {
    task: JOINING,
    state,
    count: parts.length,
    // The range may end earlier meanwhile: queries behind it are compared with nothing.
    part: (i) => (parts[i].query < range()[1] ? parts[i] : { ...parts[i], end: parts[i].first }),
    take(found, i) {
      if (found.count > 0) take(found.hits, found.count);
      return [i + 1, parts.length];
    },
    scratchBytes: JOIN_WORK_AT + memory.workBytes,
  };
  await runJob(job, work);
}

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
function chooseLayout(
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
function joinKeyOf(key: readonly BitRun[], count: number): JoinKey {
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
function runsWithout(runs: readonly BitRun[], key: readonly BitRun[]): BitRun[] {
  const bitsOf = ({ firstBit, bits }: BitRun) => range(firstBit, bits);
  const taken = new Set(key.flatMap(bitsOf));
  return runsOf(runs.flatMap(bitsOf).filter((bit) => !taken.has(bit)));
}

/** Ascending bits as runs. */
export function runsOf(bits: readonly number[]): BitRun[] {
  const runs: { firstBit: number; bits: number }[] = [];
  for (const bit of bits) {
    const last = runs.at(-1);
    if (last !== undefined && last.firstBit + last.bits === bit) last.bits++;
    else runs.push({ firstBit: bit, bits: 1 });
  }
  return runs;
}

function range(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => first + i);
}

/** The bits of a key as a mask over the words of a code. */
function maskOf(key: readonly BitRun[], words: number): Uint32Array {
  const mask = new Uint32Array(words);
  for (const { firstBit, bits } of key) {
    for (const bit of range(firstBit, bits)) mask[bit >> 5] |= 1 << (bit & 31);
  }
  return mask;
}

/**
 * Chooses which bits of a code are the key of which hash table, by the pigeonhole principle: of
 * codes cut into m blocks, two within distance m - 1 agree in a whole block, and two within
 * distance r differ in at most floor(r / m) bits of some block (Norouzi, Punjani & Fleet 2012).
 * Keys of several blocks make buckets smaller and need more tables (Manku, Jain & Das Sarma 2007,
 * section 3). Searches by bands and joins, which use the tables, estimate what they cost.
 */

/** Consecutive bits of a code; `firstBit` counts from 0. */
interface BitRun {
  readonly firstBit: number;
  readonly bits: number;
}

/** For each table, the runs whose bits, one after another, are the table's key. */
export type TableLayout = readonly (readonly BitRun[])[];

/** Number of key bits of one table. */
function keyBits(table: readonly BitRun[]): number {
  return table.reduce((sum, { bits }) => sum + bits, 0);
}

/**
 * Cuts a run into `parts` runs whose widths differ by at most one bit, the wider ones first. A run
 * of fewer bits than parts gives empty ones.
 */
function cut({ firstBit, bits }: BitRun, parts: number): BitRun[] {
  const wider = bits % parts;
  return Array.from({ length: parts }, (_, part) => ({
    firstBit: firstBit + part * Math.floor(bits / parts) + Math.min(part, wider),
    bits: Math.floor(bits / parts) + (part < wider ? 1 : 0),
  }));
}

/**
 * The layout of 16 tables by which Manku et al. find all 64-bit codes within distance 3. A key is
 * one of four blocks and one of four parts of the other three, 28 bits. Three differing bits leave
 * one block equal, and one part of the rest.
 */
export function mankuLayout(): TableLayout {
  const blocks = cut({ firstBit: 0, bits: 64 }, 4);
  return blocks.flatMap((block) => {
    const rest = blocks.filter((other) => other !== block);
    return blocksOf(rest, 4).map((part) => [block, ...part]);
  });
}

/** A table for each choice of `count` of the blocks; its key is all runs of the chosen blocks. */
export function choicesOf(blocks: TableLayout, count: number): BitRun[][] {
  if (count === 0) return [[]];
  return blocks.flatMap((block, i) =>
    choicesOf(blocks.slice(i + 1), count - 1).map((others) => [...block, ...others]),
  );
}

/** Cuts the bits of some runs, taken one after another, into blocks of nearly equal width. */
export function blocksOf(runs: readonly BitRun[], blocks: number): BitRun[][] {
  return cut({ firstBit: 0, bits: keyBits(runs) }, blocks).map((part) => {
    let before = 0; // bits of the runs before this one
    return runs.flatMap(({ firstBit, bits }) => {
      const from = Math.max(0, part.firstBit - before);
      const to = Math.min(bits, part.firstBit + part.bits - before);
      before += bits;
      return from < to ? [{ firstBit: firstBit + from, bits: to - from }] : [];
    });
  });
}

/**
 * The number of ways to choose `some` of `all`; 0 where `some` exceeds `all`. Exact where the
 * result times `some` is below 2^53.
 */
function binomial(all: number, some: number): number {
  if (some > all) return 0;
  // After step i, `ways` is the number of ways to choose i, so each division has no remainder.
  let ways = 1;
  for (let i = 1; i <= Math.min(some, all - some); i++) ways = (ways * (all - i + 1)) / i;
  return ways;
}
