/**
 * What searches find of the true neighbours of evaluation queries: one share for each query, from
 * which a recall and its interval are made. An index is measured by the same code wherever its rows
 * are: `Evaluable` is all that it reads of one.
 */

import type { LongWork } from '../base/long-work';
import { mean, meanInterval } from '../base/mean-limits';
import { pointsOf } from '../kernels/products';
import type { QueryRecall, RecallReport } from './index-options';
import { type Query, type QueryParts, queryOf } from './query';

import { type Best, CosineSearch, type Setting } from './search';
import type { Searched, Work } from './searched';
import { bytesPerEntryOf, type Space } from './space';
import {
  type EachChunks,
  type EvaluationQuery,
  eachRun,
  type Nearest,
  nearestByCodes,
  nearestBySparse,
  nearestByVectors,
  type TakeChunks,
  type Truth,
} from './truth';
import type { DenseVectors } from './vectors/dense-vectors';
import { withDigits } from './vectors/rounding';
import type { RowVectors, VectorStorage } from './vectors/row-vectors';

/** Partitions of rows; `seconds` are the same without copies. */
export interface Partitions {
  readonly own: Uint32Array;
  readonly seconds: Uint32Array;
}

/** Where a row is: its vector at a position, or its code. */
export interface RowPlace {
  readonly vectors: RowVectors | null;
  readonly position: number;
  readonly code: Uint8Array;
}

/**
 * How a search of an evaluation query finds its k best besides its own rows; with `isUnranked` all
 * its candidates.
 */
export interface EvaluationSearch {
  readonly k: number;
  readonly setting: Setting;
  readonly isUnranked: boolean;
}

/** An index whose searches are measured. */
export interface Measurable {
  readonly space: Space | null;
  readonly storage: VectorStorage;
  /** Rows that are there, and those of them that have codes: what a scan compares. */
  readonly count: number;
  readonly rows: number;
  /** False where no search looks at all rows. */
  readonly canScan: boolean;
  /** The order in which a search for the query visits partitions. */
  visitsOf(query: Query): Visits;
  /** For each of some rows how many partitions a search for the query visits before it. */
  placesOf(asked: EvaluationQuery, rows: Uint32Array): Promise<Uint16Array>;
  /** For each query what a search finds, the likeliest first. */
  search(asked: readonly EvaluationQuery[], how: EvaluationSearch, work: LongWork): Promise<Best[]>;
}

/** An index that is optimized and whose searches are measured, in memory or in files. */
export abstract class Evaluable implements Measurable {
  readonly parts: QueryParts;
  readonly space: Space | null;
  abstract readonly count: number;
  abstract readonly rows: number;
  readonly canScan = true;
  readonly #visits = new WeakMap<Query, Visits>();

  constructor(parts: QueryParts, space: Space | null) {
    this.parts = parts;
    this.space = space;
  }

  get storage(): VectorStorage {
    return this.parts.vectors?.kind ?? 'none';
  }

  /** Takes all rows, those that are at hand together in one call. */
  protected abstract eachChunks(work: LongWork, take: TakeChunks): Promise<void>;
  /** The partitions of rows, which must have codes. */
  abstract partitionsOf(rows: Uint32Array): Promise<Partitions>;
  abstract search(
    asked: readonly EvaluationQuery[],
    how: EvaluationSearch,
    work: LongWork,
  ): Promise<Best[]>;
  /** Where a row is that has a code: its vector, or its code where there are none. */
  protected abstract placeOf(row: number, work: LongWork): Promise<RowPlace>;

  /** Whether a space of the index is one of codes. */
  protected get isByCode(): boolean {
    const { dense } = this.parts;
    return dense === null || bytesPerEntryOf(dense.dimensions) === 0;
  }

  /** Goes once through all rows that have codes; see `eachRun`. */
  eachRun(take: Parameters<typeof eachRun>[2], work: LongWork): Promise<void> {
    return eachRun((chunks) => this.eachChunks(work, chunks), this.isByCode, take, work);
  }

