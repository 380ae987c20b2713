/**
 * Turns what callers cluster into points of one length: the vectors of an index, the rows of a
 * dense matrix (accumulators, for example), or codes with each bit as +1 or -1. A random projection
 * keeps angles, so all of these can be grouped by direction.
 */

import { isValid } from '../base/arrays';
import { wrongType } from '../base/check';
import type { LongWork } from '../base/long-work';
import { Codes } from '../codes/codes';
import type { DenseVectors } from '../index/vectors/dense-vectors';
import type { Points } from '../k-means/points';
import { isIndex, type RowSource, type Rows, rowsOf } from '../near/rows';
import { checkDenseMatrix, type DenseMatrix, isDenseMatrix, lengthsOf } from '../vectors/vectors';

/** Codes, the rows of an index, or vectors one after another. */
export type ClusterSource = RowSource | DenseMatrix;

/** What points are made of: vectors, or codes as vectors of ±1. */
export type PointKind = 'vectors' | 'bits';

/** Points, and what they were made of. */
interface SourcePoints {
  readonly points: Points;
  readonly by: PointKind;
}

/**
 * The points of a source: of its vectors where it has any, else of its codes, or of the kind that
 * `by` names. Throws if the source has none of these.
 */
export async function pointsOf(
  source: ClusterSource,
  by: PointKind | undefined,
  work: LongWork,
): Promise<SourcePoints> {
  if (source instanceof Codes || isIndex(source)) return pointsOfRows(rowsOf('source', source), by);
  if (!isDenseMatrix(source)) {
    throw wrongType('source', 'Codes, a SimHashIndex or { values, dimensions }', source);
  }
  const rowCount = checkDenseMatrix(source, 'source');
  if (by === 'bits') throw new Error(`"by" needs codes for bits, the source has vectors`);
  return { points: await matrixPoints(source, rowCount, work), by: 'vectors' };
}

/** `pointsOf` for the rows of codes or of an index. */
export function pointsOfRows({ codes, vectors }: Rows, given?: PointKind): SourcePoints {
  const hasDense = vectors !== null && vectors.kind !== 'sparse';
  const by = given ?? (hasDense ? 'vectors' : 'bits');
  if (by === 'bits') return { points: codePoints(codes), by };
  if (!hasDense) {
    throw new Error(`"by" 'vectors' needs vectors: make the index with vectors 'float32'`);
  }
  return { points: heldPoints(codes, vectors as DenseVectors), by };
}

/** Rows of a step. */
const STEP_ROWS = 2 ** 14;

/** Rows of a matrix, scaled to length 1 when they are read; the matrix must not change. */
async function matrixPoints(
  matrix: DenseMatrix,
  rowCount: number,
  work: LongWork,
): Promise<Points> {
  const { values, dimensions } = matrix;
  const norms = new Float64Array(rowCount);
  for (let first = 0; first < rowCount; first += STEP_ROWS) {
    norms.set(lengthsOf(matrix, first, Math.min(STEP_ROWS, rowCount - first)), first);
    await work.step();
  }
  return {
    rowCount,
    dimensions,
    length: 1,
    rows: rowsWhere(rowCount, (row) => norms[row] > 0),
    into(row, out, at) {
      const from = row * dimensions;
      for (let i = 0; i < dimensions; i++) out[at + i] = values[from + i] / norms[row];
    },
  };
}

/** Rows that the index has now: the vector of a row that is removed later stays readable. */
function heldPoints({ count, validity }: Codes, vectors: DenseVectors): Points {
  const { dimensions } = vectors;
  return {
    rowCount: count,
    dimensions,
    length: 1,
    rows: rowsWhere(count, (row) => isValid(validity, row) && vectors.normOf(row) > 0),
    into(row, out, at) {
      const values = vectors.valuesAt(row);
      const norm = vectors.normOf(row);
      for (let i = 0; i < dimensions; i++) out[at + i] = values[i] / norm;
    },
  };
}

/** Codes as vectors of one value a bit, +1 or -1: their length is the root of the bits. */
function codePoints({ bits, bytes, bytesPerCode, count, validity }: Codes): Points {
  return {
    rowCount: count,
    dimensions: bits,
    length: Math.sqrt(bits),
    rows: rowsWhere(count, (row) => isValid(validity, row)),
    into(row, out, at) {
      const from = row * bytesPerCode;
      for (let bit = 0; bit < bits; bit++) {
        out[at + bit] = 2 * ((bytes[from + (bit >> 3)] >> (bit & 7)) & 1) - 1;
      }
    },
  };
}

/** The rows for which `holds` is true, ascending. */
function rowsWhere(rowCount: number, holds: (row: number) => boolean): Uint32Array {
  const rows = new Uint32Array(rowCount);
  let count = 0;
  for (let row = 0; row < rowCount; row++) if (holds(row)) rows[count++] = row;
  return rows.subarray(0, count);
}
