/**
 * The dense vectors that an index holds for exact ranking: as float32, or as int8 with a scale for
 * each row. Rows lie in parts, each in its own WebAssembly memory, where kernels read them in
 * place; growing moves the last part only.
 */

import { ascending } from '../../base/arrays';
import { dotsInto, type RowValues } from '../../kernels/dots';
import { NO_ROW } from '../../kernels/hits';
import { Arena, grownShared, sharedValues } from '../../kernels/memory';
import type { RowsOfLengths } from '../../kernels/products';
import {
  cosineOf,
  type DenseMatrix,
  isUsualSum,
  lengthOf,
  quotientsOf,
} from '../../vectors/vectors';
import { roundToBytes, Zeros } from './rounding';
import type { RowVectors, VectorColumns } from './row-vectors';

/** Most bytes of the rows of a part. */
const PART_BYTES = 2 ** 28;
/** Rows that are copied, and then summed from the caches. */
const BLOCK_ROWS = 64;

/** Dense rows with their lengths and, for int8, scales. Views of rows are valid until `append`. */
export class DenseVectors implements RowVectors {
  readonly kind: 'float32' | 'int8';
  readonly dimensions: number;
  /** What rounding took from values that became 0 in int8; of all vectors that share this. */
  readonly zeros: Zeros;
  /** A power of two, so that no row lies in two parts. */
  readonly #rowsPerPart: number;
  /** The rows of each part, with room behind them. */
  readonly #parts: Uint8Array[] = [];
  /** The memories of the parts; none of vectors of another thread. */
  readonly #arenas: Arena[] = [];
  /** Length of each row as it is held; 0 for a null or removed one. */
  #norms: Float64Array = sharedValues(Float64Array, 64);
  /** Room for the result of `cosinesOf`, and for the lengths of its rows. */
  #cosines = new Float64Array(256);
  #normsOfRows = new Float64Array(256);
  #scales: Float32Array = sharedValues(Float32Array, 0);
  #count = 0;

