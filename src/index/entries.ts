/**
 * Entries of rows in partitions: the residual code and its scale, in the memory that the kernel
 * reads, and with copies the position of the row. A row has one entry in its partition, and one in
 * its second partition where the index has copies. Entries of a segment lie partition by partition,
 * each beginning with a block; those of the tail lie in the order of its rows.
 */

import { grown } from '../base/arrays';
import { ResidualMemory } from '../kernels/residual-memory';
import {
  BLOCK_ROWS,
  copyResiduals,
  type EntryList,
  RANGE,
  type Residuals,
} from '../kernels/residuals';
import type { Rows } from './rows';

export class Entries implements EntryList {
  readonly memory: ResidualMemory;
  /** The position of the row of each entry; null where ranges name entries by positions. */
  readonly positions: Uint32Array | null;
  readonly #rows: Pick<Rows, 'rowAt'>;

  constructor(
    memory: ResidualMemory,
    rows: Pick<Rows, 'rowAt'>,
    positions: Uint32Array | null = null,
  ) {
    this.#rows = rows;
    this.memory = memory;
    this.positions = positions;
  }

  /** Room for the entries of a segment. */
  static ofSegment(
    bytesPerEntry: number,
    count: number,
    rows: Pick<Rows, 'rowAt'>,
    hasCopies: boolean,
  ): Entries {
    const memory = new ResidualMemory(bytesPerEntry, count);
    return new Entries(memory, rows, hasCopies ? new Uint32Array(count) : null);
  }

  /** What another thread reads. */
  get state() {
    return { memory: this.memory.state, positions: this.positions };
  }

  /** The entries of another thread, to be searched. */
  static over({ memory, positions }: Entries['state'], rows: Pick<Rows, 'rowAt'>): Entries {
    return new Entries(ResidualMemory.over(memory), rows, positions);
  }

  positionOf(code: number): number {
    return this.positions === null ? code : this.positions[code];
  }

  rowOf(code: number): number {
    return this.#rows.rowAt(this.positionOf(code));
  }

  get bytes(): number {
    return this.memory.byteLength + (this.positions?.byteLength ?? 0);
  }

  /** Copies `count` entries, whose numbers `entryOf` gives, to `to` from row `at` on. */
  copyTo(to: Residuals, at: number, count: number, entryOf: (i: number) => number): void {
    for (let i = 0, end = 0; i < count; i = end) {
      const first = entryOf(i);
      end = i + 1;
      while (end < count && entryOf(end) === first + end - i) end++;
      copyResiduals(this.memory, first, to, at + i, end - i);
    }
  }

  /** An entry that searches skip from now on. */
  remove(entry: number): void {
    this.memory.setScale(entry, 0);
  }
}

/** The first entry of each partition, each at a block, where they have so many; last, their end. */
export function firstEntries(counts: Uint32Array): Uint32Array {
  const starts = new Uint32Array(counts.length + 1);
  for (let p = 0; p < counts.length; p++) {
    starts[p + 1] = starts[p] + BLOCK_ROWS * Math.ceil(counts[p] / BLOCK_ROWS);
  }
  return starts;
}

/** Ranges of entries for the kernel, as they are found. */
export class Ranges {
  #numbers: Uint32Array<ArrayBuffer> = new Uint32Array(64 * RANGE);
  #floats = new Float32Array(this.#numbers.buffer);
  #length = 0;
  /** How many entries are in the ranges. */
  entryCount = 0;

  /** Takes all ranges out. */
  clear(): this {
    this.#length = 0;
    this.entryCount = 0;
    return this;
  }

  /**
   * Entries `first` to `first + count - 1`, 2,048 times the product of query and centroid, the
   * number that stands for the first, and where the search lies that looks at them.
   */
  add(first: number, count: number, product: number, code = first, room = 0): void {
    if (this.#length === this.#numbers.length) {
      this.#numbers = grown(this.#numbers);
      this.#floats = new Float32Array(this.#numbers.buffer);
    }
    this.#numbers[this.#length] = first;
    this.#numbers[this.#length + 1] = code;
    this.#numbers[this.#length + 2] = count;
    this.#floats[this.#length + 3] = product;
    this.#numbers[this.#length + 4] = room;
    this.#length += RANGE;
    this.entryCount += count;
  }

  /** A view of all ranges so far. */
  get numbers(): Uint32Array {
    return this.#numbers.subarray(0, this.#length);
  }
}
