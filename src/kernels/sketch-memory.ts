/**
 * Sketches that grow, and for each its scale, in one memory: sketches first, scales behind, so that
 * a kernel reads both where they lie.
 */

import { Arena } from './memory';
import { BLOCK_ROWS, type SketchRows, sketchByte } from './sketches.scalar';

export class SketchMemory implements SketchRows {
  readonly bytesPerRow: number;
  readonly #arena = new Arena();
  #room = 0;
  /** All rows there is room for. Views change with `reserve`. */
  bytes = new Uint8Array();
  scales = new Float32Array();

  /** `bytesPerRow` is a multiple of 8. */
  constructor(bytesPerRow: number, count = 0) {
    this.bytesPerRow = bytesPerRow;
    this.reserve(count);
  }

  /** Makes room for `count` rows; new ones are none. */
  reserve(count: number): void {
    if (count <= this.#room) return;
    const wanted = this.#room === 0 ? count : Math.max(count, 1.25 * this.#room);
    const room = Math.ceil(wanted / BLOCK_ROWS) * BLOCK_ROWS;
    const scales = this.scales.slice();
    const scalesAt = room * this.bytesPerRow;
    this.#arena.reserve(scalesAt + 4 * room);
    const { buffer, byteOffset } = this.#arena.bytes;
    this.bytes = new Uint8Array(buffer, byteOffset, scalesAt);
    this.scales = new Float32Array(buffer, byteOffset + scalesAt, room);
    this.scales.set(scales);
    this.scales.fill(0, scales.length);
    this.#room = room;
  }

  set(place: number, sketch: Uint8Array, scale: number): void {
    const { bytes } = this;
    let at = sketchByte(this.bytesPerRow, place, 0);
    for (let i = 0; i < sketch.length; i++, at += BLOCK_ROWS) bytes[at] = sketch[i];
    this.scales[place] = scale;
  }
}
