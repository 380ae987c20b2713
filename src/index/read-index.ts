/**
 * Reads an index: fills a new one with rows that were saved, batch by batch. All that files say is
 * checked, so that no file makes an index that answers wrongly; whether ids are unique is checked
 * unless the caller has done so.
 */

import { isValid } from '../base/bitmap';
import {
  checkInteger,
  checkNumber,
  checkOneOf,
  checkOptions,
  wrongType,
  wrongValue,
} from '../base/check';
import type { Ids } from '../base/ids';
import { runSteps, type Steps } from '../base/steps';
import { allocateCentroids } from '../k-means/k-means';
import { integerWidth } from '../kernels/products/products.scalar';
import { NO_GAP } from '../kernels/residuals/residuals.scalar';
import { type ArrowSource, asArrow } from '../table/arrow/source';
import {
  type IndexRows,
  indexFromArrow as openedFrom,
  type ResidualColumns,
} from '../table/sealed/index-rows';
import type { Id, IdKind } from './id-table';
import type { SimHashIndexOptions } from './index-options';
import type { IndexParts } from './index-parts';
import { groupedByPartition } from './partitions/grouped';
import { Partitions } from './partitions/partitions';
import { residualBytesOf } from './partitions/residual-codes';
import { reportOf } from './saved-report';
import { partsOf, SimHashIndex } from './simhash-index';
import { VECTOR_STORAGES } from './vectors/row-vectors';
import { type IndexHeader, maxRowNumbers } from './write-index';

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
    const { centres } = header;
    runSteps(restoring.end(centres === null ? null : fromBase64(centres)), {});
    return index;
  });
}

export interface RestoreOptions {
  /** Rows that will come. */
  readonly count: number;
  /** Numbers of rows that files have and the index has no more, ascending. */
  readonly removed?: Uint32Array;
  /** True when ids are known to be unique. */
  readonly hasUniqueIds?: boolean;
}

export class Restoring {
  readonly #parts: IndexParts;
  readonly #header: IndexHeader;
  readonly #removed: Uint32Array;
  /** How many of them are done. */
  #passed = 0;
  readonly #hasUniqueIds: boolean;
  /** By a removed first row, the distinct code of the row that took over. */
  readonly #takenOver = new Map<number, number>();
  /** The first row of removed rows that were not the first. */
  readonly #firstOfRemoved = new Map<number, number>();
  readonly #partitionOf: number[] = [];
  /** Of all row numbers; null where files have none. */
  #residuals: ResidualColumns | null = null;

  constructor(parts: IndexParts, header: object, options: RestoreOptions) {
    const { count, removed = new Uint32Array(), hasUniqueIds = false } = options;
    this.#parts = parts;
    this.#header = checkHeader(header, count);
    this.#removed = removed;
    this.#hasUniqueIds = hasUniqueIds;
    parts.distinctCodes.reserve(this.#header.nextRow);
    parts.vectors?.reserve(this.#header.nextRow, 0);
  }

  /** Appends rows. `firstRow` is the number of the first, where the batch tells none. */
  add(given: IndexRows, firstRow: number): void {
    this.#checkColumns(given);
    const ids = this.#idsOf(given);
    for (let first = 0; first < given.count; ) {
      const row = given.rows?.[first] ?? firstRow + first;
      if (row < this.#parts.distinctCodes.rowCount || row >= this.#header.nextRow) {
        const before = this.#parts.distinctCodes.rowCount - 1;
        const { nextRow } = this.#header;
        throw new Error(`row number ${row} after ${before}, the next being ${nextRow}`);
      }
      if (this.#isRemoved(row)) {
        this.#pass(row, given.firsts?.[first] ?? row);
        first++;
        continue;
      }
      let end = Math.min(given.count, first + this.#untilRemoved(row));
      for (let i = first + 1; given.rows && i < end; i++) {
        if (given.rows[i] !== row + i - first) end = i;
      }
      this.#addRun(given, { first, end, row, ids });
      first = end;
    }
  }

  #isRemoved(row: number): boolean {
    while (this.#removed[this.#passed] < row) this.#passed++;
    return this.#removed[this.#passed] === row;
  }

  /** Rows from here to the next removed one. */
  #untilRemoved(row: number): number {
    const next = this.#removed[this.#passed];
    return next === undefined ? Number.POSITIVE_INFINITY : next - row;
  }

  #pass(row: number, first: number): void {
    if (first > row) throw new Error(`row ${row}: its code cannot be that of row ${first}`);
    if (first !== row) this.#firstOfRemoved.set(row, first);
  }

  /** The first row with a code, where the row that is told may have been removed since. */
  #firstOf(row: number): number {
    for (let first = row; ; ) {
      const earlier = this.#firstOfRemoved.get(first);
      if (earlier === undefined) return first;
      first = earlier;
    }
  }

