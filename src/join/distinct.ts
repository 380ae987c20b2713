/**
 * The distinct codes of one collection, or of two, and the rows that have each of them, so that a
 * million equal rows are compared once. A distinct code is named by its number, from 0 in the order
 * of first rows. Rows of a second collection are numbered behind those of the first.
 */

import { lowerBound } from '../base/arrays';
import type { Steps } from '../base/steps';
import type { Codes } from '../codes/codes';
import { JoinMemory } from '../kernels/joins/join-memory';
import { joinKernel, type KernelName } from '../kernels/kernels';
import { maxTables } from './join-layout';

/** Stands for no row, or no distinct code. */
export const NONE = 0xffff_ffff;

const STEP_ROWS = 2 ** 16;

/** The distinct codes of one collection or of two, and where their rows are. */
export interface Distinct {
  /** Where the kernels read the codes; `maxDistance` of `distinctOf` limits joins in it. */
  readonly memory: JoinMemory;
  readonly bits: number;
  /** Number of distinct codes. */
  readonly count: number;
  /** The distinct codes of the collection that was read first have numbers below it. */
  readonly firstDistinct: number;
  /** By row, its distinct code, NONE for a null row. Null where distinct code i is row i. */
  readonly distinctOfRow: Uint32Array | null;
  /** The rows of the first collection, and of the second; the same object if there is only one. */
  readonly left: DistinctRows;
  readonly right: DistinctRows;
}

/** The distinct code of a row; NONE for a null one. */
export function distinctAt({ distinctOfRow }: Distinct, row: number): number {
  return distinctOfRow === null ? row : distinctOfRow[row];
}

/** How many rows have the code of each distinct code. */
export function sizesOf({ distinctOfRow, count }: Distinct): Uint32Array {
  const sizes = new Uint32Array(count).fill(distinctOfRow === null ? 1 : 0);
  for (const distinct of distinctOfRow ?? []) if (distinct !== NONE) sizes[distinct]++;
  return sizes;
}

/** The rows of each distinct code, ascending, as lists that go from row to row. */
export class DistinctRows {
  /**
   * By distinct code its first row here, and by row the next row of the same code; NONE where there
   * is none. Null where distinct code i is row i.
   */
  readonly first: Uint32Array | null;
  readonly next: Uint32Array | null;
  readonly #last: Uint32Array | null;
  /** Rows of the collection. */
  readonly start: number;
  readonly end: number;

  /** The rows from `start` to `end - 1`. */
  constructor(distinctOfRow: Uint32Array | null, start: number, end: number, distincts: number) {
    this.start = start;
    this.end = end;
    this.first = distinctOfRow && new Uint32Array(distincts).fill(NONE);
    this.#last = distinctOfRow && new Uint32Array(distincts).fill(NONE);
    this.next = distinctOfRow && new Uint32Array(end - start).fill(NONE);
    const [first, last, next] = [this.first, this.#last, this.next];
    if (distinctOfRow === null || first === null || last === null || next === null) return;
    for (let row = end - 1; row >= start; row--) {
      const distinct = distinctOfRow[row];
      if (distinct === NONE) continue;
      if (first[distinct] === NONE) last[distinct] = row;
      next[row - start] = first[distinct];
      first[distinct] = row;
    }
  }

  /** NONE where a distinct code has no row here. */
  firstOf(distinct: number): number {
    if (this.first !== null) return this.first[distinct];
    return distinct >= this.start && distinct < this.end ? distinct : NONE;
  }

  lastOf(distinct: number): number {
    return this.#last === null ? this.firstOf(distinct) : this.#last[distinct];
  }

  /** Of one collection: how many distinct codes begin before a row. */
  distinctBefore(row: number): number {
    return this.first === null ? row : lowerBound(this.first, row);
  }

  /** The next row of the same distinct code, or NONE. */
  nextOf(row: number): number {
    return this.next === null ? NONE : this.next[row - this.start];
  }
}

/** The distinct codes of a collection, or of two. */
export function* distinctOf(
  left: Codes,
  right: Codes | null,
  maxDistance: number,
  kernelName?: KernelName,
): Steps<Distinct> {
  const { bits, bytesPerCode } = left;
  const total = left.count + (right?.count ?? 0);
  const memory = new JoinMemory(total, bytesPerCode, 1 + maxTables(maxDistance));
  const kernel = joinKernel(kernelName);
  let mask = 63;
  while (mask + 1 < (4 / 3) * total) mask = 2 * mask + 1;
  let distinctOfRow: Uint32Array | null = null;
  let count = 0;
  let firstDistinct: number | null = null;
  const distincts = new Uint32Array(STEP_ROWS);
  const rows = new Uint32Array(STEP_ROWS);
  for (const { codes, firstRow } of inOrderOfSize(left, right)) {
    for (let from = 0; from < codes.count; from += STEP_ROWS) {
      const to = Math.min(codes.count, from + STEP_ROWS);
      const here = copyInto(memory, count, codes, from, to, rows);
      const before = count;
      count = kernel.distinctInto(memory, count, count + here, count, mask, distincts);
      const isPlain = before === firstRow + from && count === before + to - from;
      if (distinctOfRow === null && !isPlain) {
        distinctOfRow = new Uint32Array(total).fill(NONE);
        for (let row = 0; row < before; row++) distinctOfRow[row] = row; // all plain so far
      }
      for (let i = 0; distinctOfRow !== null && i < here; i++) {
        distinctOfRow[firstRow + rows[i]] = distincts[i];
      }
      yield undefined;
    }
    firstDistinct ??= count;
  }
  const leftRows = new DistinctRows(distinctOfRow, 0, left.count, count);
  const rightRows = right ? new DistinctRows(distinctOfRow, left.count, total, count) : leftRows;
  const codes = { memory, bits, count, distinctOfRow, firstDistinct: firstDistinct ?? 0 };
  return { ...codes, left: leftRows, right: rightRows };
}

/** The smaller collection first: then only its distinct codes are looked up among all. */
function inOrderOfSize(left: Codes, right: Codes | null) {
  const first = { codes: left, firstRow: 0 };
  if (right === null) return [first];
  const second = { codes: right, firstRow: left.count };
  return right.count < left.count ? [second, first] : [first, second];
}

/**
 * Copies the codes of rows `from` to `to - 1` without null ones, to the memory from code `first`
 * on; `rows` gets the rows copied. Returns how many they are.
 */
function copyInto(
  memory: JoinMemory,
  first: number,
  codes: Codes,
  from: number,
  to: number,
  rows: Uint32Array,
): number {
  const { bytes, bytesPerCode } = codes;
  const stride = 4 * memory.words;
  const target = new Uint8Array(memory.codes.buffer, memory.codes.byteOffset + first * stride);
  if (stride === bytesPerCode && codes.validity === null) {
    target.set(bytes.subarray(from * stride, to * stride));
    for (let row = from; row < to; row++) rows[row - from] = row;
    return to - from;
  }
  let count = 0;
  for (let row = from; row < to; row++) {
    if (codes.isNull(row)) continue;
    const at = count * stride;
    for (let i = 0; i < bytesPerCode; i++) target[at + i] = bytes[row * bytesPerCode + i];
    target.fill(0, at + bytesPerCode, at + stride);
    rows[count++] = row;
  }
  return count;
}
