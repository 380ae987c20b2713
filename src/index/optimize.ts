/**
 * Makes an index in memory fast at a wanted recall, and reports what it measured: a space is
 * trained, rows are placed in it, and the cheapest setting that finds enough is chosen and measured
 * (settle.ts). Works on a copy, so an index whose optimizing is cancelled is as it was.
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
import type { MemoryIndex } from './memory-index';
import { needComparable, queriesOf } from './query';
import { type Figures, measured, type QueriesKind } from './recall';
import { reportOf } from './report';
import { EvaluationSource, settle, shuffled } from './settle';
import { bytesPerEntryOf, type Space } from './space';
import {
  HELD_OUT_CLASSES,
  MIN_PARTITIONED_ROWS,
  sampleSize,
  trainSpace,
  untrainedSpace,
  usualPartitions,
} from './train';
import type { EvaluationQuery, Truth } from './truth';
import { DenseVectors } from './vectors/dense-vectors';

const MAX_QUERIES = 1_000_000;

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

/** Copies are entries, which dense vectors have. */
function checkCopies({ vectors, dense }: IndexCore, copies: unknown): boolean {
  if (typeof copies !== 'boolean') throw wrongType('copies', 'true or false', copies);
  if (!copies || hasEntries(dense)) return copies;
  const kind = vectors?.kind ?? 'none';
  throw wrongValue('vectors', "'int8' or 'float32', which copies need", kind);
}

function hasEntries(dense: DenseVectors | null): boolean {
  return dense !== null && bytesPerEntryOf(dense.dimensions) > 0;
}

/** Optimizes the index and returns the report. The index changes in the last step alone. */
export async function optimize(
  core: IndexCore,
  wanted: Wanted,
  work: LongWork,
): Promise<RecallReport> {
  const seed = Number(BigInt.asUintN(32, wanted.seed));
  const before = new MemoryEvaluable(core, core.rows, wanted.vectors);
  const trained = await trainedSpace(core, before.rows, wanted, work);
  const rowsAsQueries = rowSource(core, before, trained !== null, wanted, seed);
  const source =
    wanted.given === null ? rowsAsQueries : givenSource(core, before, wanted.given, wanted, seed);
  let held = core.rows;
  if (trained === null) held = await scanned(core, work);
  else {
    const hasCopies =
      wanted.copies ?? (await payCopies(core, before, trained, source, wanted, work));
    const { space } = trained;
    held = await core.rows.placed({ space, hasCopies: hasCopies && space.count > 1 }, work);
  }
  const trial = new MemoryEvaluable(core, held, wanted.vectors);
  const { choice, figures } = await settle(trial, source, wanted, work);
  let byRows: Figures | null = null;
  if (source.isGiven) {
    const some = await rowsAsQueries.next(Math.ceil(wanted.queries / 2), work);
    byRows = await measured(trial, some, wanted.k, choice, rowsAsQueries.kind, work);
  }
  const isScan = choice.probes === null;
  if (isScan && held.layout.space !== null) {
    const isPlain = core.rows.layout.space === null;
    held = isPlain ? core.rows : await core.rows.placed({ space: null, hasCopies: false }, work);
  }
  const { k, recall } = wanted;
  const heldOutShare = trained === null ? 1 : 1 / HELD_OUT_CLASSES;
  const reported = { wanted: { k, recall, seed }, choice, figures, byRows, heldOutShare };
  const report = reportOf(trial, held.count, reported);
  core.rows = held;
  core.report = report;
  return report;
}

/** The rows without a space, in the order in which they were added. */
async function scanned({ rows }: IndexCore, work: LongWork): Promise<MemoryIndex> {
  return rows.layout.space === null ? rows : rows.placed({ space: null, hasCopies: false }, work);
}

/** A space, and points on which it was trained; null where there are too few rows for one. */
interface Trained {
  readonly space: Space;
  readonly sample: Int16Array;
}

async function trainedSpace(
  core: IndexCore,
  coded: number,
  { partitions, seed }: Wanted,
  work: LongWork,
): Promise<Trained | null> {
  if (coded === 0 || (partitions === undefined && coded < MIN_PARTITIONED_ROWS)) return null;
  const count = partitions ?? usualPartitions(coded);
  const untrained = untrainedSpace(core.origin);
  const drawing = String(seed);
  const sample = await core.rows.sample(untrained, sampleSize(count), drawing, work);
  const training = { partitions: count, seed: drawing };
  return { space: await trainSpace(untrained, sample, training, work), sample };
}

/** Whether searches gain by copies, by the neighbours of evaluation queries. */
async function payCopies(
  { rows, dense }: IndexCore,
  index: MemoryEvaluable,
  { space, sample }: Trained,
  source: EvaluationSource,
  { recall }: Wanted,
  work: LongWork,
): Promise<boolean> {
  if (!hasEntries(dense)) return false;
  const asked = await source.first(COPY_QUERIES, work);
  const near = asked.flatMap(({ truth }) => Array.from(truth.rows.subarray(0, COPY_NEIGHBORS)));
  const coded = near.filter((row) => rows.hasCode(row));
  if (coded.length < near.length) return false;
  const points = rows.pointsOf(Uint32Array.from(near), space);
  return copiesPay(space, { asked, points, rows: index.rows, sample }, recall);
}

/** Held-out rows in random order; if there are not two of them, all rows. */
function rowSource(
  core: IndexCore,
  index: MemoryEvaluable,
  hasTrained: boolean,
  { k, queries, vectors }: Wanted,
  seed: number,
): EvaluationSource {
  const all = () => core.rows.liveRows(true);
  const held = hasTrained ? core.rows.heldOutRows() : all();
  const isFew = held.length < 2;
  const byIndex = (vectors ?? core.vectors) === null ? 'distance' : 'cosine';
  const kind: QueriesKind = { source: 'rows', truth: byIndex, isTrained: isFew && hasTrained };
  return EvaluationSource.of(
    kind,
    shuffled(isFew ? all() : held, seed),
    {
      ahead: queries,
      queryAt: (row) => ({ row, query: index.queryOfRow(row) }),
      truthAt: null,
    },
    (asked, work) => index.nearest(asked, k, work),
  );
}

/** Queries of the caller in random order, since those of a file may be sorted. */
function givenSource(
  core: IndexCore,
  index: MemoryEvaluable,
  { queries, truth }: { queries: RowsToAdd; truth: Neighbors | undefined },
  { k, vectors }: Wanted,
  seed: number,
): EvaluationSource {
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
    asked.push({ row: null, query: isByDistance ? { ...query, sums: null, unit: null } : query });
    if (truth === undefined) continue;
    const rows = Uint32Array.from(truth[i]).subarray(0, k);
    known.push({ rows, size: rows.length });
  }
  if (asked.length === 0) throw wrongValue('queries', 'at least one vector', given.count);
  const byIndex = (vectors ?? core.vectors) === null ? 'distance' : 'cosine';
  return EvaluationSource.of(
    { source: 'queries', truth: truth === undefined ? byIndex : 'given', isTrained: false },
    shuffled(Uint32Array.from(asked.keys()), seed),
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
