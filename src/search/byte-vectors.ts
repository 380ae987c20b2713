/**
 * The kept vectors once more as 8-bit integers, slot by slot in the order in which partitions are
 * visited: what tells of the rows there which are near enough to be looked at in full. A slot is
 * known by the vector of its first row.
 */

import { ByteMemory } from '../kernels/byte-memory';
import { byteScale, MOST_BYTE_WIDTH } from '../kernels/cosines8.scalar';
import type { KeptVectors } from './kept-vectors';
import type { Slots } from './slots';

const MOST_INT8 = 127;

export class ByteVectors {
  readonly memory: ByteMemory;
  readonly #vectors: KeptVectors;
  readonly #rounded: Int8Array;
  #count = 0;

  /** Of all slots; null where vectors are too wide. */
  static of(slots: Slots, vectors: KeptVectors | null): ByteVectors | null {
    if (vectors === null || widthOf(vectors) > MOST_BYTE_WIDTH) return null;
    const bytes = new ByteVectors(slots.count, vectors);
    for (let slot = 0; slot < slots.count; slot++) {
      if (!slots.isEmpty(slot)) bytes.set(slot, slots.memory.rows[slot]);
    }
    return bytes;
  }

  private constructor(count: number, vectors: KeptVectors) {
    this.memory = new ByteMemory(widthOf(vectors), count);
    this.#vectors = vectors;
    this.#rounded = new Int8Array(this.memory.width);
  }

  get bytes(): number {
    return this.#count * (this.memory.width + 4);
  }

  /** A slot that has this row now, first of all. */
  set(slot: number, row: number): void {
    this.#count = Math.max(this.#count, slot + 1);
    this.memory.reserve(this.#count);
    const vector = this.#vectors.valuesAt(row);
    const rounded = this.#rounded;
    let most = 0;
    for (let i = 0; i < vector.length; i++) most = Math.max(most, Math.abs(vector[i]));
    const scale = most > 0 ? MOST_INT8 / most : 0;
    let squares = 0;
    for (let i = 0; i < vector.length; i++) {
      const value = Math.round(vector[i] * scale);
      rounded[i] = value;
      squares += value * value;
    }
    this.memory.set(slot, rounded, byteScale(Math.sqrt(squares)));
  }

  /** A slot whose rows are all removed. */
  remove(slot: number): void {
    this.memory.scales[slot] = 0;
  }
}

function widthOf({ dimensions }: KeptVectors): number {
  return (dimensions + 7) & ~7;
}
