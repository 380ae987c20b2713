/**
 * Vectors of 8-bit integers that grow, and for each its scale, in one memory: vectors first, scales
 * behind, so that a kernel reads both where they lie.
 */

import { type ByteRows, placeOf } from './cosines8.scalar';
import { Arena } from './memory';

const LEAST_ROWS = 64;

export class ByteMemory implements ByteRows {
  readonly width: number;
  readonly #arena = new Arena();
  #room = 0;
  /** All rows there is room for. Views change with `reserve`. */
  values = new Int8Array();
  scales = new Float32Array();

  /** `width` is a multiple of 8. */
  constructor(width: number, count = 0) {
    this.width = width;
    this.reserve(Math.max(count, 1));
  }

  /** Makes room for `count` rows; new ones are none. */
  reserve(count: number): void {
    if (count <= this.#room) return;
    const room = this.#room === 0 ? count : Math.max(count, LEAST_ROWS, this.#room * 1.25);
    const rows = (Math.ceil(room) + 3) & ~3;
    const scales = this.scales.slice();
    const scalesAt = rows * this.width;
    this.#arena.reserve(scalesAt + 4 * rows);
    const { buffer, byteOffset } = this.#arena.bytes;
    this.values = new Int8Array(buffer, byteOffset, rows * this.width);
    this.scales = new Float32Array(buffer, byteOffset + scalesAt, rows);
    this.scales.set(scales);
    this.scales.fill(0, scales.length);
    this.#room = rows;
  }

  /** A row's integers, as many as its width, and its scale. */
  set(row: number, integers: Int8Array, scale: number): void {
    const { values } = this;
    let at = placeOf(this.width, row, 0);
    for (let i = 0; i < integers.length; i += 8, at += 32) {
      for (let j = 0; j < 8; j++) values[at + j] = integers[i + j];
    }
    this.scales[row] = scale;
  }
}