  /** Rows `first` to `end - 1` of a batch, whose numbers go up one by one from `row` on. */
  #addRun(
    given: IndexRows,
    { first, end, row, ids }: { first: number; end: number; row: number; ids: Id[] | Ids | null },
  ): void {
    const { distinctCodes, vectors } = this.#parts;
    const { bytesPerCode } = distinctCodes;
    this.#parts.skipTo(row);
    const own = (ids?.slice(first, end) ?? null) as Ids | null;
    const checked = this.#hasUniqueIds ? own : this.#parts.ids.check(own, end - first);
    this.#parts.ids.append(checked as readonly Id[] | null, end - first);
    vectors?.restore(given, first, end);
    if (given.residuals) this.#addResiduals(given.residuals, { first, end, row });
    const codes = given.codes.subarray(first * bytesPerCode, end * bytesPerCode);
    if (given.firsts === undefined) this.#addCodes(codes, given.validity, first);
    else {
      const known = given.firsts?.subarray(first, end) ?? null;
      const isNamed = known !== null && this.#firstOfRemoved.size > 0;
      const firsts = isNamed ? known.map((each) => this.#firstOf(each)) : known;
      const validity = first === 0 ? given.validity : shifted(given.validity, first, end);
      distinctCodes.addKnown({ codes, count: end - first, validity, firsts }, this.#takenOver);
    }
    for (let i = first; given.partitions !== null && i < end; i++) {
      if (!isValid(given.validity, i)) continue;
      this.#partitionOf[distinctCodes.distinctOf(row + i - first)] ??= given.partitions[i];
    }
  }

  #addResiduals(
    { bytesPerRow, codes, scales }: ResidualColumns,
    { first, end, row }: { first: number; end: number; row: number },
  ): void {
    const { nextRow } = this.#header;
    const wanted = residualBytesOf(this.#parts);
    if (bytesPerRow !== wanted)
      throw wrongValue('residual', `codes of ${wanted} bytes`, bytesPerRow);
    this.#residuals ??= {
      ...{ bytesPerRow, codes: new Uint8Array(nextRow * bytesPerRow) },
      scales: new Float32Array(nextRow),
    };
    const own = codes.subarray(first * bytesPerRow, end * bytesPerRow);
    this.#residuals.codes.set(own, row * bytesPerRow);
    this.#residuals.scales.set(scales.subarray(first, end), row);
  }

  /** Adds codes of which it is not known whether they are there already. */
  #addCodes(codes: Uint8Array, validity: Uint8Array | null, first: number): void {
    const { distinctCodes } = this.#parts;
    const { bytesPerCode } = distinctCodes;
    for (let at = 0, i = first; at < codes.length; at += bytesPerCode, i++) {
      distinctCodes.add(isValid(validity, i) ? codes.subarray(at, at + bytesPerCode) : null);
    }
  }

  #checkColumns({ vectors, scales, sparse }: IndexRows): void {
    const kind = this.#parts.vectors?.kind ?? 'none';
    if ((kind === 'sparse') !== (sparse !== null)) {
      throw new Error('sparse vectors are kept, but there are no columns "indices" and "weights"');
    }
    if ((kind === 'float32' || kind === 'int8') !== (vectors !== null)) {
      throw new Error('vectors are kept, but there is no column "vector", or the other way round');
    }
    if ((kind === 'int8') !== (scales !== null)) {
      throw new Error(
        'there is no column "scale" for vectors of int8, or one without such vectors',
      );
    }
  }

  /** Ids of the kind that the header tells. */
  #idsOf({ ids, count }: IndexRows): Id[] | Ids | null {
    const kind: IdKind | null = this.#header.ids;
    if ((ids === null) !== (kind === null || kind === 'row')) {
      if (count > 0 || ids !== null) throw new Error(`ids are of kind ${kind}, the column is not`);
    }
    if (ids === null || ids.length === 0) return null;
    if (kind === 'number' && typeof ids[0] === 'bigint') {
      return Array.from(ids as BigInt64Array, Number);
    }
    if (typeof ids[0] !== kind) throw new Error(`ids are of kind ${kind}, the column is not`);
    return ids;
  }

  /** When all rows are there; `centroids` are those of the partitions, of 16-bit integers. */
  *end(centroids: Int16Array | null): Steps<void> {
    const parts = this.#parts;
    parts.skipTo(this.#header.nextRow);
    parts.isForeign = this.#header.isForeign;
    parts.report = this.#header.report && reportOf(this.#header.report);
    if (centroids !== null) yield* this.#partition(centroids);
  }

  *#partition(values: Int16Array): Steps<void> {
    const parts = this.#parts;
    const { distinctCodes, dense, bits } = parts;
    const width = integerWidth(dense?.dimensions ?? bits);
    const count = values.length / width;
    checkInteger('number of centroids', count, 1, 65_536);
    const partitionOf = new Uint32Array(distinctCodes.count);
    for (let distinct = 0; distinct < distinctCodes.count; distinct++) {
      partitionOf[distinct] = checkInteger('partition', this.#partitionOf[distinct], 0, count - 1);
    }
    const centroids = allocateCentroids(count, width);
    centroids.set(values);
    const grouped = yield* groupedByPartition(distinctCodes, partitionOf, count);
    const { nearness, gaps = [] } = this.#header;
    const residuals = this.#residuals;
    const grouping = { centroids, starts: grouped.starts, nearness, gaps, residuals };
    const partitions = yield* Partitions.of(parts, grouped.distinctCodes, grouping);
    this.#residuals = null;
    parts.setOrder({ ...grouped, partitions });
  }
}

