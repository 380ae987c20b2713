/**
 * The task by which threads join codes in one shared memory, and the job of one table. A table
 * takes three stages: list the codes with their buckets, scatter these entries by the higher digit
 * of the bucket, then go through ranges of buckets, each sorted by the lower digit first. A range
 * with too many comparisons or hits for one part is cut, and its rest is done later, so no part
 * takes more than some milliseconds or much memory. Without tables, blocks of queries are compared
 * with all codes.
 */

import {
  ENTRY,
  HIT,
  JOIN_WORK_AT,
  type JoinArrays,
  type JoinKey,
  JoinMemory,
  joinKernel,
  PART_ENTRIES,
  type Runs,
} from '../kernels/joins';
import { hammingKernel } from '../kernels/kernels';
import { memoryOf } from '../kernels/memory';
import type { Job, Task } from '../threads/job';

/** Near pairs agree in the first mask of the memory and in none of the next `rejects` masks. */
export interface Near {
  readonly maxDistance: number;
  readonly rejects: number;
}

/** What all parts of a join share; `key` is null where all codes are compared with all. */
export interface JoinState {
  readonly arrays: JoinArrays;
  readonly key: JoinKey | null;
  readonly near: Near;
}

/** A part of one stage: codes or entries `first` to `end - 1`. */
export type JoinPart =
  | { readonly stage: 'list' | 'scatter'; part: number; first: number; end: number }
  | BucketPart
  | AllPart;

/** A block of queries, which are compared with codes `first` to `end - 1`. */
export interface AllPart {
  readonly stage: 'all';
  readonly query: number;
  readonly queries: number;
  readonly first: number;
  readonly end: number;
}

/** Entries `first` to `end - 1`; the lower code of a pair must be in `fromCode` to `toCode - 1`. */
interface BucketPart extends Omit<Runs, keyof Near | 'next' | 'longEnd'> {
  readonly stage: 'buckets';
  readonly first: number;
  readonly end: number;
  readonly isSorted: boolean;
}

