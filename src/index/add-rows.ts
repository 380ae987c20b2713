/** New rows: checked and hashed first, then added, so that a refused batch changes nothing. */

import { isValid } from '../base/bitmap';
import { wrongValue } from '../base/check';
import { GO_ON, type Steps, unstopped } from '../base/steps';
import { Codes } from '../codes/codes';
import { canonicalRows } from '../vectors/sparse-rows';
import {
  checkDenseMatrix,
  type DenseMatrix,
  isDenseMatrix,
  packVectors,
  type SparseMatrix,
  type Vector,
  type VectorBatch,
} from '../vectors/vectors';
import { MAX_ROWS } from './distinct/distinct-codes';
import type { Id } from './id-table';
import { groupedByPartition, Partitions } from './partitions/partitions';
import { centred, isFlat, matrixOf, refuseMean } from './query';
import type { IndexState } from './state';
import type { KeptVectors } from './vectors/kept-vectors';

/** What `addAll` takes: vectors in any form, or ready codes. */
export type RowsToAdd = VectorBatch | Float32Array | Float64Array | Codes;

export interface Addition {
  readonly codes: Codes;
  readonly ids: readonly Id[] | null;
  /** The dense vectors to hold. */
  readonly vectors: DenseMatrix | null;
  readonly sparse: SparseMatrix | null;
  readonly isForeign: boolean;
}

/** Rows added between two turns: some milliseconds. */
const BLOCK_ROWS = 2048;
/**
 * Distinct codes added since `optimize` join their partitions' order when they are more than this
 * and more than an eighth of all.
 */
const MAX_LATE = 1024;

export function* additionOf(
  state: IndexState,
  batch: RowsToAdd,
  ids: unknown,
  mayReplace = false,
): Steps<Addition> {
  if (batch instanceof Codes) return foreignAddition(state, batch, ids, mayReplace);
  if (state.isForeign) {
    throw new Error('this index holds codes made elsewhere: add codes, not vectors');
  }
  const isArray = Array.isArray(batch);
  const given = isFlat(batch) ? matrixOf(state.hasher, batch, 'vectors') : batch;
  const packed = isArray && batch.length > 0 ? packVectors(batch as readonly Vector[]) : given;
  const dense = isDenseMatrix(packed) ? packed : null;
  const isEmpty = isArray && batch.length === 0;
  if (dense === null && state.vectors !== null && !isEmpty) {
    const { storage } = state.vectors;
    throw new TypeError(`an index with vectors '${storage}' takes dense vectors, got sparse ones`);
  }
  if (dense !== null && state.sparse !== null) {
    throw new TypeError(`an index with vectors 'sparse' takes sparse vectors, got dense ones`);
  }
  if (dense === null) refuseMean(packed, state.mean);
  const hashed = dense !== null && state.mean !== null ? centredMatrix(dense, state.mean) : packed;
  const codes = yield* state.hasher.hashInSteps(hashed);
  checkRoom(state, codes.count);
  if (dense !== null && state.vectors !== null) checkKept(dense, codes);
  const sparse = state.sparse === null || isEmpty ? null : (packed as SparseMatrix);
  if (sparse !== null) yield* checkKeptSparse(sparse, codes);
  const checkedIds = state.ids.check(ids, codes.count, mayReplace);
  return { codes, ids: checkedIds, vectors: dense, sparse, isForeign: false };
}

function centredMatrix(matrix: DenseMatrix, mean: Float64Array): DenseMatrix {
  const count = checkDenseMatrix(matrix);
  const { values, dimensions } = matrix;
  if (dimensions !== mean.length) return matrix; // the hasher tells
  const less = new Float64Array(values.length);
  for (let row = 0; row < count; row++) {
    const from = row * dimensions;
    less.set(centred(values.subarray(from, from + dimensions), mean), from);
  }
  return { ...matrix, values: less };
}

function foreignAddition(
  state: IndexState,
  codes: Codes,
  ids: unknown,
  mayReplace: boolean,
): Addition {
  if (codes.bits !== state.bits)
    throw wrongValue('codes', `codes of ${state.bits} bits`, codes.bits);
  if (state.vectors !== null || state.sparse !== null) {
    throw new TypeError(`an index with "vectors" takes vectors, got codes`);
  }
  checkRoom(state, codes.count);
  const own = JSON.stringify(state.hasher.origin);
  const isForeign = state.mean !== null || JSON.stringify(codes.origin) !== own;
  if (isForeign && !state.isForeign && state.distinctCodes.rowCount > 0) {
    throw new Error('these codes were made otherwise than those of the index');
  }
  const checkedIds = state.ids.check(ids, codes.count, mayReplace);
  return { codes, ids: checkedIds, vectors: null, sparse: null, isForeign };
}

function checkRoom({ distinctCodes }: IndexState, count: number): void {
  if (distinctCodes.rowCount + count > MAX_ROWS) {
    throw new RangeError(`an index holds at most ${MAX_ROWS} rows`);
  }
}

