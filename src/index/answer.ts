/**
 * The answer of an index to one query: a search by cosine or by distance, the similarities that a
 * caller asked for, the ids of the rows. Like a search it says what it needs before each step and
 * does no I/O, so the same code serves rows in memory and in files.
 */

import { checkMaxDistance } from '../base/check';
import { checkLeast, distanceToSearch, type Measure } from '../codes/measure';
import { reaches } from '../vectors/vectors';
import { DistanceSearch } from './distance';
import { checkFilter, FilterMemory, type RowFilter } from './filter';
import type { Id } from './ids';
import {
  type IndexWithinOptions,
  type Rank,
  type RecallReport,
  SEARCH_DEFAULTS,
  type SearchOptions,
} from './index-options';
import type { Query, QueryParts } from './query';
import { CosineSearch, type Looking, type Setting } from './search';
import { run, type Searched, type Stepped, type Want, type Work } from './searched';
import type { KeptSparseVector } from './vectors/row-vectors';

/** Rows of a filter that are fewer than this share of all are compared one by one. */
const FEW = 1 / 16;

/** What answers read of an index, besides what searches read. */
export interface AnsweredIndex {
  readonly parts: QueryParts;
  /** What a search reads now. */
  searched(): Searched;
  /** Calls a user's filter for a row, and refuses changes of the index meanwhile. */
  accepts(filter: (id: Id, row: number) => unknown, row: number): unknown;
  /** The number of the next row, and how many rows there are. */
  readonly nextRow: number;
  readonly count: number;
  /** What `optimize` measured; null before. */
  readonly report: RecallReport | null;
  /**
   * Those of the given rows that exist and have a code; null where files would have to be read to
   * know.
   */
  withCodes(rows: readonly number[]): Uint32Array | null;
  /** The id of a row, which must be in memory. */
  idOf(row: number): Id;
}

/** The answer to one query, all rows at hand; a null query has no neighbours. */
export function answer(index: AnsweredIndex, query: Query | null, request: Request): SearchResult {
  return run(new Answer(index, query, request)).result;
}

export class Answer implements Stepped {
  readonly #index: AnsweredIndex;
  readonly #request: Request;
  readonly #start = performance.now();
  readonly #work: Work = { codesCompared: 0, candidates: 0, probes: 0 };
  readonly #rank: Rank;
  #search: CosineSearch | DistanceSearch | null = null;
  /** The rows of the result, from the time when only their ids must still be loaded. */
  #found: Found | null = null;
  #result: SearchResult | null = null;
  readonly #query: Query | null;
  #method: Explanation['method'] = 'scan';