/** Hits as kernels write them, and where the part stopped, as in `Runs`. */
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
function joinPart(memory: JoinMemory, { key, near }: JoinState, part: JoinPart): JoinFound {
  if (part.stage === 'all' || key === null) return comparedWithAll(memory, near, part as AllPart);
  const { first, end } = part;
  if (part.stage === 'buckets') {
    if (!part.isSorted) joinKernel.sortLow(memory, first, end, key.lowBits);
    return pairsOf(memory, near, part);
  }
  const counts = memory.countsOf(part.part);
  if (part.stage === 'scatter') joinKernel.scatter(memory, first, end, key.lowBits, counts);
  else joinKernel.keysInto(memory, first, end, key, counts.fill(0));
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

/** Receives the hits. `range` limits the lower code of a pair, and is read again for each part. */
interface BucketClient {
  range(): readonly [from: number, to: number];
  take(hits: Uint32Array, count: number): void;
  progress(done: number): readonly [done: number, total: number];
  /** Most comparisons of a part. */
  readonly budget: number;
}

/** Entries of a range of buckets, unless one has more; below MIN_RANGE, none is split. */
const RANGE_ENTRIES = 2 ** 16;
const MIN_RANGE = 2 ** 10;

/**
 * Entries `first` to `end - 1`, whole buckets. `place` is where to go on in the first bucket;
 * `isSorted` says that the lower digit was sorted already.
 */
interface Range {
  readonly first: number;
  readonly end: number;
  readonly place: number;
  readonly isSorted: boolean;
}

/**
 * The parts of one table in three stages, each of which waits for the one before.
 * After the job, `long` lists the buckets that were left out.
 */
export class BucketJob implements Job<JoinState, JoinPart, JoinFound> {
  readonly task = JOINING;
  readonly state: JoinState;
  readonly scratchBytes: number;
  /** Buckets, as ranges of entries, that were too large to be compared in pairs. */
  readonly long: (readonly [first: number, end: number])[] = [];
  readonly #memory: JoinMemory;
  readonly #codes: number;
  readonly #client: BucketClient;
  /** Number of parts in each of the first two stages. */
  readonly #parts: number;
  /** Parts of the third stage; known after the first stage, and extended by rests of ranges. */
  #ranges: Range[] | null = null;
  /** Entries that the third stage has done. */
  #done = 0;

  /** For the first `codes` codes of a memory, which get their buckets by `key`. */
  constructor(
    memory: JoinMemory,
    codes: number,
    { key, near }: { readonly key: JoinKey; readonly near: Near },
    client: BucketClient,
  ) {
    this.state = { arrays: memory.arrays, key, near };
    this.scratchBytes = JOIN_WORK_AT + memory.workBytes;
    this.#memory = memory;
    this.#codes = codes;
    this.#client = client;
    this.#parts = Math.ceil(codes / PART_ENTRIES);
  }

  /** Grows while rests of ranges are added; estimated until the first stage is done. */
  get count(): number {
    return 2 * this.#parts + (this.#ranges?.length ?? this.#parts);
  }

  /** Results that part `i` waits for: those of all stages before its own. */
  after(i: number): number {
    return Math.min(2, Math.floor(i / this.#parts)) * this.#parts;
  }

  part(i: number): JoinPart {
    const part = i % this.#parts;
    if (i < 2 * this.#parts) {
      const first = part * PART_ENTRIES;
      const end = Math.min(this.#codes, first + PART_ENTRIES);
      return { stage: i < this.#parts ? 'list' : 'scatter', part, first, end };
    }
    const { budget } = this.#client;
    const [fromCode, toCode] = this.#client.range();
    const { first, end, place, isSorted } = this.#rangeAt(i);
    return { stage: 'buckets', first, end, place, isSorted, fromCode, toCode, budget };
  }

  /** Uses the memory of this thread, where `open` would make views of it again. */
  here(part: JoinPart): JoinFound {
    return joinPart(this.#memory, this.state, part);
  }

  take(found: JoinFound, i: number): readonly [number, number] | undefined {
    // All codes are listed and counted, so the places of entries and the ranges are known.
    if (i === this.#parts - 1) this.#ranges = this.#placed();
    if (i < 2 * this.#parts) return undefined;
    const { first, end } = this.#rangeAt(i);
    if (found.count > 0) this.#client.take(found.hits, found.count);
    let { next, place } = found;
    // A bucket too large for pairs is left out, and the part goes on behind it.
    if (found.longEnd > 0) {
      this.long.push([next, found.longEnd]);
      [next, place] = [found.longEnd, 0];
    }
    if (next < end) this.#leave(next, place, end);
    this.#done += next - first;
    return this.#client.progress(this.#done);
  }

  #rangeAt(i: number): Range {
    return (this.#ranges as Range[])[i - 2 * this.#parts];
  }

  /**
   * Turns the counts of the parts into places, digit by digit and part by part, so that `scatter`
   * can write; and cuts the digits into ranges.
   */
  #placed(): Range[] {
    const counts = Array.from({ length: this.#parts }, (_, part) => this.#memory.countsOf(part));
    const ranges: Range[] = [];
    let [first, sum] = [0, 0];
    for (let digit = 0; sum < this.#codes; digit++) {
      for (const offsets of counts) {
        const before = sum;
        sum += offsets[digit];
        offsets[digit] = before;
      }
      if (sum - first < RANGE_ENTRIES && sum < this.#codes) continue;
      ranges.push({ first, end: sum, place: 0, isSorted: false });
      first = sum;
    }
    return ranges;
  }

  /** Adds the rest of a range as a new part, or as two if it is long. */
  #leave(first: number, place: number, end: number): void {
    const { entries } = this.#memory.arrays;
    const bucketAt = (i: number) => entries[ENTRY * i + 1];
    let middle = end - first < MIN_RANGE ? end : first + ((end - first) >> 1);
    // The cut must not split a bucket, whose codes are compared with each other.
    while (middle < end && bucketAt(middle) === bucketAt(middle - 1)) middle++;
    const ranges = this.#ranges as Range[];
    ranges.push({ first, end: middle, place, isSorted: true });
    if (middle < end) ranges.push({ first: middle, end, place: 0, isSorted: true });
  }
}
