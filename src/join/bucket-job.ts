/**
 * A table of a join, or the search for equal codes, in parts that threads share. Ranges of buckets
 * that have too many comparisons or hits for one part are split, and their rest is done later, so
 * no part takes more than some milliseconds or much memory.
 */

import { ENTRY, type JoinMemory, PART_ENTRIES } from '../kernels/joins/join-memory';
import { JOIN_WORK_AT } from '../kernels/joins/joins.wasm';
import type { KernelName } from '../kernels/kernels';
import type { Job } from '../threads/job';
import {
  type BucketWork,
  JOINING,
  type JoinFound,
  type JoinPart,
  type JoinState,
  joinPart,
} from './join-task';

/** What a job is for: where lower codes of pairs lie, read again for each part; takes the hits. */
interface BucketClient {
  readonly range?: () => readonly [from: number, to: number];
  take(hits: Uint32Array, count: number): void;
  progress?(done: number): readonly [done: number, total: number];
  /** Comparisons of a part. */
  readonly budget?: number;
}

/** Entries of a range of buckets, where no bucket has more; fewer are not split. */
const RANGE_ENTRIES = 2 ** 16;
const MIN_RANGE = 2 ** 10;

interface Range {
  readonly first: number;
  readonly end: number;
  readonly place: number;
  readonly isSorted: boolean;
}

/**
 * The parts of one table in three stages, each of which waits for the one before. `long` lists what
 * was left out, and is complete when the job has ended.
 */
export class BucketJob implements Job<JoinState, JoinPart, JoinFound> {
  readonly task = JOINING;
  readonly state: JoinState;
  readonly scratchBytes: number;
  /** Entries of overfull buckets, from and up to, which were left out. */
  readonly long: (readonly [first: number, end: number])[] = [];
  readonly #memory: JoinMemory;
  readonly #codes: number;
  readonly #client: BucketClient;
  /** Parts of each of the first two stages. */
  readonly #parts: number;
  /** Known when the first stage is done. */
  #ranges: Range[] | null = null;
  #done = 0;

  /** Of the first `codes` codes of a memory. */
  constructor(
    memory: JoinMemory,
    codes: number,
    { work, kernel }: { work: BucketWork; kernel: KernelName | undefined },
    client: BucketClient,
  ) {
    this.state = { arrays: memory.arrays, kernel, work };
    this.scratchBytes = JOIN_WORK_AT + memory.workBytes;
    this.#memory = memory;
    this.#codes = codes;
    this.#client = client;
    this.#parts = Math.ceil(codes / PART_ENTRIES);
  }

  get count(): number {
    return 2 * this.#parts + (this.#ranges?.length ?? this.#parts);
  }

  /** The results that a part waits for: those of the stage before. */
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
    const { range, budget = 0 } = this.#client;
    const [fromCode, toCode] = range?.() ?? [0, this.#codes];
    const { first, end, place, isSorted } = this.#rangeAt(i);
    return { stage: 'buckets', first, end, place, isSorted, fromCode, toCode, budget };
  }

  here(part: JoinPart): JoinFound {
    return joinPart(this.#memory, this.state, part);
  }

  take(found: JoinFound, i: number): readonly [number, number] | undefined {
    if (i === this.#parts - 1) this.#ranges = this.#placed();
    if (i < 2 * this.#parts) return undefined;
    const { first, end } = this.#rangeAt(i);
    if (found.count > 0) this.#client.take(found.hits, found.count);
    let { next, place } = found;
    if (found.longEnd > 0) {
      this.long.push([next, found.longEnd]);
      [next, place] = [found.longEnd, 0];
    }
    if (next < end) this.#leave(next, place, end);
    this.#done += next - first;
    return this.#client.progress?.(this.#done);
  }

  #rangeAt(i: number): Range {
    return (this.#ranges as Range[])[i - 2 * this.#parts];
  }

  /** Turns counts into places, part after part for each digit; cuts the digits into ranges. */
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

  /** Leaves the rest of a range for later, in two where it is long. */
  #leave(first: number, place: number, end: number): void {
    const { entries } = this.#memory.arrays;
    const bucketAt = (i: number) => entries[ENTRY * i + 1];
    let middle = end - first < MIN_RANGE ? end : first + ((end - first) >> 1);
    while (middle < end && bucketAt(middle) === bucketAt(middle - 1)) middle++;
    const ranges = this.#ranges as Range[];
    ranges.push({ first, end: middle, place, isSorted: true });
    if (middle < end) ranges.push({ first: middle, end, place: 0, isSorted: true });
  }
}
