/**
 * An index whose rows stay in their files. Searches read the partitions that they visit and the
 * vectors that they rank, keep them up to a memory limit, and return exactly what the index in
 * memory returns. Searches that run at the same time share reads.
 */

import { checkOptions, wrongType, wrongValue } from '../base/check';
import { checkLongCall, LONG_CALL, type LongCall } from '../base/long-work';
import type { Steps } from '../base/steps';
import type { SimHasher } from '../hashing/simhash';
import type { RowsToAdd } from '../index/add-rows';
import { findCandidates, wantOfFew } from '../index/candidates';
import { cosineRequest } from '../index/cosine-request';
import { checkFilter, fewRows } from '../index/filter';
import type { Id } from '../index/id-table';
import {
  type IndexWithinOptions,
  type Rank,
  type RecallReport,
  SEARCH_OPTIONS,
  type SearchOptions,
  WITHIN_OPTIONS,
} from '../index/index-options';
import type { Query } from '../index/index-parts';
import { queriesOf, queryOf } from '../index/query';
import { exactBest, ranked, type Work } from '../index/re-rank';
import {
  cosineResult,
  explained,
  type IndexRow,
  noResult,
  ofDistances,
  rankOf,
  type SearchResult,
} from '../index/search';
import { methodError, type Request, searchRequest, withinRequest } from '../index/search-request';
import type { VectorStorage } from '../index/vectors/row-vectors';
import type { RowBatch } from '../table/row-batch';
import type { Vector } from '../vectors/vectors';
import { BlockReader } from './block-reader';
import type { StoredContent } from './content';
import { LookUps } from './look-ups';
import { SearchQueue } from './needs';
import { PartitionCache, partitionShare } from './partition-cache';
import { candidatesPassing, nearestPassing, type Passing } from './passing-blocks';
import { findRow, readRow } from './row-look-up';
import { StoredColumns } from './stored-columns';
import { Router } from './stored-partitions';
import { type Shared, StoredView } from './stored-view';
import { VectorCache } from './vector-cache';

/** What a stored index has read so far, and what it found in memory. */
export interface StoredFigures {
  /** The limit in bytes, and how much of it centroids and the places of blocks take. */
  readonly memory: number;
  readonly fixed: number;
  /** Ranges that were read, and their bytes. */
  readonly reads: number;
  readonly bytesRead: number;
  /** Partitions that searches found in memory, that were read, and that were evicted. */
  readonly partitionHits: number;
  readonly partitionMisses: number;
  readonly evictions: number;
  /** Vectors that searches found in memory, and vectors that were read. */
  readonly vectorHits: number;
  readonly vectorMisses: number;
}

/**
 * Queries that are searched for together. By distance, one pass over the blocks serves all of them.
 */
const TOGETHER = 128;

type Stopped = { signal?: AbortSignal };

/**
 * An index in a folder or on a web host, opened with a limit of memory by `openIndex(folder, {
 * memory })`. Its searches take the options of `SimHashIndex` and give equal results.
 */
export class StoredIndex<I extends Id = Id> {
  readonly bits: number;
  readonly dimensions: number | undefined;
  readonly vectors: VectorStorage;
  /** Makes the codes of queries. */
  readonly hasher: SimHasher;
  /** What `optimize` measured; null before. */
  readonly report: RecallReport | null;
  /** How many rows the index has. */
  readonly count: number;
  readonly #content: StoredContent;
  readonly #memory: number;
  readonly #reader: BlockReader;
  readonly #shared: Shared;
  /** Checks options; each search has its own view. */
  readonly #view: StoredView;
  readonly #queue = new SearchQueue();
  readonly #lookUps: LookUps;
  readonly #columns: StoredColumns;
  #lastPass: Promise<unknown> = Promise.resolve();

