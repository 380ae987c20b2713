/**
 * An index whose rows stay in their files: searches read the partitions that they visit and the
 * vectors that they rank, hold them up to a limit, and give what the index in memory gives, to the
 * bit. One search runs at a time; others wait for it.
 */

import { checkByteCount } from '../base/byte-count';
import { checkOptions, wrongValue } from '../base/check';
import { checkLongCall, LONG_CALL, type LongCall, runSteps } from '../base/steps';
import type { SimHasher } from '../hashing/simhash';
import type { RowsToAdd } from '../index/add-rows';
import { fewRows, findCandidates, wantOfFew } from '../index/candidates';
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
import { type Candidates, exactBest, ranked, SURE, type Work } from '../index/re-rank';
import {
  cosineRequest,
  cosineResult,
  explained,
  type IndexRow,
  methodError,
  noResult,
  ofDistances,
  rankOf,
  type SearchResult,
} from '../index/search';
import { type Request, searchRequest, withinRequest } from '../index/search-request';
import type { VectorStorage } from '../index/vectors/row-vectors';
import { integerWidth } from '../kernels/products/products.scalar';
import type { Vector } from '../vectors/vectors';
import { BlockReader } from './block-reader';
import { openContent, type StoredContent } from './content';
import { PartitionCache } from './partition-cache';
import { candidatesPassing, nearestPassing, type Passing } from './passing-blocks';
import { findRow, readRow } from './row-look-up';
import type { StoredFiles } from './stored-files';
import { MissingPartitions } from './stored-partitions';
import { StoredView } from './stored-view';
import { MissingVectors, VectorCache } from './vector-cache';

/** What a stored index has read so far, and how often it needed not to. */
export interface StoredFigures {
  /** The limit, in bytes, and what is taken besides the cache: centroids, places of blocks. */
  readonly memory: number;
  readonly fixed: number;
  /** Ranges that were read, and their bytes. */
  readonly reads: number;
  readonly bytesRead: number;
  /** Partitions that searches visited: in memory already, read, and those that made room. */
  readonly partitionHits: number;
  readonly partitionMisses: number;
  readonly evictions: number;
  /** The same of vectors that were ranked. */
  readonly vectorHits: number;
  readonly vectorMisses: number;
}

