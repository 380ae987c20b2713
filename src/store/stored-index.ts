/**
 * An index whose rows stay in their files. Searches read the partitions that they visit and the
 * vectors that they rank, keep them up to a memory limit, and return exactly what the index in
 * memory returns. Searches that run at the same time share reads.
 */

import {
  checkByteCount,
  checkInteger,
  checkNames,
  checkOptions,
  FormatError,
  wrongType,
  wrongValue,
} from '../base/check';
import { LONG_CALL, type LongCall, LongWork, STOPPED, whenAborted } from '../base/long-work';
import type { SimHasher } from '../hashing/simhash';
import type { RowsToAdd } from '../index/add-rows';
import {
  Answer,
  type AnsweredIndex,
  type IndexRow,
  type Request,
  type SearchResult,
  searchRequest,
  withinRequest,
} from '../index/answer';
import type { Id } from '../index/ids';
import {
  type IndexWithinOptions,
  type Rank,
  type RecallReport,
  SEARCH_OPTIONS,
  type SearchOptions,
  WITHIN_OPTIONS,
} from '../index/index-options';
import { type Query, queriesOf, queryOf } from '../index/query';
import type { Stepped, Want } from '../index/searched';
import type { VectorStorage } from '../index/vectors/row-vectors';
import type { RowBatch } from '../table/row-batch';
import type { Vector } from '../vectors/vectors';
import { StoredColumns } from './columns';
import { type Content, countLive, openContent, withNewest } from './content';
import { HttpPlace } from './http-place';
import { findRows } from './id-hashes';
import type { Manifest } from './manifest';
import { neededAt, type Place } from './place';
import { StoredRows } from './stored-rows';

/** What a stored index has read so far. */
export interface StoredFigures {
  /** The limit in bytes, and how much of it centroids and the places of rows take. */
  readonly memory: number;
  readonly fixed: number;
  /** Ranges that were read, and their bytes. */
  readonly reads: number;
  readonly bytesRead: number;
}

