/**
 * The sparse vectors that an index holds for exact ranking: entries by ascending dimension (64
 * bits), each with a float32 weight. Entries lie in parts that never move, each row in one part.
 */

import { NO_ROW } from '../../kernels/hits';
import { grownShared, sharedValues } from '../../kernels/memory';
import type { SparseColumns } from '../../table/sealed/index-rows';
import { canonicalRows, SparseUnit } from '../../vectors/sparse-rows';
import { cosineOf, lengthOf, type SparseMatrix } from '../../vectors/vectors';
import { DenseVectors } from './dense-vectors';
import type {
  KeptSparseVector,
  RowVectors,
  SparsePart,
  VectorColumns,
  VectorState,
} from './row-vectors';

/** Entries of a part: at least the first, at most the second unless one call adds more. */
const MIN_ENTRIES = 1024;
const MAX_ENTRIES = 2 ** 20;
const BYTES_PER_ENTRY = 12;
const BYTES_PER_ROW = 20;

/** Sparse rows. Growing adds a part, so that views which other threads hold stay valid. */
export class SparseVectors implements RowVectors {
  readonly kind: 'sparse' = 'sparse';
  readonly #parts: SparsePart[] = [];
  /** Entries in use in the last part. */
  #filled = 0;
  /** By row: its part, its first entry there, its number of entries, its length. */
  #partOf: Uint32Array = sharedValues(Uint32Array, 64);
  #starts: Uint32Array = sharedValues(Uint32Array, 64);
  #counts: Uint32Array = sharedValues(Uint32Array, 64);
  #norms: Float64Array = sharedValues(Float64Array, 64);
  #rowCount = 0;
  #entryCount = 0;
  /** Room for the result of `cosinesOf`. */
  #cosines = new Float64Array(256);

  /** Vectors over the arrays of another thread, for reading only. */
  static over(state: SparseVectors['state']): SparseVectors {
    const vectors = new SparseVectors();
    vectors.#parts.push(...state.parts);
    vectors.#partOf = state.partOf;
    vectors.#starts = state.starts;
    vectors.#counts = state.counts;
    vectors.#norms = state.norms;
    vectors.#rowCount = state.rowCount;
    return vectors;
  }

