/**
 * The task by which threads join codes in one shared memory. A table takes three stages: list the
 * codes with their buckets, scatter these entries by the higher digit of the bucket, then go
 * through ranges of buckets, each sorted by the lower digit first. Without tables, blocks of
 * queries are compared with all codes.
 */

import type { Secret } from '../base/secret';
import {
  HIT,
  JOIN_WORK_AT,
  type JoinArrays,
  type JoinKey,
  JoinMemory,
  joinKernel,
  type Runs,
} from '../kernels/joins';
import { hammingKernel, type KernelName } from '../kernels/kernels';
import { memoryOf } from '../kernels/memory';
import type { Task } from '../threads/job';

/** How codes get their buckets, and what is looked for in each: near pairs, or equal codes. */
export type BucketWork =
  | { readonly kind: 'pairs'; readonly key: JoinKey; readonly near: Near }
  | { readonly kind: 'equal'; readonly secret: Secret; readonly low: Digit };

/** The lower digit of a bucket; the higher digit is the bits above it. */
interface Digit {
  readonly shift: number;
  readonly bits: number;
}

/** Near pairs agree in the first mask of the memory and in none of the next `rejects` masks. */
export interface Near {
  readonly maxDistance: number;
  readonly rejects: number;
}

/** What all parts of a join share. */
export interface JoinState {
  readonly arrays: JoinArrays;
  readonly kernel: KernelName | undefined;
  readonly work: BucketWork | { readonly kind: 'all'; readonly near: Near };
}

/** A part of one stage: codes or entries `first` to `end - 1`. */
export type JoinPart =
  | { readonly stage: 'list' | 'scatter'; part: number; first: number; end: number }
  | BucketPart
  | { readonly stage: 'all'; query: number; queries: number; first: number; end: number };

/** Entries `first` to `end - 1`; the lower code of a pair must be in `fromCode` to `toCode - 1`. */
interface BucketPart extends Omit<Runs, keyof Near | 'next' | 'longEnd'> {
  readonly stage: 'buckets';
  readonly first: number;
  readonly end: number;
  readonly isSorted: boolean;
}

/** Hits as kernels write them, or the number of equal codes; and where it stopped, as in `Runs`. */
export interface JoinFound {
  readonly hits: Uint32Array;
  readonly count: number;
  readonly next: number;
  readonly place: number;
  readonly longEnd: number;
}

const NOTHING = { hits: new Uint32Array(), count: 0, next: 0, place: 0, longEnd: 0 };

/** Joins parts of tables; parts of a stage write to disjoint places of the shared memory. */
export const JOINING: Task<JoinState, JoinPart, JoinFound> = {
  name: 'joining',
  open(state) {
    const { arrays } = state;
    const memory = new JoinMemory(arrays, (memoryOf(arrays.codes)?.free ?? 0) + JOIN_WORK_AT);
    return (part) => joinPart(memory, state, part);
  },
};

/** Does a part in the memory of this thread; its hits are valid until the next part. */
export function joinPart(memory: JoinMemory, state: JoinState, part: JoinPart): JoinFound {
  const { work } = state;
  if (part.stage === 'all') return comparedWithAll(memory, state, part);
  if (work.kind === 'all') return NOTHING;
  const low = work.kind === 'equal' ? work.low : { shift: 0, bits: work.key.lowBits };
  if (part.stage === 'buckets') {
    if (!part.isSorted) joinKernel.sortLow(memory, part.first, part.end, low);
    if (work.kind === 'pairs') return pairsOf(memory, work.near, part);
    const count = joinKernel.equalsInto(memory, part.first, part.end, low.shift);
    return { ...NOTHING, count, next: part.end };
  }
  const shift = low.shift + low.bits;
  const counts = memory.countsOf(part.part);
  const { first, end } = part;
  if (part.stage === 'scatter') joinKernel.scatter(memory, first, end, shift, counts);
  else {
    counts.fill(0);
    if (work.kind === 'pairs') joinKernel.keysInto(memory, first, end, work.key, counts);
    else joinKernel.hashesInto(memory, first, end, { secret: work.secret, shift }, counts);
  }
  return NOTHING;
}

/** Finds near pairs in sorted buckets, up to the budget. */
function pairsOf(
  memory: JoinMemory,
  near: Near,
  { first, end, place, fromCode, toCode, budget }: BucketPart,
): JoinFound {
  const state: Runs = { ...near, fromCode, toCode, next: first, place, longEnd: 0, budget };
  const count = joinKernel.runs(memory, end, state);
  const hits = memory.hits.subarray(0, HIT * count);
  return { hits, count, next: state.next, place: state.place, longEnd: state.longEnd };
}

/** Compares a block of queries with codes behind them, so that each pair is found once. */
function comparedWithAll(
  { arrays: { codes, masks }, words }: JoinMemory,
  { kernel, work }: JoinState,
  { query, queries, first, end }: Extract<JoinPart, { stage: 'all' }>,
): JoinFound {
  if (work.kind !== 'all') return NOTHING;
  const { maxDistance, rejects } = work.near;
  const bytesPerCode = 4 * words;
  const bytes = new Uint8Array(codes.buffer, codes.byteOffset, codes.byteLength);
  const some = bytes.slice(query * bytesPerCode, (query + queries) * bytesPerCode);
  const limits = new Uint32Array(queries).fill(maxDistance + 1);
  const hits: number[] = [];
  const scan = hammingKernel(kernel, bytesPerCode);
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
