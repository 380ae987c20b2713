/**
 * The index of users: vectors in, codes held, neighbours out. Rows are found as soon as they are
 * added; `optimize` makes searches fast at a measured recall. Results are ordered by similarity,
 * then row, whatever method finds them. The state is in `IndexParts`; this class checks arguments.
 */

import { bitmapOf, countNulls } from '../base/bitmap';
import { checkOptions, wrongType, wrongValue } from '../base/check';
import { checkLongCall, LONG_CALL, type LongCall } from '../base/long-work';
import { continued, GO_ON, runSteps, runStepsAsync, type Steps } from '../base/steps';
import { estimateAngle } from '../codes/angle';
import { Codes, hammingDistance } from '../codes/codes';
import { estimateJaccard } from '../codes/measure';
import type { SimHasher } from '../hashing/simhash';
import { isDense, isSparse, notAVector, type Vector } from '../vectors/vectors';
import { additionOf, type RowsToAdd } from './add-rows';
import { HELD_ROWS, type HeldRows } from './held-rows';
import type { Id } from './id-table';
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
import { type IndexBytes, IndexParts } from './index-parts';
import { optimize } from './optimize';
import { checkWanted } from './optimize-options';
import { queriesOf, queryOf } from './query';
import { answer, type Comparison, type IndexRow, noResult, type SearchResult } from './search';
import { searchElsewhere } from './search-elsewhere';
import { answers } from './search-many';
import { type Request, searchRequest, withinRequest } from './search-request';
import type { VectorStorage } from './vectors/row-vectors';
import type { SparseVectors } from './vectors/sparse-vectors';

const PARTS = new WeakMap<SimHashIndex, IndexParts>();

