/**
 * Residual codes and their scales in a memory that grows, laid out in blocks of 16 rows as
 * residuals.ts states it. New rows have scale 0, which searches skip.
 */

import { Arena, FREE_START, MAX_DATA_BYTES, scratch } from './memory';
import {
  BLOCK_ROWS,
  bytesOfRow,
  coarseUnit,
  type Residuals,
  residualByte,
  SCALE_BYTES,
  secondHalfAt,
  setScale,
  sidesAt,
  wholeBlocks,
} from './residuals';
import { searchKernels } from './search-kernels';

/** Space in which 16 x 16 bytes are turned. */
const TURN_BYTES = 512;
/** Rows that are laid out together, whole blocks: so few that caches hold them. */
const ROWS_AT_ONCE = 256;

export class ResidualMemory implements Residuals {
  readonly bytesPerRow: number;
  readonly #arena = new Arena(0, true);
  readonly #most: number;
  capacity = 0;
  /** Both halves of all blocks; `reserve` replaces them. */
  bytes = new Uint8Array();

  /** Never for more than `most` rows: by default all that fit. `bytesPerRow` must be even. */
  constructor(bytesPerRow: number, count = 0, most = mostRows(bytesPerRow)) {
    this.bytesPerRow = bytesPerRow;
    this.#most = most;
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
    const most = this.#most;
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

  /** Writes the residual code and the scale of a row. */
  set(row: number, code: Uint8Array, scale: number): void {
    const { bytes } = this;
    const half = this.bytesPerRow / 2;
    const first = residualByte(this, row, 0);
    const second = residualByte(this, row, half);
    for (let i = 0; i < half; i++) {
      bytes[first + i * BLOCK_ROWS] = code[i];
      bytes[second + i * BLOCK_ROWS] = code[half + i];
    }
    setScale(this, row, scale);
  }

  /** The same of rows that follow one another: their codes, one after another, and their scales. */
  setRows(row: number, codes: Uint8Array, scales: Float32Array): void {
    const { bytesPerRow } = this;
    const count = scales.length;
    const before = Math.min(count, (BLOCK_ROWS - (row % BLOCK_ROWS)) % BLOCK_ROWS);
    const rest = count - ((count - before) % BLOCK_ROWS);
    const setOne = (i: number) =>
      this.set(row + i, codes.subarray(i * bytesPerRow, (i + 1) * bytesPerRow), scales[i]);
    for (let i = 0; i < before; i++) setOne(i);
    for (let i = rest; i < count; i++) setOne(i);
    for (let from = before; from < rest; from += ROWS_AT_ONCE) {
      const to = Math.min(rest, from + ROWS_AT_ONCE);
      const own = codes.subarray(from * bytesPerRow, to * bytesPerRow);
      this.#setBlocks(row + from, own, scales.subarray(from, to));
    }
  }

  /**
   * The same of whole blocks, laid out elsewhere, since this memory may hold the state of a search,
   * and copied at once.
   */
  #setBlocks(row: number, codes: Uint8Array, scales: Float32Array): void {
    const { bytesPerRow } = this;
    const count = scales.length;
    const scalesAt = FREE_START + TURN_BYTES;
    const sidesFrom = scalesAt + SCALE_BYTES * count;
    const secondHalvesFrom = sidesFrom + sidesAt(this, count);
    const codesAt = sidesFrom + count * bytesOfRow(bytesPerRow);
    const memory = scratch(codesAt + count * bytesPerRow - FREE_START);
    const { bytes } = memory;
    new Float32Array(bytes.buffer, scalesAt, count).set(scales);
    bytes.set(codes, codesAt);
    const unit = coarseUnit(bytesPerRow);
    const half = bytesPerRow / 2;
    searchKernels(memory).layRows(
      codesAt,
      half,
      scalesAt,
      unit,
      count,
      sidesFrom,
      secondHalvesFrom,
      FREE_START,
    );
    this.bytes.set(bytes.subarray(sidesFrom, secondHalvesFrom), sidesAt(this, row));
    this.bytes.set(bytes.subarray(secondHalvesFrom, codesAt), secondHalfAt(this, row));
  }
}

export function mostRows(bytesPerRow: number): number {
  return Math.floor(MAX_DATA_BYTES / (BLOCK_ROWS * bytesOfRow(bytesPerRow))) * BLOCK_ROWS;
}

/**
 * Where rows begin that lie group by group, each from a block on: those of group p, from
 * `starts[p]` to `starts[p + 1] - 1` in all; last, where further ones do.
 */
export function blocksOf(starts: Uint32Array): Uint32Array {
  const places = new Uint32Array(starts.length);
  for (let p = 1; p < starts.length; p++) {
    places[p] = places[p - 1] + wholeBlocks(starts[p] - starts[p - 1]);
  }
  return places;
}
