/** What is grouped: codes, or the rows of an index, which may keep their vectors. */

import { bitmapOf, countNulls } from '../base/bitmap';
import { checkMaxDistance, checkNumber, wrongType, wrongValue } from '../base/check';
import { type CodeOrigin, Codes } from '../codes/codes';
import { distanceFor } from '../hashing/angle';
import { partsOf, SimHashIndex } from '../index/simhash-index';
import type { DenseVectors } from '../index/vectors/dense-vectors';
import type { KernelName } from '../kernels/kernels';

/** Rows are those of the codes, or of the index; removed and null ones are in no group. */
export type RowSource = Codes | SimHashIndex;

/** Options that say which rows are near each other, and which kernel compares them. */
export interface Nearness {
  /** Most differing bits, inclusive. With `minCosine` it may be left out. */
  maxDistance?: number;
  /** Least exact cosine, inclusive; needs an index with vectors. */
  minCosine?: number;
  /**
   * Share of the pairs at `minCosine` that a distance taken from it catches.
   * @default 0.99
   */
  share?: number;
  /** Which kernel compares codes; all give equal results. */
  kernel?: KernelName;
}

/** Names of the options of `Nearness`. */
export const NEARNESS = ['maxDistance', 'minCosine', 'share', 'kernel'];

/** What is known of the rows of a source. */
export interface Rows {
  readonly codes: Codes;
  /** Null where none are kept. */
  readonly vectors: DenseVectors | null;
  /** By row, the row whose vector is its own; null where that is the same row. */
  readonly vectorOf: Uint32Array | null;
  readonly kernel: KernelName | undefined;
  /** Whether codes are of vectors less a mean, which the kept ones are not. */
  readonly isCentred: boolean;
}

/** The rows of codes that have no vectors. */
export function rowsOfCodes(codes: Codes, kernel?: KernelName): Rows {
  return { codes, vectors: null, vectorOf: null, kernel, isCentred: false };
}

/**
 * The rows of a source; `name` is that of the argument in messages. The codes of an index are
 * copied, so that later changes of the index do not show.
 */
export function rowsOf(name: string, source: RowSource): Rows {
  if (source instanceof Codes) return rowsOfCodes(source);
  if (!(source instanceof SimHashIndex)) {
    throw wrongType(name, 'Codes or a SimHashIndex', source);
  }
  const { distinctCodes, bits, dense, kernel, mean, hasher, isForeign } = partsOf(source);
  const { rowCount } = distinctCodes;
  const validity = bitmapOf(rowCount, (row) => distinctCodes.hasCode(row));
  const origin = isForeign ? undefined : hasher.origin;
  const codes = Codes.allocate(rowCount, { bits, validity, ...(origin && { origin }) });
  for (let row = 0; row < rowCount; row++) {
    if (codes.isNull(row)) continue;
    const code = distinctCodes.codeAt(distinctCodes.distinctOf(row));
    codes.bytes.set(code, row * codes.bytesPerCode);
  }
  const isWhole = countNulls(validity, rowCount) === 0;
  return {
    codes: isWhole ? codes.withoutValidity() : codes,
    ...{ vectors: dense, vectorOf: null, kernel, isCentred: mean !== null },
  };
}

/** The rows from 0 to `count - 1`. */
export function ascending(count: number): Uint32Array {
  return Uint32Array.from({ length: count }, (_, row) => row);
}

/** The rows that are not null, ascending. */
export function presentRows({ codes }: Rows): Uint32Array {
  return ascending(codes.count).filter((row) => !codes.isNull(row));
}

/** Rows in another order: row i is row `order[i]` of those given. None of these may be null. */
export function reordered(rows: Rows, order: Uint32Array): Rows {
  const { bits, bytes, bytesPerCode } = rows.codes;
  const codes = Codes.allocate(order.length, { bits });
  for (let row = 0, to = 0; row < order.length; row++) {
    const from = order[row] * bytesPerCode;
    for (let i = 0; i < bytesPerCode; i++) codes.bytes[to++] = bytes[from + i];
  }
  const { vectorOf } = rows;
  return {
    ...rows,
    codes,
    vectorOf: vectorOf === null ? order : order.map((row) => vectorOf[row]),
  };
}

/** Share of the pairs at `minCosine` that a distance catches, unless another is asked for. */
export const DEFAULT_SHARE = 0.99;

/**
 * The distance that `maxDistance` names or, without it, the least within which `share` of the pairs
 * at `minCosine` fall; undefined without either. Fails where codes are of vectors less a mean,
 * whose distances estimate other cosines.
 */
export function maxDistanceOf(
  { codes, isCentred }: Rows,
  { maxDistance, minCosine, share = DEFAULT_SHARE }: Nearness,
): number | undefined {
  if (minCosine !== undefined) checkNumber('minCosine', minCosine, -1, 1);
  if (maxDistance !== undefined) return checkMaxDistance(maxDistance, codes.bits);
  if (minCosine === undefined) return undefined;
  if (isCentred) {
    throw new Error(
      '"minCosine" needs "maxDistance" in an index with "mean": distances tell other cosines there',
    );
  }
  return distanceFor(minCosine, codes.bits, checkNumber('share', share, 0, 1));
}

/** Two sources whose codes can be compared, and their vectors where both keep them. */
export function checkComparable(left: Rows, right: Rows): void {
  const [ours, theirs] = [left.codes, right.codes];
  if (ours.bits !== theirs.bits) {
    throw wrongValue('right', `codes of ${ours.bits} bits, as the left ones`, theirs.bits);
  }
  const [one, other] = [ours.origin, theirs.origin];
  if (one && other && (one.projection !== other.projection || one.seed !== other.seed)) {
    const named = ({ projection, seed }: CodeOrigin) => `'${projection}', seed ${seed}`;
    throw wrongValue('right', `codes made as the left ones, by ${named(one)}`, named(other));
  }
  const widths = [left.vectors?.dimensions, right.vectors?.dimensions];
  if (widths[0] === undefined || widths[1] === undefined || widths[0] === widths[1]) return;
  throw wrongValue('right', `vectors of ${widths[0]} dimensions, as the left ones`, widths[1]);
}

/** Exact cosines of pairs of rows; both must keep vectors. Quick where pairs of an `a` adjoin. */
export function cosinesOfPairs(
  left: Rows,
  right: Rows,
  a: Uint32Array,
  b: Uint32Array,
): Float64Array {
  const [ours, theirs] = [left.vectors as DenseVectors, right.vectors as DenseVectors];
  const one = left.vectorOf === null ? a : a.map((row) => (left.vectorOf as Uint32Array)[row]);
  const other = right.vectorOf === null ? b : b.map((row) => (right.vectorOf as Uint32Array)[row]);
  const cosines = new Float64Array(a.length);
  for (let from = 0, to = 0; from < a.length; from = to) {
    while (to < a.length && one[to] === one[from]) to++;
    const unit = ours.unitOf(one[from]);
    cosines.set(theirs.cosinesOf(other.subarray(from, to), unit), from);
  }
  return cosines;
}
