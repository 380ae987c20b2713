/**
 * The parts of an index in memory (distinct codes, ids, vectors, bands, partitions) and the
 * operations that change several of them together. `SimHashIndex` checks arguments and calls these;
 * layers above reach them by `partsOf`. Nothing here checks what users give.
 */

import { GO_ON, runSteps, type Steps, unstopped } from '../base/steps';
import type { Codes } from '../codes/codes';
import type { DenseMatrix, SparseMatrix } from '../vectors/vectors';
import { BandMethod } from './bands/band-method';
import { DistinctCodes } from './distinct/distinct-codes';
import { type Id, type IdKind, IdTable } from './id-table';
import { afterChanges, type CheckedOptions } from './index-options';
import { groupedByPartition, inNewOrder } from './partitions/grouped';
import { Partitions } from './partitions/partitions';
import { noVectors, type QueryFields, QueryParts, queryFields } from './query-parts';
import { DenseVectors } from './vectors/dense-vectors';
import type { RowVectors, UnitVector } from './vectors/row-vectors';
import { SparseVectors } from './vectors/sparse-vectors';

/** Bytes of memory, by what they hold. */
export interface IndexBytes {
  readonly codes: number;
  readonly vectors: number;
  readonly ids: number;
  readonly partitions: number;
  readonly bands: number;
  readonly total: number;
}

/** Checked rows that `IndexParts.add` takes as they are. */
export interface Addition {
  readonly codes: Codes;
  readonly ids: readonly Id[] | null;
  /** What the index holds of the rows; null where it holds no vectors. */
  readonly vectors: DenseMatrix | SparseMatrix | null;
  readonly isForeign: boolean;
}

/** A checked query, in the forms that searches read. */
export interface Query {
  readonly code: Uint8Array;
  /** One number a bit, whose sign is the bit; null for a query given as code, and for a set. */
  readonly sums: Float64Array | null;
  /** The vector at length 1; null for a code, and for a sparse one where the index holds none. */
  readonly unit: UnitVector | null;
  /** A query that is a set, where the index holds sets to compare it with: a matrix of one row. */
  readonly set?: SparseMatrix;
}

/**
 * What a search reads of an index: `IndexParts` for rows in memory, `stored/stored-view.ts` for
 * rows in blocks that are read when they are needed.
 */
export interface SearchParts
  extends Pick<
    IndexParts,
    | 'bits'
    | 'hasher'
    | 'mean'
    | 'kernel'
    | 'isForeign'
    | 'report'
    | 'canCompare'
    | 'exactCosines'
    | 'exactSimilarities'
    | 'measure'
    | 'accepts'
  > {
  readonly vectors: Pick<RowVectors, 'kind'> | null;
  readonly ids: Pick<IdTable, 'idOf' | 'removals'>;
  readonly distinctCodes: SearchedCodes;
  readonly partitions: SearchedPartitions | null;
  /** `exactSimilarities` of rows whose vectors must be read; null where all are in memory. */
  readonly allSimilarities: ((query: Query, rows: Uint32Array) => Steps<Float64Array>) | null;
}

/** Candidates, likeliest first; rows are looked up on demand. Valid until the next search. */
export interface Candidates {
  readonly count: number;
  /** The first row of an entry of `codes`; null where the entries are rows themselves. */
  readonly rowOf: ((code: number) => number) | null;
  readonly codes: ArrayLike<number>;
  readonly estimateOf: (i: number) => number;
}

export interface SearchedCodes
  extends Pick<
    DistinctCodes,
    | ('bytesPerCode' | 'count' | 'rowCount' | 'hasDuplicates' | 'noteCompared')
    | ('rowOf' | 'firstRow' | 'distinctOf' | 'eachRow' | 'distancesOf' | 'gather' | 'partAt')
  > {}

export type SearchedPartitions = Pick<
  Partitions,
  | ('count' | 'space' | 'residualCodes' | 'entriesPerCode')
  | ('nearest' | 'weighResiduals' | 'weighCodes')
>;

/** An order of the distinct codes with its partitions: replaced together. */
export interface CodeOrder {
  readonly distinctCodes: DistinctCodes;
  readonly partitions: Partitions | null;
}

type Fields = QueryFields & Pick<IndexParts, 'ids' | 'bandMethod' | 'distinctCodes'>;

/** Rows added between two steps, which take some milliseconds. */
const BLOCK_ROWS = 2048;
/**
 * Codes are put in order again where the distinct codes added since are more than this and more
 * than an eighth of all, or the empty ones more than this and more than half.
 */
const REGROUP_ABOVE = 1024;