  constructor(kind: 'float32' | 'int8', dimensions: number, zeros = new Zeros()) {
    this.kind = kind;
    this.zeros = zeros;
    this.dimensions = dimensions;
    let rows = 1;
    while (2 * rows * this.#rowBytes <= PART_BYTES) rows *= 2;
    this.#rowsPerPart = rows;
    if (kind === 'int8') this.#scales = sharedValues(Float32Array, this.#norms.length);
  }

  /** Vectors over the arrays of another thread, for reading only. */
  static over({ kind, dimensions, ...state }: DenseVectors['state']): DenseVectors {
    const vectors = new DenseVectors(kind, dimensions);
    vectors.#parts.push(...state.parts);
    vectors.#norms = state.norms;
    vectors.#scales = state.scales;
    vectors.#count = state.count;
    return vectors;
  }

  /** The rows that there are now, for `over`. */
  get state() {
    const { kind, dimensions } = this;
    const rows = { parts: [...this.#parts], norms: this.#norms, scales: this.#scales };
    return { kind, dimensions, count: this.#count, ...rows };
  }

  /** Bytes of one row's values. */
  get #rowBytes(): number {
    return this.dimensions * (this.kind === 'float32' ? 4 : 1);
  }

  get bytes(): number {
    return this.#count * (this.#rowBytes + 8 + (this.kind === 'int8' ? 4 : 0));
  }

  append(
    matrix: DenseMatrix,
    first: number,
    end: number,
    isPresent: (row: number) => boolean,
  ): void {
    const { dimensions } = this;
    this.#reserve(end - first);
    for (let i = first; i < end; i++) {
      const row = this.#count++;
      const kept = this.valuesAt(row);
      if (!isPresent(i)) {
        kept.fill(0);
        this.#norms[row] = 0;
        continue;
      }
      const vector = matrix.values.subarray(i * dimensions, (i + 1) * dimensions);
      if (this.kind === 'float32') kept.set(vector);
      else this.#scales[row] = roundToBytes(vector, kept as Int8Array, this.zeros);
      this.#norms[row] = lengthOf(kept);
    }
  }

  restore({ vectors, scales }: VectorColumns, rows: Uint32Array): void {
    const { dimensions } = this;
    const values = vectors as Float32Array | Int8Array;
    const sums = new Float64Array(BLOCK_ROWS);
    for (let first = 0; first < rows.length; first += BLOCK_ROWS) {
      const end = Math.min(rows.length, first + BLOCK_ROWS);
      this.#copyRuns(values, rows, first, end);
      sumSquares(values.subarray(first * dimensions, end * dimensions), dimensions, sums);
      for (let i = first; i < end; i++) {
        const row = rows[i];
        if (row === NO_ROW) continue;
        const sum = sums[i - first];
        const isUsual = isUsualSum(sum);
        const from = i * dimensions;
        this.#norms[row] = isUsual
          ? Math.sqrt(sum)
          : lengthOf(values.subarray(from, from + dimensions));
        if (scales !== null) this.#scales[row] = scales[i];
        // A length in float64 is finite if and only if all of its values in float32 are.
        if (Number.isFinite(this.#norms[row]) && Number.isFinite(this.scaleOf(row))) continue;
        throw new Error(`row ${row}: its vector or scale is not finite`);
      }
    }
  }

  /** Copies values to rows `rows[first]` to `rows[end - 1]`, at once those that are consecutive. */
  #copyRuns(values: RowValues, rows: Uint32Array, first: number, end: number): void {
    const { dimensions } = this;
    for (let i = first, next = i; i < end; i = next) {
      const row = rows[i];
      const inPart = this.#rowsPerPart - (row % this.#rowsPerPart);
      do next++;
      while (next < end && next - i < inPart && rows[next] === row + next - i);
      if (row === NO_ROW) continue;
      this.#rowsView(row, next - i).set(values.subarray(i * dimensions, next * dimensions));
    }
  }

  copyFrom(from: RowVectors, rows: Uint32Array, to: Uint32Array): void {
    const { dimensions } = this;
    const own = from as DenseVectors;
    const [sources, targets] = [own, this].map((one) =>
      one.#parts.map((_, i) => one.#partValues(i)),
    );
    const perPart = this.#rowsPerPart;
    for (let i = 0; i < rows.length; i++) {
      const [row, at] = [rows[i], to[i]];
      const first = (row % perPart) * dimensions;
      const values = sources[Math.floor(row / perPart)].subarray(first, first + dimensions);
      targets[Math.floor(at / perPart)].set(values, (at % perPart) * dimensions);
      this.#norms[at] = own.#norms[row];
      if (this.kind === 'int8') this.#scales[at] = own.#scales[row];
    }
  }

  skip(count: number): void {
    this.#reserve(count);
    this.#count += count;
  }

  gather(rows: Uint32Array): VectorColumns {
    const { dimensions } = this;
    const Kept = this.kind === 'float32' ? Float32Array : Int8Array;
    const vectors = new Kept(rows.length * dimensions);
    rows.forEach((row, i) => {
      vectors.set(this.valuesAt(row), i * dimensions);
    });
    const scales = this.kind === 'int8' ? Float32Array.from(rows, (r) => this.#scales[r]) : null;
    return { vectors, scales, sparse: null };
  }

  /**
   * The rows from `first` on that `rows` names, of length 0 where it says NO_ROW. Their values may
   * be a view, until the next `append`.
   */
  rowsOfLengths(rows: Uint32Array, first: number): RowsOfLengths {
    const { dimensions } = this;
    const end = first + rows.length;
    const inPart = this.#rowsPerPart - (first % this.#rowsPerPart);
    const values =
      rows.length <= inPart
        ? this.#rowsView(first, rows.length)
        : (this.gather(ascending(end).subarray(first)).vectors as Float32Array | Int8Array);
    const lengths = this.#norms.slice(first, end);
    for (let i = 0; i < rows.length; i++) if (rows[i] === NO_ROW) lengths[i] = 0;
    return { values, lengths, dimensions };
  }

  /** Allocates room for more rows. */
  #reserve(more: number): void {
    const count = this.#count + more;
    for (let first = 0, part = 0; first < count; first += this.#rowsPerPart, part++) {
      this.#arenas[part] ??= new Arena(0, true);
      const arena = this.#arenas[part];
      const room = arena.bytes.length;
      const wanted = Math.min(this.#rowsPerPart, count - first) * this.#rowBytes;
      // Grows by a quarter at least, so that rows are seldom copied.
      if (wanted > room) arena.reserve(Math.max(wanted, Math.floor(1.25 * room)));
      this.#parts[part] = arena.bytes;
    }
    if (count <= this.#norms.length) return;
    const room = Math.max(count, Math.ceil(1.25 * this.#norms.length));
    this.#norms = grownShared(this.#norms, room);
    if (this.kind === 'int8') this.#scales = grownShared(this.#scales, room);
  }

  /** A view of all rows of a part. */
  #partValues(part: number): RowValues {
    const { buffer, byteOffset } = this.#parts[part];
    const first = part * this.#rowsPerPart;
    const length = Math.min(this.#rowsPerPart, this.#count - first) * this.dimensions;
    if (this.kind === 'float32') return new Float32Array(buffer, byteOffset, length);
    return new Int8Array(buffer, byteOffset, length);
  }

  /** A view of `count` rows of one part. */
  #rowsView(row: number, count: number): Float32Array | Int8Array {
    const { buffer, byteOffset } = this.#parts[Math.floor(row / this.#rowsPerPart)];
    const at = byteOffset + (row % this.#rowsPerPart) * this.#rowBytes;
    if (this.kind === 'float32') return new Float32Array(buffer, at, count * this.dimensions);
    return new Int8Array(buffer, at, count * this.dimensions);
  }

  at(row: number): Float32Array {
    const kept = this.valuesAt(row);
    if (this.kind === 'float32') return Float32Array.from(kept);
    return Float32Array.from(kept, (value) => value * this.#scales[row]);
  }

  /** A view of a row's values as they are held, until the next `append`; int8 without the scale. */
  valuesAt(row: number): Float32Array | Int8Array {
    return this.#rowsView(row, 1);
  }

  /** The length of `valuesAt(row)`: of int8 without the scale. */
  normOf(row: number): number {
    return this.#norms[row];
  }

  /** The factor of `valuesAt(row)`: 1 of float32. */
  scaleOf(row: number): number {
    return this.kind === 'int8' ? this.#scales[row] : 1;
  }

  areEqual(row: number, other: number): boolean {
    const [a, b] = [this.valuesAt(row), this.valuesAt(other)];
    return this.scaleOf(row) === this.scaleOf(other) && a.every((value, i) => value === b[i]);
  }

  unitOf(row: number): Float64Array {
    const norm = this.#norms[row];
    return quotientsOf(this.valuesAt(row), norm);
  }

  /** By one call of the kernel for each part; float64 sums, equal on all engines. */
  cosinesOf(rows: Uint32Array, query: Float64Array): Float64Array {
    if (rows.length > this.#cosines.length) {
      this.#cosines = new Float64Array(2 * rows.length);
      this.#normsOfRows = new Float64Array(2 * rows.length);
    }
    const cosines = this.#cosines.subarray(0, rows.length);
    // A separate loop, so that the cache misses of lengths overlap.
    const norms = this.#normsOfRows;
    for (let i = 0; i < rows.length; i++) norms[i] = this.#norms[rows[i]];
    if (this.#parts.length === 1) dotsInto(this.#partValues(0), rows, query, cosines);
    else this.#dotsByPart(rows, query, cosines);
    for (let i = 0; i < rows.length; i++) {
      cosines[i] = cosineOf(cosines[i], norms[i]);
    }
    return cosines;
  }

  /** The same where rows lie in several parts: one call of the kernel for each. */
  #dotsByPart(rows: Uint32Array, query: Float64Array, out: Float64Array): void {
    const places = new Uint32Array(rows.length);
    const own = new Uint32Array(rows.length);
    const dots = new Float64Array(rows.length);
    for (let part = 0; part < this.#parts.length; part++) {
      const first = part * this.#rowsPerPart;
      let count = 0;
      for (let i = 0; i < rows.length; i++) {
        const at = rows[i] - first;
        if (at < 0 || at >= this.#rowsPerPart) continue;
        places[count] = i;
        own[count++] = at;
      }
      if (count === 0) continue;
      dotsInto(this.#partValues(part), own.subarray(0, count), query, dots.subarray(0, count));
      for (let i = 0; i < count; i++) out[places[i]] = dots[i];
    }
  }
}

/**
 * Sums the squares of each row in the order of its values, as `lengthOf` does: of four rows at a
 * time, whose additions overlap, which is twice as fast.
 */
function sumSquares(values: RowValues, dimensions: number, sums: Float64Array): void {
  const count = values.length / dimensions;
  for (let row = 0; row < count; row += 4) {
    const last = dimensions * (count - 1 - row); // stands for the rows that are missing
    const [second, third, fourth] = [dimensions, 2 * dimensions, 3 * dimensions];
    const [q, r, s] = [Math.min(second, last), Math.min(third, last), Math.min(fourth, last)];
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let j = 0, i = row * dimensions; j < dimensions; j++, i++) {
      a += values[i] * values[i];
      b += values[i + q] * values[i + q];
      c += values[i + r] * values[i + r];
      d += values[i + s] * values[i + s];
    }
    sums[row] = a;
    sums[row + 1] = b;
    sums[row + 2] = c;
    sums[row + 3] = d;
  }
}
