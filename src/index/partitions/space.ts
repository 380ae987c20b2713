/**
 * The vectors on which partitions work, as unit vectors of 16-bit integers: dense vectors where the
 * index holds them, else the codes themselves, a bit being +1 or -1. A random projection keeps
 * angles, so both are grouped alike.
 */

import { lengthOf } from '../../base/length';
import { roundInto } from '../../k-means/points';
import { integerWidth, UNIT } from '../../kernels/products';
import type { DistinctCodes } from '../distinct/distinct-codes';
import type { DenseVectors } from '../vectors/dense-vectors';
import type { UnitVector } from '../vectors/row-vectors';

export interface Space {
  /** Integers a vector takes. */
  readonly width: number;
  /** Writes the vector of a distinct code to `out[at]..`. */
  vectorInto(distinct: number, out: Int16Array, at: number): void;
  /** The vector of a query: of its accumulators and, when it has one, its own unit vector. */
  queryOf(sums: ArrayLike<number>, unit: UnitVector | null): Int16Array;
}

/** What partitions are near to: a point among their centroids, and its unit vector, if known. */
export interface RoutedQuery {
  readonly point: Int16Array;
  readonly unit: Float64Array | null;
}

/** A query of residual codes. */
export interface PartitionQuery extends RoutedQuery {
  readonly unit: Float64Array;
}

/** The vectors of rows, and the codes that have points. */
type Vectors = Pick<DenseVectors, 'dimensions' | 'valuesAt' | 'normOf'>;
type PointCodes = Pick<DistinctCodes, 'codeAt' | 'rowOf'>;

/** The space of an index's distinct codes, in this or another order of them. */
export function spaceOf(
  { dense, bits }: { dense: Vectors | null; bits: number },
  distinctCodes: PointCodes,
): Space {
  return dense === null ? codeSpace(distinctCodes, bits) : vectorSpace(distinctCodes, dense);
}

function vectorSpace(distinctCodes: PointCodes, vectors: Vectors): Space {
  const width = integerWidth(vectors.dimensions);
  return {
    width,
    vectorInto(distinct, out, at) {
      const row = distinctCodes.rowOf(distinct);
      roundInto(vectors.valuesAt(row), vectors.normOf(row), out, at);
    },
    queryOf(_sums, unit) {
      const rounded = new Int16Array(width);
      if (unit instanceof Float64Array) roundInto(unit, 1, rounded, 0);
      return rounded;
    },
  };
}

function codeSpace(distinctCodes: PointCodes, bits: number): Space {
  const width = integerWidth(bits);
  const one = Math.floor(UNIT / Math.sqrt(bits));
  return {
    width,
    vectorInto(distinct, out, at) {
      const code = distinctCodes.codeAt(distinct);
      for (let bit = 0; bit < bits; bit++) {
        out[at + bit] = (code[bit >> 3] >> (bit & 7)) & 1 ? one : -one;
      }
    },
    queryOf(sums) {
      const rounded = new Int16Array(width);
      roundInto(sums, lengthOf(sums), rounded, 0);
      return rounded;
    },
  };
}
