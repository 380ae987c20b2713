/**
 * Codes that grow, and for each the row it stands for, in one memory: codes first, rows behind, so
 * that a kernel reads both where they lie.
 */

import { NO_ROW, type RowCodes } from '../hits/hits';
import { Arena } from '../memory';

/** Kernels read, but do not use, up to so many codes behind the last. */
const BEHIND_CODES = 16;
const LEAST_CODES = 64;

export class CodeMemory implements RowCodes {
  readonly bytesPerCode: number;
  readonly #arena: Arena;
  #room = 0;
  /** All codes there is room for. Views change with `reserve`. */
  codes = new Uint8Array();
  /** The row of each code, or NO_ROW. */
  rows = new Uint32Array();

  constructor(bytesPerCode: number, count = 0) {
    this.bytesPerCode = bytesPerCode;
    this.#arena = new Arena();
    this.reserve(Math.max(count, 1));
  }

  /** Makes room for `count` codes; new ones stand for no row. */
  reserve(count: number): void {
    if (count <= this.#room) return;
    const room = Math.max(count, LEAST_CODES, Math.ceil(this.#room * 1.5));
    const rows = this.rows.slice();
    const rowsAt = Math.ceil(((room + BEHIND_CODES) * this.bytesPerCode + 8) / 16) * 16;
    this.#arena.reserve(rowsAt + 4 * room);
    const { buffer, byteOffset } = this.#arena.bytes;
    this.codes = new Uint8Array(buffer, byteOffset, room * this.bytesPerCode);
    this.rows = new Uint32Array(buffer, byteOffset + rowsAt, room);
    // What was rows before lies among the codes now: of no use there, and overwritten by codes.
    this.rows.set(rows);
    this.rows.fill(NO_ROW, rows.length);
    this.#room = room;
  }
}
