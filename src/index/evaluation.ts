/**
 * Evaluation queries, with which recall is measured: rows that took no part in training the
 * centroids, each left out of its own answer, or queries of the caller. A hash of the seed and the
 * row decides which rows are held out, so that they are the same after a file is read again.
 */

import { checkInteger, wrongType, wrongValue } from '../base/check';
import { shareAt } from '../base/random';
import type { Steps } from '../base/steps';
import type { DenseVector } from '../vectors/vectors';
import type { RowsToAdd } from './add-rows';
import type { IndexParts, Query } from './index-parts';
import { needComparable, queriesOf, queryOf, queryOfRow } from './query';
import type { Evaluated } from './recall';
import { type Asked, type TruthBy, trueNeighbors } from './truth';
import type { DenseVectors } from './vectors/dense-vectors';
import { withDigits } from './vectors/rounding';

/** Queries of a caller, with their true neighbours if these are known. */
export interface GivenQueries {
  readonly queries: RowsToAdd;
  readonly truth: Neighbors | undefined;
}

/** For each query rows of the index, nearest first, at least k. */
type Neighbors = readonly ArrayLike<number>[];

/** Which rows are queries: those whose hashes, uniform in 0..1, are below a share. */
export class HeldOut {
  readonly #seed: number;
  /** Share of the rows that are held out. */
  readonly share: number;

  constructor(seed: number, share: number) {
    this.#seed = seed;
    this.share = share;
  }

  /** True for a row that is held out. */
  has(row: number): boolean {
    return shareAt(this.#seed, row) < this.share;
  }

  /** With another share: the rows of the smaller one are among those of the larger. */
  withShare(share: number): HeldOut {
    return new HeldOut(this.#seed, Math.min(1, share));
  }

  /** The held-out rows that have codes, ordered by their hashes: a random order. */
  rowsOf({ distinctCodes }: { distinctCodes: { rowsWithCodes(): Uint32Array } }): Uint32Array {
    const rows = distinctCodes.rowsWithCodes().filter((row) => this.has(row));
    const hashes = new Map(Array.from(rows, (row) => [row, shareAt(this.#seed, row)]));
    return rows.sort((a, b) => (hashes.get(a) as number) - (hashes.get(b) as number));
  }

  /**
   * Queries in random order, by the hashes of their positions. Queries of a file may be sorted, and
   * a setting that one half chooses would then be wrong for the other.
   */
  shuffled<T>(queries: readonly T[]): T[] {
    const hashes = Array.from(queries, (_, i) => shareAt(this.#seed, i));
    return Array.from(queries.keys())
      .sort((a, b) => hashes[a] - hashes[b])
      .map((i) => queries[i]);
  }
}

/** Rows as queries, with their true neighbours. */
export function* evaluatedRows(
  parts: IndexParts,
  rows: Uint32Array,
  by: TruthBy,
): Steps<Evaluated[]> {
  const { vectors } = by;
  const asked: Asked[] = [];
  for (const row of rows) {
    const query =
      vectors === null ? queryOfRow(parts, row) : queryOf(parts, givenLike(vectors, row));
    asked.push({ row, query: query as Query });
    yield undefined;
  }
  const neighbors = yield* trueNeighbors(parts, asked, by);
  return asked.map((one, i) => ({ ...one, neighbors: neighbors[i] }));
}

/**
 * A row as it may have been given: int8 values with random digits in place of the lost ones, so
 * that it is as far from what is held as new queries are.
 */
function givenLike(vectors: DenseVectors, row: number): DenseVector {
  if (vectors.kind !== 'int8') return vectors.at(row);
  return withDigits(vectors.valuesAt(row), vectors.zeros, row);
}

/** Queries of the caller with their true neighbours; null queries are left out. */
export function* evaluatedQueries(
  parts: IndexParts,
  { queries, truth }: GivenQueries,
  by: TruthBy,
): Steps<Evaluated[]> {
  const given = queriesOf(parts, queries);
  const { k, vectors } = by;
  checkTruth(parts, truth, given.count, k);
  const asked: Asked[] = [];
  const known: Uint32Array[] = [];
  for (let i = 0; i < given.count; i++) {
    const query = given.at(i);
    if (query === null) continue;
    needComparable(parts, query, i);
    // With true neighbours by distance of codes, what is measured is a search for the code.
    const isByDistance = parts.vectors === null && vectors === null && truth === undefined;
    asked.push({ row: null, query: isByDistance ? { ...query, sums: null, unit: null } : query });
    if (truth !== undefined) known.push(Uint32Array.from(truth[i]).subarray(0, k));
    yield undefined;
  }
  if (asked.length === 0) throw wrongValue('queries', 'at least one vector', given.count);
  const neighbors = truth === undefined ? yield* trueNeighbors(parts, asked, by) : known;
  return asked.map((one, i) => ({ ...one, neighbors: neighbors[i] }));
}

/** Throws unless the truth is, for each query, a list of different live rows, long enough for k. */
function checkTruth(
  { distinctCodes }: IndexParts,
  truth: Neighbors | undefined,
  count: number,
  k: number,
): void {
  if (truth === undefined) return;
  if (!Array.isArray(truth)) throw wrongType('truth', 'an array of rows for each query', truth);
  if (truth.length !== count) throw wrongValue('truth', `${count} lists of rows`, truth.length);
  const least = Math.min(k, distinctCodes.liveCount);
  truth.forEach((rows: ArrayLike<number>, i: number) => {
    const name = `truth[${i}]`;
    if (typeof rows !== 'object' || rows === null) throw wrongType(name, 'an array of rows', rows);
    if (!(rows.length >= least)) throw wrongValue(name, `at least ${least} rows`, rows.length);
    for (let j = 0; j < k && j < rows.length; j++) {
      const row = checkInteger(
        `${name}[${j}]`,
        rows[j],
        0,
        Math.max(0, distinctCodes.rowCount - 1),
      );
      if (!distinctCodes.isLive(row)) throw wrongValue(`${name}[${j}]`, 'a row of the index', row);
    }
    const first = new Set(Array.prototype.slice.call(rows, 0, k));
    if (first.size < Math.min(k, rows.length)) throw wrongValue(name, 'different rows', rows);
  });
}
