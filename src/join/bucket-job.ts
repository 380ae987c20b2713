/**
 * The work of one table of a join, or of the search for equal codes, as a job in parts. A range of
 * buckets with too many comparisons or hits for one part is cut, and its rest is done later, so no
 * part takes more than some milliseconds or much memory.
 */

import { ENTRY, JOIN_WORK_AT, type JoinMemory, PART_ENTRIES } from '../kernels/joins';
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

/** Receives the hits. `range` limits the lower code of a pair, and is read again for each part. */
interface BucketClient {
  readonly range?: () => readonly [from: number, to: number];
  take(hits: Uint32Array, count: number): void;
  progress?(done: number): readonly [done: number, total: number];
  /** Most comparisons of a part. */
  readonly budget?: number;
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
 * The parts of one table in three stages (join-task.ts), each of which waits for the one before.
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

  /** For the first `codes` codes of a memory. */
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
    const { range, budget = 0 } = this.#client;
    const [fromCode, toCode] = range?.() ?? [0, this.#codes];
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
    return this.#client.progress?.(this.#done);
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
