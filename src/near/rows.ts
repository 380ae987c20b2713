/**
 * The rows that joins, groups and clusters work on: codes, or the rows of an index, which may hold
 * vectors. Distances only estimate similarities; where rows have vectors, pairs are checked by
 * exact cosines, or Jaccard similarities of sparse rows as sets, so that no reported pair is below
 * the similarity that was asked for.
 */

import { ascending, isValid } from '../base/arrays';
import { checkMaxDistance, wrongType, wrongValue } from '../base/check';
import type { LongWork } from '../base/long-work';
import { Codes, checkSameOrigin } from '../codes/codes';
import {
  checkLeast,
  distanceToSearch,
  type LeastSimilarity,
  type Measure,
  measureOf,
} from '../codes/measure';
import type { SimHashIndex } from '../index/simhash-index';
import { DenseVectors } from '../index/vectors/dense-vectors';
import {
  HELD_ROWS,
  type HeldRows,
  type RowVectors,
  type VectorState,
} from '../index/vectors/row-vectors';
import { SparseVectors, vectorsOver } from '../index/vectors/sparse-vectors';
import type { Job, Task } from '../threads/job';
import { runJob } from '../threads/parallel';
import { checkFloat32 } from '../vectors/sparse-rows';
import {
  checkMatrix,
  type DenseMatrix,
  isDenseMatrix,
  isSparseMatrix,
  type SparseMatrix,
} from '../vectors/vectors';

/** Codes, or an index; its removed and null rows are in no pair and in no group. */
export type RowSource = Codes | SimHashIndex;

/** Options that say which rows are near each other, and how they are compared. */
export interface Nearness extends LeastSimilarity {
  /** Largest distance of a pair, inclusive. May be left out where a lowest similarity is given. */
  maxDistance?: number | undefined;
  /** Lowest exact cosine, inclusive; needs `vectors`, or an index that holds them. */
  minCosine?: number | undefined;
  /**
   * Lowest Jaccard similarity of 'minwise' codes, inclusive; estimated without `vectors`. Those may
   * be of an index that holds them.
   */
  minJaccard?: number | undefined;
  /** A vector for each row, by which pairs are checked. */
  vectors?: DenseMatrix | SparseMatrix | SparseVectors | undefined;
}

/** The options of `Nearness`, which are checked against the rows. */
export const NEARNESS = { maxDistance: null, minCosine: null, minJaccard: null, vectors: null };

/** The rows of a source in one form. */
export interface Rows extends HeldRows {
  /** For each row the row of `vectors` that is its vector; null where it has the same number. */
  readonly vectorOf: Uint32Array | null;
}

/** Rows of pairs; pairs of the same `a` next to each other are compared faster. */
export interface RowPairs {
  readonly a: Uint32Array;
  readonly b: Uint32Array;
}

/** Codes as rows without vectors. */
export function rowsOfCodes(codes: Codes): Rows {
  return { codes, vectors: null, vectorOf: null };
}

/**
 * The rows of a source; `name` is that of the argument, for messages. The codes of an index are
 * copied, its vectors are not.
 */
export function rowsOf(name: string, source: RowSource): Rows {
  if (source instanceof Codes) return rowsOfCodes(source);
  if (!isIndex(source)) throw wrongType(name, 'Codes or a SimHashIndex', source);
  return { ...source[HELD_ROWS](), vectorOf: null };
}

/** True for an index, which gives its rows by a method. */
export function isIndex(source: unknown): source is SimHashIndex {
  return typeof source === 'object' && source !== null && HELD_ROWS in source;
}

/** The rows that have codes, ascending. */
export function presentRows({ codes }: Pick<Rows, 'codes'>): Uint32Array {
  const all = ascending(codes.count);
  return codes.validity === null ? all : all.filter((row) => !codes.isNull(row));
}

/** Rows that are copied between two steps. */
const STEP_ROWS = 2 ** 16;

/** A copy whose row i is row `order[i]`, none of which may be null. Vectors are not copied. */
export async function reordered(rows: Rows, order: Uint32Array, work: LongWork): Promise<Rows> {
  const { bits, bytes, bytesPerCode, origin } = rows.codes;
  const codes = Codes.allocate(order.length, { bits, ...(origin && { origin }) });
  for (let first = 0; first < order.length; first += STEP_ROWS) {
    const to = codes.bytes.subarray(first * bytesPerCode);
    gatherCodes(bytes, to, bytesPerCode, order.subarray(first, first + STEP_ROWS));
    await work.step();
  }
  const { vectorOf } = rows;
  const of = vectorOf === null ? order : order.map((row) => vectorOf[row]);
  return { ...rows, codes, vectorOf: of };
}

