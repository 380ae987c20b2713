/**
 * The index: vectors in, codes kept, neighbours out. Rows are found as soon as they are added;
 * `optimize` makes it fast at a measured recall. Results come in a total order, whatever plan runs.
 */

import {
  checkInteger,
  checkNumber,
  checkOptions,
  checkSeed,
  wrongType,
  wrongValue,
} from '../base/check';
import {
  checkLongCall,
  GO_ON,
  LONG_CALL,
  type LongCall,
  runSteps,
  runStepsAsync,
  type Steps,
} from '../base/steps';
import { Codes, hammingDistance } from '../codes/codes';
import { estimateAngle } from '../hashing/angle';
import { SimHasher } from '../hashing/simhash';
import { hammingKernel, type KernelName } from '../kernels/kernels';
import { isDense, isSparse, notAVector, type Vector } from '../vectors/vectors';
import { additionOf, addRows, type RowsToAdd, reserve } from './add-rows';
import {
  answer,
  answers,
  type Comparison,
  type IndexBytes,
  type IndexRow,
  noResult,
  type Request,
  type SearchResult,
  searchRequest,
  withinRequest,
} from './answer';
import { BandMethod } from './bands/band-method';
import { DistinctCodes } from './distinct/distinct-codes';
import { type Id, IdTable } from './id-table';
import {
  checkIndexOptions,
  type IndexWithinOptions,
  OPTIMIZE_DEFAULTS,
  OPTIMIZE_OPTIONS,
  type OptimizeOptions,
  type Rank,
  SEARCH_OPTIONS,
  type SearchOptions,
  type SimHashIndexOptions,
  WITHIN_OPTIONS,
} from './index-options';
import { optimized } from './optimize';
import { queriesOf, queryOf } from './query';
import type { RecallReport } from './recall-report';
import type { IndexState } from './state';
import { KeptSparse } from './vectors/kept-sparse';
import { KeptVectors, type VectorStorage } from './vectors/kept-vectors';

/** What an index holds, for the floors above; the library's door does not show it. */
export let stateOf: (index: SimHashIndex) => IndexState;

/** Fails while a long call changes the index; for the floors above, too. */
export let refuseIfBusy: (index: SimHashIndex) => void;

/**
 * Holds rows by id and finds the nearest ones to a vector or a code. `I` is the type of the ids:
 * string, number or bigint.
 *
 * @example
 * const index = new SimHashIndex<string>({ bits: 256, dimensions: 2, vectors: 'float32' });
 * index.addAll([[1, 0], [0.9, 0.1], [0, 1]], ['a', 'b', 'c']);
 * console.log(index.search([1, 0.01], { k: 2 }).ids); // [ 'a', 'b' ]
 */
export class SimHashIndex<I extends Id = Id> {
  /** Width of a code. */
  readonly bits: number;
  /** Width of the vectors, if it is fixed. */
  readonly dimensions: number | undefined;
  /** How vectors are held for exact ranking. */
  readonly vectors: VectorStorage;
  /** Makes the codes of the rows and of queries. */
  readonly hasher: SimHasher;
  readonly #state: IndexState;
  /** A long call that changes the index, while it is at work. */
  #busy: string | null = null;

  static {
    stateOf = (index) => index.#state;
    refuseIfBusy = (index) => index.#refuseIfBusy();
  }

