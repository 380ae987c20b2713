/**
 * The index of users: vectors in, codes held, neighbours out. Rows are found as soon as they are
 * added; `optimize` makes searches fast at a measured recall. Results are ordered by similarity,
 * then row, whatever method finds them. The state is in `IndexCore`; this class checks arguments.
 */

import { checkOptions, wrongType } from '../base/check';
import { LONG_CALL, type LongCall, LongWork } from '../base/long-work';
import type { SimHasher } from '../hashing/simhash';
import type { Vector } from '../vectors/vectors';
import { additionOf, additionOfOne, type RowsToAdd } from './add-rows';
import { answer, type IndexRow, type SearchResult, searchRequest, withinRequest } from './answer';
import { answers } from './answering';
import { duplicate, type Id, idsOnce, newIds } from './ids';
import { IndexCore } from './index-core';
import {
  checkIndexOptions,
  type IndexWithinOptions,
  OPTIMIZE_OPTIONS,
  type OptimizeOptions,
  type Rank,
  type RecallReport,
  SEARCH_OPTIONS,
  type SearchOptions,
  type SimHashIndexOptions,
  WITHIN_OPTIONS,
} from './index-options';
import { checkWanted, optimize } from './optimize';
import { queryOf } from './query';
import { HELD_ROWS, type HeldRows, type VectorStorage } from './vectors/row-vectors';

const CORES = new WeakMap<SimHashIndex, IndexCore>();

/** The state of an index, for the layers above; throws for all else. Not exported to users. */
export function coreOf(index: SimHashIndex): IndexCore {
  const core = CORES.get(index);
  if (core === undefined) throw wrongType('index', 'a SimHashIndex', index);
  return core;
}

/** Rows that are appended between two pauses. */
const APPENDED_AT_ONCE = 2048;
const CHECKED_AT_ONCE = 2 ** 14;

/** Ids of a batch: strings or integers of one kind. */
export type IdList<I extends Id = Id> =
  | readonly I[]
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

/**
 * Holds rows by id and finds the nearest ones to a vector or a code. `I` is the type of the ids:
 * string, number or bigint. Short calls return; `addAll`, `searchAll`, `withinAll` and `optimize`
 * promise, use several threads where that pays, and let the event loop run.
 *
 * @example
 * const index = new SimHashIndex<string>({ bits: 256, dimensions: 2, vectors: 'float32' });
 * await index.addAll([[1, 0], [0.9, 0.1], [0, 1]], ['a', 'b', 'c']);
 * console.log(index.search([1, 0.01], { k: 2 }).ids); // [ 'a', 'b' ]
 */
export class SimHashIndex<I extends Id = Id> {
  /** Bits of a code. */
  readonly bits: number;
  /** Width of the vectors; undefined where any is taken. */
  readonly dimensions: number | undefined;
  /** How vectors are held for exact ranking. */
  readonly vectors: VectorStorage;
  /** Computes the codes of rows and queries. */
  readonly hasher: SimHasher;
  readonly #core: IndexCore;

  constructor(options?: SimHashIndexOptions) {
    const checked = checkIndexOptions(options);
    this.#core = new IndexCore(checked);
    this.hasher = this.#core.hasher;
    this.bits = this.hasher.bits;
    this.dimensions = this.hasher.dimensions;
    this.vectors = checked.vectors;
    CORES.set(this as unknown as SimHashIndex, this.#core);
  }

  /** Rows, without removed ones. */
  get count(): number {
    return this.#core.rows.count;
  }

  /**
   * The rows, for joins, groups and clusters.
   * @internal
   */
  [HELD_ROWS](): HeldRows {
    return this.#core.held();
  }

  /** The rank of a search that names none. */
  get rank(): Rank {
    return this.#core.usualRank;
  }

  /** What `optimize` measured, and what changed since; null before. */
  get report(): RecallReport | null {
    const { report } = this.#core;
    return report && { ...report };
  }

  /** Bytes of memory that the rows take: codes, vectors, ids and partitions. */
  get bytes(): number {
    return this.#core.rows.bytes;
  }

  /** Adds a vector or a code; returns its row. */
  add(vector: Vector | Uint8Array, id?: I): number {
    return this.#put(vector, id, false);
  }

  /**
   * Replaces the row of this id, or adds one; returns the new row. A vector that is refused changes
   * nothing.
   */
  set(vector: Vector | Uint8Array, id: I): number {
    if (id === undefined) throw wrongType('id', 'an id', id);
    return this.#put(vector, id, true);
  }

  #put(vector: Vector | Uint8Array, id: I | undefined, mayReplace: boolean): number {
    const core = this.#core;
    core.refuseIfBusy();
    const addition = additionOfOne(core, vector);
    const { ids, kind } = newIds(core.idKind, id === undefined ? undefined : [id], 1);
    const before = id === undefined ? undefined : core.rowOf(id);
    if (before !== undefined && !mayReplace) throw duplicate(0, id as Id, 1);
    const row = core.rows.nextRow;
    core.append({ ...addition, ids });
    core.idKind = kind;
    if (addition.isForeign) core.isForeign = true;
    // Only now, when nothing can fail any more.
    if (before !== undefined) core.remove(before);
    return row;
  }

