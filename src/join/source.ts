/**
 * The rows that joins and groups work on: codes, or the rows of an index, which may hold vectors;
 * and the distinct codes among the rows of one collection or of two, so that a million equal rows
 * are compared once. A distinct code is named by its number, from 0 in the order of first rows.
 * Rows of a second collection are numbered behind those of the first.
 */

import { ascending, lowerBound } from '../base/arrays';
import { bitmapOf, countNulls } from '../base/bitmap';
import { checkMaxDistance, wrongType, wrongValue } from '../base/check';
import { newSecret } from '../base/secret';
import { runSteps, type Steps } from '../base/steps';
import { type CodeOrigin, Codes, checkSameTexts } from '../codes/codes';
import { gatherCodes } from '../codes/gather';
import { checkLeast, distanceToSearch, type LeastSimilarity } from '../codes/measure';
import { partsOf, SimHashIndex } from '../index/simhash-index';
import { DenseVectors } from '../index/vectors/dense-vectors';
import type { RowVectors } from '../index/vectors/row-vectors';
import type { SparseVectors } from '../index/vectors/sparse-vectors';
import { JoinMemory, joinKernel, MAX_BUCKET_BITS } from '../kernels/joins';
import type { KernelName } from '../kernels/kernels';
import { inParallel } from '../threads/parallel';
import type { DenseMatrix, SparseMatrix } from '../vectors/vectors';
import { BucketJob } from './bucket-job';
import { maxTables } from './join-layout';

/** Codes, or an index; its removed and null rows are in no pair and in no group. */
export type RowSource = Codes | SimHashIndex;

/** Options that say which rows are near each other, and how they are compared. */
export interface Nearness extends LeastSimilarity {
  /** Largest distance in bits, inclusive. May be left out where a lowest similarity is given. */
  maxDistance?: number | undefined;
  /** Lowest exact cosine, inclusive; needs `vectors`, or an index that holds them. */
  minCosine?: number | undefined;
  /**
   * Lowest Jaccard similarity of sets, inclusive, for codes with projection 'minwise': the exact
   * one with `vectors` or an index that holds sparse ones; else the one that a distance estimates.
   */
  minJaccard?: number | undefined;
  /** The vectors of the rows of codes, by which pairs are checked; one a row. */
  vectors?: DenseMatrix | SparseMatrix | SparseVectors | undefined;
  /** The kernel that compares codes; all give equal results. */
  kernel?: KernelName;
}

/** Names of the options of `Nearness`. */
export const NEARNESS = ['maxDistance', 'minCosine', 'minJaccard', 'vectors', 'kernel'];

/** The rows of a source in one form. */
export interface Rows {
  readonly codes: Codes;
  /** Vectors for exact similarities; null where none are held. */
  readonly vectors: RowVectors | null;
  /** For each row the row of `vectors` that is its vector; null where it has the same number. */
  readonly vectorOf: Uint32Array | null;
  readonly kernel: KernelName | undefined;
  /** True if codes are of vectors less a mean: distances then estimate other cosines. */
  readonly isCentred: boolean;
}

/** Codes as rows without vectors. */
export function rowsOfCodes(codes: Codes, kernel?: KernelName): Rows {
  return { codes, vectors: null, vectorOf: null, kernel, isCentred: false };
}

/**
 * The rows of a source; `name` is that of the argument, for messages. The codes of an index are
 * copied, its vectors are not.
 */