/** Throws unless each of `count` rows has a group. */
export function checkGroup(group: unknown, count: number): void {
  if (!(group instanceof Int32Array)) throw wrongType('group', 'an Int32Array', group);
  if (group.length === count) return;
  throw wrongValue('group', `a group for each of ${count} rows`, group.length);
}

/**
 * A copy of codes with the group of each row behind its bits, so that all groups are joined at
 * once, however many there are; rows without a group become null.
 */
export function groupedCodes(codes: Codes, group: Int32Array): Codes {
  const { bytesPerCode: width, count, origin } = codes;
  checkGroup(group, count);
  const validity = new Uint8Array(Math.ceil(count / 8));
  const options = { bits: 8 * width + 32, validity, ...(origin && { origin }) };
  const grouped = Codes.allocate(count, options);
  for (let row = 0; row < count; row++) {
    if (group[row] < 0 || codes.isNull(row)) continue;
    validity[row >> 3] |= 1 << (row & 7);
    const code = grouped.at(row);
    code.set(codes.at(row));
    for (let i = 0; i < 4; i++) code[width + i] = group[row] >> (8 * i);
  }
  return grouped;
}

/** Throws unless the codes of two sources, and vectors where both hold them, can be compared. */
export function checkComparable(left: Rows, right: Rows): void {
  const [ours, theirs] = [left.codes, right.codes];
  if (ours.bits !== theirs.bits) {
    throw wrongValue('right', `codes of ${ours.bits} bits, as the left ones`, theirs.bits);
  }
  checkSameOrigin('right', ours.origin, theirs.origin);
  const [width, other] = [left.vectors, right.vectors].map((vectors) =>
    vectors instanceof DenseVectors ? vectors.dimensions : vectors?.kind,
  );
  if (width === undefined || other === undefined || width === other) return;
  throw wrongValue('right', `vectors of the width of the left ones (${width})`, other);
}

/** True if pairs are checked by vectors: cosines always, sets where the rows have members. */
export function isVerified({ vectors }: Rows, { minCosine, minJaccard }: LeastSimilarity): boolean {
  return minCosine !== undefined || (minJaccard !== undefined && vectors?.kind === 'sparse');
}

/**
 * The distance up to which pairs are searched: `maxDistance` if given, else by the lowest
 * similarity; undefined if neither was given.
 */
export function maxDistanceOf(rows: Rows, near: Nearness): number | undefined {
  const { codes } = rows;
  const { maxDistance } = near;
  const asked = checkLeast(near, codes.origin?.projection);
  if (maxDistance !== undefined) return checkMaxDistance(maxDistance, codes.bits);
  if (asked === undefined) return undefined;
  const { bits } = codes;
  return distanceToSearch(asked, { bits, isVerified: isVerified(rows, near) });
}

/**
 * The rows with the vectors of a matrix, copied to float32, one for each row. Throws if there is
 * not one for each, or if values do not fit. A null, all-zero or empty row is near to none.
 */
export function withVectors(rows: Rows, given: Nearness['vectors']): Rows {
  if (given === undefined) return rows;
  if (rows.vectors !== null) {
    throw new TypeError('"vectors" are of codes; an index is compared by those that it holds');
  }
  const { count: rowCount } = rows.codes;
  if (given instanceof SparseVectors) {
    if (given.rowCount === rowCount) return { ...rows, vectors: given };
    throw wrongValue('vectors', `one for each of ${rowCount} rows`, given.rowCount);
  }
  if (!isDenseMatrix(given) && !isSparseMatrix(given)) {
    throw wrongType('vectors', 'a dense or sparse matrix', given);
  }
  const count = checkMatrix(given);
  if (count !== rowCount) {
    throw wrongValue('vectors', `one for each of ${rowCount} rows`, count);
  }
  const isPresent = (row: number) => !rows.codes.isNull(row) && isValid(given.validity, row);
  checkFloat32(given, 0, count, (row) => !isPresent(row));
  const vectors: RowVectors = isDenseMatrix(given)
    ? new DenseVectors('float32', given.dimensions)
    : new SparseVectors();
  vectors.append(given, 0, count, isPresent);
  return { ...rows, vectors };
}

