/**
 * The distinct codes among the rows of one collection or of two, so that a million equal rows are
 * compared once; found by sorting hashes of whole codes. A distinct code is named by its number,
 * from 0 in the order of first rows. Rows of a second collection are numbered behind those of the
 * first.
 */

import { toStarts } from '../base/arrays';
import type { LongWork } from '../base/long-work';
import { newSecret } from '../base/secret';
import type { Codes } from '../codes/codes';
import { JoinMemory, joinKernel, MAX_BUCKET_BITS } from '../kernels/joins';
import { runJob } from '../threads/parallel';
import { BucketJob } from './join-job';
import { maxTables } from './join-method';

/** No row, or no distinct code. */
export const NONE = 0xffff_ffff;

/** Rows between two steps. */
const STEP_ROWS = 2 ** 16;
/** Fewest bits of a hash by which equal codes are found. */
const MIN_HASH_BITS = 8;

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
    this.starts = new Uint32Array(count + 1);
    for (let row = start; row < end; row++) {
      if (distinctOfRow[row] !== NONE) this.starts[distinctOfRow[row]]++;
    }
    this.rows = new Uint32Array(toStarts(this.starts));
    const next = this.starts.slice();
    for (let row = start; row < end; row++) {
      if (distinctOfRow[row] !== NONE) this.rows[next[distinctOfRow[row]]++] = row;
    }
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
  const sources = inOrderOfSize(left, right);
  const ends: number[] = [];
  // Codes of rows that are not null follow each other in memory; then equal ones are merged.
  for (const { codes } of sources) {
    ends.push(await copyInto(memory, ends.at(-1) ?? 0, codes, work));
  }
  const present = ends.at(-1) as number;
  const hasEqual = await findEqual(memory, present, work);
  const distincts = hasEqual ? await numbered(memory, ends, work) : ends;
  const { firsts } = memory.arrays;
  let distinctOfRow: Uint32Array | null = hasEqual ? firsts : null;
  // With null rows, or the second collection in front, rows and positions in memory differ.
  if (present < total || sources[0].firstRow > 0) {
    distinctOfRow = new Uint32Array(total).fill(NONE);
    let code = 0;
    for (const { codes, firstRow } of sources) {
      for (let row = 0; row < codes.count; row++) {
        if (row % STEP_ROWS === 0) await work.step();
        if (codes.isNull(row)) continue;
        distinctOfRow[firstRow + row] = hasEqual ? firsts[code] : code;
        code++;
      }
    }
  }
  const count = distincts.at(-1) as number;
  await work.step();
  const ours = new DistinctRows(distinctOfRow, 0, left.count, count);
  await work.step();
  const theirs = right === null ? ours : new DistinctRows(distinctOfRow, left.count, total, count);
  const { bits } = left;
  return {
    memory,
    bits,
    count,
    distinctOfRow,
    firstDistinct: distincts[0],
    left: ours,
    right: theirs,
  };
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

/** Copies codes that are not null to the memory, as codes `first` onward; returns their end. */
async function copyInto(
  memory: JoinMemory,
  first: number,
  codes: Codes,
  work: LongWork,
): Promise<number> {
  const { bytes, bytesPerCode } = codes;
  const stride = 4 * memory.words;
  const { buffer, byteOffset } = memory.arrays.codes;
  const target = new Uint8Array(buffer, byteOffset + first * stride);
  let count = 0;
  for (let from = 0; from < codes.count; from += STEP_ROWS) {
    const to = Math.min(codes.count, from + STEP_ROWS);
    await work.step();
    if (stride === bytesPerCode && codes.validity === null) {
      target.set(bytes.subarray(from * stride, to * stride), from * stride);
      count = to;
      continue;
    }
    for (let row = from; row < to; row++) {
      if (codes.isNull(row)) continue;
      const at = count++ * stride;
      for (let i = 0; i < bytesPerCode; i++) target[at + i] = bytes[row * bytesPerCode + i];
    }
  }
  return first + count;
}

/** Finds for each of the first `count` codes the first equal one; false if all are distinct. */
async function findEqual(memory: JoinMemory, count: number, work: LongWork): Promise<boolean> {
  const bits = Math.min(MAX_BUCKET_BITS, Math.max(MIN_HASH_BITS, 32 - Math.clz32(count)));
  const low = { shift: 32 - bits, bits: Math.ceil(bits / 2) };
  const equal = { kind: 'equal', secret: newSecret(), low } as const;
  let found = 0;
  const take = (_: Uint32Array, some: number) => {
    found += some;
  };
  await runJob(new BucketJob(memory, count, equal, { take }), work);
  return found > 0;
}

/** Numbers the distinct codes in the order of rows; returns their number up to each end. */
async function numbered(
  memory: JoinMemory,
  ends: readonly number[],
  work: LongWork,
): Promise<number[]> {
  let found = 0;
  let from = 0;
  const counts: number[] = [];
  for (const end of ends) {
    for (; from < end; from = Math.min(end, from + STEP_ROWS)) {
      found = joinKernel.numberInto(memory, from, Math.min(end, from + STEP_ROWS), found);
      await work.step();
    }
    counts.push(found);
  }
  return counts;
}