  /** The true k nearest of queries. */
  async nearest(asked: readonly EvaluationQuery[], k: number, work: LongWork): Promise<Truth[]> {
    const { bits, dense } = this.parts;
    if (dense !== null) return (await this.near(asked, k, work)).map(({ truth }) => truth);
    const chunks: EachChunks = (take) => this.eachChunks(work, take);
    if (this.storage === 'sparse') return nearestBySparse(chunks, asked, k, work);
    return nearestByCodes(chunks, asked, { k, bits }, work);
  }

  /** Queries with their true k nearest. */
  async evaluated(
    asked: readonly EvaluationQuery[],
    k: number,
    work: LongWork,
  ): Promise<Evaluated[]> {
    const truths = await this.nearest(asked, k, work);
    return truths.map((truth, i) => ({ ...asked[i], truth }));
  }

  /** The same by dense vectors, with scores, so that they can be merged with those of others. */
  near(asked: readonly EvaluationQuery[], k: number, work: LongWork): Promise<Nearest[]> {
    const { dimensions, kind } = this.parts.dense as DenseVectors;
    const by = { k, dimensions, kind, total: this.rows };
    return nearestByVectors((take) => this.eachChunks(work, take), asked, by, work);
  }

  async placesOf({ query }: EvaluationQuery, rows: Uint32Array): Promise<Uint16Array> {
    const { places: visits } = this.visitsOf(query);
    const { own, seconds } = await this.partitionsOf(rows);
    const places = new Uint16Array(rows.length);
    for (let i = 0; i < rows.length; i++) {
      places[i] = Math.min(visits[own[i]], visits[seconds[i]]);
    }
    return places;
  }

  visitsOf(query: Query): Visits {
    const visits = this.#visits.get(query) ?? visitsOf(this.space as Space, query);
    this.#visits.set(query, visits);
    return visits;
  }

  /** The points of rows that have dense vectors. */
  async pointsOf(rows: Uint32Array, space: Space, work: LongWork): Promise<Int8Array> {
    const points = new Int8Array(rows.length * space.width);
    for (const [i, row] of rows.entries()) {
      const { vectors, position } = await this.placeOf(row, work);
      const own = (vectors as DenseVectors).rowsOfLengths(Uint32Array.of(row), position);
      points.set(pointsOf(own), i * space.width);
      await work.step();
    }
    return points;
  }

  /** A row that has a code as a query, as its vector may have been given. */
  async queryOfRow(row: number, work: LongWork): Promise<Query> {
    const { vectors, position, code } = await this.placeOf(row, work);
    if (vectors === null) return { code: code.slice(), sums: null, unit: null };
    const { dense } = this.parts;
    // Random digits in place of the lost ones: it is as far from what is held as new queries are.
    const given =
      dense?.kind === 'int8'
        ? withDigits((vectors as DenseVectors).valuesAt(position), dense.zeros, row)
        : vectors.at(position);
    return queryOf(this.parts, given) as Query;
  }

  /** A search for an evaluation query. */
  protected searchFor(
    index: Searched,
    { query, own }: EvaluationQuery,
    { k: others, setting, isUnranked }: EvaluationSearch,
  ): CosineSearch {
    const k = others + own.size;
    const isExact = this.parts.canCompare(query);
    const work: Work = { codesCompared: 0, candidates: 0, probes: 0 };
    const want = isExact || isUnranked ? Math.max(k, setting.want + own.size) : k;
    const how = { ...setting, want, k, filter: null, isUnranked };
    return new CosineSearch(index, query, how, isExact, work);
  }
}

/** The order in which a search for a query visits partitions. */
export interface Visits {
  /** The place of each partition. */
  readonly places: Uint16Array;
  /** By place the product of the query and the partition's centroid. */
  readonly products: Float32Array;
}

export function visitsOf(space: Space, query: Query): Visits {
  const places = new Uint16Array(space.count);
  const { partitions, products } = space.nearest(query, space.count);
  for (const [place, p] of partitions.entries()) places[p] = place;
  return { places, products: products.slice() };
}

/** An evaluation query with its true neighbours. */
export interface Evaluated extends EvaluationQuery {
  readonly truth: Truth;
}

/** How often a query counts: once for each of its rows, and once if it is new. */
export function timesOf({ own }: EvaluationQuery): number {
  return Math.max(1, own.size);
}

