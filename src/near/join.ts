/**
 * All pairs of distinct codes within a distance, each once, in no order. Each table sorts the codes
 * by some of their bits and compares those that agree in all of these. A pair is reported only by
 * the first table in which it agrees, so no set of seen pairs is needed. Codes of a bucket that is
 * too large to be compared in pairs are joined by their other bits.
 *
 * Two codes within distance d agree in at least m - d of m blocks (pigeonhole principle), so that a
 * table for each choice of m - d blocks brings every such pair together (Manku, Jain & Das Sarma
 * 2007, section 3). Few tables have short keys and many candidates; many tables have long keys and
 * few. Which tables there are, or none, changes the time, never the answer.
 *
 * Threads join codes in one shared memory. A table takes three stages: list the codes with their
 * buckets, scatter these entries by the higher digit of the bucket, then go through ranges of
 * buckets, each sorted by the lower digit first. A range with too many comparisons or hits for one
 * part is cut, and its rest is done later, so no part takes more than some milliseconds or much
 * memory. Without tables, blocks of queries are compared with all codes.
 */

import { lowerBound, type Range } from '../base/arrays';
import type { LongWork } from '../base/long-work';
import {
  ENTRY,
  HIT,
  type JoinArrays,
  type JoinKey,
  JoinMemory,
  MAX_BUCKET_BITS,
  PART_ENTRIES,
  type Runs,
} from '../kernels/joins';
import { hammingKernel } from '../kernels/kernels';
import type { Job, Task } from '../threads/job';
import { runJob } from '../threads/parallel';

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
  readonly agree?: readonly number[];
  /** Sets of bits; pairs that agree in all bits of one are left out. */
  readonly differ?: TableLayout;
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
  readonly bits: readonly number[];
  readonly required: readonly number[];
  readonly rejects: TableLayout;
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
  const { memory, count } = codes;
  const bits = without(Array.from({ length: codes.bits }).keys(), agree);
  // Codes that must agree in some bits need one table, whose large buckets are joined by the rest.
  const cheapest = () => chooseLayout(memory.words, count, bits, maxDistance);
  const layout = agree.length > 0 ? [agree] : (wanted.layout ?? cheapest());
  await joinAs(codes, layout, wanted, { bits, required: agree, rejects: differ }, take, work);
}

/**
 * A join of codes of which some bits are known to agree, see `Around`. Sorts the codes by the key
 * of each table, and compares those with equal keys; without tables all with all.
 */
async function joinAs(
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
  if (layout.length === 0) await joinAll(codes, wanted, around, take, work);
  for (const [t, table] of layout.entries()) {
    const required = [...around.required, ...table];
    // The keys of earlier tables reject: their pairs were reported there.
    const rejects = [...around.rejects, ...layout.slice(0, t)];
    setMasks(memory, required, rejects);
    const near = { maxDistance, rejects: rejects.length };
    const buckets = { key: joinKeyOf(table, count), near };
    const client = { range, take, before: t * count, total };
    const long = await joinTable(codes, buckets, client, work);
    for (const entries of long) {
      const inside = { bits: without(around.bits, table), required, rejects };
      await joinLong(codes, entries, wanted, inside, take, work.quiet());
    }
  }
  await work.step(1, 1);
}

/** Writes the masks that kernels read: bits in which pairs must agree, then each reject. */
function setMasks(
  { arrays: { masks }, words }: JoinMemory,
  required: readonly number[],
  rejects: TableLayout,
): void {
  [required, ...rejects].forEach((bits, i) => {
    const mask = masks.subarray(i * words, (i + 1) * words).fill(0);
    for (const bit of bits) mask[bit >> 5] |= 1 << (bit & 31);
  });
}

/** The bits that are not in the key. */
function without(bits: Iterable<number>, key: readonly number[]): number[] {
  const taken = new Set(key);
  return Array.from(bits).filter((bit) => !taken.has(bit));
}

/** Comparisons between two steps: fewer for wide codes. */
function comparisonsOfStep({ words }: JoinMemory): number {
  return Math.max(1024, Math.floor((2 * STEP_COMPARISONS) / words));
}

