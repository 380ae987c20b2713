/**
 * Rows of one collection, or of two, by their codes: equal codes share a slot, so that a million
 * equal rows are compared once. Rows of a second collection are numbered behind the first's.
 */

import type { Steps } from '../base/steps';
import type { Codes } from '../codes/codes';
import type { JoinMemory } from '../kernels/joins/join-memory';
import { joinKernel, type KernelName } from '../kernels/kernels';
import { joinRoom } from './join';

/** No row, or no slot. */
export const NONE = 0xffff_ffff;

const STEP_ROWS = 2 ** 16;

export interface Distinct {
  readonly room: JoinMemory;
  readonly bits: number;
  /** Slots. */
  readonly count: number;
  /** Slots below have all rows of one of two collections; all slots where there is but one. */
  readonly firstSlots: number;
  /** By row; NONE for a null one. Null where slot i is row i. */
  readonly slotOfRow: Uint32Array | null;
  /** Of the first collection, and of the second; the same where there is but one. */
  readonly left: SlotRows;
  readonly right: SlotRows;
}

/** The slot of a row; NONE for a null one. */
export function slotAt({ slotOfRow }: Distinct, row: number): number {
  return slotOfRow === null ? row : slotOfRow[row];
}

/** How many rows have the code of each slot. */
export function sizesOf({ slotOfRow, count }: Distinct): Uint32Array {
  const sizes = new Uint32Array(count).fill(slotOfRow === null ? 1 : 0);
  for (const slot of slotOfRow ?? []) if (slot !== NONE) sizes[slot]++;
  return sizes;
}

/** The rows of each slot, ascending, as lists that go from row to row. */
export class SlotRows {
  /** By slot its first and last row here, and by row the next of its slot: NONE where there is
   * none. Null where slot i is row i. */
  readonly first: Uint32Array | null;
  readonly next: Uint32Array | null;
  readonly #last: Uint32Array | null;
  /** Rows of the collection. */
  readonly start: number;
  readonly end: number;

  /** The rows from `start` to `end - 1`. */
  constructor(slotOfRow: Uint32Array | null, start: number, end: number, slots: number) {
    this.start = start;
    this.end = end;
    this.first = slotOfRow && new Uint32Array(slots).fill(NONE);
    this.#last = slotOfRow && new Uint32Array(slots).fill(NONE);
    this.next = slotOfRow && new Uint32Array(end - start).fill(NONE);
    const [first, last, next] = [this.first, this.#last, this.next];
    if (slotOfRow === null || first === null || last === null || next === null) return;
    for (let row = end - 1; row >= start; row--) {
      const slot = slotOfRow[row];
      if (slot === NONE) continue;
      if (first[slot] === NONE) last[slot] = row;
      next[row - start] = first[slot];
      first[slot] = row;
    }
  }

  /** NONE where a slot has no row here. */
  firstOf(slot: number): number {
    if (this.first !== null) return this.first[slot];
    return slot >= this.start && slot < this.end ? slot : NONE;
  }

  lastOf(slot: number): number {
    return this.#last === null ? this.firstOf(slot) : this.#last[slot];
  }

  /** Of one collection: how many slots begin before a row. */
  slotsBefore(row: number): number {
    if (this.first === null) return row;
    let low = 0;
    let high = this.first.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.first[middle] < row) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The next row of the same slot, or NONE. */
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
  const room = joinRoom(total, bytesPerCode, maxDistance);
  const kernel = joinKernel(kernelName);
  let mask = 63;
  while (mask + 1 < (4 / 3) * total) mask = 2 * mask + 1;
  let slotOfRow: Uint32Array | null = null;
  let count = 0;
  let firstSlots: number | null = null;
  const slots = new Uint32Array(STEP_ROWS);
  const rows = new Uint32Array(STEP_ROWS);
  for (const { codes, firstRow } of inOrderOfSize(left, right)) {
    for (let from = 0; from < codes.count; from += STEP_ROWS) {
      const to = Math.min(codes.count, from + STEP_ROWS);
      const here = copyInto(room, count, codes, from, to, rows);
      const before = count;
      count = kernel.distinctInto(room, count, count + here, count, mask, slots);
      const isPlain = before === firstRow + from && count === before + to - from;
      if (slotOfRow === null && !isPlain) {
        slotOfRow = new Uint32Array(total).fill(NONE);
        for (let row = 0; row < before; row++) slotOfRow[row] = row; // all plain so far
      }
      for (let i = 0; slotOfRow !== null && i < here; i++) {
        slotOfRow[firstRow + rows[i]] = slots[i];
      }
      yield undefined;
    }
    firstSlots ??= count;
  }
  const leftRows = new SlotRows(slotOfRow, 0, left.count, count);
  const rightRows = right ? new SlotRows(slotOfRow, left.count, total, count) : leftRows;
  return {
    ...{ room, bits, count, slotOfRow, left: leftRows, right: rightRows },
    firstSlots: firstSlots ?? 0,
  };
}

/** The smaller collection first: then only its slots are looked up among all. */
function inOrderOfSize(left: Codes, right: Codes | null) {
  const first = { codes: left, firstRow: 0 };
  if (right === null) return [first];
  const second = { codes: right, firstRow: left.count };
  return right.count < left.count ? [second, first] : [first, second];
}

/** Copies codes to the room from a place on, null ones left out; `rows` tells which. */
function copyInto(
  room: JoinMemory,
  place: number,
  codes: Codes,
  from: number,
  to: number,
  rows: Uint32Array,
): number {
  const { bytes, bytesPerCode } = codes;
  const stride = 4 * room.words;
  const target = new Uint8Array(room.codes.buffer, room.codes.byteOffset + place * stride);
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