/** The state of one index in memory. Fields that are not readonly may be replaced between steps. */
export class IndexParts extends QueryParts {
  readonly ids: IdTable;
  /** Chooses between bands and scan for searches by distance, and owns the bands. */
  bandMethod: BandMethod;
  distinctCodes: DistinctCodes;
  partitions: Partitions | null = null;
  readonly allSimilarities: SearchParts['allSimilarities'] = null;
  /** How often `compact` numbered the rows again: files then have them under other numbers. */
  numbering = 0;
  /** Name of the call that is changing the index; null if none is. */
  busy: string | null = null;
  /** Calls of user filters that have not returned, one within another. */
  #filtering = 0;

  private constructor(fields: Fields) {
    super(fields);
    this.ids = fields.ids;
    this.bandMethod = fields.bandMethod;
    this.distinctCodes = fields.distinctCodes;
  }

  /** The parts of an empty index. */
  static of(options: CheckedOptions, ids = new IdTable()): IndexParts {
    const fields = queryFields(options);
    const { bits, bytesPerCode } = fields.hasher;
    const distinctCodes = new DistinctCodes(bytesPerCode);
    return new IndexParts({ ...fields, ids, bandMethod: new BandMethod(bits), distinctCodes });
  }

  /** The same rows in another order of codes, without a report: what `optimize` tries. */
  withOrder({ distinctCodes, partitions }: CodeOrder): IndexParts {
    const other = new IndexParts({ ...this, distinctCodes });
    other.partitions = partitions;
    other.isForeign = this.isForeign;
    return other;
  }

  /** The parts of an empty index with these ids, against which `additionOf` checks new rows. */
  emptyWith(ids: IdTable): IndexParts {
    return new IndexParts({ ...this, ids });
  }

  /** Replaces the order of the codes; searches that have begun go on with the one before. */
  setOrder({ distinctCodes, partitions }: CodeOrder): void {
    this.distinctCodes = distinctCodes;
    this.partitions = partitions;
  }

  /** Throws while a long call changes the index, and inside a filter. */
  refuseIfBusy(): void {
    if (this.busy !== null) throw new Error(`${this.busy}() is still at work on this index`);
    if (this.#filtering > 0) throw new Error('a filter must not change the index that it filters');
  }

  /** Calls a user's filter for a row. The filter may search this index; changes throw meanwhile. */
  accepts(filter: (id: Id, row: number) => unknown, row: number): boolean {
    this.#filtering++;
    try {
      return Boolean(filter(this.ids.idOf(row), row));
    } finally {
      this.#filtering--;
    }
  }

  get bytes(): IndexBytes {
    const parts = {
      codes: this.distinctCodes.bytes,
      vectors: this.vectors?.bytes ?? 0,
      ids: this.ids.bytes,
      partitions: this.partitions?.bytes ?? 0,
      bands: this.bandMethod.bytes,
    };
    return { ...parts, total: Object.values(parts).reduce((sum, part) => sum + part, 0) };
  }

  /** The exact similarities of rows with a comparable query. Valid until the next call. */
  exactSimilarities(query: Query, rows: Uint32Array): Float64Array {
    if (query.set === undefined) return this.exactCosines(query, rows);
    const [sets, queries] = [this.vectors as SparseVectors, new SparseVectors()];
    queries.append(query.set, 0, 1, () => true);
    return Float64Array.from(rows, (row) => sets.jaccardOf(row, queries, 0));
  }

  /** The exact cosines of rows with a comparable query. Valid until the next call. */
  exactCosines({ unit }: Query, rows: Uint32Array): Float64Array {
    return (this.vectors as RowVectors).cosinesOf(rows, unit as UnitVector);
  }

  /** Allocates what new rows need, so that lack of memory throws before anything is changed. */
  reserve({ codes, vectors }: Addition): void {
    this.distinctCodes.reserve(codes.count);
    this.partitions?.reserve(codes.count);
    if (vectors !== null) this.vectors?.reserve(codes.count, entriesOf(vectors, codes.count));
  }

  /** Adds checked rows in steps that must not be stopped; returns the first new row. */
  *add(addition: Addition): Steps<number> {
    const { codes, ids, vectors } = addition;
    const { bytes, bytesPerCode } = codes;
    const firstRow = this.distinctCodes.rowCount;
    this.reserve(addition);
    yield GO_ON;
    if (codes.count > 0 && addition.isForeign) this.isForeign = true;
    for (let first = 0; first < codes.count; first += BLOCK_ROWS) {
      const end = Math.min(codes.count, first + BLOCK_ROWS);
      yield* unstopped(this.distinctCodes.tableSteps(end - first, codes.count - first));
      this.ids.append(ids?.slice(first, end) ?? null, end - first);
      if (vectors !== null) this.vectors?.append(vectors, first, end, (row) => !codes.isNull(row));
      this.distinctCodes.lookAhead(bytes.subarray(first * bytesPerCode, end * bytesPerCode));
      for (let row = first; row < end; row++) this.#add(codes.isNull(row) ? null : codes.at(row));
      yield* this.#regroup();
      this.#note({ rowsAdded: end - first });
      if (end < codes.count) yield GO_ON;
    }
    return firstRow;
  }

  #add(code: Uint8Array | null): void {
    const { distinctCodes, partitions } = this;
    const { count } = distinctCodes;
    const row = distinctCodes.add(code);
    if (partitions === null || code === null) return;
    const distinct = distinctCodes.distinctOf(row);
    // Partitions know a code by its first row; it is new if it was appended, else it was empty.
    if (distinctCodes.rowOf(distinct) === row) partitions.take(distinct, distinct === count);
  }

