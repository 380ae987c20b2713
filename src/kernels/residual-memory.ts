/**
 * Residual codes and their scales in a memory that grows, laid out in blocks of 16 rows as
 * residuals.ts states it. New rows have scale 0, which searches skip.
 */

import { Arena, MAX_DATA_BYTES } from './memory';
import {
  BLOCK_ROWS,
  bytesOfRow,
  type Residuals,
  residualByte,
  secondHalfAt,
  setScale,
  viewOf,
  wholeBlocks,
} from './residuals';

export class ResidualMemory implements Residuals {
  readonly bytesPerRow: number;
  readonly #arena = new Arena(0, true);
  capacity = 0;
  /** Both halves of all blocks; `reserve` replaces them. */
  bytes = new Uint8Array();

  /** `bytesPerRow` must be even. */
  constructor(bytesPerRow: number, count = 0) {
    this.bytesPerRow = bytesPerRow;
    this.reserve(count);
  }

  /** The codes of another thread, to be read, or written where there is room. */
  static over({ bytes, bytesPerRow }: ResidualMemory['state']): ResidualMemory {
    const memory = new ResidualMemory(bytesPerRow);
    memory.bytes = bytes;
    memory.capacity = bytes.length / bytesOfRow(bytesPerRow);
    return memory;
  }

  get state() {
    const { bytes, bytesPerRow } = this;
    return { bytes, bytesPerRow };
  }

  get byteLength(): number {
    return this.bytes.length;
  }

  /** Grows to at least `count` rows. Throws, and changes nothing, where so many do not fit. */
  reserve(count: number): void {
    if (count <= this.capacity) return;
    const most = mostRows(this.bytesPerRow);
    if (count > most) {
      throw new RangeError(
        `one memory has room for ${most} residual codes of ${this.bytesPerRow} bytes, ` +
          `not for ${count}`,
      );
    }
    const wanted = this.capacity === 0 ? count : Math.max(count, 1.25 * this.capacity);
    const capacity = Math.min(most, wholeBlocks(wanted));
    const byteLength = capacity * bytesOfRow(this.bytesPerRow);
    const [from, end] = [secondHalfAt(this, 0), this.byteLength];
    this.#arena.reserve(byteLength);
    this.capacity = capacity;
    const { buffer, byteOffset } = this.#arena.bytes;
    this.bytes = new Uint8Array(buffer, byteOffset, byteLength);
    // The second halves move behind the first ones of new rows.
    const to = secondHalfAt(this, 0);
    this.bytes.copyWithin(to, from, end).fill(0, from, Math.min(to, end));
  }

  /** Writes rows that follow one another: their codes, one after another, and their scales. */
  setRows(row: number, codes: Uint8Array, scales: Float32Array): void {
    const { bytes, bytesPerRow } = this;
    const half = bytesPerRow / 2;
    const view = viewOf(this);
    for (let i = 0; i < scales.length; i++) {
      const code = i * bytesPerRow;
      const [first, second] = [residualByte(this, row + i, 0), residualByte(this, row + i, half)];
      for (let byte = 0; byte < half; byte++) {
        bytes[first + byte * BLOCK_ROWS] = codes[code + byte];
        bytes[second + byte * BLOCK_ROWS] = codes[code + half + byte];
      }
      setScale(this, row + i, scales[i], view);
    }
  }
}

export function mostRows(bytesPerRow: number): number {
  return Math.floor(MAX_DATA_BYTES / (BLOCK_ROWS * bytesOfRow(bytesPerRow))) * BLOCK_ROWS;
}
