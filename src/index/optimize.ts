/**
 * Makes an index fast at a wanted recall, wherever its rows are, and reports what it measured: a
 * space is trained on a sample, rows are placed in it, and the cheapest setting that finds enough
 * is chosen and measured (settle.ts). Works on a copy, so an index whose optimizing is cancelled is
 * as it was.
 */

import { checkInteger, checkNumber, checkSeed, wrongType, wrongValue } from '../base/check';
import type { LongWork } from '../base/long-work';
import { checkDenseMatrix, type DenseMatrix, isDenseMatrix } from '../vectors/vectors';
import type { RowsToAdd } from './add-rows';
import { COPY_NEIGHBORS, COPY_QUERIES, copiesPay } from './copies';
import type { IndexCore } from './index-core';
import type { OptimizeOptions, RecallReport } from './index-options';
import { OPTIMIZE_DEFAULTS } from './index-options';
import { MemoryEvaluable } from './memory-evaluable';
import { needComparable, queriesOf } from './query';
import { type Figures, measured, type Optimizable } from './recall';
import { reportOf } from './report';
import { EvaluationSource, settle, shuffled } from './settle';
import { bytesPerEntryOf, type Space } from './space';
import {
  HELD_OUT_CLASSES,
  MIN_PARTITIONED_ROWS,
  type SpaceOrigin,
  sampleSize,
  TrainingSample,
  trainSpace,
  untrainedSpace,
  usualPartitions,
} from './train';
import type { EvaluationQuery, Truth } from './truth';
import { DenseVectors } from './vectors/dense-vectors';

const MAX_QUERIES = 1_000_000;
/** A setting is chosen at most this many times, each time with new queries. */
const MAX_QUERY_TIMES = 3;
/** Held-out rows are no fair sample where their number differs by so much of what is expected, */
const UNFAIR = 1 / 4;
/** and by so many, since chance alone makes some difference. */
const CHANCE = 16;

/** For each query rows of the index, nearest first, at least k. */
type Neighbors = readonly ArrayLike<number>[];

/** Checked options of `optimize`. */
export interface Wanted {
  readonly recall: number;
  readonly k: number;
  /** Number of rows to use as queries; half of them choose. */
  readonly queries: number;
  /** Queries of the caller; null where rows are the queries. */
  readonly given: { readonly queries: RowsToAdd; readonly truth: Neighbors | undefined } | null;
  /** The dense vectors of all rows that a caller gave for true neighbours; null if none. */
  readonly vectors: DenseVectors | null;
  /** Number of partitions; undefined for the usual number. */
  readonly partitions: number | undefined;
  /** Whether rows are in second partitions too; undefined where it follows from the rows. */
  readonly copies: boolean | undefined;
  readonly seed: bigint;
}

/** The options of `optimize` with their defaults, checked against each other and the index. */
export function checkWanted(core: IndexCore, options: OptimizeOptions): Wanted {
  const given = { ...OPTIMIZE_DEFAULTS, ...options };
  const { queries, truth, partitions, copies, vectors } = given;
  if (core.hasher.projection === 'minwise') {
    throw new Error(
      `projection 'minwise' needs no optimize(): searches go by distance, and are exact`,
    );
  }
  const isCount = typeof queries === 'number';
  if (isCount && truth !== undefined) {
    throw wrongType('queries', 'vectors, since "truth" is given', options.queries);
  }
  const recall = checkNumber('recall', given.recall, 0, 1);
  if (recall === 0) throw wrongValue('recall', 'a number above 0', recall);
  const count = isCount ? queries : OPTIMIZE_DEFAULTS.queries;
  return {
    recall,
    k: checkInteger('k', given.k, 1, 10_000),
    queries: checkInteger('queries', count, 2, MAX_QUERIES),
    given: isCount ? null : { queries, truth },
    vectors: vectors === undefined ? null : vectorsOfAll(core, vectors),
    partitions:
      partitions === undefined ? undefined : checkInteger('partitions', partitions, 1, 65_536),
    copies: copies === undefined ? undefined : checkCopies(core, copies),
    seed: checkSeed(given.seed),
  };
}

/** A caller's vectors of all rows, copied to float32. */
function vectorsOfAll({ rows, hasher, kernel }: IndexCore, matrix: DenseMatrix): DenseVectors {
  if (!isDenseMatrix(matrix)) throw wrongType('vectors', 'a matrix of dense vectors', matrix);
  const count = checkDenseMatrix(matrix, 'vectors');
  const { nextRow } = rows;
  if (count !== nextRow) throw wrongValue('vectors', `${nextRow} rows, as were added`, count);
  const { dimensions } = matrix;
  if (hasher.dimensions !== undefined && hasher.dimensions !== dimensions) {
    throw wrongValue('vectors', `vectors of ${hasher.dimensions} dimensions`, dimensions);
  }
  const vectors = new DenseVectors('float32', dimensions, kernel);
  vectors.append(matrix, 0, count, (row) => rows.hasCode(row));
  return vectors;
}