export function rowsOf(name: string, source: RowSource): Rows {
  if (source instanceof Codes) return rowsOfCodes(source);
  if (!(source instanceof SimHashIndex)) {
    throw wrongType(name, 'Codes or a SimHashIndex', source);
  }
  const { distinctCodes, bits, vectors, kernel, mean, hasher, isForeign } = partsOf(source);
  const { rowCount, count } = distinctCodes;
  const places = new Uint32Array(rowCount);
  for (let row = 0; row < rowCount; row++) places[row] = distinctCodes.distinctOf(row);
  const validity = bitmapOf(rowCount, (row) => places[row] < count);
  const origin = isForeign ? undefined : hasher.origin;
  const codes = Codes.allocate(rowCount, { bits, validity, ...(origin && { origin }) });
  distinctCodes.codes.gatherInto(codes.bytes, places);
  const isWhole = countNulls(validity, rowCount) === 0;
  return {
    codes: isWhole ? codes.withoutValidity() : codes,
    ...{ vectors, vectorOf: null, kernel, isCentred: mean !== null },
  };
}

/** The rows that have codes, ascending. */
export function presentRows({ codes }: Rows): Uint32Array {
  const all = ascending(codes.count);
  return codes.validity === null ? all : all.filter((row) => !codes.isNull(row));
}

/** A copy whose row i is row `order[i]`, none of which may be null. Vectors are not copied. */
export function reordered(rows: Rows, order: Uint32Array): Rows {
  return runSteps(reorderedInSteps(rows, order), {});
}

/** The same in steps, in which the codes must not change. */
export function* reorderedInSteps(rows: Rows, order: Uint32Array): Steps<Rows> {
  const { bits, bytes, bytesPerCode, origin } = rows.codes;
  const codes = Codes.allocate(order.length, { bits, ...(origin && { origin }) });
  for (let first = 0; first < order.length; first += STEP_ROWS) {
    const to = codes.bytes.subarray(first * bytesPerCode);
    gatherCodes(bytes, to, bytesPerCode, order.subarray(first, first + STEP_ROWS));
    yield undefined;
  }
  const { vectorOf } = rows;
  return {
    ...rows,
    codes,
    vectorOf: vectorOf === null ? order : order.map((row) => vectorOf[row]),
  };
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

/** True if pairs are checked by vectors: cosines always, sets where the rows have members. */
export function isVerified({ vectors }: Rows, { minCosine, minJaccard }: LeastSimilarity): boolean {
  return minCosine !== undefined || (minJaccard !== undefined && vectors?.kind === 'sparse');
}

/**
 * The distance up to which pairs are searched: `maxDistance` if given, else by the lowest
 * similarity; undefined if neither was given.
 */
export function maxDistanceOf(rows: Rows, near: Nearness): number | undefined {
  const { codes, isCentred } = rows;
  const { maxDistance } = near;
  const asked = checkLeast(near, codes.origin?.projection);
  if (maxDistance !== undefined) return checkMaxDistance(maxDistance, codes.bits);
  if (asked === undefined) return undefined;
  const { bits } = codes;
  return distanceToSearch(asked, { bits, isCentred, isVerified: isVerified(rows, near) });
}

/** Throws unless the codes of two sources, and vectors where both hold them, can be compared. */
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
  checkSameTexts('"right"', one, other);
  const widths = [widthOf(left.vectors), widthOf(right.vectors)];
  if (widths[0] === undefined || widths[1] === undefined || widths[0] === widths[1]) return;
  throw wrongValue('right', `vectors of ${widths[0]}, as the left ones`, widths[1]);
}

/** The width of vectors for comparison and messages; undefined without vectors. */
function widthOf(vectors: RowVectors | null): string | undefined {
  if (vectors === null) return undefined;
  return vectors instanceof DenseVectors ? `${vectors.dimensions} dimensions` : 'no fixed width';
}

/** No row, or no distinct code. */
export const NONE = 0xffff_ffff;

/** Rows between two steps. */
const STEP_ROWS = 2 ** 16;
/** Fewest bits of a hash by which equal codes are found. */
const MIN_HASH_BITS = 8;

