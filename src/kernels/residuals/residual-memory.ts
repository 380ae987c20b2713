/** Sketches that grow, in blocks where a kernel reads them, with a scale each. */

import { Arena } from '../memory';
import {
  BLOCK_ROWS,
  type ResidualRows,
  residualByte,
  residualScale,
  SCALE_BYTES,
} from './residuals.scalar';

export class ResidualMemory implements ResidualRows {
  readonly bytesPerRow: number;
  readonly #arena = new Arena();
  #room = 0;
  /** All rows there is room for. Views change with `reserve`. */
  bytes = new Uint8Array();
  floats = new Float32Array();

  /** `bytesPerRow` is even. */
  constructor(bytesPerRow: number, count = 0) {
    this.bytesPerRow = bytesPerRow;
    this.reserve(count);
  }

  /** Bytes of all rows there is room for. */
  get byteLength(): number {
    return this.bytes.length;
  }

  /** Makes room for `count` rows; new ones are none. */
  reserve(count: number): void {
    if (count <= this.#room) return;
    const wanted = this.#room === 0 ? count : Math.max(count, 1.25 * this.#room);
    this.#room = Math.ceil(wanted / BLOCK_ROWS) * BLOCK_ROWS;
    const byteLength = this.#room * (this.bytesPerRow + SCALE_BYTES);
    this.#arena.reserve(byteLength);
    const { buffer, byteOffset } = this.#arena.bytes;
    this.bytes = new Uint8Array(buffer, byteOffset, byteLength);
    this.floats = new Float32Array(buffer, byteOffset, byteLength / SCALE_BYTES);
  }

  set(place: number, code: Uint8Array, scale: number): void {
    const { bytes } = this;
    let at = residualByte(this.bytesPerRow, place, 0);
    for (let i = 0; i < code.length; i++, at += BLOCK_ROWS) bytes[at] = code[i];
    this.setScale(place, scale);
  }

  setScale(place: number, scale: number): void {
    this.floats[residualScale(this.bytesPerRow, place)] = scale;
  }
}