  constructor(options?: SimHashIndexOptions) {
    const { hasher, vectors, mean } = checkIndexOptions(options);
    this.hasher = new SimHasher(hasher);
    // Resolved once: a search asks for its kernels several times.
    const kernel = hammingKernel(hasher.kernel, this.hasher.bytesPerCode).name as KernelName;
    this.bits = this.hasher.bits;
    this.dimensions = this.hasher.dimensions;
    this.vectors = vectors;
    this.#state = {
      ...{ bits: this.bits, hasher: this.hasher, mean, kernel },
      distinctCodes: new DistinctCodes(this.hasher.bytesPerCode),
      bandMethod: new BandMethod(this.bits),
      ids: new IdTable(),
      vectors:
        vectors === 'float32' || vectors === 'int8'
          ? new KeptVectors(vectors, this.dimensions as number, kernel)
          : null,
      sparse: vectors === 'sparse' ? new KeptSparse() : null,
      ...{ isForeign: false, partitions: null, report: null },
    };
  }

  /** Rows that are there. */
  get count(): number {
    return this.#state.distinctCodes.liveCount;
  }

  /** The rank of a search by vector that asks for none. */
  get rank(): Rank {
    if (this.#state.isForeign) return 'hamming';
    return this.vectors === 'none' ? 'estimate' : 'exact';
  }

  /** What `optimize` measured; null before, and what came and went since. */
  get report(): RecallReport | null {
    const { report } = this.#state;
    return report && { ...report };
  }

  /** Memory in bytes that the rows take, by what it holds. */
  get bytes(): IndexBytes {
    const { distinctCodes, vectors, sparse, ids, partitions, bandMethod } = this.#state;
    const parts = {
      codes: distinctCodes.bytes,
      vectors: vectors?.bytes ?? sparse?.bytes ?? 0,
      ids: ids.bytes,
      partitions: partitions?.bytes ?? 0,
      bands: bandMethod.bytes,
    };
    return { ...parts, total: Object.values(parts).reduce((sum, part) => sum + part, 0) };
  }

  /** Adds a vector, or a ready code; returns its row. */
  add(vector: Vector | Uint8Array, id?: I): number {
    return this.addAll(this.#batchOf(vector), id === undefined ? undefined : [id]);
  }

  /**
   * Adds a vector or a ready code, in place of the row of this id if there is one; returns its row.
   * A vector that is refused changes nothing. A row that is replaced gets a new number.
   */
  set(vector: Vector | Uint8Array, id: I): number {
    this.#refuseIfBusy();
    if (id === undefined) throw wrongType('id', 'an id', id);
    const addition = runSteps(additionOf(this.#state, this.#batchOf(vector), [id], true), {});
    reserve(this.#state, addition);
    this.remove(id);
    return runSteps(addRows(this.#state, addition), {});
  }

  #batchOf(vector: Vector | Uint8Array): RowsToAdd {
    if (vector instanceof Uint8Array) {
      if (vector.length !== this.hasher.bytesPerCode) {
        throw wrongValue('vector', `a code of ${this.hasher.bytesPerCode} bytes`, vector.length);
      }
      return Codes.from(vector, { bits: this.bits });
    }
    if (!isDense(vector) && !isSparse(vector)) throw notAVector('vector', vector);
    return [vector];
  }

  /**
   * Adds all rows of a batch, or none when one is refused; returns the row of the first. A batch is
   * an array of vectors, a matrix object, codes, or one flat array of floats, rows one after
   * another, where the index knows its dimensions.
   */
  addAll(batch: RowsToAdd, ids?: IdList<I>, options?: LongCall): number {
    return runSteps(this.#adding(batch, ids), longCall(options));
  }

  /** The same in turns with the event loop. */
  addAllAsync(batch: RowsToAdd, ids?: IdList<I>, options?: LongCall): Promise<number> {
    return this.#alone('addAllAsync', this.#adding(batch, ids), longCall(options));
  }

  *#adding(batch: RowsToAdd, ids: IdList<I> | undefined): Steps<number> {
    this.#refuseIfBusy();
    const addition = yield* additionOf(this.#state, batch, ids);
    return yield* addRows(this.#state, addition);
  }

  /** Removes a row by its id; false when there is none. Other rows keep their numbers. */
  remove(id: I): boolean {
    this.#refuseIfBusy();
    const row = this.#rowOf(id);
    if (row === undefined) return false;
    const { distinctCodes, ids, report, partitions } = this.#state;
    const distinct = distinctCodes.distinctOf(row);
    const isFirst = distinct < distinctCodes.count && distinctCodes.memory.rows[distinct] === row;
    distinctCodes.remove(row);
    if (isFirst && distinctCodes.isEmpty(distinct)) partitions?.drop(distinct);
    else if (isFirst) partitions?.take(distinct, false);
    ids.remove(row);
    if (report !== null) {
      this.#state.report = { ...report, rowsRemoved: report.rowsRemoved + 1 };
    }
    return true;
  }

  /** True when there is a row of this id. */
  has(id: I): boolean {
    return this.#rowOf(id) !== undefined;
  }

  /** The id of a row, as groups and pairs name it; undefined when there is none. */
  idOf(row: number): I | undefined {
    const isThere = Number.isInteger(row) && row >= 0 && this.#state.distinctCodes.isLive(row);
    return isThere ? (this.#state.ids.idOf(row) as I) : undefined;
  }

  /** Copies of what is held of a row; undefined when there is none of this id. */
  get(id: I): IndexRow<I> | undefined {
    const row = this.#rowOf(id);
    if (row === undefined) return undefined;
    const { distinctCodes, vectors, sparse } = this.#state;
    const code = distinctCodes.hasCode(row)
      ? distinctCodes.codeAt(distinctCodes.distinctOf(row)).slice()
      : null;
    const vector = code === null ? null : (vectors?.at(row) ?? sparse?.at(row) ?? null);
    return { row, id: this.#state.ids.idOf(row) as I, code, vector };
  }

  /** Distance and cosine, estimated and exact, of two rows by their ids. */
  compare(a: I, b: I): Comparison {
    const [one, other] = [this.#present('a', a), this.#present('b', b)];
    const distance = hammingDistance(one.code, other.code);
    const { vectors, sparse } = this.#state;
    let cosine: number | null = null;
    if (vectors !== null) {
      const norm = vectors.normOf(one.row);
      const unit = Float64Array.from(vectors.valuesAt(one.row), (value) => value / norm);
      [cosine] = vectors.cosinesOf(Uint32Array.of(other.row), unit);
    } else if (sparse !== null) {
      [cosine] = sparse.cosinesOf(Uint32Array.of(other.row), sparse.unitOf(one.row));
    }
    return { distance, estimate: estimateAngle(distance, this.bits), cosine };
  }

  #present(name: string, id: I): { row: number; code: Uint8Array } {
    const found = this.get(id);
    if (found === undefined) throw wrongValue(name, 'an id of the index', id);
    const { row, code } = found;
    if (code === null) throw wrongValue(name, 'a row with a code', id);
    return { row, code };
  }

  /** A removed row's number stays its own. */
  #rowOf(id: I): number | undefined {
    const row = this.#state.ids.rowOf(id);
    return row !== undefined && this.#state.distinctCodes.isLive(row) ? row : undefined;
  }

  /** The k best rows for a vector, or the k nearest to a code. */
  search(query: Vector | Uint8Array, options?: SearchOptions<I>): SearchResult<I> {
    const request = searchRequest(this.#state, checkOptions('options', options, SEARCH_OPTIONS));
    const ready = queryOf(this.#state, query);
    if (ready === null) return noResult(this.#state, request) as SearchResult<I>;
    return runSteps(answer(this.#state, ready, request), {}) as SearchResult<I>;
  }

  /** One result a query; a null query has no neighbours. */
  searchAll(queries: RowsToAdd, options?: SearchOptions<I> & LongCall): SearchResult<I>[] {
    return runSteps(this.#searching(queries, options), longCall(options, SEARCH_OPTIONS));
  }

  /** The same in turns with the event loop. */
  searchAllAsync(
    queries: RowsToAdd,
    options?: SearchOptions<I> & LongCall,
  ): Promise<SearchResult<I>[]> {
    const call = longCall(options, SEARCH_OPTIONS);
    return runStepsAsync(this.#searching(queries, options), call);
  }

  *#searching(queries: RowsToAdd, options?: SearchOptions<I> & LongCall) {
    const given = checkOptions('options', options, [...SEARCH_OPTIONS, ...LONG_CALL]);
    return yield* this.#answering(queries, searchRequest(this.#state, given));
  }

  *#answering(queries: RowsToAdd, request: Request): Steps<SearchResult<I>[]> {
    const all = yield* answers(this.#state, queriesOf(this.#state, queries), request);
    return all as SearchResult<I>[];
  }

  /** All rows within a distance of a vector's code, or of a code; none is missed. */
  within(query: Vector | Uint8Array, options: IndexWithinOptions<I>): SearchResult<I> {
    const request = withinRequest(this.#state, checkOptions('options', options, WITHIN_OPTIONS));
    const ready = queryOf(this.#state, query);
    if (ready === null) return noResult(this.#state, request) as SearchResult<I>;
    return runSteps(answer(this.#state, ready, request), {}) as SearchResult<I>;
  }

  /** One result a query. */
  withinAll(queries: RowsToAdd, options: IndexWithinOptions<I> & LongCall): SearchResult<I>[] {
    return runSteps(this.#searchingWithin(queries, options), longCall(options, WITHIN_OPTIONS));
  }

  /** The same in turns with the event loop. */
  withinAllAsync(
    queries: RowsToAdd,
    options: IndexWithinOptions<I> & LongCall,
  ): Promise<SearchResult<I>[]> {
    const call = longCall(options, WITHIN_OPTIONS);
    return runStepsAsync(this.#searchingWithin(queries, options), call);
  }

  *#searchingWithin(queries: RowsToAdd, options: IndexWithinOptions<I> & LongCall) {
    const given = checkOptions('options', options, [...WITHIN_OPTIONS, ...LONG_CALL]);
    return yield* this.#answering(queries, withinRequest(this.#state, given));
  }

  /**
   * Makes searches for `k` neighbours fast at the wanted recall, measured on held-out rows, and
   * returns what was measured. Partitions the rows when that pays.
   */
  optimize(options?: OptimizeOptions & LongCall): RecallReport {
    return runSteps(this.#optimizing(options), longCall(options, OPTIMIZE_OPTIONS));
  }

  /** The same in turns with the event loop; searches go on meanwhile as before. */
  optimizeAsync(options?: OptimizeOptions & LongCall): Promise<RecallReport> {
    const call = longCall(options, OPTIMIZE_OPTIONS);
    return this.#alone('optimizeAsync', this.#optimizing(options), call);
  }

  *#optimizing(options: (OptimizeOptions & LongCall) | undefined): Steps<RecallReport> {
    const known = [...OPTIMIZE_OPTIONS, ...LONG_CALL];
    const given = { ...OPTIMIZE_DEFAULTS, ...checkOptions('options', options, known) };
    const recall = checkNumber('recall', given.recall, 0, 1);
    if (recall === 0) throw wrongValue('recall', 'a number above 0', recall);
    const { partitions } = given;
    const wanted = {
      recall,
      k: checkInteger('k', given.k, 1, 10_000),
      queries: checkInteger('queries', given.queries, 2, 1_000_000),
      partitions: partitions && checkInteger('partitions', partitions, 1, 65_536),
      seed: String(checkSeed(given.seed)),
    };
    this.#refuseIfBusy();
    if (this.count === 0) throw new Error('optimize() needs rows, the index is empty');
    Object.assign(this.#state, yield* optimized(this.#state, wanted));
    return this.#state.report as RecallReport;
  }

  #refuseIfBusy(): void {
    if (this.#busy !== null) throw new Error(`${this.#busy}() is still at work on this index`);
  }

  /** A change in turns: others are refused until it has ended. */
  async #alone<T>(name: string, steps: Steps<T>, call: LongCall): Promise<T> {
    this.#refuseIfBusy();
    const first = steps.next(); // the arguments are checked before anything waits
    if (first.done) return first.value;
    this.#busy = name;
    try {
      return await runStepsAsync(steps, call, first.value !== GO_ON);
    } finally {
      this.#busy = null;
    }
  }
}

/** Ids of a batch: strings or integers of one kind. */
export type IdList<I extends Id = Id> =
  | readonly I[]
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

function longCall(options: object | undefined, others: readonly string[] = []): LongCall {
  return checkLongCall(checkOptions('options', options as LongCall, [...others, ...LONG_CALL]));
}