/** The part of the limit that partitions get where not all fits. */
const PARTITION_SHARE = 0.75;
/** Queries by distance that are compared while the blocks pass once. */
const TOGETHER = 128;
/** Candidates that are read beyond those that the estimates ask for. */
const MORE = 32;

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
  readonly #cache: PartitionCache;
  readonly #vectors: VectorCache;
  readonly #view: StoredView;
  #last: Promise<unknown> = Promise.resolve();

  /** @internal */
  constructor(content: StoredContent, memory: number) {
    const room = memory - content.bytes;
    if (room <= 0) {
      const needs = `more than ${content.bytes}: centroids and the places of blocks`;
      throw wrongValue('memory', needs, memory);
    }
    const { empty, manifest, centroids, segments } = content;
    this.bits = empty.bits;
    this.dimensions = empty.dimensions;
    this.vectors = empty.vectors;
    this.hasher = empty.hasher;
    this.report = empty.report;
    this.count = manifest.rows;
    this.#content = content;
    this.#memory = memory;
    this.#reader = new BlockReader(content);
    const sum = (of: (segment: (typeof segments)[number]) => number) =>
      segments.reduce((all, segment) => all + of(segment), 0);
    const vectorBytes = 1.25 * sum(({ vectors }) => vectors?.bytes ?? 0) + 24 * manifest.rows;
    const limit = Math.max(PARTITION_SHARE * room, room - vectorBytes);
    const count = centroids === null ? 0 : centroids.length / centroidWidth(content);
    this.#cache = new PartitionCache(content, this.#reader, limit, count);
    this.#vectors = new VectorCache(content, this.#reader, room - this.#cache.bytes);
    this.#view = new StoredView(content, this.#cache, this.#vectors);
  }

  /** The rank of searches by vector where no `rank` is given. */
  get rank(): Rank {
    if (this.#view.isForeign) return 'hamming';
    return this.vectors === 'none' ? 'estimate' : 'exact';
  }

  /** What was read since the index was opened. */
  get figures(): StoredFigures {
    const { counts } = this.#cache;
    return {
      ...{ memory: this.#memory, fixed: this.#content.bytes },
      ...{ reads: this.#reader.counts.reads, bytesRead: this.#reader.counts.bytes },
      ...{ partitionHits: counts.hits, partitionMisses: counts.misses },
      evictions: counts.evictions,
      ...{ vectorHits: this.#vectors.hits, vectorMisses: this.#vectors.misses },
    };
  }

  /** The k best rows for a vector, or the k nearest to a code. */
  async search(
    query: Vector | Uint8Array,
    options?: SearchOptions<I> & Stopped,
  ): Promise<SearchResult<I>> {
    const given = checkOptions('options', options, [...SEARCH_OPTIONS, 'signal']);
    checkLongCall(given as LongCall);
    const request = searchRequest(this.#view, given);
    return this.#one(queryOf(this.#view, query), request, given.signal);
  }

  /** `search` for each query, one result a query; a null query has no neighbours. */
  async searchAll(
    queries: RowsToAdd,
    options?: SearchOptions<I> & LongCall,
  ): Promise<SearchResult<I>[]> {
    const given = checkOptions('options', options, [...SEARCH_OPTIONS, ...LONG_CALL]);
    return this.#all(queries, searchRequest(this.#view, given), checkLongCall(given as LongCall));
  }

  /** All rows within a distance of a vector's code, or of a code; none is missed. */
  async within(
    query: Vector | Uint8Array,
    options: IndexWithinOptions<I> & Stopped,
  ): Promise<SearchResult<I>> {
    const given = checkOptions('options', options, [...WITHIN_OPTIONS, 'signal']);
    checkLongCall(given as LongCall);
    const request = withinRequest(this.#view, given);
    return this.#one(queryOf(this.#view, query), request, given.signal);
  }

  /** `within` for each query, one result a query. */
  async withinAll(
    queries: RowsToAdd,
    options: IndexWithinOptions<I> & LongCall,
  ): Promise<SearchResult<I>[]> {
    const given = checkOptions('options', options, [...WITHIN_OPTIONS, ...LONG_CALL]);
    return this.#all(queries, withinRequest(this.#view, given), checkLongCall(given as LongCall));
  }

  /** What is stored of a row; undefined when there is none of this id. Reads until it is found. */
  async get(id: I, options?: Stopped): Promise<IndexRow<I> | undefined> {
    const { signal } = checkLongCall(checkOptions('options', options, ['signal']) as LongCall);
    return this.#alone(async () => {
      const found = await findRow(this.#passing(signal), id);
      if (found === null) return undefined;
      return (await readRow(this.#passing(signal), found)) as IndexRow<I>;
    });
  }

  /** Closes the files; searches that wait fail. */
  close(): Promise<void> {
    return this.#content.files.close();
  }

  async #one(query: Query | null, request: Request, signal: AbortSignal | undefined) {
    if (query === null) return noResult(this.#view, request) as SearchResult<I>;
    const result = await this.#alone(() => this.#answer(query, request, signal));
    return result as SearchResult<I>;
  }

  async #all(given: RowsToAdd, request: Request, call: LongCall): Promise<SearchResult<I>[]> {
    const queries = queriesOf(this.#view, given);
    const results: SearchResult[] = [];
    for (let first = 0; first < queries.count; first += TOGETHER) {
      const count = Math.min(TOGETHER, queries.count - first);
      const some = Array.from({ length: count }, (_, i) => queries.at(first + i));
      const isByDistance = (query: Query | null) =>
        query !== null && rankOf(this.#view, query, request) === 'hamming';
      if (count > 1 && some.every(isByDistance)) {
        const all = some as Query[];
        const found = () => this.#byDistance(all, request, call.signal);
        results.push(...(await this.#alone(found)));
      } else {
        for (const query of some) results.push(await this.#one(query, request, call.signal));
      }
      call.onProgress?.(first + count, queries.count);
    }
    return results as SearchResult<I>[];
  }

  /** Runs after what was asked before. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(() => {
      this.#view.begin();
      return work();
    });
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  #passing(signal: AbortSignal | undefined): Passing {
    return { content: this.#content, reader: this.#reader, view: this.#view, signal };
  }

  async #answer(
    query: Query,
    request: Request,
    signal: AbortSignal | undefined,
  ): Promise<SearchResult> {
    const view = this.#view;
    signal?.throwIfAborted();
    const rank = rankOf(view, query, request);
    if (rank === 'hamming') return (await this.#byDistance([query], request, signal))[0];
    const work: Work = { codesCompared: 0, candidates: 0, probes: 0 };
    const start = performance.now();
    const asked = cosineRequest(view, request, rank);
    const few = fewRows(view.distinctCodes, request.filter);
    const candidates =
      few !== null || asked.probes === null
        ? await candidatesPassing(
            this.#passing(signal),
            query,
            { ...asked, want: few === null ? asked.want : wantOfFew(asked, few) },
            work,
          )
        : await this.#withPartitions(signal, () => {
            work.codesCompared = 0;
            return runSteps(findCandidates(view, query, asked, work), {});
          });
    const found = performance.now();
    const best =
      rank === 'exact'
        ? await this.#best(query, candidates, { k: asked.k, work, signal })
        : ranked(candidates, asked.k);
    return cosineResult(view, query, { request, rank, best, work, start, found });
  }

  /** Runs a search; reads the partitions that it misses, and runs it again. */
  async #withPartitions<T>(signal: AbortSignal | undefined, run: () => T): Promise<T> {
    for (;;) {
      try {
        return run();
      } catch (error) {
        if (!(error instanceof MissingPartitions)) throw error;
        await this.#cache.load(error.partitions, signal);
      }
    }
  }

  /** `exactBest`, the vectors being read before: at first those that the estimates ask for. */
  async #best(
    query: Query,
    candidates: Candidates,
    { k, work, signal }: { k: number; work: Work; signal: AbortSignal | undefined },
  ) {
    const { count, estimateOf, error } = candidates;
    let most = Number.isFinite(error) ? 0 : count;
    // Both estimates may be wrong by so much: one read of more vectors saves further round trips.
    const slack = 2 * SURE * error;
    while (most < count && (most < k || estimateOf(most) + slack >= estimateOf(k - 1))) most++;
    for (;;) {
      await this.#loadVectors(ranked(candidates, most).rows, signal);
      try {
        return exactBest(this.#view, query, candidates, k, work);
      } catch (missing) {
        if (!(missing instanceof MissingVectors)) throw missing;
        await this.#loadVectors(missing.rows, signal);
        most = Math.min(count, most + MORE);
      }
    }
  }

  async #loadVectors(rows: Uint32Array, signal: AbortSignal | undefined): Promise<void> {
    const missing = this.#vectors.missing(rows);
    if (missing.length === 0) return;
    const places = Array.from(missing, (row) => this.#view.placeOf(row));
    await this.#vectors.load(missing, places, signal);
  }

  async #byDistance(
    queries: readonly Query[],
    request: Request,
    signal: AbortSignal | undefined,
  ): Promise<SearchResult[]> {
    if (request.method === 'partitions')
      throw methodError('scan', 'bands', 'hamming', request.method);
    const work: Work = { codesCompared: 0, candidates: 0, probes: 0 };
    const start = performance.now();
    const codes = queries.map(({ code }) => code);
    const found = await nearestPassing(this.#passing(signal), codes, request, work);
    const ready = performance.now();
    const results: SearchResult[] = [];
    for (const [i, query] of queries.entries()) {
      const isRanked = request.least !== null && this.#view.canCompare(query);
      if (isRanked) await this.#loadVectors(found[i].rows, signal);
      const result = ofDistances(this.#view, query, found[i], request, work);
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

/** How an index is opened whose rows stay where they are. */
export interface OpenStoredOptions {
  /**
   * The limit of what it holds in memory: bytes, or a text as '512MB'. Searches of an index that
   * fits are as fast as in memory.
   */
  memory: number | string;
  /** An older generation, while its files are there; the newest by default. */
  generation?: number | undefined;
  /** Stops opening. */
  signal?: AbortSignal;
}

/** Opens the index of these files, and closes them where it cannot be opened. */
export async function openStored(
  files: StoredFiles,
  { memory, ...options }: OpenStoredOptions,
): Promise<StoredIndex> {
  try {
    const limit = checkByteCount('memory', memory);
    return new StoredIndex(await openContent(files, options), limit);
  } catch (error) {
    await files.close();
    throw error;
  }
}

function centroidWidth({ parts }: StoredContent): number {
  return integerWidth(parts.dense?.dimensions ?? parts.bits);
}