/** Which queries measure an index, and how their true neighbours are found. */
export interface QueriesKind extends Pick<RecallReport, 'source' | 'truth'> {
  /** True if the queries are rows that took part in training. */
  readonly isTrained: boolean;
}

/** Recalls are rounded to 1 / UNITS, far below their error: .956 instead of .9559999999999. */
const UNITS = 1e12;
/** A value next to which int8 rounds 1,536 equal others to 0, in a vector of length 1. */
const NEARLY_ALL = 0.988;

/**
 * The recall of queries: for each the share of its true neighbours among the first k rows of its
 * answer, its own rows aside. Those without neighbours are left out; it is 1 for no queries.
 */
export function recallOf(
  judging: readonly Evaluated[],
  answers: readonly Uint32Array[],
  k: number,
): QueryRecall {
  const shares: number[] = [];
  const times: number[] = [];
  for (const [i, one] of judging.entries()) {
    const { own, truth } = one;
    if (truth.size === 0) continue;
    const near = new Set(truth.rows);
    const rows = answers[i].filter((row) => !own.has(row)).subarray(0, k);
    shares.push(Math.min(truth.size, rows.filter((row) => near.has(row)).length) / truth.size);
    times.push(timesOf(one));
  }
  const queries = shares.length;
  return {
    recall: queries === 0 ? 1 : Math.round(UNITS * mean(shares, times)) / UNITS,
    interval: meanInterval(shares, times),
    queries,
  };
}

/** Measures a setting. */
export async function measured(
  index: Measurable,
  judging: readonly Evaluated[],
  k: number,
  setting: Setting,
  work: LongWork,
): Promise<QueryRecall> {
  const found = await index.search(judging, { k, setting, isUnranked: false }, work);
  return recallOf(
    judging,
    found.map(({ rows }) => rows),
    k,
  );
}

/** The column that is nearly all of most queries, which have length 1; null if none is. */
function largestColumn(judging: readonly Evaluated[]): number | null {
  const times = new Map<number, number>();
  for (const { query } of judging) {
    const column = (query.unit as Float64Array).findIndex((one) => Math.abs(one) > NEARLY_ALL);
    if (column >= 0) times.set(column, (times.get(column) ?? 0) + 1);
  }
  for (const [column, count] of times) if (2 * count > judging.length) return column;
  return null;
}

/** A setting that was chosen for a recall of the k nearest, and what queries found with it. */
export interface Settled {
  readonly setting: Setting;
  readonly recall: QueryRecall;
  readonly judging: readonly Evaluated[];
}

/** The report of a setting. */
export function reportOf(
  index: Measurable,
  wanted: { readonly k: number; readonly recall: number },
  settled: Settled,
  kind: QueriesKind,
): RecallReport {
  const { setting, recall } = settled;
  const { probes, slack = 0, want } = setting;
  const isScan = probes === null;
  return {
    wanted: wanted.recall,
    reached: recall.recall >= wanted.recall,
    ...recall,
    source: kind.source,
    truth: kind.truth,
    warnings: warningsOf(index, settled, kind),
    k: wanted.k,
    method: isScan ? 'scan' : 'partitions',
    partitions: isScan ? 0 : (index.space?.count ?? 0),
    probes: probes ?? 0,
    slack,
    oversample: Math.ceil(want / wanted.k),
    rows: index.count,
    rowsAdded: 0,
    rowsRemoved: 0,
    stale: false,
  };
}

function warningsOf(
  { storage }: Measurable,
  { judging, recall }: Settled,
  { isTrained }: QueriesKind,
): string[] {
  const warnings: string[] = [];
  if (recall.queries === 0) warnings.push('no query has a neighbour: recall was not measured');
  if (isTrained) {
    warnings.push(
      'evaluation rows took part in training: the index has too few others, or many equal ones',
    );
  }
  const column = storage === 'int8' ? largestColumn(judging) : null;
  if (column !== null) {
    warnings.push(
      `column ${column} is so much larger than the others that 'int8' keeps little of them, and ` +
        "most rows are alike: scale it down, or hold 'float32'",
    );
  }
  return warnings;
}