/** The parts of an index, for the layers above. Not exported to users: changes skip all checks. */
export function partsOf(index: SimHashIndex): IndexParts {
  return PARTS.get(index) as IndexParts;
}

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
  /** Bits of a code. */
  readonly bits: number;
  /** Values of a vector; undefined where any number is taken. */
  readonly dimensions: number | undefined;
  /** How vectors are held for exact ranking. */
  readonly vectors: VectorStorage;
  /** Computes the codes of rows and queries. */
  readonly hasher: SimHasher;
  readonly #parts: IndexParts;

  constructor(options?: SimHashIndexOptions) {
    const checked = checkIndexOptions(options);
    this.#parts = IndexParts.of(checked);
    this.hasher = this.#parts.hasher;
    this.bits = this.hasher.bits;
    this.dimensions = this.hasher.dimensions;
    this.vectors = checked.vectors;
    PARTS.set(this as unknown as SimHashIndex, this.#parts);
  }

  /** Number of rows, removed ones not counted. */
  get count(): number {
    return this.#parts.distinctCodes.liveCount;
  }

  /**
   * The rows, for joins, groups and clusters.
   * @internal
   */
  [HELD_ROWS](): HeldRows {
    const { distinctCodes, bits, vectors, kernel, mean, hasher, isForeign } = this.#parts;
    const { rowCount, count } = distinctCodes;
    const places = new Uint32Array(rowCount);
    for (let row = 0; row < rowCount; row++) places[row] = distinctCodes.distinctOf(row);
    const validity = bitmapOf(rowCount, (row) => places[row] < count);
    const origin = isForeign ? undefined : hasher.origin;
    const codes = Codes.allocate(rowCount, { bits, validity, ...(origin && { origin }) });
    distinctCodes.codes.gatherInto(codes.bytes, places);
    const isWhole = countNulls(validity, rowCount) === 0;
    return {
      codes: isWhole ? codes.withoutValidity() : codes,
      vectors,
      kernel,
      isCentred: mean !== null,
    };
  }

  /** The rank of a search that names none, by a query of the kind that the index takes. */
  get rank(): Rank {
    if (this.#parts.isForeign || this.hasher.projection === 'minwise') return 'hamming';
    return this.vectors === 'none' ? 'estimate' : 'exact';
  }

  /** A copy of what `optimize` measured, with the rows added and removed since; null before. */
  get report(): RecallReport | null {
    const { report } = this.#parts;
    return report && { ...report };
  }

  /** Bytes of memory that the rows take, by part. */
  get bytes(): IndexBytes {
    return this.#parts.bytes;
  }

  /** Adds a vector, or a ready code; returns its row. */
  add(vector: Vector | Uint8Array, id?: I): number {
    return this.addAll(this.#batchOf(vector), id === undefined ? undefined : [id]);
  }

  /**
   * Adds a vector or a ready code in place of the row of this id, if there is one; returns its row,
   * which is a new one. A vector that is refused changes nothing.
   */
  set(vector: Vector | Uint8Array, id: I): number {
    if (id === undefined) throw wrongType('id', 'an id', id);
    return this.#change('set', this.#setting(this.#batchOf(vector), id), {});
  }

  *#setting(batch: RowsToAdd, id: I): Steps<number> {
    const addition = yield* additionOf(this.#parts, batch, [id], true);
    this.#parts.reserve(addition);
    // Only now, when nothing can fail any more, is the old row removed.
    const row = this.#rowOf(id);
    if (row !== undefined) this.#parts.remove(row);
    return yield* this.#parts.add(addition);
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
   * Adds all rows of a batch, or none if one is refused; returns the row of the first. A batch is
   * an array of vectors, a matrix object, codes, or one flat array of floats, rows one after
   * another, where the index knows its dimensions. Vectors are copied.
   */
  addAll(batch: RowsToAdd, ids?: IdList<I>, options?: LongCall): number {
    return this.#change('addAll', this.#adding(batch, ids), longCall(options));
  }

  /**
   * `addAll` with pauses for the event loop. The batch and the ids must not change until the
   * promise resolves.
   */
  addAllAsync(batch: RowsToAdd, ids?: IdList<I>, options?: LongCall): Promise<number> {
    return this.#alone('addAllAsync', this.#adding(batch, ids), longCall(options));
  }

  /** Checks and hashes the whole batch before the first row is added. */
  *#adding(batch: RowsToAdd, ids: IdList<I> | undefined): Steps<number> {
    const addition = yield* additionOf(this.#parts, batch, ids);
    return yield* this.#parts.add(addition);
  }

  /** Removes a row by its id; returns false if there is none. Other rows stay where they are. */
  remove(id: I): boolean {
    this.#parts.refuseIfBusy();
    const row = this.#rowOf(id);
    if (row === undefined) return false;
    this.#parts.remove(row);
    return true;
  }

  /**
   * Frees the memory of removed rows: codes, vectors and positions. Ids and answers by id stay;
   * rows are numbered again from 0 in their order, except where rows are the ids. Codes are freed
   * without this call too, once more than half of the distinct ones have no row.
   */
  compact(options?: LongCall): void {
    this.#change('compact', this.#parts.compact(), longCall(options));
  }

  /** True when there is a row of this id. */
  has(id: I): boolean {
    return this.#rowOf(id) !== undefined;
  }

  /** The id of a row, as groups and pairs name it; undefined for a removed or unknown row. */
  idOf(row: number): I | undefined {
    const isThere = Number.isInteger(row) && row >= 0 && this.#parts.distinctCodes.isLive(row);
    return isThere ? (this.#parts.ids.idOf(row) as I) : undefined;
  }

  /** Copies of what the index holds of a row; undefined if there is none of this id. */
  get(id: I): IndexRow<I> | undefined {
    const row = this.#rowOf(id);
    if (row === undefined) return undefined;
    const { distinctCodes, vectors } = this.#parts;
    const code = distinctCodes.hasCode(row)
      ? distinctCodes.codeAt(distinctCodes.distinctOf(row)).slice()
      : null;
    const vector = code === null ? null : (vectors?.at(row) ?? null);
    return { row, id: this.#parts.ids.idOf(row) as I, code, vector };
  }

  /** Distance and similarity of two rows, estimated and exact; throws if one has no code. */
  compare(a: I, b: I): Comparison {
    const [one, other] = [this.#present('a', a), this.#present('b', b)];
    const distance = hammingDistance(one.code, other.code);
    const { vectors } = this.#parts;
    if (this.hasher.projection === 'minwise') {
      const sets = vectors as SparseVectors | null;
      const exact = sets?.jaccardOf(one.row, sets, other.row) ?? null;
      const jaccard = { ...estimateJaccard(distance, this.bits), exact };
      return { distance, estimate: NO_ANGLE, cosine: null, jaccard };
    }
    const unit = vectors?.unitOf(one.row);
    const cosine = unit ? (vectors?.cosinesOf(Uint32Array.of(other.row), unit)[0] ?? null) : null;
    return { distance, estimate: estimateAngle(distance, this.bits), cosine };
  }

  #present(name: string, id: I): { row: number; code: Uint8Array } {
    const found = this.get(id);
    if (found === undefined) throw wrongValue(name, 'an id of the index', id);
    const { row, code } = found;
    if (code === null) throw wrongValue(name, 'a row with a code', id);
    return { row, code };
  }

  /** The live row of an id: an id that is a row is still known after the row was removed. */
  #rowOf(id: I): number | undefined {
    const row = this.#parts.ids.rowOf(id);
    return row !== undefined && this.#parts.distinctCodes.isLive(row) ? row : undefined;
  }

  /** The k best rows for a vector, or the k nearest to a code. */
  search(query: Vector | Uint8Array, options?: SearchOptions<I>): SearchResult<I> {
    const given = checkOptions('options', options, SEARCH_OPTIONS);
    return this.#answer(query, searchRequest(this.#parts, given));
  }

  #answer(query: Vector | Uint8Array, request: Request): SearchResult<I> {
    const ready = queryOf(this.#parts, query);
    // A zero vector in an index with `zero: 'null'` has no direction, so it has no neighbours.
    if (ready === null) return noResult(this.#parts, request) as SearchResult<I>;
    return runSteps(answer(this.#parts, ready, request), {}) as SearchResult<I>;
  }

  /** `search` for each query, one result a query; a null query has no neighbours. */
  searchAll(queries: RowsToAdd, options?: SearchOptions<I> & LongCall): SearchResult<I>[] {
    return runSteps(this.#searching(queries, options), longCall(options, SEARCH_OPTIONS));
  }

  /** `searchAll` with pauses for the event loop. */
  searchAllAsync(
    queries: RowsToAdd,
    options?: SearchOptions<I> & LongCall,
  ): Promise<SearchResult<I>[]> {
    const call = longCall(options, SEARCH_OPTIONS);
    return runStepsAsync(this.#searching(queries, options), call);
  }

  *#searching(queries: RowsToAdd, options?: SearchOptions<I> & LongCall) {
    const given = checkOptions('options', options, [...SEARCH_OPTIONS, ...LONG_CALL]);
    return yield* this.#answering(queries, searchRequest(this.#parts, given));
  }

  *#answering(queries: RowsToAdd, request: Request): Steps<SearchResult<I>[]> {
    const parts = this.#parts;
    const asked = queriesOf(parts, queries);
    const found = yield* searchElsewhere(parts, asked, request);
    return (found ?? (yield* answers(parts, asked, request))) as SearchResult<I>[];
  }

  /** All rows within a distance of a vector's code, or of a code; none is missed. */
  within(query: Vector | Uint8Array, options: IndexWithinOptions<I>): SearchResult<I> {
    const given = checkOptions('options', options, WITHIN_OPTIONS);
    return this.#answer(query, withinRequest(this.#parts, given));
  }

  /** `within` for each query, one result a query. */
  withinAll(queries: RowsToAdd, options: IndexWithinOptions<I> & LongCall): SearchResult<I>[] {
    return runSteps(this.#searchingWithin(queries, options), longCall(options, WITHIN_OPTIONS));
  }

  /** `withinAll` with pauses for the event loop. */
  withinAllAsync(
    queries: RowsToAdd,
    options: IndexWithinOptions<I> & LongCall,
  ): Promise<SearchResult<I>[]> {
    const call = longCall(options, WITHIN_OPTIONS);
    return runStepsAsync(this.#searchingWithin(queries, options), call);
  }

  *#searchingWithin(queries: RowsToAdd, options: IndexWithinOptions<I> & LongCall) {
    const given = checkOptions('options', options, [...WITHIN_OPTIONS, ...LONG_CALL]);
    return yield* this.#answering(queries, withinRequest(this.#parts, given));
  }

  /**
   * Makes searches for `k` neighbours fast at the wanted recall, measures them with queries that
   * took no part in the choice, and returns the report. Partitions the rows if that pays.
   */
  optimize(options?: OptimizeOptions & LongCall): RecallReport {
    return this.#change('optimize', this.#optimizing(options), longCall(options, OPTIMIZE_OPTIONS));
  }

  /** `optimize` with pauses for the event loop, in which searches run as before. */
  optimizeAsync(options?: OptimizeOptions & LongCall): Promise<RecallReport> {
    const call = longCall(options, OPTIMIZE_OPTIONS);
    return this.#alone('optimizeAsync', this.#optimizing(options), call);
  }

  *#optimizing(options: (OptimizeOptions & LongCall) | undefined): Steps<RecallReport> {
    const wanted = checkWanted(
      this.#parts,
      checkOptions('options', options, [...OPTIMIZE_OPTIONS, ...LONG_CALL]),
    );
    if (this.count === 0) throw new Error('optimize() needs rows, the index is empty');
    return yield* optimize(this.#parts, wanted);
  }

  /** Runs a change; what `onProgress` or an argument calls meanwhile may not change the index. */
  #change<T>(name: string, steps: Steps<T>, call: LongCall): T {
    this.#parts.refuseIfBusy();
    this.#parts.busy = name;
    try {
      return runSteps(steps, call);
    } finally {
      this.#parts.busy = null;
    }
  }

  /** Runs a change with pauses for the event loop; other changes throw until it has ended. */
  async #alone<T>(name: string, steps: Steps<T>, call: LongCall): Promise<T> {
    this.#parts.refuseIfBusy();
    this.#parts.busy = name;
    try {
      const first = steps.next(); // the arguments are checked before anything waits
      if (first.done) return first.value;
      const all = continued(first.value, steps);
      return await runStepsAsync(all, call, first.value !== GO_ON);
    } finally {
      this.#parts.busy = null;
    }
  }
}

const { NaN: NONE } = Number;
/** The angle of two rows that are sets: codes of sets estimate a Jaccard similarity alone. */
const NO_ANGLE: Comparison['estimate'] = {
  ...{ angle: NONE, estimatedCosine: NONE, angleError: NONE, cosineError: NONE },
  ...{ angleInterval: [NONE, NONE], cosineInterval: [NONE, NONE] },
};

/** Ids of a batch: strings or integers of one kind. */
export type IdList<I extends Id = Id> =
  | readonly I[]
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

/** The checked `LongCall` options of a call, whose other options have these names. */
function longCall(options: object | undefined, others: readonly string[] = []): LongCall {
  return checkLongCall(checkOptions('options', options as LongCall, [...others, ...LONG_CALL]));
}