  constructor(index: AnsweredIndex, query: Query | null, request: Request) {
    this.#index = index;
    this.#query = query;
    this.#request = request;
    this.#rank = rankOf(index.parts, query, request);
    if (query === null) {
      const distances = this.#rank === 'hamming' ? new Uint16Array() : null;
      const similarities = new Float64Array();
      this.#result = {
        rows: new Uint32Array(),
        ids: [],
        distances,
        similarities,
        rank: this.#rank,
      };
      return;
    }
    this.#search = this.#rank === 'hamming' ? this.#byDistance(query) : this.#byCosine(query);
    this.#goOn();
  }

  #byCosine(query: Query): CosineSearch {
    const { report, nextRow: rows } = this.#index;
    const searched = this.#index.searched();
    const partitions = searched.space?.count ?? 0;
    const isExact = this.#rank === 'exact';
    const setting = settingOf(this.#request, isExact, { report, partitions, rows });
    const asked = { ...setting, filter: this.#filter() };
    return new CosineSearch(searched, query, asked, isExact, this.#work);
  }

  #byDistance(query: Query): DistanceSearch {
    const { maxDistance } = this.#request;
    const k = Math.max(1, Math.min(this.#request.k, this.#index.nextRow));
    const asked = { k, maxDistance, filter: this.#filter() };
    return new DistanceSearch(this.#index.searched(), query.code, asked, this.#work);
  }

  /** The filter of this search. The rows of a short list are known before anything is searched. */
  #filter(): FilterMemory | null {
    const filter: RowFilter | null = this.#request.filter;
    if (filter === null) return null;
    const isShort = filter.rows !== null && filter.rows.length < FEW * this.#index.count;
    const known = isShort ? this.#index.withCodes(filter.rows as readonly number[]) : null;
    return new FilterMemory(filter, known, isShort);
  }

  get isDone(): boolean {
    return this.#result !== null;
  }

  get result(): SearchResult {
    return this.#result as SearchResult;
  }

  get want(): Want | null {
    if (this.#found !== null) return { kind: 'ids', rows: this.#found.rows };
    return this.#search?.want ?? null;
  }

  /** The entries that its next step looks at; see `lookTogether`. */
  get looking(): Looking | null {
    return this.#search instanceof CosineSearch ? this.#search.looking : null;
  }

  /** Goes on after these entries were looked at. */
  looked(): void {
    (this.#search as CosineSearch).looked();
    this.#goOn();
  }

  suspend(): void {
    this.#search?.suspend();
  }

  step(): void {
    if (this.#found !== null) this.#result = this.#named(this.#found);
    else {
      this.#search?.step();
      this.#goOn();
    }
  }

  /** After a step: ends a search that is done. */
  #goOn(): void {
    const search = this.#search;
    if (search === null || !search.isDone) return;
    if (search instanceof DistanceSearch) this.#endDistance(search);
    else this.#endCosine(search);
  }

  /** The best rows by cosine: of rows within a distance those that reach the least similarity. */
  #endCosine(search: CosineSearch): void {
    const { least } = this.#request;
    const { rows, cosines } = search.best;
    let count = rows.length;
    if (least === null) {
      const byPartitions = this.#work.probes > 0 && !search.isOfAccepted;
      this.#method = byPartitions ? 'partitions' : 'scan';
    } else while (count > 0 && !reaches(cosines[count - 1], least)) count--;
    this.#found = {
      rows: rows.subarray(0, count),
      distances: null,
      similarities: cosines.subarray(0, count),
      rank: least === null ? this.#rank : 'exact',
    };
  }

  /** Rows by distance: all, or those that reach the least similarity, exact or estimated. */
  #endDistance(search: DistanceSearch): void {
    const { parts } = this.#index;
    const { least } = this.#request;
    const { rows, distances } = search.near;
    this.#method = search.method;
    const query = this.#query as Query;
    if (least !== null && parts.canCompare(query)) {
      const k = rows.length;
      const asked = { probes: null, want: k, k, filter: null, rows };
      this.#search = new CosineSearch(this.#index.searched(), query, asked, true, this.#work);
      return;
    }
    const estimates = estimatesOf(parts.measure, distances, parts.bits);
    let count = 0;
    while (count < rows.length && (least === null || estimates[count] >= least)) count++;
    this.#found = {
      rows: rows.subarray(0, count),
      distances: distances.subarray(0, count),
      similarities: estimates.subarray(0, count),
      rank: 'hamming',
    };
  }

  #named({ rows, distances, similarities, rank }: Found): SearchResult {
    const ids: Id[] = [];
    for (const row of rows) ids.push(this.#index.idOf(row));
    const result = { rows, ids, distances, similarities, rank };
    if (!this.#request.isExplained) return result;
    const { codesCompared, candidates: reranked, probes } = this.#work;
    const how = { method: this.#method, codesCompared, reranked, probes };
    return { ...result, explain: { ...how, milliseconds: performance.now() - this.#start } };
  }
}

/** What a search found. */
type Found = Omit<SearchResult, 'ids' | 'explain'>;

/** Neighbours, best first; all arrays have one entry a neighbour. */
export interface SearchResult<I extends Id = Id> {
  readonly rows: Uint32Array;
  readonly ids: readonly I[];
  /** Distances of the codes in bits, with rank 'hamming'; else null. */
  readonly distances: Uint16Array | null;
  /**
   * Cosines, or with projection 'minwise' Jaccard similarities: of the held vectors with rank
   * 'exact', else estimated from the codes.
   */
  readonly similarities: Float64Array;
  readonly rank: Rank;
  readonly explain?: Explanation;
}

/** What a search did, and how long it took. */
export interface Explanation {
  /** All compared, by equal blocks of bits, or by the nearest centroids. */
  readonly method: 'scan' | 'bands' | 'partitions';
  readonly codesCompared: number;
  /** Rows ranked by cosine. */
  readonly reranked: number;
  /** Partitions visited. */
  readonly probes: number;
  /** What a stored index read while this search ran, others that ran at the same time included. */
  readonly read?: { readonly ranges: number; readonly bytes: number };
  readonly milliseconds: number;
}

/** A row as the index holds it. */
export interface IndexRow<I extends Id = Id> {
  readonly row: number;
  readonly id: I;
  /** Null where the row is null. */
  readonly code: Uint8Array | null;
  /** The held vector; null where there is none. */
  readonly vector: Float32Array | KeptSparseVector | null;
}

/** The similarities that distances estimate, in their order. */
function estimatesOf(measure: Measure, distances: Uint16Array, bits: number): Float64Array {
  const estimates = new Float64Array(distances.length);
  for (let i = 0; i < estimates.length; i++) {
    const isSame = i > 0 && distances[i] === distances[i - 1];
    estimates[i] = isSame ? estimates[i - 1] : measure.estimateOf(distances[i], bits);
  }
  return estimates;
}

/** A checked search; options that were not given are null. */
export interface Request {
  readonly k: number;
  /** Largest distance in bits, inclusive; all bits for `search`. */
  readonly maxDistance: number;
  /** Lowest similarity, exact or, for a query that cannot be compared, estimated; null for any. */
  readonly least: number | null;
  readonly rank: 'hamming' | null;
  readonly oversample: number | null;
  readonly probes: number | null;
  readonly filter: RowFilter | null;
  readonly isExplained: boolean;
}

/** Checks the options of `search`. */
export function searchRequest(index: AnsweredIndex, given: SearchOptions<never>): Request {
  return {
    k: given.k ?? SEARCH_DEFAULTS.k,
    maxDistance: index.parts.bits,
    least: null,
    rank: given.rank ?? null,
    oversample: given.oversample ?? null,
    probes: given.probes ?? null,
    filter: checkFilter(given.filter, (filter, row) => index.accepts(filter, row)),
    isExplained: given.explain === true,
  };
}

/** Checks the options of `within`: a search by distance for all rows, so k has no limit. */
export function withinRequest(index: AnsweredIndex, given: IndexWithinOptions<never>): Request {
  return {
    k: Number.MAX_SAFE_INTEGER,
    ...reachOf(index.parts, given),
    rank: 'hamming',
    oversample: null,
    probes: null,
    filter: checkFilter(given.filter, (filter, row) => index.accepts(filter, row)),
    isExplained: given.explain === true,
  };
}

/** The distance to search, and the lowest similarity by which found rows are filtered. */
function reachOf(
  { bits, hasher, vectors }: QueryParts,
  { maxDistance, ...given }: IndexWithinOptions<never>,
): Pick<Request, 'maxDistance' | 'least'> {
  const asked = checkLeast(given, hasher.projection);
  if (maxDistance !== undefined) {
    return { maxDistance: checkMaxDistance(maxDistance, bits), least: asked?.least ?? null };
  }
  if (asked === undefined) {
    throw new TypeError('within() needs "maxDistance", "minCosine" or "minJaccard"');
  }
  const codes = { bits, isVerified: vectors !== null };
  return { maxDistance: distanceToSearch(asked, codes), least: asked.least };
}

/** The rank of a query: by distance for a code, else the best that the index has. */
function rankOf(parts: QueryParts, query: Query | null, { rank }: Request): Rank {
  const isCode = query !== null && query.unit === null && query.sums === null;
  return rank ?? (isCode ? 'hamming' : parts.usualRank);
}

/** Partitions to visit where none was measured. */
const USUAL_PROBES = 32;

/** How candidates of a search by cosine are found in an index of so many rows. */
export function settingOf(
  { k, oversample, probes }: Pick<Request, 'k' | 'oversample' | 'probes'>,
  isExact: boolean,
  { report, partitions, rows }: { report: RecallReport | null; partitions: number; rows: number },
): Setting & { readonly k: number } {
  const most = Math.max(1, Math.min(k, rows));
  // Partitions that optimize() found no faster than a scan are visited where `probes` says so.
  const isPartitioned = partitions > 0 && (probes !== null || report?.method !== 'scan');
  const measured = report?.method === (isPartitioned ? 'partitions' : 'scan') ? report : null;
  const times = oversample ?? measured?.oversample ?? SEARCH_DEFAULTS.oversample;
  // A search for fewer neighbours than were measured ranks as many candidates, to find as much.
  const ranked = oversample === null && measured !== null ? Math.max(most, measured.k) : most;
  const want = Math.min(Math.ceil(times * ranked), Math.max(most, rows));
  return {
    k: most,
    probes: isPartitioned ? (probes ?? measured?.probes ?? USUAL_PROBES) : null,
    slack: probes === null ? measured?.slack : undefined,
    want: isExact ? want : most,
  };
}