/** Copies the codes of a large bucket, and joins them by the bits outside of its key. */
async function joinLong(
  { memory, bits }: JoinCodes,
  { first, end }: Range,
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
  const layout = chooseLayout(words, codes.count, around.bits, wanted.maxDistance);
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
  const job: JoinJob = {
    ...sharedOf(memory, null, near),
    count: parts.length,
    // The range may end earlier meanwhile: queries behind it are compared with nothing.
    part: (i) => (parts[i].query < range()[1] ? parts[i] : { ...parts[i], end: parts[i].first }),
    take(found, i) {
      if (found.count > 0) take(found.hits, found.count);
      return [i + 1, parts.length];
    },
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
 * The cheapest layout to join `count` codes of `words` 32-bit words that may differ in `bits`, as
 * if these were random; without tables to compare all codes with all. Buckets that are larger than
 * chance makes them are joined by their other bits.
 */
function chooseLayout(
  words: number,
  count: number,
  bits: readonly number[],
  maxDistance: number,
): TableLayout {
  const pairs = (count * (count - 1)) / 2;
  const compared = words === 2 ? COMPARED_NS : COMPARED_WIDE_NS;
  const first = maxDistance + 1;
  const most = Math.min(bits.length, maxDistance + MAX_BLOCKS_MORE);
  let best = 0;
  let least = pairs * (SCANNED_NS + words * SCANNED_WORD_NS);
  for (let blocks = first; blocks <= most; blocks++) {
    const tables = binomial(blocks, maxDistance);
    if (tables > MAX_TABLES && (blocks > first || blocks > MAX_BLOCKS)) break;
    const width = Math.floor((bits.length * (blocks - maxDistance)) / blocks);
    const inBuckets = pairs / 2 ** bucketBitsOf(width, count);
    const cost = tables * (count * ENTRY_NS + inBuckets * compared);
    if (cost < least) [best, least] = [blocks, cost];
  }
  return best === 0 ? [] : choicesOf(blocksOf(bits, best), best - maxDistance);
}

/** Most tables of any layout for a distance: kernels need a mask for each. */
export function maxTables(maxDistance: number): number {
  return Math.max(MAX_TABLES, Math.min(MAX_BLOCKS, maxDistance + 1));
}

/** Bits that tell the buckets of keys of `width` bits: about as many buckets as codes. */
function bucketBitsOf(width: number, count: number): number {
  const wanted = Math.max(8, 32 - Math.clz32(count));
  return Math.min(width, wanted, MAX_BUCKET_BITS);
}

/** How codes are mapped to the buckets of a table. */
function joinKeyOf(key: readonly number[], count: number): JoinKey {
  const width = Math.min(key.length, MAX_KEY_BITS);
  const parts: JoinKey['parts'][number][] = [];
  for (let i = 0; i < width; ) {
    const shift = key[i] % 32;
    let length = 1;
    while (i + length < width && shift + length < 32 && key[i + length] === key[i] + length) {
      length++;
    }
    parts.push({ word: key[i] >> 5, left: 32 - shift - length, right: 32 - length });
    i += length;
  }
  const bucketBits = bucketBitsOf(width, count);
  const lowBits = Math.ceil(bucketBits / 2);
  const hashShift = bucketBits < width ? 32 - bucketBits : 0;
  return { parts, hashShift, lowBits };
}

/** For each table its key: bits of a code, counted from 0. */
export type TableLayout = readonly (readonly number[])[];

/** A table for each choice of `count` of the blocks; its key is all bits of the chosen blocks. */
export function choicesOf(blocks: TableLayout, count: number): number[][] {
  if (count === 0) return [[]];
  return blocks.flatMap((block, i) =>
    choicesOf(blocks.slice(i + 1), count - 1).map((others) => [...block, ...others]),
  );
}

/** Cuts bits into blocks whose widths differ by at most one, the wider ones first. */
export function blocksOf(bits: readonly number[], blocks: number): number[][] {
  const width = Math.floor(bits.length / blocks);
  const startOf = (block: number) => block * width + Math.min(block, bits.length % blocks);
  return Array.from({ length: blocks }, (_, i) => bits.slice(startOf(i), startOf(i + 1)));
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

/** Near pairs agree in the first mask of the memory and in none of the next `rejects` masks. */
type Near = Pick<Runs, 'maxDistance' | 'rejects'>;

/** What all parts of a join share; `key` is null where all codes are compared with all. */
interface JoinState {
  readonly arrays: JoinArrays;
  readonly key: JoinKey | null;
  readonly near: Near;
}

/** A part of one stage: codes or entries `first` to `end - 1`. */
type JoinPart =
  | { readonly stage: 'list' | 'scatter'; part: number; first: number; end: number }
  | BucketPart
  | AllPart;

/** A block of queries, which are compared with codes `first` to `end - 1`. */
interface AllPart {
  readonly stage: 'all';
  readonly query: number;
  readonly queries: number;
  readonly first: number;
  readonly end: number;
}

/** A range of buckets; the lower code of a pair must be in `fromCode` to `toCode - 1`. */
interface BucketPart extends BucketRange, Pick<Runs, 'fromCode' | 'toCode' | 'budget'> {
  readonly stage: 'buckets';
}

/** Hits as kernels write them, and where the part stopped, as in `Runs`. */
interface JoinFound {
  readonly hits: Uint32Array;
  readonly count: number;
  readonly next: number;
  readonly place: number;
  readonly longEnd: number;
}

const NOTHING = { hits: new Uint32Array(), count: 0, next: 0, place: 0, longEnd: 0 };

type JoinJob = Job<JoinState, JoinPart, JoinFound>;

/** What all jobs over a memory share. */
function sharedOf(memory: JoinMemory, key: JoinKey | null, near: Near) {
  const state: JoinState = { arrays: memory.arrays, key, near };
  return {
    task: JOINING,
    state,
    // The memory of this thread, of which `open` would make views again.
    here: (part: JoinPart) => joinPart(memory, state, part),
  };
}

/** Joins parts of tables; parts of a stage write to disjoint places of the shared memory. */
export const JOINING: Task<JoinState, JoinPart, JoinFound> = {
  name: 'joining',
  open(state) {
    const memory = new JoinMemory(state.arrays);
    return (part) => joinPart(memory, state, part);
  },
};

/**
 * Does a part in the memory of this thread: of buckets as much as the budget allows. Its hits are
 * valid until the next part.
 */
function joinPart(memory: JoinMemory, { key, near }: JoinState, part: JoinPart): JoinFound {
  if (part.stage === 'all' || key === null) return comparedWithAll(memory, near, part as AllPart);
  const { first, end } = part;
  if (part.stage === 'buckets') {
    if (!part.isSorted) memory.sortLow(first, end, key.lowBits);
    const { place, fromCode, toCode, budget } = part;
    const state: Runs = { ...near, fromCode, toCode, next: first, place, longEnd: 0, budget };
    const count = memory.runs(end, state);
    const hits = memory.hits.subarray(0, HIT * count);
    return { hits, count, next: state.next, place: state.place, longEnd: state.longEnd };
  }
  const counts = memory.countsOf(part.part);
  if (part.stage === 'scatter') memory.scatter(first, end, key.lowBits, counts);
  else memory.keysInto(first, end, key, counts.fill(0));
  return NOTHING;
}

/** Compares a block of queries with codes behind them, so that each pair is found once. */
function comparedWithAll(
  { arrays: { codes, masks }, words }: JoinMemory,
  { maxDistance, rejects }: Near,
  { query, queries, first, end }: AllPart,
): JoinFound {
  const bytesPerCode = 4 * words;
  const bytes = new Uint8Array(codes.buffer, codes.byteOffset, codes.byteLength);
  const some = bytes.slice(query * bytesPerCode, (query + queries) * bytesPerCode);
  const limits = new Uint32Array(queries).fill(maxDistance + 1);
  const hits: number[] = [];
  const scan = hammingKernel();
  scan.hitsOfMany(bytes, first, end - first, some, limits, (i, other, distance) => {
    const code = query + i;
    if (other <= code) return;
    // A pair agrees in the first mask and differs in each of the others.
    for (let mask = 0; mask <= rejects; mask++) {
      const differs = isMasked(codes, code * words, other * words, masks, mask * words, words);
      if (differs === (mask === 0)) return;
    }
    hits.push(code, other, distance);
  });
  return { ...NOTHING, hits: Uint32Array.from(hits), count: hits.length / HIT };
}

/** True if two codes, whose first words are at `a` and `b`, differ in a bit of a mask. */
function isMasked(
  codes: Uint32Array,
  a: number,
  b: number,
  masks: Uint32Array,
  mask: number,
  words: number,
): boolean {
  for (let w = 0; w < words; w++) {
    if (((codes[a + w] ^ codes[b + w]) & masks[mask + w]) !== 0) return true;
  }
  return false;
}

/** Most entries of a range, unless one bucket has more; those of less than MIN_RANGE stay whole. */
const RANGE_ENTRIES = 2 ** 16;
const MIN_RANGE = 2 ** 10;

/**
 * Entries `first` to `end - 1`, whole buckets. `place` is where to go on in the first bucket;
 * `isSorted` says that the lower digit was sorted already.
 */
interface BucketRange extends Range {
  readonly place: number;
  readonly isSorted: boolean;
}

/**
 * Joins codes of equal bucket of one table in three stages. Returns the buckets, as ranges of
 * entries, that are too large to be compared in pairs.
 */
async function joinTable(
  { memory, count }: JoinCodes,
  { key, near }: { readonly key: JoinKey; readonly near: Near },
  { range, take, before, total }: TableClient,
  work: LongWork,
): Promise<Range[]> {
  const shared = sharedOf(memory, key, near);
  const parts = Math.ceil(count / PART_ENTRIES);
  const listing = (stage: 'list' | 'scatter'): JoinJob => ({
    ...shared,
    count: parts,
    part(part) {
      const first = part * PART_ENTRIES;
      return { stage, part, first, end: Math.min(count, first + PART_ENTRIES) };
    },
    take: () => undefined,
  });
  await runJob(listing('list'), work);
  const ranges = placedRanges(memory, parts, count);
  await runJob(listing('scatter'), work);
  const long: Range[] = [];
  const budget = comparisonsOfStep(memory);
  let done = before;
  const joining: JoinJob = {
    ...shared,
    get count() {
      return ranges.length; // grows while rests are added
    },
    part(i) {
      const [fromCode, toCode] = range();
      return { stage: 'buckets', ...ranges[i], fromCode, toCode, budget };
    },
    take(found, i) {
      const { first, end } = ranges[i];
      if (found.count > 0) take(found.hits, found.count);
      let { next, place } = found;
      // A bucket too large for pairs is left out, and the part goes on behind it.
      if (found.longEnd > 0) {
        long.push({ first: next, end: found.longEnd });
        [next, place] = [found.longEnd, 0];
      }
      if (next < end) ranges.push(...rests(memory, next, place, end));
      done += next - first;
      return [done, total];
    },
  };
  await runJob(joining, work);
  return long;
}

/** Takes the hits of a table; of `total` entries so many were done `before`. */
interface TableClient extends Pick<JoinWanted, 'range'> {
  readonly take: TakeHits;
  readonly before: number;
  readonly total: number;
}

/**
 * Turns the counts of the parts into places, digit by digit and part by part, so that `scatter`
 * can write; and cuts the digits into ranges.
 */
function placedRanges(memory: JoinMemory, parts: number, codes: number): BucketRange[] {
  const counts = Array.from({ length: parts }, (_, part) => memory.countsOf(part));
  const ranges: BucketRange[] = [];
  // Two at least, so that threads which callers ask for have parts.
  const size = Math.min(RANGE_ENTRIES, Math.max(4 * MIN_RANGE, codes >> 1));
  let [first, sum] = [0, 0];
  for (let digit = 0; sum < codes; digit++) {
    for (const offsets of counts) {
      const before = sum;
      sum += offsets[digit];
      offsets[digit] = before;
    }
    if (sum - first < size && sum < codes) continue;
    ranges.push({ first, end: sum, place: 0, isSorted: false });
    first = sum;
  }
  return ranges;
}

/** The rest of a range as a new one, or as two if it is long. */
function rests(memory: JoinMemory, first: number, place: number, end: number): BucketRange[] {
  const { entries } = memory.arrays;
  const bucketAt = (i: number) => entries[ENTRY * i + 1];
  let middle = end - first < MIN_RANGE ? end : first + ((end - first) >> 1);
  // The cut must not split a bucket, whose codes are compared with each other.
  while (middle < end && bucketAt(middle) === bucketAt(middle - 1)) middle++;
  const rest = { first, end: middle, place, isSorted: true };
  return middle < end ? [rest, { first: middle, end, place: 0, isSorted: true }] : [rest];
}
