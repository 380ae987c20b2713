/**
 * The distinct codes among the rows of one collection or of two, so that a million equal rows are
 * compared once; found by a hash table. A distinct code is named by its number, from 0 in the order
 * of first rows. Rows of a second collection are numbered behind those of the first.
 */

import { byGroup } from '../base/arrays';
import { newSecret } from '../base/hash-tables';
import type { LongWork } from '../base/long-work';
import type { Codes } from '../codes/codes';
import { JoinMemory, joinKernel } from '../kernels/joins';
import { maxTables } from './join';

/** No row, or no distinct code. */
export const NONE = 0xffff_ffff;

/** Rows between two steps. */
const STEP_ROWS = 2 ** 16;

export interface DistinctCodes {
  /** The codes in the memory of the kernels, with masks for joins up to `maxDistance`. */
  readonly memory: JoinMemory;
  readonly bits: number;
  /** Number of distinct codes. */
  readonly count: number;
  /** Distinct codes below this number are those of the collection that was read first. */
  readonly firstDistinct: number;
  /** For each row its distinct code, NONE for a null one. Null where distinct code i is row i. */
  readonly distinctOfRow: Uint32Array | null;
  /** Rows of the first and of the second collection; the same object if there is only one. */
  readonly left: DistinctRows;
  readonly right: DistinctRows;
}

/** The rows `start` to `end - 1` of a collection by their distinct codes. */
class DistinctRows {
  readonly start: number;
  readonly end: number;
  /**
   * Rows in the order of their distinct codes, then of rows: those of code c are
   * `rows[starts[c]]` to `rows[starts[c + 1] - 1]`. Both null where distinct code i is row i.
   */
  readonly starts: Uint32Array | null = null;
  readonly rows: Uint32Array | null = null;

  /** Sorts the rows by their codes, of which there are `count`: a counting sort. */
  constructor(distinctOfRow: Uint32Array | null, start: number, end: number, count: number) {
    this.start = start;
    this.end = end;
    if (distinctOfRow === null) return;
    const { starts, members } = byGroup(distinctOfRow.subarray(start, end), count);
    this.starts = starts;
    this.rows = start === 0 ? members : members.map((at) => start + at);
  }

  /** The first row of a distinct code in this collection, or NONE. */
  firstOf(distinct: number): number {
    if (this.starts === null || this.rows === null) {
      return distinct >= this.start && distinct < this.end ? distinct : NONE;
    }
    const at = this.starts[distinct];
    return at < this.starts[distinct + 1] ? this.rows[at] : NONE;
  }

  /** The last row of a distinct code in this collection, or NONE. */
  lastOf(distinct: number): number {
    if (this.starts === null || this.rows === null) return this.firstOf(distinct);
    const end = this.starts[distinct + 1];
    return this.starts[distinct] < end ? this.rows[end - 1] : NONE;
  }

  /** In a single collection: how many of `count` codes have their first row before `row`. */
  distinctBefore(row: number, count: number): number {
    if (this.starts === null) return Math.min(row, count);
    let [low, high] = [0, count];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.firstOf(middle) < row) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The distinct code of a row, or NONE for a null one. */
export function distinctAt({ distinctOfRow }: DistinctCodes, row: number): number {
  return distinctOfRow === null ? row : distinctOfRow[row];
}

/** Finds the distinct codes of a collection, or of two. */
export async function distinctOf(
  left: Codes,
  right: Codes | null,
  maxDistance: number,
  work: LongWork,
): Promise<DistinctCodes> {
  const total = left.count + (right?.count ?? 0);
  const masks = 1 + maxTables(maxDistance);
  const memory = JoinMemory.allocate(total, left.bytesPerCode, masks, total);
  const { numbers } = memory.arrays;
  const secret = newSecret();
  const sources = inOrderOfSize(left, right);
  const ends: number[] = []; // by collection, the number of distinct codes up to its end
  let [present, count] = [0, 0];
  // Codes of rows that are not null follow each other in memory, then each distinct one only once.
  for (const { codes } of sources) {
    for (let from = 0; from < codes.count; from += STEP_ROWS) {
      const end = copyInto(memory, present, codes, from);
      count = joinKernel.distinctInto(memory, present, end, count, secret);
      present = end;
      await work.step();
    }
    ends.push(count);
  }
  let distinctOfRow: Uint32Array | null = count < present ? numbers : null;
  // With null rows, or the second collection in front, rows and positions in memory differ.
  if (present < total || sources[0].firstRow > 0) {
    distinctOfRow = new Uint32Array(total).fill(NONE);
    let code = 0;
    for (const { codes, firstRow } of sources) {
      for (let row = 0; row < codes.count; row++) {
        if (row % STEP_ROWS === 0) await work.step();
        if (!codes.isNull(row)) distinctOfRow[firstRow + row] = numbers[code++];
      }
    }
  }
  await work.step();
  const ours = new DistinctRows(distinctOfRow, 0, left.count, count);
  await work.step();
  const theirs = right === null ? ours : new DistinctRows(distinctOfRow, left.count, total, count);
  const { bits } = left;
  const firstDistinct = ends[0];
  return { memory, bits, count, distinctOfRow, firstDistinct, left: ours, right: theirs };
}

/**
 * The smaller collection first, so that its distinct codes have the lower numbers: a join of two
 * then needs only pairs whose lower code is below `firstDistinct`.
 */
function inOrderOfSize(left: Codes, right: Codes | null) {
  const first = { codes: left, firstRow: 0 };
  if (right === null) return [first];
  const second = { codes: right, firstRow: left.count };
  return right.count < left.count ? [second, first] : [first, second];
}

/**
 * Copies codes of a step from row `from` on, null ones left out, to codes `first` onward; returns
 * their end.
 */
function copyInto(memory: JoinMemory, first: number, codes: Codes, from: number): number {
  const { bytes, bytesPerCode } = codes;
  const stride = 4 * memory.words;
  const { buffer, byteOffset } = memory.arrays.codes;
  const target = new Uint8Array(buffer, byteOffset + first * stride);
  const to = Math.min(codes.count, from + STEP_ROWS);
  if (stride === bytesPerCode && codes.validity === null) {
    target.set(bytes.subarray(from * stride, to * stride));
    return first + to - from;
  }
  let count = 0;
  for (let row = from; row < to; row++) {
    if (codes.isNull(row)) continue;
    const at = count++ * stride;
    for (let i = 0; i < bytesPerCode; i++) target[at + i] = bytes[row * bytesPerCode + i];
  }
  return first + count;
}
