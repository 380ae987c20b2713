/**
 * Turns what callers cluster into points of one length: the vectors of an index, the rows of a
 * dense matrix (accumulators, for example), or codes with each bit as +1 or -1. A random projection
 * keeps angles, so all of these can be grouped by direction.
 */

import { isValid } from '../base/bitmap';
import { wrongType } from '../base/check';
import type { Steps } from '../base/steps';
import { Codes } from '../codes/codes';
import { SimHashIndex } from '../index/simhash-index';
import { DenseVectors } from '../index/vectors/dense-vectors';
import { type RowSource, type Rows, rowsOf } from '../join/source';
import type { Points } from '../k-means/points';
import { checkDenseMatrix, type DenseMatrix, isDenseMatrix, lengthsOf } from '../vectors/vectors';

/** Codes, the rows of an index, or vectors one after another. */
export type ClusterSource = RowSource | DenseMatrix;

/** Rows of a step. */
const STEP_ROWS = 2 ** 14;

/** True where a source has dense vectors. */
export function hasVectors(source: ClusterSource): boolean {
  if (!(source instanceof SimHashIndex)) return !(source instanceof Codes);
  return source.vectors === 'float32' || source.vectors === 'int8';
}

/** The points of a source: its vectors, or its codes as vectors of ±1. Throws if it has none. */
export function* pointsOf(source: ClusterSource, by: 'vectors' | 'bits'): Steps<Points> {
  if (source instanceof Codes || source instanceof SimHashIndex) {
    return yield* pointsOfRows(rowsOf('source', source), by);
  }
  if (!isDenseMatrix(source)) {
    throw wrongType('source', 'Codes, a SimHashIndex or { values, dimensions }', source);
  }
  if (by === 'bits') throw new Error(`"by" needs codes for bits, the source has vectors`);
  return yield* matrixPoints(source, checkDenseMatrix(source, 'source'));
}

/** `pointsOf` for the rows of codes or of an index. */
export function* pointsOfRows(rows: Rows, by: 'vectors' | 'bits'): Steps<Points> {
  if (by === 'bits') return yield* codePoints(rows.codes);
  if (!(rows.vectors instanceof DenseVectors)) {
    throw new Error(`"by" 'vectors' needs vectors: make the index with vectors 'float32'`);
  }
  return yield* keptPoints(rows.codes, rows.vectors);
}

/** Rows of a matrix, scaled to length 1 when they are read; the matrix must not change. */
function* matrixPoints(matrix: DenseMatrix, rowCount: number): Steps<Points> {
  const { values, dimensions } = matrix;
  const norms = new Float64Array(rowCount);
  for (let first = 0; first < rowCount; first += STEP_ROWS) {
    norms.set(lengthsOf(matrix, first, Math.min(STEP_ROWS, rowCount - first)), first);
    yield undefined;
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

/** Rows that the index has now: the vector of a row that is removed later stays readable. */
function* keptPoints(codes: Codes, vectors: DenseVectors): Steps<Points> {
  const { dimensions } = vectors;
  const { count, validity } = codes;
  return {
    ...{ rowCount: count, dimensions, length: 1 },
    rows: yield* rowsWhere(count, (row) => isValid(validity, row) && vectors.normOf(row) > 0),
    into(row, out, at) {
      const values = vectors.valuesAt(row);
      const norm = vectors.normOf(row);
      for (let i = 0; i < dimensions; i++) out[at + i] = values[i] / norm;
    },
  };
}

/** Codes as vectors of one value a bit, +1 or -1: their length is the root of the bits. */
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

/** The rows for which `holds` is true, ascending. */
function* rowsWhere(rowCount: number, holds: (row: number) => boolean): Steps<Uint32Array> {
  const rows = new Uint32Array(rowCount);
  let count = 0;
  for (let row = 0; row < rowCount; row++) {
    if (holds(row)) rows[count++] = row;
    if (row % STEP_ROWS === STEP_ROWS - 1) yield undefined;
  }
  return rows.subarray(0, count);
}
