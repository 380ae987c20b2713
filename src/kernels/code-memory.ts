/**
 * Codes and the row that each stands for, in one memory that grows: codes first, rows behind them,
 * so that kernels read both in place. Threads can share it.
 */

import { NO_ROW, type RowCodes } from './hits';
import { Arena, MAX_DATA_BYTES } from './memory';

/** Kernels read (and do not use) up to 16 codes and 7 bytes behind the last. */
export const CODES_BEHIND = 16;
/** Codes that have memory at least. */
const MIN_CODES = 64;

export class CodeMemory implements RowCodes {
  readonly bytesPerCode: number;
  readonly #arena: Arena;
  #capacity = 0;
  /** Space for all codes that have memory. `reserve` replaces this view and the next. */
  codes = new Uint8Array();
  /** The row of each code, or NO_ROW. */
  rows = new Uint32Array();

  /** Room for `count` codes at first. */
  constructor(bytesPerCode: number, count = 0) {
    this.bytesPerCode = bytesPerCode;
    this.#arena = new Arena(0, true);
    this.reserve(Math.max(count, 1));
  }

  /**
   * Grows to at least `count` codes; new ones stand for no row. Throws a RangeError, and changes
   * nothing, where one memory has no room for so many.
   */
  reserve(count: number): void {
    if (count <= this.#capacity) return;
    const { bytesPerCode } = this;
    const most = mostCodes(bytesPerCode);
    if (count > most) {
      throw new RangeError(
        `one memory has room for ${most} codes of ${bytesPerCode} bytes, not for ${count}`,
      );
    }
    const wanted = Math.max(count, MIN_CODES, Math.ceil(this.#capacity * 1.5));
    const capacity = Math.min(wanted, most);
    const rows = this.rows.slice();
    const rowsAt = Math.ceil(((capacity + CODES_BEHIND) * this.bytesPerCode + 8) / 16) * 16;
    this.#arena.reserve(rowsAt + 4 * capacity);
    const { buffer, byteOffset } = this.#arena.bytes;
    this.codes = new Uint8Array(buffer, byteOffset, capacity * this.bytesPerCode);
    this.rows = new Uint32Array(buffer, byteOffset + rowsAt, capacity);
    // The old rows now lie in the space of codes, and are overwritten when codes are added.
    this.rows.set(rows);
    this.rows.fill(NO_ROW, rows.length);
    this.#capacity = capacity;
  }
}

/** The number of codes that fit in one memory with their rows. */
export function mostCodes(bytesPerCode: number): number {
  return Math.floor((MAX_DATA_BYTES - 32) / (bytesPerCode + 4)) - CODES_BEHIND;
}
