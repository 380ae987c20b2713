/**
 * The dense vectors that an index holds for exact ranking: as float32, or as int8 with
 * a scale a row. They live in memories of their own, a part of the rows in each, where the kernel
 * reads them.
 */

import { lengthOf } from '../../base/length';
import type { RowValues } from '../../kernels/dots/dots.scalar';
import { dotsKernel, type KernelName } from '../../kernels/kernels';
import { Arena } from '../../kernels/memory';

/** 'float32' and 'int8' keep dense vectors, 'sparse' keeps sparse ones. */
export type VectorStorage = 'none' | 'float32' | 'int8' | 'sparse';
export const VECTOR_STORAGES = ['none', 'float32', 'int8', 'sparse'] as const;

/** Rows of a part take at most so much. */
const PART_BYTES = 2 ** 28;
const MAX_INT8 = 127;

export class KeptVectors {
  readonly storage: 'float32' | 'int8';
  readonly dimensions: number;
  readonly #rowsPerPart: number;
  readonly #parts: Arena[] = [];
  readonly #kernel: KernelName;
  #norms = new Float64Array(64);
  /** Room for the answers of `cosinesOf`, and the norms of their rows. */
  #cosines = new Float64Array(256);
  #normsOfRows = new Float64Array(256);
  #scales = new Float32Array(0);
  #count = 0;

  constructor(storage: 'float32' | 'int8', dimensions: number, kernel: KernelName = 'auto') {
    this.storage = storage;
    this.dimensions = dimensions;
    this.#kernel = kernel;
    let rows = 1;
    while (2 * rows * this.#rowBytes <= PART_BYTES) rows *= 2;
    this.#rowsPerPart = rows;
    if (storage === 'int8') this.#scales = new Float32Array(this.#norms.length);
  }

  get #rowBytes(): number {
    return this.dimensions * (this.storage === 'float32' ? 4 : 1);
  }

  get bytes(): number {
    return this.#count * (this.#rowBytes + 8 + (this.storage === 'int8' ? 4 : 0));
  }

  /** Appends rows of a dense matrix; null rows as zeros. */
  append(values: Float32Array | Float64Array, isPresent: (row: number) => boolean): void {
    const { dimensions } = this;
    const count = values.length / dimensions;
    this.reserve(count);
    for (let i = 0; i < count; i++) {
      const row = this.#count++;
      const kept = this.#rowView(row);
      if (!isPresent(i)) {
        kept.fill(0);
        this.#norms[row] = 0;
        continue;
      }
      const vector = values.subarray(i * dimensions, (i + 1) * dimensions);
      if (this.storage === 'float32') kept.set(vector);
      else this.#scales[row] = roundToBytes(vector, kept as Int8Array);
      this.#norms[row] = lengthOf(kept);
    }
  }