  /**
   * Adds all rows, or none if one is refused; resolves to the first. A batch is an array of
   * vectors, a matrix object or codes. Vectors are copied. The batch and the ids must not change
   * until the promise resolves.
   */
  async addAll(batch: RowsToAdd, ids?: IdList<I>, options?: LongCall): Promise<number> {
    const work = LongWork.of(options);
    return this.#alone('addAll', () => this.#addAll(batch, ids, work));
  }

  async #addAll(batch: RowsToAdd, given: IdList<I> | undefined, work: LongWork): Promise<number> {
    const core = this.#core;
    // The whole batch is checked and hashed before the first row is added.
    const addition = await additionOf(core, batch, work);
    const { count } = addition;
    const { ids, kind } = newIds(core.idKind, given, count);
    const check = idsOnce(ids ?? [], (id) => core.rowOf(id) !== undefined);
    for (let first = 0; ids !== null && first < count; first += CHECKED_AT_ONCE) {
      check(first, Math.min(count, first + CHECKED_AT_ONCE));
      await work.step();
    }
    const firstRow = core.rows.nextRow;
    if (count === 0) return firstRow;
    core.idKind = kind;
    if (addition.isForeign) core.isForeign = true;
    // A batch that has begun is added to its end: the signal counts no more.
    const rest = work.unstopped();
    const rows = { ...addition, ids };
    for (let first = 0; first < count; first += APPENDED_AT_ONCE) {
      const end = Math.min(count, first + APPENDED_AT_ONCE);
      core.append(rows, false, first, end);
      if (end < count) await rest.step(end, count);
    }
    await core.rows.settle(rest);
    return firstRow;
  }

  /** Removes a row; false if there is none. Other rows stay where they are. */
  remove(id: I): boolean {
    this.#core.refuseIfBusy();
    const row = this.#core.rowOf(id);
    if (row === undefined) return false;
    this.#core.remove(row);
    return true;
  }

  /** True if there is a row of this id. */
  has(id: I): boolean {
    return this.#core.rowOf(id) !== undefined;
  }

  /** The id of a row; undefined if it was removed. */
  idOf(row: number): I | undefined {
    const isRow = Number.isInteger(row) && row >= 0;
    return isRow ? (this.#core.rows.idOf(row) as I | undefined) : undefined;
  }

  /** What the index holds of a row, copied. */
  get(id: I): IndexRow<I> | undefined {
    const row = this.#core.rowOf(id);
    const found = row === undefined ? null : this.#core.rows.find(row);
    if (row === undefined || found === null) return undefined;
    const { rows } = found.part;
    const code = rows.isNull(found.position) ? null : rows.codeAt(found.position).slice();
    const vector = code === null ? null : (rows.vectors?.at(found.position) ?? null);
    return { row, id: rows.idAt(found.position, row) as I, code, vector };
  }

  /** The k best rows for a vector or a code. */
  search(query: Vector | Uint8Array, options?: SearchOptions<I>): SearchResult<I> {
    const given = checkOptions(options, SEARCH_OPTIONS);
    const version = this.#core.version();
    const request = searchRequest(version, given);
    return answer(version, queryOf(this.#core, query), request) as SearchResult<I>;
  }

  /** `search` for each query, one result a query; a null query has no neighbours. */
  async searchAll(
    queries: RowsToAdd,
    options?: SearchOptions<I> & LongCall,
  ): Promise<SearchResult<I>[]> {
    const given = checkOptions(options, { ...SEARCH_OPTIONS, ...LONG_CALL });
    const work = new LongWork(given);
    const request = searchRequest(this.#core.version(), given);
    return (await answers(this.#core, queries, request, work)) as SearchResult<I>[];
  }

  /** All rows within a distance, or of a similarity. */
  within(query: Vector | Uint8Array, options: IndexWithinOptions<I>): SearchResult<I> {
    const given = checkOptions(options, WITHIN_OPTIONS);
    const version = this.#core.version();
    const request = withinRequest(version, given);
    return answer(version, queryOf(this.#core, query), request) as SearchResult<I>;
  }

  /** `within` for each query, one result a query. */
  async withinAll(
    queries: RowsToAdd,
    options: IndexWithinOptions<I> & LongCall,
  ): Promise<SearchResult<I>[]> {
    const given = checkOptions(options, { ...WITHIN_OPTIONS, ...LONG_CALL });
    const work = new LongWork(given);
    const request = withinRequest(this.#core.version(), given);
    return (await answers(this.#core, queries, request, work)) as SearchResult<I>[];
  }

  /**
   * Makes searches fast at the wanted recall, and measures it with queries that took no part in the
   * choice. Partitions the rows if that pays. Searches run meanwhile as before.
   */
  async optimize(options?: OptimizeOptions & LongCall): Promise<RecallReport> {
    const given = checkOptions(options, { ...OPTIMIZE_OPTIONS, ...LONG_CALL });
    const work = new LongWork(given);
    const wanted = checkWanted(this.#core, given);
    if (this.count === 0) throw new Error('optimize() needs rows, the index is empty');
    return this.#alone('optimize', () => optimize(this.#core, wanted, work));
  }

  /** Runs a change; other changes throw until it has ended. */
  async #alone<T>(name: string, change: () => Promise<T>): Promise<T> {
    this.#core.refuseIfBusy();
    this.#core.busy = name;
    try {
      return await change();
    } finally {
      this.#core.busy = null;
    }
  }
}