  /** The rows that there are now, for `over`. */
  get state() {
    const [parts, partOf, starts] = [this.#parts, this.#partOf, this.#starts];
    const { kind, rowCount } = this;
    return { kind, parts, partOf, starts, counts: this.#counts, norms: this.#norms, rowCount };
  }

  get rowCount(): number {
    return this.#rowCount;
  }

  get bytes(): number {
    return BYTES_PER_ENTRY * this.#entryCount + BYTES_PER_ROW * this.#rowCount;
  }

  append(
    matrix: SparseMatrix,
    first: number,
    end: number,
    isPresent: (row: number) => boolean,
  ): void {
    const rows = canonicalRows(matrix, first, end);
    const halves = halvesOf(rows.dimensions);
    this.#reserve(rows.count, rows.offsets[rows.count]);
    for (let row = 0; row < rows.count; row++) {
      const from = rows.offsets[row];
      const to = isPresent(first + row) ? rows.offsets[row + 1] : from;
      this.#put(this.#rowCount++, halves, rows.values, from, to);
    }
  }

  restore({ sparse }: VectorColumns, rows: Uint32Array): void {
    const { offsets, indices, weights } = sparse as SparseColumns;
    const halves = halvesOf(indices);
    this.#reserve(0, offsets[rows.length]);
    for (let i = 0; i < rows.length; i++) {
      if (rows[i] !== NO_ROW) this.#put(rows[i], halves, weights, offsets[i], offsets[i + 1]);
    }
  }

  /** Writes entries `from` to `to - 1` as a row; `#reserve` must have made room for them. */
  #put(
    row: number,
    halves: Uint32Array,
    weights: ArrayLike<number>,
    from: number,
    to: number,
  ): void {
    const start = this.#filled;
    const part = this.#parts[this.#parts.length - 1];
    for (let i = from, at = start; i < to; i++, at++) {
      part.halves[2 * at] = halves[2 * i];
      part.halves[2 * at + 1] = halves[2 * i + 1];
      part.weights[at] = weights[i];
    }
    const count = to - from;
    this.#partOf[row] = this.#parts.length - 1;
    this.#starts[row] = start;
    this.#counts[row] = count;
    this.#norms[row] = count === 0 ? 0 : lengthOf(part.weights.subarray(start, start + count));
    this.#filled += count;
    this.#entryCount += count;
  }

  copyFrom(from: RowVectors, rows: Uint32Array, to: Uint32Array): void {
    this.restore(from.gather(rows), to);
  }

  skip(count: number): void {
    this.#reserve(count, 0);
    this.#rowCount += count;
  }

  /** Allocates room for more rows, with `entries` entries in all. */
  #reserve(rows: number, entries: number): void {
    const last = this.#parts[this.#parts.length - 1];
    if (last === undefined || this.#filled + entries > last.weights.length) {
      // Parts double in all, up to MAX_ENTRIES, so that few are made.
      const usual = Math.max(MIN_ENTRIES, Math.min(MAX_ENTRIES, this.#entryCount));
      const room = Math.max(entries, usual);
      this.#parts.push({
        halves: sharedValues(Uint32Array, 2 * room),
        weights: sharedValues(Float32Array, room),
      });
      this.#filled = 0;
    }
    const count = this.#rowCount + rows;
    if (count <= this.#norms.length) return;
    const room = Math.max(count, Math.ceil(1.25 * this.#norms.length));
    this.#partOf = grownShared(this.#partOf, room);
    this.#starts = grownShared(this.#starts, room);
    this.#counts = grownShared(this.#counts, room);
    this.#norms = grownShared(this.#norms, room);
  }

  gather(rows: Uint32Array): VectorColumns {
    const offsets = new Int32Array(rows.length + 1);
    rows.forEach((row, i) => {
      offsets[i + 1] = offsets[i] + this.#counts[row];
    });
    const indices = new BigUint64Array(offsets[rows.length]);
    const weights = new Float32Array(offsets[rows.length]);
    rows.forEach((row, i) => {
      const { indices: own, values } = this.at(row);
      indices.set(own, offsets[i]);
      weights.set(values, offsets[i]);
    });
    return { vectors: null, scales: null, sparse: { offsets, indices, weights } };
  }

  at(row: number): KeptSparseVector {
    const { part, from, to } = this.entriesOf(row);
    const halves = Uint32Array.from(part.halves.subarray(2 * from, 2 * to));
    return { indices: new BigUint64Array(halves.buffer), values: part.weights.slice(from, to) };
  }

  /** Where the entries of a row are; of one without entries `part` may be undefined. */
  entriesOf(row: number): { part: SparsePart; from: number; to: number } {
    const from = this.#starts[row];
    return { part: this.#parts[this.#partOf[row]], from, to: from + this.#counts[row] };
  }

  /** Calls `take` with the halves of each member of a row: a dimension whose weight is not 0. */
  eachMember(row: number, take: (low: number, high: number) => void): void {
    const { part, from, to } = this.entriesOf(row);
    for (let i = from; i < to; i++) {
      if (part.weights[i] !== 0) take(part.halves[2 * i], part.halves[2 * i + 1]);
    }
  }

  /** The length of a row; 0 for an all-zero one. */
  normOf(row: number): number {
    return this.#norms[row];
  }

  areEqual(row: number, other: number): boolean {
    const [a, b] = [this.entriesOf(row), this.entriesOf(other)];
    const count = a.to - a.from;
    // Where lengths differ, `same` starts beyond `count`: no loop, and the result is false.
    let same = b.to - b.from === count ? 0 : count + 1;
    for (let i = a.from, j = b.from; same < count; i++, j++, same++) {
      const [x, y] = [a.part, b.part];
      const isSame = x.halves[2 * i] === y.halves[2 * j] && x.weights[i] === y.weights[j];
      if (!isSame || x.halves[2 * i + 1] !== y.halves[2 * j + 1]) return false;
    }
    return same === count;
  }

  unitOf(row: number): SparseUnit {
    const { part, from, to } = this.entriesOf(row);
    return new SparseUnit(part, from, to, this.#norms[row]);
  }

  /**
   * The exact Jaccard similarity of two rows, as sets of the dimensions whose weight is not 0. Of
   * two empty sets it is 0.
   */
  jaccardOf(row: number, others: SparseVectors, other: number): number {
    const [a, b] = [this.entriesOf(row), others.entriesOf(other)];
    const [x, y] = [a.part?.halves, b.part?.halves];
    let [common, all] = [0, 0];
    // Merges both rows by dimension: high half first, then low half.
    for (let i = a.from, j = b.from; i < a.to || j < b.to; ) {
      let order = i === a.to ? 1 : j === b.to ? -1 : x[2 * i + 1] - y[2 * j + 1];
      if (order === 0 && i < a.to && j < b.to) order = x[2 * i] - y[2 * j];
      const inOurs = order <= 0 && a.part.weights[i++] !== 0;
      const inTheirs = order >= 0 && b.part.weights[j++] !== 0;
      if (inOurs || inTheirs) all++;
      if (inOurs && inTheirs) common++;
    }
    return all === 0 ? 0 : common / all;
  }

  cosinesOf(rows: Uint32Array, query: SparseUnit): Float64Array {
    if (rows.length > this.#cosines.length) this.#cosines = new Float64Array(2 * rows.length);
    const cosines = this.#cosines.subarray(0, rows.length);
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i];
      const from = this.#starts[row];
      const part = this.#parts[this.#partOf[row]];
      cosines[i] = cosineOf(query.dot(part, from, from + this.#counts[row]), this.#norms[row]);
    }
    return cosines;
  }
}

/** Dimensions as pairs of 32-bit halves, low first; a view of 64-bit ones. */
export function halvesOf(dimensions: Uint32Array | BigUint64Array): Uint32Array {
  if (dimensions instanceof BigUint64Array) {
    return new Uint32Array(dimensions.buffer, dimensions.byteOffset, 2 * dimensions.length);
  }
  const halves = new Uint32Array(2 * dimensions.length);
  for (let i = 0; i < dimensions.length; i++) halves[2 * i] = dimensions[i];
  return halves;
}

export function vectorsOver(state: VectorState): DenseVectors | SparseVectors {
  return state.kind === 'sparse'
    ? SparseVectors.over(state as SparseVectors['state'])
    : DenseVectors.over(state as DenseVectors['state']);
}