/** The measure in which rows can be compared exactly; null without fitting vectors. */
export function exactMeasure({ codes, vectors }: Rows): Measure | null {
  const measure = measureOf(codes.origin?.projection);
  if (vectors === null || (measure.name === 'jaccard' && vectors.kind !== 'sparse')) return null;
  return measure;
}

/** The vectors of both collections, and which similarity is computed. */
interface PairState {
  readonly isJaccard: boolean;
  readonly left: VectorState;
  /** Null if both are the same. */
  readonly right: VectorState | null;
}

/** Compares pairs of rows whose vectors are in shared memory. */
export const COMPARING: Task<PairState, RowPairs, Float64Array> = {
  name: 'comparing',
  open({ isJaccard, left, right }) {
    const ours = vectorsOver(left);
    const both = [ours, right === null ? ours : vectorsOver(right)] as const;
    return (pairs) => compared(isJaccard, both, pairs);
  },
};

/** Exact cosines, or Jaccard similarities, of pairs in order; equal `a` in a row are one call. */
function compared(
  isJaccard: boolean,
  [ours, theirs]: readonly [RowVectors, RowVectors],
  { a, b }: RowPairs,
): Float64Array {
  const found = new Float64Array(a.length);
  if (isJaccard) {
    const [sets, otherSets] = [ours as SparseVectors, theirs as SparseVectors];
    for (let i = 0; i < a.length; i++) found[i] = sets.jaccardOf(a[i], otherSets, b[i]);
    return found;
  }
  for (let from = 0, to = 0; from < a.length; from = to) {
    while (to < a.length && a[to] === a[from]) to++;
    found.set(theirs.cosinesOf(b.subarray(from, to), ours.unitOf(a[from])), from);
  }
  return found;
}

/** Pairs of a part: some milliseconds of work. */
const PART_PAIRS = 4096;

/** Exact similarities of pairs of rows, in parts that threads share. */
export async function exactSimilarities(
  { name }: Measure,
  [ours, theirs]: readonly [Rows, Rows],
  { a, b }: RowPairs,
  work: LongWork,
): Promise<Float64Array> {
  const isJaccard = name === 'jaccard';
  const [left, right] = [ours.vectors as RowVectors, theirs.vectors as RowVectors];
  const vectorRows = (rows: Uint32Array, of: Uint32Array | null) =>
    of === null ? rows : rows.map((row) => of[row]);
  const found = new Float64Array(a.length);
  const job: Job<PairState, RowPairs, Float64Array> = {
    task: COMPARING,
    sharesRows: true,
    get state() {
      return { isJaccard, left: left.state, right: left === right ? null : right.state };
    },
    count: Math.ceil(a.length / PART_PAIRS),
    part(i) {
      const [from, to] = [i * PART_PAIRS, (i + 1) * PART_PAIRS];
      return {
        a: vectorRows(a.subarray(from, to), ours.vectorOf),
        b: vectorRows(b.subarray(from, to), theirs.vectorOf),
      };
    },
    here: (pairs) => compared(isJaccard, [left, right], pairs),
    take(part, i) {
      found.set(part, i * PART_PAIRS);
      return undefined;
    },
  };
  await runJob(job, work);
  return found;
}

/**
 * Copies the code at position `places[i]` of `from` to position i of `to`; by words of 32 bits,
 * five times as fast as by bytes, where codes consist of whole, aligned ones.
 */
export function gatherCodes(
  from: Uint8Array,
  to: Uint8Array,
  bytesPerCode: number,
  places: Uint32Array,
): void {
  const isOfWords = (bytesPerCode | from.byteOffset | to.byteOffset) % 4 === 0;
  const wordsOf = ({ buffer, byteOffset, length }: Uint8Array) =>
    isOfWords
      ? new Uint32Array(buffer, byteOffset, length >> 2)
      : new Uint8Array(buffer, byteOffset, length);
  const [source, target] = [wordsOf(from), wordsOf(to)];
  const width = isOfWords ? bytesPerCode / 4 : bytesPerCode;
  for (let i = 0; i < places.length; i++) {
    const [first, at] = [places[i] * width, i * width];
    for (let word = 0; word < width; word++) target[at + word] = source[first + word];
  }
}
