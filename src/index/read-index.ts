/**
 * Fills a new index with rows that were saved, batch by batch. All that files say is checked, so no
 * file makes an index that answers wrongly; whether ids are unique is checked unless the caller
 * knows that they are.
 */

import { checkInteger, checkOptions, wrongType } from '../base/check';
import type { Ids } from '../base/ids';
import { runSteps, type Steps } from '../base/steps';
import { allocateIntegers } from '../k-means/points';
import { NO_ROW } from '../kernels/hits';
import { integerWidth } from '../kernels/products';
import { type ArrowSource, asArrow } from '../table/arrow/source';
import { type IndexRows, indexFromArrow as openedFrom } from '../table/sealed/index-rows';
import { NO_PARTITION, type SegmentRows } from '../table/sealed/segment-tables';
import type { IdKind } from './id-table';
import type { IndexParts } from './index-parts';
import { groupedByPartition, inNewOrder } from './partitions/grouped';
import { Partitions } from './partitions/partitions';
import { inOrder, residualBytesOf } from './partitions/residual-codes';
import { ReadResiduals } from './read-residuals';
import { checkHeader, optionsOf, takeHeader } from './saved-header';
import { partsOf, SimHashIndex } from './simhash-index';
import type { IndexHeader } from './write-index';

/**
 * An index that `indexToArrow` wrote. Damaged bytes throw a FormatError, with the name given by
 * `file`.
 *
 * @example
 * const index = new SimHashIndex<string>();
 * index.add([1, 0], 'a');
 * console.log(indexFromArrow(indexToArrow(index)).search([1, 0]).ids); // [ 'a' ]
 */
export function indexFromArrow(source: ArrowSource, options?: { file?: string }): SimHashIndex {
  const { file } = checkOptions('options', options, ['file']);
  const opened = openedFrom(source, file);
  return asArrow(file, () => {
    const index = new SimHashIndex(optionsOf(opened));
    const { header, count, batches } = opened;
    const restoring = new Restoring(partsOf(index), header, { count });
    let firstRow = 0;
    for (const rows of batches()) {
      restoring.add(rows, firstRow);
      firstRow += rows.count;
    }
    const { centroids } = header;
    runSteps(restoring.end(centroids === null ? null : fromBase64(centroids)), {});
    return index;
  });
}

/** What the caller knows of the rows that will come. */
interface RestoreOptions {
  /** Number of rows. */
  readonly count: number;
  /** Rows that are in the files but no longer in the index. */
  readonly removed?: { has(row: number): boolean };
  /** True if ids are known to be unique. */
  readonly hasUniqueIds?: boolean;
}

/**
 * Fills the parts of an empty index with rows of files, which keep their positions. Call `add` for
 * all batches, then `end`; an index whose `add` or `end` threw must be dropped.
 */
export class Restoring {
  readonly #parts: IndexParts;
  readonly #header: IndexHeader;
  readonly #removed: RestoreOptions['removed'];
  readonly #hasUniqueIds: boolean;
  /** By a removed first row of a code, the distinct code that later rows with this code have. */
  readonly #takenOver = new Map<number, number>();
  /** For removed rows that were not the first of their code, the first row that files name. */
  readonly #firstOfRemoved = new Map<number, number>();
  /** By distinct code; NO_PARTITION if files name none. */
  readonly #partitionOf: Uint32Array;
  /** The same of second partitions; null without copies. */
  readonly #secondOf: Uint32Array | null;
  readonly #residuals: ReadResiduals;
  readonly #copies: ReadResiduals;