  /** Appends rows as they were kept. */
  restore(values: Float32Array | Int8Array, scales: Float32Array | null): void {
    const { dimensions } = this;
    const count = values.length / dimensions;
    this.reserve(count);
    for (let i = 0; i < count; ) {
      const row = this.#count + i;
      const end = Math.min(count, i + this.#rowsPerPart - (row % this.#rowsPerPart));
      this.#rowsView(row, end - i).set(values.subarray(i * dimensions, end * dimensions));
      i = end;
    }
    for (let i = 0; i < count; i++) {
      this.#norms[this.#count + i] = lengthOf(values, i * dimensions, (i + 1) * dimensions);
    }
    if (scales !== null) this.#scales.set(scales, this.#count);
    this.#count += count;
  }

  /** Rows that are not there, in place of removed ones. */
  skip(count: number): void {
    this.reserve(count);
    this.#count += count;
  }

  /** Rows one after another, as they are kept. */
  gather(rows: Uint32Array): Float32Array | Int8Array {
    const { dimensions } = this;
    const Kept = this.storage === 'float32' ? Float32Array : Int8Array;
    const values = new Kept(rows.length * dimensions);
    rows.forEach((row, i) => {
      values.set(this.#rowView(row), i * dimensions);
    });
    return values;
  }

  /** Makes room for so many more rows. */
  reserve(more: number): void {
    const count = this.#count + more;
    for (let first = 0, part = 0; first < count; first += this.#rowsPerPart, part++) {
      this.#parts[part] ??= new Arena();
      const rows = Math.min(this.#rowsPerPart, count - first);
      const room = this.#parts[part].bytes.length;
      const wanted = rows * this.#rowBytes + 8;
      if (wanted > room) this.#parts[part].reserve(Math.max(wanted, Math.floor(1.25 * room)));
    }
    if (count <= this.#norms.length) return;
    const room = Math.max(count, Math.ceil(1.25 * this.#norms.length));
    const norms = new Float64Array(room);
    norms.set(this.#norms);
    this.#norms = norms;
    if (this.storage === 'float32') return;
    const scales = new Float32Array(room);
    scales.set(this.#scales);
    this.#scales = scales;
  }

  /** All rows of a part as they are kept. */
  #partValues(part: number): RowValues {
    const { buffer, byteOffset } = this.#parts[part].bytes;
    const first = part * this.#rowsPerPart;
    const length = Math.min(this.#rowsPerPart, this.#count - first) * this.dimensions;
    if (this.storage === 'float32') return new Float32Array(buffer, byteOffset, length);
    return new Int8Array(buffer, byteOffset, length);
  }

  #rowView(row: number): Float32Array | Int8Array {
    return this.#rowsView(row, 1);
  }

  /** Rows of one part. */
  #rowsView(row: number, count: number): Float32Array | Int8Array {
    const { buffer, byteOffset } = this.#parts[Math.floor(row / this.#rowsPerPart)].bytes;
    const at = byteOffset + (row % this.#rowsPerPart) * this.#rowBytes;
    if (this.storage === 'float32') return new Float32Array(buffer, at, count * this.dimensions);
    return new Int8Array(buffer, at, count * this.dimensions);
  }

  /** The vector of a row as it is kept, a copy. */
  at(row: number): Float32Array {
    const kept = this.#rowView(row);
    if (this.storage === 'float32') return Float32Array.from(kept);
    return Float32Array.from(kept, (value) => value * this.#scales[row]);
  }

  /** A row's values as they are kept, a view until the next `append`; int8 without its scale. */
  valuesAt(row: number): Float32Array | Int8Array {
    return this.#rowView(row);
  }

  normOf(row: number): number {
    return this.#norms[row];
  }

  scaleOf(row: number): number {
    return this.storage === 'int8' ? this.#scales[row] : 1;
  }

  /**
   * Exact cosines of rows with a query of length 1; 0 for an all-zero row. Valid until the next
   * call: to make arrays takes longer than to fill them.
   */
  cosinesOf(rows: Uint32Array, query: Float64Array): Float64Array {
    if (rows.length > this.#cosines.length) {
      this.#cosines = new Float64Array(2 * rows.length);
      this.#normsOfRows = new Float64Array(2 * rows.length);
    }
    const cosines = this.#cosines.subarray(0, rows.length);
    const kernel = dotsKernel(this.#kernel);
    if (this.#parts.length === 1) kernel.dotsOfRows(this.#partValues(0), rows, query, cosines);
    else this.#dotsByPart(rows, query, cosines);
    // In a loop of their own, where cache misses overlap.
    const norms = this.#normsOfRows;
    for (let i = 0; i < rows.length; i++) norms[i] = this.#norms[rows[i]];
    for (let i = 0; i < rows.length; i++) {
      const norm = norms[i];
      cosines[i] = norm > 0 ? Math.max(-1, Math.min(1, cosines[i] / norm)) : 0;
    }
    return cosines;
  }

  #dotsByPart(rows: Uint32Array, query: Float64Array, out: Float64Array): void {
    const kernel = dotsKernel(this.#kernel);
    for (let part = 0; part < this.#parts.length; part++) {
      const first = part * this.#rowsPerPart;
      const places: number[] = [];
      rows.forEach((row, i) => {
        if (row >= first && row < first + this.#rowsPerPart) places.push(i);
      });
      if (places.length === 0) continue;
      const dots = new Float64Array(places.length);
      const local = Uint32Array.from(places, (i) => rows[i] - first);
      kernel.dotsOfRows(this.#partValues(part), local, query, dots);
      places.forEach((place, i) => {
        out[place] = dots[i];
      });
    }
  }
}

/** Rounds to -127..127, the largest value to the ends; returns the scale. */
function roundToBytes(vector: Float32Array | Float64Array, out: Int8Array): number {
  let most = 0;
  for (let i = 0; i < vector.length; i++) most = Math.max(most, Math.abs(vector[i]));
  if (most === 0) {
    out.fill(0);
    return 0;
  }
  for (let i = 0; i < vector.length; i++) out[i] = Math.round((vector[i] / most) * MAX_INT8);
  return most / MAX_INT8;
}
