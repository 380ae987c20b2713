/**
 * What is clustered, as points of one length in float64: the kept vectors of an index, the rows of
 * a dense matrix, such as accumulators, or codes, a bit being +1 or -1. A random projection keeps
 * angles, so that all of these can be grouped by direction.
 */

import { isValid } from '../base/bitmap';
import { wrongType } from '../base/check';
import { lengthOf } from '../base/length';
import type { Steps } from '../base/steps';
import { Codes } from '../codes/codes';
import type { Slots } from '../index/distinct/slots';
import { SimHashIndex, stateOf } from '../index/simhash-index';
import type { KeptVectors } from '../index/vectors/kept-vectors';
import { type RowSource, rowsOf } from '../join/source';
import type { KernelName } from '../kernels/kernels';
import { integerWidth, UNIT } from '../kernels/products/products.scalar';
import { checkDenseMatrix, type DenseMatrix, isDenseMatrix } from '../vectors/vectors';

/** Codes, the rows of an index, or vectors one after another: accumulators for example. */
export type ClusterSource = RowSource | DenseMatrix;

export interface Points {
  /** Rows that have a direction, ascending. Null, removed and all-zero ones have none. */
  readonly rows: Uint32Array;
  /** All rows. */
  readonly rowCount: number;
  readonly dimensions: number;
  /** Of every point: 1, or the root of the bits, whose values are whole numbers. */
  readonly length: number;
  /** Writes the point of a row to `out[at]..`. */
  into(row: number, out: Float64Array, at: number): void;
}

const STEP_ROWS = 2 ** 14;

/** Whether a source has vectors to go by. */
export function hasVectors(source: ClusterSource): boolean {
  return source instanceof SimHashIndex ? source.vectors !== 'none' : !(source instanceof Codes);
}

/** The points of a source, and the kernel that it was made with. */
export function* pointsOf(
  source: ClusterSource,
  by: 'vectors' | 'bits',
): Steps<{ points: Points; kernel?: KernelName }> {
  if (!(source instanceof Codes || source instanceof SimHashIndex)) {
    if (!isDenseMatrix(source)) {
      throw wrongType('source', 'Codes, a SimHashIndex or { values, dimensions }', source);
    }
    if (by === 'bits') throw new Error(`"by" needs codes for bits, the source has vectors`);
    return { points: yield* matrixPoints(source, checkDenseMatrix(source, 'source')) };
  }
  if (by === 'bits') {
    const { codes, kernel } = rowsOf('source', source);
    return { points: yield* codePoints(codes), ...(kernel && { kernel }) };
  }
  const state = source instanceof SimHashIndex ? stateOf(source) : null;
  if (state === null || state.vectors === null) {
    throw new Error(`"by" 'vectors' needs vectors: make the index with vectors 'float32'`);
  }
  const { slots, vectors, kernel } = state;
  return { points: keptPoints(slots, vectors), ...(kernel && { kernel }) };
}

function* matrixPoints(matrix: DenseMatrix, rowCount: number): Steps<Points> {
  const { values, dimensions, validity } = matrix;
  const norms = new Float64Array(rowCount);
  for (let row = 0; row < rowCount; row++) {
    if (!isValid(validity, row)) continue;
    norms[row] = lengthOf(values, row * dimensions, (row + 1) * dimensions);
    if (!Number.isFinite(norms[row])) {
      throw new RangeError(`row ${row}: expected finite values of a finite length`);
    }
    if (row % STEP_ROWS === STEP_ROWS - 1) yield undefined;
  }
  return {
    ...{ rowCount, dimensions, length: 1 },
    rows: yield* rowsWhere(rowCount, (row) => norms[row] > 0),
    into(row, out, at) {
      const from = row * dimensions;
      for (let i = 0; i < dimensions; i++) out[at + i] = values[from + i] / norms[row];
    },
  };
}

/** Rows as they are now: the vector of one that is removed later stays where it is. */
function keptPoints(slots: Slots, vectors: KeptVectors): Points {
  const { dimensions } = vectors;
  return {
    ...{ rowCount: slots.rowCount, dimensions, length: 1 },
    rows: slots.rowsWithCodes().filter((row) => vectors.normOf(row) > 0),
    into(row, out, at) {
      const values = vectors.valuesAt(row);
      const norm = vectors.normOf(row);
      for (let i = 0; i < dimensions; i++) out[at + i] = values[i] / norm;
    },
  };
}

function* codePoints(codes: Codes): Steps<Points> {
  const { bits, bytes, bytesPerCode, count, validity } = codes;
  return {
    ...{ rowCount: count, dimensions: bits, length: Math.sqrt(bits) },
    rows: yield* rowsWhere(count, (row) => isValid(validity, row)),
    into(row, out, at) {
      const from = row * bytesPerCode;
      for (let bit = 0; bit < bits; bit++) {
        out[at + bit] = 2 * ((bytes[from + (bit >> 3)] >> (bit & 7)) & 1) - 1;
      }
    },
  };
}

function* rowsWhere(rowCount: number, holds: (row: number) => boolean): Steps<Uint32Array> {
  const rows = new Uint32Array(rowCount);
  let count = 0;
  for (let row = 0; row < rowCount; row++) {
    if (holds(row)) rows[count++] = row;
    if (row % STEP_ROWS === STEP_ROWS - 1) yield undefined;
  }
  return rows.subarray(0, count);
}

/** Some points side by side: as they are, and rounded for integer products. */
export class PointBlock {
  readonly values: Float64Array;
  readonly width: number;
  readonly room: number;
  readonly #points: Points;
  readonly #rounded: Int16Array;

  constructor(points: Points, room: number) {
    this.#points = points;
    this.room = room;
    this.width = integerWidth(points.dimensions);
    this.values = new Float64Array(room * points.dimensions);
    this.#rounded = new Int16Array(room * this.width);
  }

  /** Takes the points of `rows[first]..`, as many as there is room for; returns how many. */
  take(rows: Uint32Array, first: number): number {
    const { dimensions } = this.#points;
    const count = Math.min(this.room, rows.length - first);
    for (let i = 0; i < count; i++) {
      this.#points.into(rows[first + i], this.values, i * dimensions);
    }
    return count;
  }

  /** Adds the i-th to a sum, the one at place `place` of its kind. */
  addTo(sums: Float64Array, place: number, i: number): void {
    const { values } = this;
    const { dimensions } = this.#points;
    const from = i * dimensions;
    const to = place * dimensions;
    for (let j = 0; j < dimensions; j++) sums[to + j] += values[from + j];
  }

  /** The first `count` of them at length UNIT. */
  rounded(count: number): Int16Array {
    const { values, width } = this;
    const { dimensions, length } = this.#points;
    const rounded = this.#rounded;
    const scale = UNIT / length;
    for (let i = 0, from = 0; i < count; i++) {
      const to = i * width;
      // Several times as fast as Math.round.
      for (let j = 0; j < dimensions; j++)
        rounded[to + j] = Math.floor(values[from++] * scale + 0.5);
    }
    return rounded.subarray(0, count * width);
  }
}

/** Sum of products of `dimensions` values, from two places on. */
export function dot(
  a: Float64Array,
  aAt: number,
  b: Float64Array,
  bAt: number,
  dimensions: number,
): number {
  let sum = 0;
  for (let i = 0; i < dimensions; i++) sum += a[aAt + i] * b[bAt + i];
  return sum;
}