  /** @internal */
  constructor(content: StoredContent, memory: number) {
    const room = memory - content.bytes;
    if (room <= 0) {
      const needs = `more than ${content.bytes}: centroids and the places of blocks`;
      throw wrongValue('memory', needs, memory);
    }
    const { parts, manifest, centroids, segments } = content;
    this.bits = parts.bits;
    this.dimensions = parts.hasher.dimensions;
    this.vectors = parts.vectors?.kind ?? 'none';
    this.hasher = parts.hasher;
    this.report = parts.report && { ...parts.report };
    this.count = manifest.rows;
    this.#content = content;
    this.#memory = memory;
    this.#reader = new BlockReader(content);
    const sum = (of: (segment: (typeof segments)[number]) => number) =>
      segments.reduce((all, segment) => all + of(segment), 0);
    const vectorBytes = sum(({ vectors }) => vectors?.bytes ?? 0);
    const limit = partitionShare(room, vectorBytes, manifest.rows);
    const router = centroids && new Router(content, centroids);
    const cache = new PartitionCache(content, this.#reader, limit, router?.count ?? 0);
    const sources = { content, reader: this.#reader, partitions: cache };
    const vectors = new VectorCache(sources, room - cache.bytes);
    this.#lookUps = new LookUps(content, this.#reader);
    this.#columns = new StoredColumns(content, this.#reader);
    this.#shared = { content, router, cache, vectors };
    this.#view = this.view();
  }

  /**
   * @internal What one search sees of the index; with `isMeasured` one of many that run together,
   * of which only the rows found matter.
   */
  view(isMeasured = false): StoredView {
    return new StoredView(this.#shared, isMeasured);
  }

  /** @internal The results of searches, which read together. */
  together<T>(searches: readonly Steps<T>[], { signal }: LongCall): Promise<T[]> {
    return this.#queue.runAll(searches, signal);
  }

  /** The rank of searches by vector where no `rank` is given. */
  get rank(): Rank {
    if (this.#view.isForeign) return 'hamming';
    return this.vectors === 'none' ? 'estimate' : 'exact';
  }

  /** What was read since the index was opened. */
  get figures(): StoredFigures {
    const { cache, vectors } = this.#shared;
    const { counts } = cache;
    return {
      ...{ memory: this.#memory, fixed: this.#content.bytes },
      ...{ reads: this.#reader.counts.reads, bytesRead: this.#reader.counts.bytes },
      ...{ partitionHits: counts.hits, partitionMisses: counts.misses },
      evictions: counts.evictions,
      ...{ vectorHits: vectors.hits, vectorMisses: vectors.misses },
    };
  }

  /** The k best rows for a vector, or the k nearest to a code. */
  async search(
    query: Vector | Uint8Array,
    options?: SearchOptions<I> & Stopped,
  ): Promise<SearchResult<I>> {
    const given = checkOptions('options', options, [...SEARCH_OPTIONS, 'signal']);
    checkLongCall(given as LongCall);
    const asked = { request: searchRequest(this.#view, given), filter: given.filter };
    return this.#withReads(this.#one(queryOf(this.#view, query), asked, given.signal));
  }

  /** `search` for each query, one result a query; a null query has no neighbours. */
  async searchAll(
    queries: RowsToAdd,
    options?: SearchOptions<I> & LongCall,
  ): Promise<SearchResult<I>[]> {
    const given = checkOptions('options', options, [...SEARCH_OPTIONS, ...LONG_CALL]);
    const asked = { request: searchRequest(this.#view, given), filter: given.filter };
    return this.#all(queries, asked, checkLongCall(given as LongCall));
  }

  /** All rows within a distance of a vector's code, or of a code; none is missed. */
  async within(
    query: Vector | Uint8Array,
    options: IndexWithinOptions<I> & Stopped,
  ): Promise<SearchResult<I>> {
    const given = checkOptions('options', options, [...WITHIN_OPTIONS, 'signal']);
    checkLongCall(given as LongCall);
    const asked = { request: withinRequest(this.#view, given), filter: given.filter };
    return this.#withReads(this.#one(queryOf(this.#view, query), asked, given.signal));
  }

  /** `within` for each query, one result a query. */
  async withinAll(
    queries: RowsToAdd,
    options: IndexWithinOptions<I> & LongCall,
  ): Promise<SearchResult<I>[]> {
    const given = checkOptions('options', options, [...WITHIN_OPTIONS, ...LONG_CALL]);
    const asked = { request: withinRequest(this.#view, given), filter: given.filter };
    return this.#all(queries, asked, checkLongCall(given as LongCall));
  }

  /** What is stored of a row; undefined when there is none of this id. */
  async get(id: I, options?: Stopped): Promise<IndexRow<I> | undefined> {
    const { signal } = checkLongCall(checkOptions('options', options, ['signal']) as LongCall);
    return this.#passes(async () => {
      const passing = this.#passing(this.#view, signal);
      const found = await findRow(passing, this.#lookUps, id);
      if (found === null) return undefined;
      return (await readRow(passing, found)) as IndexRow<I>;
    });
  }

  /**
   * Values of carried columns, by name: of the rows given, in their order, or of all rows that are
   * there, ascending. Reads these columns and no others.
   */
  async columns(
    names: readonly string[],
    options?: Stopped & { rows?: ArrayLike<number> },
  ): Promise<Record<string, unknown[]>> {
    const { rows, ...call } = checkOptions('options', options, ['rows', 'signal']);
    const { signal } = checkLongCall(call as LongCall);
    const wanted = rows === undefined ? await this.#columns.rows(signal) : Uint32Array.from(rows);
    return this.#columns.valuesOf(names, wanted, signal);
  }

  /**
   * The same of some rows as a batch, in the types of the files.
   * @internal
   */
  async carried(names: readonly string[], rows: Uint32Array): Promise<RowBatch> {
    return this.#columns.batchOf(names, rows);
  }

  /** The rows, ascending, whose value of a carried column is accepted: a filter of searches. */
  async rowsWhere(
    column: string,
    accepts: (value: unknown) => boolean,
    options?: Stopped,
  ): Promise<Uint32Array> {
    if (typeof accepts !== 'function') throw wrongType('accepts', 'a function', accepts);
    const { signal } = checkLongCall(checkOptions('options', options, ['signal']) as LongCall);
    const rows = await this.#columns.rows(signal);
    const { [column]: values } = await this.#columns.valuesOf([column], rows, signal);
    return rows.filter((_, i) => accepts(values[i]));
  }

  /** Numbers of the rows that are there, ascending. */
  rows(): Promise<Uint32Array> {
    return this.#columns.rows();
  }

  /** Names of the carried columns. */
  get columnNames(): readonly string[] {
    return this.#content.manifest.columns.map(({ name }) => name);
  }

  /** Closes the files; searches that wait fail. */
  close(): Promise<void> {
    return this.#content.files.close();
  }

  /** Adds what was read to a result with an explanation. */
  async #withReads(search: Promise<SearchResult>): Promise<SearchResult<I>> {
    const { reads, bytes } = this.#reader.counts;
    const result = (await search) as SearchResult<I>;
    if (result.explain === undefined) return result;
    const { counts } = this.#reader;
    const read = { ranges: counts.reads - reads, bytes: counts.bytes - bytes };
    return { ...result, explain: { ...result.explain, read } };
  }

  async #all(given: RowsToAdd, asked: Asked, call: LongCall): Promise<SearchResult<I>[]> {
    const queries = queriesOf(this.#view, given);
    const results: SearchResult[] = [];
    for (let first = 0; first < queries.count; first += TOGETHER) {
      call.signal?.throwIfAborted();
      const count = Math.min(TOGETHER, queries.count - first);
      const some = Array.from({ length: count }, (_, i) => queries.at(first + i));
      const isByDistance = (query: Query | null) =>
        query !== null && rankOf(this.#view, query, asked.request) === 'hamming';
      const found = some.every(isByDistance)
        ? this.#byDistance(some as Query[], asked, call.signal)
        : Promise.all(some.map((query) => this.#one(query, asked, call.signal)));
      results.push(...(await found));
      call.onProgress?.(first + count, queries.count);
    }
    return results as SearchResult<I>[];
  }

  /** Runs passes one after another, since each holds some MiB of blocks. */
  #passes<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#lastPass.then(work);
    this.#lastPass = turn.catch(() => undefined);
    return turn;
  }

  #passing(view: StoredView, signal: AbortSignal | undefined): Passing {
    return { content: this.#content, reader: this.#reader, view, signal };
  }

  /** A view for one search, and the request with a filter that reads the rows of this view. */
  #begin({ request, filter }: Asked): { view: StoredView; request: Request } {
    const view = this.view();
    if (typeof filter !== 'function') return { view, request };
    const own = checkFilter(filter, (accepts, row) => view.accepts(accepts, row));
    return { view, request: { ...request, filter: own } };
  }

  async #one(
    query: Query | null,
    given: Asked,
    signal: AbortSignal | undefined,
  ): Promise<SearchResult> {
    const { view, request } = this.#begin(given);
    if (query === null) return noResult(view, request);
    signal?.throwIfAborted();
    const rank = rankOf(view, query, request);
    if (rank === 'hamming') return (await this.#byDistance([query], given, signal))[0];
    const work: Work = { codesCompared: 0, candidates: 0, probes: 0 };
    const start = performance.now();
    const asked = cosineRequest(view, request, rank);
    const few = fewRows(view.distinctCodes, request.filter);
    const isPass = few !== null || asked.probes === null;
    const want = few === null ? asked.want : wantOfFew(asked, few);
    const passed = isPass
      ? await this.#passes(() => {
          return candidatesPassing(this.#passing(view, signal), query, { ...asked, want }, work);
        })
      : null;
    return await this.#queue.run(rest(), signal);

    function* rest(): Steps<SearchResult> {
      const candidates = passed ?? (yield* findCandidates(view, query as Query, asked, work));
      const found = performance.now();
      const best =
        asked.rank === 'estimate'
          ? ranked(candidates, asked.k)
          : yield* exactBest(view, query as Query, candidates, asked.k, work);
      const how = { request, rank: asked.rank, best, work, start, found };
      return cosineResult(view, query as Query, how);
    }
  }

  async #byDistance(
    queries: readonly Query[],
    given: Asked,
    signal: AbortSignal | undefined,
  ): Promise<SearchResult[]> {
    const { view, request } = this.#begin(given);
    if (request.method === 'partitions')
      throw methodError('scan', 'bands', 'hamming', request.method);
    const work: Work = { codesCompared: 0, candidates: 0, probes: 0 };
    const start = performance.now();
    const codes = queries.map(({ code }) => code);
    const found = await this.#passes(() => {
      return nearestPassing(this.#passing(view, signal), codes, request, work);
    });
    const ready = performance.now();
    const results: SearchResult[] = [];
    for (const [i, query] of queries.entries()) {
      const isRanked = request.least !== null && view.canCompare(query);
      const known = isRanked
        ? await this.#queue.run(view.allSimilarities(query, found[i].rows), signal)
        : undefined;
      const result = ofDistances(view, query, found[i], request, work, known);
      const how = {
        method: 'scan',
        why: 'a stored index compares all codes',
        built: null,
      } as const;
      results.push(request.isExplained ? explained(result, how, work, start, ready) : result);
    }
    return results;
  }
}

/** What a caller asks: the request, checked, and the filter as it was given. */
interface Asked {
  readonly request: Request;
  readonly filter: unknown;
}
