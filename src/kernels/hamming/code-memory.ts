/**
 * Codes and the row that each stands for, in one memory that grows: codes first, rows behind them,
 * so that kernels read both in place.
 */

import { NO_ROW, type RowCodes } from '../hits/hits';
import { Arena, MAX_DATA_BYTES } from '../memory';

/** Kernels read (and do not use) up to 16 codes and 7 bytes behind the last. */
const BEHIND_CODES = 16;
const MIN_CODES = 64;
/** Codes of an index take at most so much in one memory: the rest of its 4 GiB is for threads. */
export const PART_BYTES = 2 ** 30;

export class CodeMemory implements RowCodes {
  readonly bytesPerCode: number;
  readonly #arena: Arena;
  readonly #most: number;
  #capacity = 0;
  /** Space for all codes that fit. `reserve` replaces both views. */
  codes = new Uint8Array();
  /** The row of each code, or NO_ROW. */
  rows = new Uint32Array();

  /** Of at most `most` codes: by default as many as fit. */
  constructor(bytesPerCode: number, count = 0, most = mostCodes(bytesPerCode)) {
    this.bytesPerCode = bytesPerCode;
    this.#most = most;
    this.#arena = new Arena(0, true);
    this.reserve(Math.max(count, 1));
  }

  /**
   * Grows to at least `count` codes; new ones stand for no row. Throws, and changes nothing, where
   * so many do not fit in a memory.
   */
  reserve(count: number): void {
    if (count <= this.#capacity) return;
    const { bytesPerCode } = this;
    if (count > this.#most) {
      throw new RangeError(
        `one memory has room for ${this.#most} codes of ${bytesPerCode} bytes, not for ${count}`,
      );
    }
    const wanted = Math.max(count, MIN_CODES, Math.ceil(this.#capacity * 1.5));
    const capacity = Math.min(wanted, this.#most);
    const rows = this.rows.slice();
    const rowsAt = Math.ceil(((capacity + BEHIND_CODES) * this.bytesPerCode + 8) / 16) * 16;
    this.#arena.reserve(rowsAt + 4 * capacity);
    const { buffer, byteOffset } = this.#arena.bytes;
    this.codes = new Uint8Array(buffer, byteOffset, capacity * this.bytesPerCode);
    this.rows = new Uint32Array(buffer, byteOffset + rowsAt, capacity);
    // The old rows now lie where codes go, and are overwritten when codes are added.
    this.rows.set(rows);
    this.rows.fill(NO_ROW, rows.length);
    this.#capacity = capacity;
  }
}

/** How many codes, and their rows, fit in a memory. */
export function mostCodes(bytesPerCode: number): number {
  return Math.floor((MAX_DATA_BYTES - 32) / (bytesPerCode + 4)) - BEHIND_CODES;
}