/** The distinct codes of one collection or of two, and their rows. */
export interface Distinct {
  /** The codes in the memory of the kernels, with masks for joins up to `maxDistance`. */
  readonly memory: JoinMemory;
  readonly bits: number;
  /** Number of distinct codes. */
  readonly count: number;
  /** Distinct codes below this number are those of the collection that was read first. */
  readonly firstDistinct: number;
  /** For each row its distinct code, NONE for a null one. Null where distinct code i is row i. */
  readonly distinctOfRow: Uint32Array | null;
  /** Rows of the first and of the second collection; the same object if there is only one. */
  readonly left: DistinctRows;
  readonly right: DistinctRows;
}

/** The distinct code of a row, or NONE for a null one. */
export function distinctAt({ distinctOfRow }: Distinct, row: number): number {
  return distinctOfRow === null ? row : distinctOfRow[row];
}

/** For each distinct code the number of rows that have it. */
export function sizesOf({ distinctOfRow, count }: Distinct): Uint32Array {
  const sizes = new Uint32Array(count).fill(distinctOfRow === null ? 1 : 0);
  for (const distinct of distinctOfRow ?? []) if (distinct !== NONE) sizes[distinct]++;
  return sizes;
}

/** The rows of each distinct code in one collection, ascending, as linked lists. */
export class DistinctRows {
  /**
   * For each distinct code its first row, and for each row the next one of the same code; NONE for
   * none. Null where distinct code i is row i.
   */
  readonly first: Uint32Array | null;
  readonly next: Uint32Array | null;
  readonly #last: Uint32Array | null;
  /** The collection's rows are `start` to `end - 1`. */
  readonly start: number;
  readonly end: number;

  /** Builds the lists of rows `start` to `end - 1`, from the last row to the first. */
  static *of(
    distinctOfRow: Uint32Array | null,
    start: number,
    end: number,
    distincts: number,
  ): Steps<DistinctRows> {
    const made = new DistinctRows(start, end, distinctOfRow && distincts);
    const { first, next } = made;
    const last = made.#last;
    if (distinctOfRow === null || first === null || last === null || next === null) return made;
    for (let row = end - 1; row >= start; row--) {
      if (row % STEP_ROWS === 0) yield undefined;
      const distinct = distinctOfRow[row];
      if (distinct === NONE) continue;
      if (first[distinct] === NONE) last[distinct] = row;
      next[row - start] = first[distinct];
      first[distinct] = row;
    }
    return made;
  }

  private constructor(start: number, end: number, distincts: number | null) {
    this.start = start;
    this.end = end;
    this.first = distincts === null ? null : new Uint32Array(distincts).fill(NONE);
    this.#last = this.first?.slice() ?? null;
    this.next = distincts === null ? null : new Uint32Array(end - start).fill(NONE);
  }

  /** The first row of a distinct code in this collection, or NONE. */
  firstOf(distinct: number): number {
    if (this.first !== null) return this.first[distinct];
    return distinct >= this.start && distinct < this.end ? distinct : NONE;
  }

  /** The last row of a distinct code in this collection, or NONE. */
  lastOf(distinct: number): number {
    return this.#last === null ? this.firstOf(distinct) : this.#last[distinct];
  }

  /** For a single collection: how many distinct codes have their first row before a row. */
  distinctBefore(row: number): number {
    return this.first === null ? row : lowerBound(this.first, row);
  }

  /** The next row of the same distinct code, or NONE. */
  nextOf(row: number): number {
    return this.next === null ? NONE : this.next[row - this.start];
  }
}