/** Queries that are searched for together. */
export const TOGETHER = 128;

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
  readonly #content: Content;
  readonly #memory: number;
  readonly #rows: StoredRows;
  readonly #queue: SearchQueue;
  readonly #columns: StoredColumns;
  readonly #answered: AnsweredIndex;

  /** @internal */
  constructor(content: Content, memory: number) {
    const room = memory - content.bytes;
    if (room <= 0) {
      const needs = `more than ${content.bytes}: centroids and the places of rows`;
      throw wrongValue('memory', needs, memory);
    }
    const { parts, manifest } = content;
    this.bits = parts.bits;
    this.dimensions = parts.hasher.dimensions;
    this.vectors = parts.vectors?.kind ?? 'none';
    this.hasher = parts.hasher;
    this.report = parts.report && { ...parts.report };
    this.count = manifest.rows;
    this.#content = content;
    this.#memory = memory;
    this.#rows = new StoredRows(content, room);
    this.#queue = new SearchQueue(this.#rows);
    this.#columns = new StoredColumns(this.#rows.reader);
    this.#answered = answeredBy(content, this.#rows);
  }

  /** The rank of searches by vector where no `rank` is given. */
  get rank(): Rank {
    return this.#content.parts.usualRank;
  }

  /** What was read since the index was opened. */
  get figures(): StoredFigures {
    const { reads, bytes: bytesRead } = this.#rows.reader.counts;
    return {
      memory: this.#memory,
      fixed: this.#content.bytes,
      reads,
      bytesRead,
    };
  }

  /** The k best rows for a vector or a code. */
  async search(
    query: Vector | Uint8Array,
    options?: SearchOptions<I> & Stopped,
  ): Promise<SearchResult<I>> {
    const given = checkOptions(options, { ...SEARCH_OPTIONS, ...STOPPED });
    const request = searchRequest(this.#answered, given);
    return this.#one(queryOf(this.#content.parts, query), request, given.signal);
  }

  /** `search` for each query, one result a query; a null query has no neighbours. */
  async searchAll(
    queries: RowsToAdd,
    options?: SearchOptions<I> & LongCall,
  ): Promise<SearchResult<I>[]> {
    const given = checkOptions(options, { ...SEARCH_OPTIONS, ...LONG_CALL });
    return this.#all(queries, searchRequest(this.#answered, given), given);
  }

  /** All rows within a distance, or of a similarity. */
  async within(
    query: Vector | Uint8Array,
    options: IndexWithinOptions<I> & Stopped,
  ): Promise<SearchResult<I>> {
    const given = checkOptions(options, { ...WITHIN_OPTIONS, ...STOPPED });
    const request = withinRequest(this.#answered, given);
    return this.#one(queryOf(this.#content.parts, query), request, given.signal);
  }

  /** `within` for each query, one result a query. */
  async withinAll(
    queries: RowsToAdd,
    options: IndexWithinOptions<I> & LongCall,
  ): Promise<SearchResult<I>[]> {
    const given = checkOptions(options, { ...WITHIN_OPTIONS, ...LONG_CALL });
    return this.#all(queries, withinRequest(this.#answered, given), given);
  }

  /** What is stored of a row; undefined when there is none of this id. */
  async get(id: I, options?: Stopped): Promise<IndexRow<I> | undefined> {
    const { signal } = checkOptions(options, STOPPED);
    const [found] = await findRows(this.#rows.reader, [id], signal);
    return found && ((await this.#rows.read(found, signal)) as IndexRow<I>);
  }

  /**
   * Carried columns, in the types of the files: of the rows given, in their order, or of all rows
   * that are there, ascending. Reads these columns and no others.
   */
  async columns(
    names: readonly string[],
    options?: Stopped & { rows?: ArrayLike<number> },
  ): Promise<RowBatch> {
    checkNames('names', names);
    const { rows, signal } = checkOptions(options, { rows: null, ...STOPPED });
    const most = this.#content.manifest.index.nextRow - 1;
    const wanted =
      rows === undefined
        ? await this.#columns.rows(signal)
        : Uint32Array.from(rows, (row, i) => checkInteger(`rows[${i}]`, row, 0, most));
    return this.#columns.batchOf(names, wanted, signal);
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
    return this.#content.place.close();
  }

  async #one(
    query: Query | null,
    request: Request,
    signal: AbortSignal | undefined,
  ): Promise<SearchResult<I>> {
    const { counts } = this.#rows.reader;
    const before = { ...counts };
    const { result } = await this.#queue.run(new Answer(this.#answered, query, request), signal);
    if (result.explain === undefined) return result as SearchResult<I>;
    const read = { ranges: counts.reads - before.reads, bytes: counts.bytes - before.bytes };
    return { ...result, explain: { ...result.explain, read } } as SearchResult<I>;
  }

  async #all(given: RowsToAdd, request: Request, call: LongCall): Promise<SearchResult<I>[]> {
    const queries = queriesOf(this.#content.parts, given);
    const find = (i: number) => this.#one(queries.at(i), request, call.signal);
    return together(queries.count, find, new LongWork(call));
  }
}

/** How often opening starts again with a newer generation. */
const TRIES = 5;

/** How an index is opened whose rows stay where they are. */
export interface OpenStoredOptions {
  /**
   * Memory for rows: bytes, or a text such as '2GB'. Searches of an index that fits are as fast as
   * in memory.
   */
  memory: number | string;
  /**
   * Opens these segments alone, so that several machines divide an index. Files of others need not
   * be there. All by default.
   */
  segments?: readonly [first: number, last: number] | undefined;
  /** Stops opening. */
  signal?: AbortSignal | undefined;
}

/** How an index on a web host is opened. */
export interface OpenUrlOptions extends Omit<OpenStoredOptions, 'segments'> {
  /** Ends a request after so long without progress; 30,000 by default. */
  timeoutMs?: number | undefined;
}

/**
 * Opens a copy of an index folder on a web host that answers range requests. Reads `manifest.json`,
 * centroids and the places of rows; searches read what they visit, at most 32 requests at a time,
 * and hold it up to the limit `memory`. A request that fails for a while is tried again. Results
 * equal those of the index in memory. An index that is published again stays as it was opened, or
 * its searches fail with an error that says so.
 *
 * @example
 * const opening = openIndexUrl('http://127.0.0.1:9/docs.hs/', { memory: '64MB' });
 * await opening.catch(({ message }) => {
 *   console.log(message.slice(0, 41)); // http://127.0.0.1:9/docs.hs/manifest.json:
 * });
 */
export async function openIndexUrl<I extends Id = Id>(
  url: string | URL,
  options: OpenUrlOptions,
): Promise<StoredIndex<I>> {
  const { timeoutMs, ...given } = checkOptions(options, OPTIONS);
  return (await openStored(new HttpPlace(url, timeoutMs), given)) as StoredIndex<I>;
}

const OPTIONS = { memory: null, signal: LONG_CALL.signal, timeoutMs: null };

/** Opens the index of a place, and closes it where it cannot be opened. */
export async function openStored(
  place: Place,
  { memory, segments, signal }: OpenStoredOptions,
): Promise<StoredIndex> {
  try {
    const limit = checkByteCount('memory', memory);
    const newest = () => neededAt(place, signal);
    const open = async (newest: Manifest) => {
      const content = await openContent(place, partOf(newest, segments), signal);
      const rows = countLive(content.segments, content.removed);
      return { ...content, manifest: { ...content.manifest, rows } };
    };
    return new StoredIndex(await withNewest(newest, TRIES, open), limit);
  } catch (error) {
    await place.close();
    throw error;
  }
}

/** A generation with these segments alone. */
function partOf(manifest: Manifest, range: OpenStoredOptions['segments']): Manifest {
  if (range === undefined) return manifest;
  if (!Array.isArray(range)) throw wrongType('segments', 'two integers', range);
  const { segments: all } = manifest;
  const first = checkInteger('segments[0]', range[0], 0, all.length - 1);
  const last = checkInteger('segments[1]', range[1], first, all.length - 1);
  return { ...manifest, segments: all.slice(first, last + 1) };
}

/** Runs searches, some at a time: one pass over the blocks serves all of these. */
export async function together<T>(
  count: number,
  find: (i: number) => Promise<T>,
  work: LongWork,
): Promise<T[]> {
  const results: T[] = [];
  for (let first = 0; first < count; first += TOGETHER) {
    const length = Math.min(TOGETHER, count - first);
    results.push(...(await Promise.all(Array.from({ length }, (_, i) => find(first + i)))));
    await work.step(first + length, count);
  }
  return results;
}

/** What answers read of rows in files. */
function answeredBy({ parts, manifest }: Content, rows: StoredRows): AnsweredIndex {
  return {
    parts,
    nextRow: manifest.index.nextRow,
    count: manifest.rows,
    report: parts.report,
    accepts: (filter, row) => filter(rows.idOf(row), row),
    searched: () => rows,
    withCodes: () => null,
    idOf: (row) => rows.idOf(row),
  };
}

/** An unfinished search. */
interface Waiting {
  readonly search: Stepped;
  readonly signal: AbortSignal | undefined;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Runs searches: loads what they want next, then lets them go on. What several searches want is
 * read together, as far as it fits into memory, so that many searches wait about as often as one.
 */
export class SearchQueue {
  readonly #rows: StoredRows;
  readonly #waiting = new Set<Waiting>();
  #isAtWork = false;
  /** The search that made the last step: its state, and what it found, may lie in memories. */
  #last: Stepped | null = null;

  constructor(rows: StoredRows) {
    this.#rows = rows;
  }

  /** Runs a search to its end. If its signal is aborted it rejects; other searches go on. */
  async run<T extends Stepped>(search: T, signal: AbortSignal | undefined): Promise<T> {
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const end = (settle: () => void) => {
        this.#waiting.delete(one);
        unwatch();
        settle();
      };
      const one: Waiting = {
        search,
        signal,
        resolve: () => end(resolve),
        reject: (error) => end(() => reject(error)),
      };
      const unwatch = whenAborted(signal, () => one.reject(signal?.reason));
      this.#waiting.add(one);
      if (!this.#isAtWork) this.#work();
    });
    return search;
  }

  async #work(): Promise<void> {
    this.#isAtWork = true;
    await null; // searches that one caller starts in a row begin together
    while (this.#waiting.size > 0) {
      const ready = [...this.#waiting].filter((one) => this.#advance(one));
      if (ready.length > 0) await this.#round(ready);
    }
    this.#isAtWork = false;
  }

  /** Runs the steps that need nothing loaded; returns false when the search has ended. */
  #advance(one: Waiting): boolean {
    try {
      while (!one.search.isDone && one.search.want === null) this.#step(one.search);
      if (one.search.isDone) one.resolve();
      return !one.search.isDone;
    } catch (error) {
      one.reject(error);
      return false;
    }
  }

  /**
   * Lets a search make a step, once another one has taken its state out of the memories. A search
   * whose step fails is not asked again.
   */
  #step(search: Stepped): void {
    if (this.#last !== search) this.#last?.suspend();
    this.#last = null;
    search.step();
    if (!search.isDone) this.#last = search;
  }

  /**
   * Loads what the first search wants, with what others want of the same kind that fits too. A
   * signal that all of these searches share stops it.
   */
  async #round(waiting: readonly Waiting[]): Promise<void> {
    const all = waiting.map(({ search }) => search.want as Want);
    const fitting = waiting.length === 1 ? [0] : this.#rows.fitting(all);
    const some = fitting.map((i) => waiting[i]);
    const wants = fitting.map((i) => all[i]);
    if (!this.#rows.holds(wants)) this.#last?.suspend();
    const [{ signal }] = some;
    const isOfAll = some.every((one) => one.signal === signal);
    try {
      await this.#rows.load(wants, isOfAll ? signal : undefined);
    } catch (error) {
      // What one search wants may be damaged, or too large: each loads alone then, so that none
      // fails because of another. All else is the same for all of them.
      const isOfOne = error instanceof FormatError || error instanceof RangeError;
      if (some.length === 1 || !isOfOne) for (const one of some) one.reject(error);
      else for (const one of some) if (this.#waiting.has(one)) await this.#round([one]);
      return;
    }
    for (const one of some) {
      try {
        if (this.#waiting.has(one)) this.#step(one.search);
      } catch (error) {
        one.reject(error);
      }
    }
  }
}