  constructor(parts: IndexParts, header: object, options: RestoreOptions) {
    const { count, removed, hasUniqueIds = false } = options;
    const { nextRow, ids } = checkHeader(header, count);
    this.#parts = parts;
    this.#header = header as IndexHeader;
    this.#removed = removed;
    this.#hasUniqueIds = hasUniqueIds;
    this.#partitionOf = new Uint32Array(nextRow).fill(NO_PARTITION);
    this.#secondOf = this.#header.copies ? new Uint32Array(nextRow).fill(NO_PARTITION) : null;
    const residuals = () => new ReadResiduals(residualBytesOf(parts), nextRow);
    [this.#residuals, this.#copies] = [residuals(), residuals()];
    parts.skipTo(nextRow, count === 0 ? null : (ids ?? 'row'));
  }

  /**
   * Puts rows in their places; rows of equal codes must come in ascending order, over all calls.
   * `firstRow` is the first row of the batch, if the batch does not name its rows.
   */
  add(given: IndexRows, firstRow: number): void {
    this.#checkColumns(given);
    const { distinctCodes, vectors, ids } = this.#parts;
    const { count, codes, validity, partitions } = given;
    const { nextRow } = this.#header;
    const rows = new Uint32Array(count);
    for (let i = 0, last = -1; i < count; i++) {
      const row = given.rows?.[i] ?? firstRow + i;
      if (row <= last || row >= nextRow) {
        throw new Error(`row number ${row} after ${last}, the next being ${nextRow}`);
      }
      rows[i] = row;
      last = row;
      if (!this.#removed?.has(row)) continue;
      this.#pass(row, given.firsts?.[i] ?? row);
      rows[i] = NO_ROW;
    }
    const own = this.#idsOf(given);
    if (own !== null) ids.restore(own, rows, this.#hasUniqueIds);
    vectors?.restore(given, rows);
    const isNamed = given.firsts && this.#firstOfRemoved.size > 0;
    const firsts = isNamed ? given.firsts.map((row) => this.#firstOf(row)) : given.firsts;
    const before = distinctCodes.count;
    const known = { rows, codes, validity, ...(firsts !== undefined && { firsts }) };
    distinctCodes.restore(known, this.#takenOver);
    if (partitions === null) return;
    this.#addPartitions(given, partitions, rows, before);
  }

  /** Takes the partitions and residual codes of the distinct codes from `before` on. */
  #addPartitions(
    given: IndexRows,
    partitions: Uint32Array,
    rows: Uint32Array,
    before: number,
  ): void {
    const { distinctCodes } = this.#parts;
    const { count, seconds = null } = given;
    const own = { residuals: given.residuals, scales: given.residualScales };
    const copies = { residuals: given.secondResiduals, scales: given.secondScales };
    this.#residuals.check(own, count);
    this.#copies.check(copies, count);
    if (this.#secondOf !== null && seconds === null) throw new Error('there is no column "second"');
    if (distinctCodes.count - before === count) {
      this.#partitionOf.set(partitions, before);
      if (seconds !== null) this.#secondOf?.set(seconds, before);
      this.#residuals.addAll(own, count, before);
      this.#copies.addAll(copies, count, before);
      return;
    }
    // Some rows have known codes: the new codes were added in the order of their first rows.
    for (let i = 0, distinct = before; distinct < distinctCodes.count; i++) {
      if (rows[i] !== distinctCodes.rowOf(distinct)) continue;
      this.#partitionOf[distinct] = partitions[i];
      if (this.#secondOf !== null) this.#secondOf[distinct] = (seconds as Uint32Array)[i];
      this.#residuals.add(own, count, i, distinct);
      this.#copies.add(copies, count, i, distinct);
      distinct++;
    }
  }

  /** Takes the residual codes that rows have in second partitions, after the rows themselves. */
  addCopies({ count, rows, residuals, residualScales: scales }: SegmentRows): void {
    const { distinctCodes } = this.#parts;
    this.#copies.check({ residuals, scales }, count);
    rows.forEach((row, i) => {
      if (!distinctCodes.isLive(row)) return;
      const distinct = distinctCodes.distinctOf(row);
      if (distinctCodes.rowOf(distinct) !== row) return;
      this.#copies.add({ residuals, scales }, count, i, distinct);
    });
  }

  /** Skips a removed row, and remembers the first row of its code. */
  #pass(row: number, first: number): void {
    if (first > row) throw new Error(`row ${row}: its code cannot be that of row ${first}`);
    if (first !== row) this.#firstOfRemoved.set(row, first);
  }

  /** The first row of a code, following removed rows to the first rows that they named. */
  #firstOf(row: number): number {
    for (let first = row; ; ) {
      const earlier = this.#firstOfRemoved.get(first);
      if (earlier === undefined) return first;
      first = earlier;
    }
  }

  /** Throws unless the batch has the vector columns that the header asks for. */
  #checkColumns({ vectors, scales, sparse }: IndexRows): void {
    const kind = this.#parts.vectors?.kind ?? 'none';
    if ((kind === 'sparse') !== (sparse !== null)) {
      throw new Error('sparse vectors are held, but there are no columns "indices" and "weights"');
    }
    if ((kind === 'float32' || kind === 'int8') !== (vectors !== null)) {
      throw new Error('vectors are held, but there is no column "vector", or the other way round');
    }
    if ((kind === 'int8') !== (scales !== null)) {
      throw new Error(
        'there is no column "scale" for vectors of int8, or one without such vectors',
      );
    }
  }

  /** The ids of a batch in the kind that the header names. */
  #idsOf({ ids, count }: IndexRows): Ids | Float64Array | null {
    const kind: IdKind | null = this.#header.ids;
    if ((ids === null) !== (kind === null || kind === 'row')) {
      if (count > 0 || ids !== null) throw new Error(`ids are of kind ${kind}, the column is not`);
    }
    if (ids === null || ids.length === 0) return null;
    if (kind === 'number' && typeof ids[0] === 'bigint') {
      return Float64Array.from(ids as BigInt64Array, Number);
    }
    if (typeof ids[0] !== kind) throw new Error(`ids are of kind ${kind}, the column is not`);
    return ids;
  }

  /** Finishes the index after all rows; `centroids` are the 16-bit integers of its partitions. */
  *end(centroids: Int16Array | null): Steps<void> {
    takeHeader(this.#parts, this.#header);
    if (centroids !== null) yield* this.#partition(centroids);
  }

  /**
   * Groups the codes by the partitions that files name. Residual codes are used if every distinct
   * code has one, and else computed again.
   */
  *#partition(values: Int16Array): Steps<void> {
    const parts = this.#parts;
    const { distinctCodes, dense, bits } = parts;
    const width = integerWidth(dense?.dimensions ?? bits);
    const count = values.length / width;
    checkInteger('number of centroids', count, 1, 65_536);
    const partitionOf = this.#partitionOf.subarray(0, distinctCodes.count);
    const secondOf = this.#secondOf?.subarray(0, distinctCodes.count) ?? null;
    for (const all of [partitionOf, secondOf ?? []]) {
      for (const p of all) if (p >= count) checkInteger('partition', p, 0, count - 1);
    }
    const centroids = allocateIntegers(count, width);
    centroids.set(values);
    const grouped = yield* groupedByPartition(distinctCodes, partitionOf, count);
    const { nearness, gaps = [] } = this.#header;
    const [residuals, copied] = [this.#residuals, this.#copies].map((read) => {
      const columns = read.of(distinctCodes.count);
      return columns && grouped.order ? inOrder(columns, grouped.order) : columns;
    });
    const grouping = {
      ...{ centroids, starts: grouped.starts, nearness, gaps, residuals, copied },
      seconds: inNewOrder(secondOf, grouped.order),
    };
    const partitions = yield* Partitions.of(parts, grouped.distinctCodes, grouping);
    parts.setOrder({ distinctCodes: grouped.distinctCodes, partitions });
  }
}

/** 16-bit integers of a base64 text, in the byte order of this machine. */
function fromBase64(text: unknown): Int16Array {
  if (typeof text !== 'string') throw wrongType('centroids', 'base64', text);
  const decoded = atob(text);
  const bytes = new Uint8Array(decoded.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = decoded.charCodeAt(i);
  return new Int16Array(bytes.buffer, 0, bytes.length >> 1);
}