/** Finds the distinct codes of a collection, or of two, by hashes of whole codes. */
export function* distinctOf(
  left: Codes,
  right: Codes | null,
  maxDistance: number,
  kernel?: KernelName,
): Steps<Distinct> {
  const total = left.count + (right?.count ?? 0);
  const masks = 1 + maxTables(maxDistance);
  const memory = JoinMemory.allocate(total, left.bytesPerCode, masks, total);
  const sources = inOrderOfSize(left, right);
  const ends: number[] = [];
  // Codes of rows that are not null follow each other in memory; then equal ones are merged.
  for (const { codes } of sources) ends.push(yield* copyInto(memory, ends.at(-1) ?? 0, codes));
  const present = ends.at(-1) as number;
  let distincts = ends;
  const hasEqual = yield* findEqual(memory, present, kernel);
  if (hasEqual) distincts = yield* numbered(memory, ends);
  const { firsts } = memory.arrays;
  let distinctOfRow: Uint32Array | null = hasEqual ? firsts : null;
  // With null rows, or the second collection in front, rows and positions in memory differ.
  if (present < total || sources[0].firstRow > 0) {
    distinctOfRow = new Uint32Array(total).fill(NONE);
    let code = 0;
    for (const { codes, firstRow } of sources) {
      for (let row = 0; row < codes.count; row++) {
        if (row % STEP_ROWS === 0) yield undefined;
        if (codes.isNull(row)) continue;
        distinctOfRow[firstRow + row] = hasEqual ? firsts[code] : code;
        code++;
      }
    }
  }
  const count = distincts.at(-1) as number;
  const leftRows = yield* DistinctRows.of(distinctOfRow, 0, left.count, count);
  const rightRows =
    right === null ? leftRows : yield* DistinctRows.of(distinctOfRow, left.count, total, count);
  const found = { memory, bits: left.bits, count, distinctOfRow, firstDistinct: distincts[0] };
  return { ...found, left: leftRows, right: rightRows };
}

/**
 * The smaller collection first, so that its distinct codes have the lower numbers: a join of two
 * then needs only pairs whose lower code is below `firstDistinct`.
 */
function inOrderOfSize(left: Codes, right: Codes | null) {
  const first = { codes: left, firstRow: 0 };
  if (right === null) return [first];
  const second = { codes: right, firstRow: left.count };
  return right.count < left.count ? [second, first] : [first, second];
}

/** Copies codes that are not null to the memory, as codes `first` onward; returns their end. */
function* copyInto(memory: JoinMemory, first: number, codes: Codes): Steps<number> {
  const { bytes, bytesPerCode } = codes;
  const stride = 4 * memory.words;
  const { buffer, byteOffset } = memory.arrays.codes;
  const target = new Uint8Array(buffer, byteOffset + first * stride);
  let count = 0;
  for (let from = 0; from < codes.count; from += STEP_ROWS) {
    const to = Math.min(codes.count, from + STEP_ROWS);
    yield undefined;
    if (stride === bytesPerCode && codes.validity === null) {
      target.set(bytes.subarray(from * stride, to * stride), from * stride);
      count = to;
      continue;
    }
    for (let row = from; row < to; row++) {
      if (codes.isNull(row)) continue;
      const at = count++ * stride;
      for (let i = 0; i < bytesPerCode; i++) target[at + i] = bytes[row * bytesPerCode + i];
    }
  }
  return first + count;
}

/** Finds for each of the first `count` codes the first equal one; false if all are distinct. */
function* findEqual(memory: JoinMemory, count: number, kernel?: KernelName): Steps<boolean> {
  const bits = Math.min(MAX_BUCKET_BITS, Math.max(MIN_HASH_BITS, 32 - Math.clz32(count)));
  const low = { shift: 32 - bits, bits: Math.ceil(bits / 2) };
  const work = { kind: 'equal', secret: newSecret(), low } as const;
  let found = 0;
  const take = (_: Uint32Array, equal: number) => {
    found += equal;
  };
  yield* inParallel(new BucketJob(memory, count, { work, kernel }, { take }));
  return found > 0;
}

/** Numbers the distinct codes in the order of rows; returns their number up to each end. */
function* numbered(memory: JoinMemory, ends: readonly number[]): Steps<number[]> {
  let found = 0;
  let from = 0;
  const counts: number[] = [];
  for (const end of ends) {
    for (; from < end; from = Math.min(end, from + STEP_ROWS)) {
      found = joinKernel.numberInto(memory, from, Math.min(end, from + STEP_ROWS), found);
      yield undefined;
    }
    counts.push(found);
  }
  return counts;
}