  /**
   * Puts the codes in order again where many were added since `optimize` or are empty: searches
   * visit the former one by one, and compare the latter too.
   */
  *#regroup(): Steps<void> {
    const { addedCount = 0 } = this.partitions ?? {};
    const { count, emptyCount } = this.distinctCodes;
    const hasManyAdded = addedCount > REGROUP_ABOVE && 8 * addedCount > count;
    if (hasManyAdded || (emptyCount > REGROUP_ABOVE && 2 * emptyCount > count)) {
      yield* unstopped(this.#reordered(null, this.dense));
    }
  }

  /** Rebuilds the order without empty codes; `kept` as in `rearranged`, `dense` its vectors. */
  *#reordered(kept: Uint32Array | null, dense: DenseVectors | null): Steps<void> {
    const { partitions, distinctCodes } = this;
    if (partitions === null) {
      const order = distinctCodes.nonEmpty();
      this.setOrder({
        distinctCodes: yield* distinctCodes.rearranged(order, kept),
        partitions: null,
      });
      return;
    }
    const { centroids, count, nearness, gaps } = partitions;
    const partitionOf = partitions.partitionOfEach(distinctCodes.count);
    const grouped = yield* groupedByPartition(distinctCodes, partitionOf, count, kept);
    const seconds = inNewOrder(partitions.secondOfEach(distinctCodes.count), grouped.order);
    const origin = { ...{ bits: this.bits, hasher: this.hasher, kernel: this.kernel }, dense };
    const grouping = { centroids, starts: grouped.starts, nearness, gaps, seconds };
    const made = yield* Partitions.of(origin, grouped.distinctCodes, grouping);
    this.setOrder({ ...grouped, partitions: made });
  }

  /**
   * Frees what removed rows take: their codes and, where rows have ids, their vectors and
   * positions. Rows without ids are named by their positions, so those stay.
   */
  *compact(): Steps<void> {
    const { distinctCodes, vectors, ids } = this;
    if (ids.kind === null || ids.kind === 'row') {
      yield* unstopped(this.#reordered(null, this.dense));
      return;
    }
    const kept = distinctCodes.liveRows();
    if (kept.length === distinctCodes.rowCount) return;
    const fresh = vectors && noVectors(vectors.kind, this.hasher.dimensions, this.kernel);
    const dense = fresh instanceof DenseVectors ? fresh : null;
    dense?.zeros.add((this.dense as DenseVectors).zeros);
    fresh?.skip(kept.length);
    for (let first = 0; vectors !== null && first < kept.length; first += BLOCK_ROWS) {
      const rows = kept.subarray(first, first + BLOCK_ROWS);
      const places = Uint32Array.from(rows, (_, i) => first + i);
      fresh?.restore(vectors.gather(rows), places);
      yield [first, kept.length];
    }
    yield* unstopped(this.#reordered(kept, dense));
    ids.keep(kept);
    this.vectors = fresh;
    this.numbering++;
    yield [kept.length, kept.length];
  }

  /** Removes a live row. Its code stays, without a row, if no other row has it. */
  remove(row: number): void {
    const { distinctCodes, partitions } = this;
    const distinct = distinctCodes.distinctOf(row);
    const isFirst = distinct < distinctCodes.count && distinctCodes.rowOf(distinct) === row;
    distinctCodes.remove(row);
    if (isFirst && distinctCodes.isEmpty(distinct)) partitions?.drop(distinct);
    else if (isFirst) partitions?.take(distinct, false);
    this.ids.remove(row);
    this.#note({ rowsRemoved: 1 });
    runSteps(this.#regroup(), {});
  }

  #note(changes: { rowsAdded?: number; rowsRemoved?: number }): void {
    if (this.report !== null) this.report = afterChanges(this.report, changes);
  }

  /**
   * Makes `row` the next row to add. Skipped rows count as removed until `Restoring` fills them in;
   * `kind` is the kind of their ids.
   */
  skipTo(row: number, kind?: IdKind | null): void {
    const missing = row - this.distinctCodes.rowCount;
    this.distinctCodes.skip(missing);
    this.ids.skip(missing, kind);
    this.vectors?.skip(missing);
  }
}

/** Entries of sparse rows, before repeated dimensions are summed; 0 for dense rows. */
function entriesOf(matrix: DenseMatrix | SparseMatrix, count: number): number {
  return 'offsets' in matrix ? matrix.offsets[count] - matrix.offsets[0] : 0;
}