/** What has a direction in float64 must keep one as float32. */
function checkKept({ values, dimensions }: DenseMatrix, codes: Codes): void {
  if (values instanceof Float32Array) return;
  for (let row = 0; row < codes.count; row++) {
    if (codes.isNull(row)) continue;
    let most = 0;
    for (let i = row * dimensions; i < (row + 1) * dimensions; i++) {
      most = Math.max(most, Math.abs(Math.fround(values[i])));
    }
    if (most > 0 && Number.isFinite(most)) continue;
    throw doesNotFit(row);
  }
}

function* checkKeptSparse(matrix: SparseMatrix, codes: Codes): Steps<void> {
  for (let first = 0; first < codes.count; first += BLOCK_ROWS) {
    const end = Math.min(codes.count, first + BLOCK_ROWS);
    const { offsets, values } = canonicalRows(matrix, first, end);
    for (let row = first; row < end; row++) {
      if (codes.isNull(row)) continue;
      let most = 0;
      for (let i = offsets[row - first]; i < offsets[row - first + 1]; i++) {
        most = Math.max(most, Math.abs(Math.fround(values[i])));
      }
      if (!(most > 0 && Number.isFinite(most))) throw doesNotFit(row);
    }
    yield undefined;
  }
}

function doesNotFit(row: number): RangeError {
  return new RangeError(`row ${row}: its values do not fit float32, in which they are kept`);
}

/** Takes the memory that rows need: what can fail, fails before anything is changed. */
export function reserve(state: IndexState, { codes, sparse }: Addition): void {
  state.distinctCodes.reserve(codes.count);
  state.vectors?.reserve(codes.count);
  if (sparse !== null) state.sparse?.reserve(codes.count, entriesOf(sparse, codes.count));
}

/** Adds what was checked, all of it; returns the first new row. */
export function* addRows(state: IndexState, addition: Addition): Steps<number> {
  const { codes, ids, vectors, sparse } = addition;
  const firstRow = state.distinctCodes.rowCount;
  reserve(state, addition);
  yield GO_ON;
  if (codes.count > 0 && addition.isForeign) state.isForeign = true;
  for (let first = 0; first < codes.count; first += BLOCK_ROWS) {
    const end = Math.min(codes.count, first + BLOCK_ROWS);
    yield* unstopped(state.distinctCodes.tableSteps(end - first, codes.count - first));
    state.ids.append(ids?.slice(first, end) ?? null, end - first);
    if (state.vectors !== null && vectors !== null)
      appendVectors(state.vectors, vectors, codes, first, end);
    if (state.sparse !== null && sparse !== null) {
      const isPresent = (row: number) => !codes.isNull(first + row);
      state.sparse.append(canonicalRows(sparse, first, end), isPresent);
    }
    const { bytes, bytesPerCode } = codes;
    state.distinctCodes.lookAhead(bytes.subarray(first * bytesPerCode, end * bytesPerCode));
    for (let row = first; row < end; row++) {
      addRow(state, codes.isNull(row) ? null : codes.at(row));
    }
    yield* regroup(state);
    if (state.report !== null) {
      state.report = { ...state.report, rowsAdded: state.report.rowsAdded + end - first };
    }
    if (end < codes.count) yield GO_ON;
  }
  return firstRow;
}

function addRow({ distinctCodes, partitions }: IndexState, code: Uint8Array | null): void {
  const { count } = distinctCodes;
  const row = distinctCodes.add(code);
  if (partitions === null || code === null) return;
  const distinct = distinctCodes.distinctOf(row);
  if (distinctCodes.memory.rows[distinct] === row) partitions.take(distinct, distinct === count);
}

function appendVectors(
  kept: KeptVectors,
  { values, dimensions, validity }: DenseMatrix,
  codes: Codes,
  first: number,
  end: number,
): void {
  const isPresent = (row: number) => isValid(validity, first + row) && !codes.isNull(first + row);
  kept.append(values.subarray(first * dimensions, end * dimensions), isPresent);
}

/** Entries of rows, before repeated dimensions are summed. */
function entriesOf({ offsets }: SparseMatrix, count: number): number {
  return offsets[count] - offsets[0];
}

/** Puts the codes added since `optimize` into the order of the partitions when they are many. */
function* regroup(state: IndexState): Steps<void> {
  const { partitions, distinctCodes } = state;
  if (partitions === null || partitions.lateCount <= MAX_LATE) return;
  if (8 * partitions.lateCount <= distinctCodes.count) return;
  const { centroids, count, nearness } = partitions;
  const partitionOf = partitions.partitionOfEach(distinctCodes.count);
  const grouped = yield* unstopped(groupedByPartition(distinctCodes, partitionOf, count));
  const grouping = { centroids, starts: grouped.starts, nearness };
  const steps = Partitions.of(state, grouped.distinctCodes, grouping);
  const regrouped = yield* unstopped(steps);
  state.distinctCodes = grouped.distinctCodes;
  state.partitions = regrouped;
}