/**
 * Throws where copies are asked for without dense vectors: a copy is an entry, and only these have
 * entries.
 */
function checkCopies({ vectors, dense }: IndexCore, copies: unknown): boolean {
  if (typeof copies !== 'boolean') throw wrongType('copies', 'true or false', copies);
  if (!copies || hasEntries(dense)) return copies;
  const kind = vectors?.kind ?? 'none';
  throw wrongValue('vectors', "'int8' or 'float32', which copies need", kind);
}

function hasEntries(dense: DenseVectors | null): boolean {
  return dense !== null && bytesPerEntryOf(dense.dimensions) > 0;
}

/** Optimizes an index in memory and returns the report. It changes in the last step alone. */
export async function optimize(
  core: IndexCore,
  wanted: Wanted,
  work: LongWork,
): Promise<RecallReport> {
  const before = new MemoryEvaluable(core, core.rows, wanted.vectors);
  const given = wanted.given === null ? null : givenSource(core, before, wanted);
  const { report, index } = await optimized(before, core.origin, { ...wanted, given }, work);
  core.rows = index.held;
  core.report = report;
  return report;
}

/**
 * Optimizes an index: trains a space, unless one is given in whose partitions the rows are already,
 * places the rows in it, chooses a setting and measures it. Returns the index as it is then.
 */
export async function optimized<T extends Optimizable<T>>(
  before: T,
  origin: SpaceOrigin,
  wanted: Omit<Wanted, 'given'> & { given?: EvaluationSource | null; space?: Space | null },
  work: LongWork,
): Promise<{ report: RecallReport; index: T }> {
  const { k, recall, given = null, space: own = null } = wanted;
  const trained = own === null ? await trainedSpace(before, origin, wanted, work) : null;
  const hasSpace = own !== null || trained !== null;
  const rowsAsQueries = await rowSource(before, trained?.held ?? null, hasSpace, wanted, work);
  const source = given ?? rowsAsQueries;
  let index = before;
  if (trained !== null) {
    const { space } = trained;
    const hasCopies = wanted.copies ?? (await payCopies(before, trained, source, recall, work));
    index = await before.placed({ space, hasCopies: hasCopies && space.count > 1 }, work);
  } else if (own === null && before.layout.space !== null) {
    index = await before.placed({ space: null, hasCopies: false }, work);
  }
  const { choice, figures } = await settle(index, source, wanted, work);
  let byRows: Figures | null = null;
  if (source.isGiven) {
    const some = await rowsAsQueries.next(Math.ceil(wanted.queries / 2), work);
    byRows = await measured(index, some, k, choice, rowsAsQueries.kind, work);
  }
  const seed = seedOf(wanted);
  const heldOutShare = hasSpace ? 1 / HELD_OUT_CLASSES : 1;
  const reported = { wanted: { k, recall, seed }, choice, figures, byRows, heldOutShare };
  return { report: reportOf(index, reported), index };
}

const seedOf = ({ seed }: Pick<Wanted, 'seed'>) => Number(BigInt.asUintN(32, seed));

/** A space, the points on which it was trained, and the rows that are held out. */
interface Trained {
  readonly space: Space;
  readonly sample: Int16Array;
  readonly held: HeldOut;
}

/** Null where there are too few rows for a space. */
async function trainedSpace(
  index: Optimizable<unknown>,
  origin: SpaceOrigin,
  wanted: Pick<Wanted, 'partitions' | 'seed'>,
  work: LongWork,
): Promise<Trained | null> {
  const { rows } = index;
  if (rows === 0 || (wanted.partitions === undefined && rows < MIN_PARTITIONED_ROWS)) return null;
  const partitions = wanted.partitions ?? usualPartitions(rows);
  const untrained = untrainedSpace(origin);
  const sampled = { space: untrained, most: sampleSize(partitions), rows, seed: seedOf(wanted) };
  let sample = new TrainingSample(sampled);
  const held = new HeldOut();
  await index.eachRow((row, isHeldOut, own) => {
    held.take(row, isHeldOut);
    if (!isHeldOut) sample.offer(row, own);
  }, work);
  if (sample.count === 0) {
    // All rows are held out, since there are few different vectors: train on them all the same.
    sample = new TrainingSample(sampled);
    await index.eachRow((row, _, own) => sample.offer(row, own), work);
  }
  const points = sample.points();
  const space = await trainSpace(
    untrained,
    points,
    { partitions, seed: String(wanted.seed) },
    work,
  );
  return { space, sample: points, held };
}

/** The rows that have codes, and those of them that are held out. */
class HeldOut {
  readonly #all: number[] = [];
  readonly #held: number[] = [];

  take(row: number, isHeldOut: boolean): void {
    this.#all.push(row);
    if (isHeldOut) this.#held.push(row);
  }