/** The bits of rows `first` to `end - 1`, from bit 0 on. */
function shifted(validity: Uint8Array | null, first: number, end: number): Uint8Array | null {
  if (validity === null) return null;
  const bits = new Uint8Array(Math.ceil((end - first) / 8));
  for (let i = first; i < end; i++) {
    if (isValid(validity, i)) bits[(i - first) >> 3] |= 1 << ((i - first) & 7);
  }
  return bits;
}

/** The options of an index that was saved. */
export function optionsOf({ header }: { readonly header: object }): SimHashIndexOptions {
  const { bits, projection, seed, dimensions, zero, keep, mean } = header as IndexHeader;
  if (typeof seed !== 'string' || !/^\d{1,20}$/.test(seed)) {
    throw wrongValue('seed', 'an integer as a string', seed);
  }
  return {
    ...{ bits, projection: projection as 'signs', seed: BigInt(seed) },
    ...(dimensions !== undefined && { dimensions }),
    ...{ zero: zero as 'error', vectors: checkOneOf('keep', keep, VECTOR_STORAGES) },
    ...(mean !== null && { mean }),
  };
}

/** The parts of a header that are no options, checked; `count` rows come with it. */
export function checkHeader(header: object, count: number): IndexHeader {
  const { isForeign, nextRow, ids, report, nearness, gaps = [] } = header as IndexHeader;
  if (typeof isForeign !== 'boolean') throw wrongType('isForeign', 'true or false', isForeign);
  checkInteger('nextRow', nextRow, count, maxRowNumbers(count));
  checkOneOf('ids', ids ?? 'none', ['none', 'row', 'number', 'bigint', 'string']);
  if (report !== null) reportOf(report);
  if (nearness !== undefined) checkNumber('nearness', nearness, 0, 1);
  if (!Array.isArray(gaps)) throw wrongType('gaps', 'an array', gaps);
  for (const gap of gaps) checkNumber('gaps', gap, -NO_GAP, NO_GAP);
  return header as IndexHeader;
}

function fromBase64(text: unknown): Int16Array {
  if (typeof text !== 'string') throw wrongType('centres', 'base64', text);
  const decoded = atob(text);
  const bytes = Uint8Array.from(decoded, (character) => character.charCodeAt(0));
  return new Int16Array(bytes.buffer, 0, bytes.length >> 1);
}
