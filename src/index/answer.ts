/**
 * The answer of an index to one query: a search by cosine or by distance, the similarities that a
 * caller asked for, the ids of the rows. Like a search it says what it needs before each step and
 * does no I/O, so the same code serves rows in memory and in files.
 */

import { reaches } from '../base/length';
import { DistanceSearch, type NearRows } from './distance';
import { FilterMemory, type RowFilter } from './filter';
import type { Id } from './ids';
import type { RecallReport } from './index-options';
import type { Query } from './query-parts';
import {
  methodByDistance,
  type Request,
  type RequestedIndex,
  rankOf,
  rankOfNone,
  settingOf,
} from './request';
import {
  emptyResult,
  estimatesOf,
  explained,
  resultOf,
  type SearchResult,
  whyByCosine,
} from './result';
import { type Best, CosineSearch, candidatesOf, type Looking, Ranking } from './search';
import { run, type Searched, type Stepped, type Want, type Work } from './searched';

/** Rows of a filter that are fewer than this share of all are compared one by one. */
const FEW = 1 / 16;

/** What answers read of an index, besides what searches read. */
export interface AnsweredIndex extends RequestedIndex {
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
  readonly #rank: SearchResult['rank'];
  #search: CosineSearch | DistanceSearch | Ranked | null = null;
  /** The rows of the result, from the time when only their ids must still be loaded. */
  #found: Found | null = null;
  #result: SearchResult | null = null;
  readonly #query: Query | null;
  #method: 'scan' | 'bands' | 'partitions' = 'scan';
  #isOfAccepted = false;

  constructor(index: AnsweredIndex, query: Query | null, request: Request) {
    this.#index = index;
    this.#query = query;
    this.#request = request;
    if (query === null) {
      this.#rank = rankOfNone(index.parts, request);
      this.#result = emptyResult(index.parts.measure, this.#rank);
      return;
    }
    this.#rank = rankOf(index.parts, query, request);
    this.#search = this.#rank === 'hamming' ? this.#byDistance(query) : this.#byCosine(query);
    this.#goOn();
  }

  #byCosine(query: Query): CosineSearch {
    const { report, nextRow: rows } = this.#index;
    const searched = this.#index.searched();
    const partitions = searched.space?.count ?? 0;
    const rank = this.#rank as 'estimate' | 'exact';
    const setting = settingOf(this.#request, rank, { report, partitions, rows });
    const asked = { ...setting, filter: this.#filter() };
    return new CosineSearch(searched, query, asked, rank === 'exact', this.#work);
  }

  #byDistance(query: Query): DistanceSearch {
    const { maxDistance } = this.#request;
    const method = methodByDistance(this.#request);
    const k = Math.max(1, Math.min(this.#request.k, this.#index.nextRow));
    const asked = { k, maxDistance, method, filter: this.#filter() };
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
    else {
      if (search instanceof CosineSearch) {
        this.#isOfAccepted = search.isOfAccepted;
        const byPartitions = this.#work.probes > 0 && !this.#isOfAccepted;
        this.#method = byPartitions ? 'partitions' : 'scan';
      }
      const { rows, cosines: similarities } = search.best;
      const rank = search instanceof Ranked ? 'exact' : this.#rank;
      this.#found = { rows, distances: null, similarities, rank };
    }
  }

  /** Rows by distance: all, or those that reach the least similarity, exact or estimated. */
  #endDistance(search: DistanceSearch): void {
    const { parts } = this.#index;
    const { least } = this.#request;
    const { rows, distances } = search.near;
    this.#method = search.method;
    const query = this.#query as Query;
    if (least !== null && parts.canCompare(query)) {
      this.#search = new Ranked(this.#index.searched(), query, rows, least, this.#work);
      this.#goOn();
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
    const { report, parts } = this.#index;
    const result = resultOf(parts.measure, { rows, ids, distances }, similarities, rank);
    if (!this.#request.isExplained) return result;
    const method = this.#method;
    const why =
      this.#rank === 'hamming'
        ? this.#request.method === 'auto'
          ? 'by distance, which misses nothing'
          : 'as asked for'
        : whyByCosine(this.#request, method, this.#isOfAccepted, report);
    return explained(result, this.#work, this.#start, { method, why });
  }
}

/** What a search found. */
interface Found extends Omit<NearRows, 'distances'> {
  readonly distances: Uint16Array | null;
  readonly similarities: Float64Array;
  readonly rank: SearchResult['rank'];
}

/** Ranks a known list of rows: those whose exact similarity reaches `least`, the highest first. */
class Ranked implements Stepped {
  readonly #ranking: Ranking;
  readonly #least: number;
  isDone: boolean;

  constructor(index: Searched, query: Query, rows: Uint32Array, least: number, work: Work) {
    const asked = { k: rows.length, margin: Number.POSITIVE_INFINITY };
    this.#ranking = new Ranking(index, query, candidatesOf(rows), asked, work);
    this.#least = least;
    this.isDone = rows.length === 0;
  }

  get want(): Want | null {
    const rows = this.#ranking.wanted;
    return rows === null || this.isDone ? null : { kind: 'vectors', rows };
  }

  suspend(): void {}

  step(): void {
    this.isDone = this.#ranking.step();
  }

  get best(): Best {
    const { rows, cosines } = this.#ranking.best;
    let count = 0;
    while (count < rows.length && reaches(cosines[count], this.#least)) count++;
    return { rows: rows.subarray(0, count), cosines: cosines.subarray(0, count) };
  }
}