  /**
   * The rows to use as queries: the held-out ones, or all where there is no space. Of equal rows
   * all are held out or none: where so many are equal that the held-out ones are no fair sample,
   * all rows are queries.
   */
  queries(hasSpace: boolean): { rows: Uint32Array; isTrained: boolean } {
    const expected = this.#all.length / HELD_OUT_CLASSES;
    const { length } = this.#held;
    const isFair = length > 1 && Math.abs(length - expected) < UNFAIR * expected + CHANCE;
    const rows = Uint32Array.from(hasSpace && isFair ? this.#held : this.#all);
    return { rows: rows.sort(), isTrained: hasSpace && !isFair };
  }
}

/** Whether searches gain by copies, by the neighbours of evaluation queries. */
async function payCopies(
  index: Optimizable<unknown>,
  { space, sample }: Trained,
  source: EvaluationSource,
  recall: number,
  work: LongWork,
): Promise<boolean> {
  if (space.bytesPerEntry === 0) return false;
  const asked = await source.first(COPY_QUERIES, work);
  const near = asked.flatMap(({ truth }) => Array.from(truth.rows.subarray(0, COPY_NEIGHBORS)));
  const points = await index.pointsOf(Uint32Array.from(near), space, work);
  return copiesPay(space, { asked, points, rows: index.rows, sample }, recall);
}

/** Rows in random order as queries, each left out of its own answer. */
async function rowSource(
  index: Optimizable<unknown>,
  known: HeldOut | null,
  hasSpace: boolean,
  wanted: Pick<Wanted, 'k' | 'queries' | 'vectors' | 'seed'>,
  work: LongWork,
): Promise<EvaluationSource> {
  const { k, queries } = wanted;
  const held = known ?? new HeldOut();
  if (known === null) await index.eachRow((row, isHeldOut) => held.take(row, isHeldOut), work);
  const { rows, isTrained } = held.queries(hasSpace);
  const order = shuffled(rows, seedOf(wanted)).subarray(0, MAX_QUERY_TIMES * queries);
  await index.loadQueries(order, work);
  const hasVectors = index.storage !== 'none' || wanted.vectors !== null;
  return EvaluationSource.of(
    { source: 'rows', truth: hasVectors ? 'cosine' : 'distance', isTrained },
    order,
    {
      ahead: queries,
      queryAt: (row) => ({ row, query: index.queryOfRow(row) }),
      truthAt: null,
    },
    (asked, own) => index.nearest(asked, k, own),
  );
}

/** Queries of the caller in random order, since those of a file may be sorted. */
function givenSource(core: IndexCore, index: MemoryEvaluable, wanted: Wanted): EvaluationSource {
  const { k, vectors } = wanted;
  const { queries, truth } = wanted.given as NonNullable<Wanted['given']>;
  const given = queriesOf(core, queries);
  checkTruth(core, truth, given.count, k);
  const asked: EvaluationQuery[] = [];
  const known: Truth[] = [];
  for (let i = 0; i < given.count; i++) {
    const query = given.at(i);
    if (query === null) continue;
    needComparable(core, query, i);
    // With true neighbours by distance of codes, what is measured is a search for the code.
    const isByDistance = core.vectors === null && vectors === null && truth === undefined;
    asked.push({
      row: null,
      query: isByDistance ? { code: query.code, sums: null, unit: null } : query,
    });
    if (truth === undefined) continue;
    const rows = Uint32Array.from(truth[i]).subarray(0, k);
    known.push({ rows, size: rows.length });
  }
  if (asked.length === 0) throw wrongValue('queries', 'at least one vector', given.count);
  const byIndex = (vectors ?? core.vectors) === null ? 'distance' : 'cosine';
  return EvaluationSource.of(
    { source: 'queries', truth: truth === undefined ? byIndex : 'given', isTrained: false },
    shuffled(Uint32Array.from(asked.keys()), seedOf(wanted)),
    {
      ahead: asked.length,
      queryAt: (i) => asked[i],
      truthAt: truth === undefined ? null : (i) => known[i],
    },
    (some: readonly EvaluationQuery[], work) => index.nearest(some, k, work),
  );
}

/** Throws unless the truth is, for each query, a list of different live rows, long enough for k. */
function checkTruth(
  { rows }: IndexCore,
  truth: Neighbors | undefined,
  count: number,
  k: number,
): void {
  if (truth === undefined) return;
  if (!Array.isArray(truth)) throw wrongType('truth', 'an array of rows for each query', truth);
  if (truth.length !== count) throw wrongValue('truth', `${count} lists of rows`, truth.length);
  const least = Math.min(k, rows.count);
  truth.forEach((near: ArrayLike<number>, i: number) => {
    const name = `truth[${i}]`;
    if (typeof near !== 'object' || near === null) throw wrongType(name, 'an array of rows', near);
    if (!(near.length >= least)) throw wrongValue(name, `at least ${least} rows`, near.length);
    for (let j = 0; j < k && j < near.length; j++) {
      const row = checkInteger(`${name}[${j}]`, near[j], 0, Math.max(0, rows.nextRow - 1));
      if (rows.find(row) === null) throw wrongValue(`${name}[${j}]`, 'a row of the index', row);
    }
    const first = new Set(Array.prototype.slice.call(near, 0, k));
    if (first.size < Math.min(k, near.length)) throw wrongValue(name, 'different rows', near);
  });
}
