/**
 * Writes an index: the JSON header of its files, and its rows column by column (docs/format.md).
 * Rows keep their positions, unless nearly all rows were removed and the others have ids: then they
 * are numbered from 0. Free functions, so that a bundle of `SimHashIndex` has no apache-arrow.
 */

import { checkOptions, wrongType, wrongValue } from '../base/check';
import type { Ids } from '../base/ids';
import { RowBatch } from '../table/row-batch';
import { indexToArrow as bytesOf, type IndexRows, type RowRuns } from '../table/sealed/index-rows';
import type { SegmentLayout, SegmentRows } from '../table/sealed/segment-tables';
import { MAX_ROWS } from './distinct/distinct-codes';
import { codesOf, firstsOf } from './distinct/row-codes';
import type { IdKind } from './id-table';
import type { RecallReport } from './index-options';
import type { IndexParts } from './index-parts';
import type { QueryParts } from './query-parts';
import { partsOf, SimHashIndex } from './simhash-index';
import { residualBytesIn, residualsOf, segmentOf } from './write-segment';

/** The header of an index's files, as JSON. */
export interface IndexHeader {
  readonly bits: number;
  readonly projection: string;
  readonly seed: string;
  readonly dimensions?: number;
  readonly texts?: string;
  readonly zero: string;
  readonly vectors: string;
  readonly mean: readonly number[] | null;
  /** True if codes were added that other options made. */
  readonly isForeign: boolean;
  readonly ids: IdKind | null;
  /** The row that would be added next. */
  readonly nextRow: number;
  /** Number of distinct codes of the rows, in manifests. */
  readonly distinct?: number;
  /** True if some of these have several rows. */
  readonly shared?: boolean;
  readonly report: RecallReport | null;
  /** Mean cosine of vectors with the centroids of their partitions. */
  readonly nearness?: number;
  /** True where rows are in second partitions too. */
  readonly copies?: boolean;
  /** By which searches end early (partitions/gaps.ts); if missing, none does. */
  readonly gaps?: readonly number[];
  /** Values of int8 vectors that became 0, and the sum of squares that they lost, in steps. */
  readonly zeros?: readonly [count: number, squares: number];
}

/** The header of an index whose next row is `nextRow`. */
export function headerOf(parts: IndexParts, nextRow: number): IndexHeader {
  const { hasher, mean, isForeign, report, partitions } = parts;
  const vectors = parts.vectors?.kind ?? 'none';
  return {
    ...{ bits: parts.bits, projection: hasher.projection, seed: String(hasher.seed) },
    ...(hasher.dimensions !== undefined && { dimensions: hasher.dimensions }),
    ...(hasher.options.texts !== undefined && { texts: hasher.options.texts }),
    ...{ zero: hasher.zero, vectors, mean: mean && Array.from(mean) },
    ...{ isForeign, ids: parts.ids.kind, nextRow, report },
    ...(partitions !== null && { nearness: partitions.nearness, gaps: partitions.gaps }),
    ...(partitions?.hasCopies && { copies: true }),
    ...zerosOf(parts),
  };
}

/** What zeros of int8 lost, as headers state it; nothing for other vectors. */
export function zerosOf({ dense }: QueryParts): Pick<IndexHeader, 'zeros'> {
  if (dense?.kind !== 'int8') return {};
  return { zeros: [dense.zeros.count, dense.zeros.squares] };
}

/**
 * Largest `nextRow` for so many rows: 64 for each, or 2^26. A gap of removed rows takes memory as
 * well, and a damaged file must not ask for any amount of it.
 */
export function maxRowNumbers(count: number): number {
  return Math.min(MAX_ROWS, Math.max(2 ** 26, 64 * count));
}

/**
 * The rows of an index in the order of files. Made once for each save, since it goes through all
 * rows; the index must not change while it is in use.
 */
export class SavedRows {
  /** The rows that are not removed, ascending. */
  readonly live: Uint32Array;
  /** The row that would be added next, as the files count. */
  readonly nextRow: number;
  /** True if the rows are numbered from 0 in the files. */
  readonly isRenumbered: boolean;
  readonly #parts: IndexParts;
  readonly #partitionOf: Uint32Array | null;
  readonly #secondOf: Uint32Array | null;

  constructor(parts: IndexParts) {
    const { distinctCodes, ids, partitions } = parts;
    this.#parts = parts;
    this.live = distinctCodes.liveRows();
    this.isRenumbered = distinctCodes.rowCount > maxRowNumbers(this.live.length);
    if (this.isRenumbered && ids.kind === 'row') {
      throw new Error(
        'nearly all rows were removed, and their numbers are ids: add the rest again',
      );
    }
    this.nextRow = this.isRenumbered ? this.live.length : distinctCodes.rowCount;
    this.#partitionOf = partitions?.partitionOfEach(distinctCodes.count) ?? null;
    this.#secondOf = partitions?.secondOfEach(distinctCodes.count) ?? null;
  }

  /**
   * Rows `first` to `end - 1` of those that are not removed. They are named only if they do not go
   * up one by one from `firstRow` on.
   */
  slice(first: number, end: number, firstRow: number): SavedSlice {
    const rows = this.live.subarray(first, end);
    const hasGaps = rows.length > 0 && rows[rows.length - 1] !== firstRow + rows.length - 1;
    const firsts = firstsOf(this.#parts.distinctCodes, rows);
    const columns: RowsToWrite = {
      numbers: hasGaps && !this.isRenumbered ? rows : null,
      // First rows would be named by positions that the files do not have.
      firsts: this.isRenumbered ? null : firsts,
      ids: this.#parts.ids.columnOf(rows),
    };
    const isKnown = firsts === null || !this.isRenumbered;
    return {
      ...{ count: rows.length, equals: isKnown ? tellOf(firsts) : undefined },
      runs: {
        rowsOf: (from, to) => this.#rowsOf(rows.subarray(from, to), columns, from),
        endOf: (from, to) => this.#parts.vectors?.endOf(rows, from, to) ?? to,
      },
    };
  }

  /** Rows `first` to `end - 1` of those that are not removed, as the blocks of a segment. */
  segment(first: number, end: number): SavedSegment {
    const rows = {
      rows: this.live.subarray(first, end),
      renumbered: this.isRenumbered ? this.live : null,
      ...{ partitionOf: this.#partitionOf, secondOf: this.#secondOf },
    };
    const copies = this.#secondOf === null ? [] : segmentOf(this.#parts, rows, true).blocks;
    return { ...segmentOf(this.#parts, rows), copies };
  }

  /** The columns of some rows, from position `from` of the slice on. */
  #rowsOf(rows: Uint32Array, { numbers, firsts, ids }: RowsToWrite, from: number): IndexRows {
    const { distinctCodes, vectors } = this.#parts;
    const end = from + rows.length;
    const partitionOf = this.#partitionOf;
    return {
      ...{ count: rows.length, ...codesOf(distinctCodes, rows) },
      rows: numbers?.slice(from, end) ?? null,
      firsts: firsts?.slice(from, end) ?? null,
      ids: ids && (ids.slice(from, end) as Ids),
      ...(vectors?.gather(rows) ?? { vectors: null, scales: null, sparse: null }),
      partitions:
        partitionOf && Uint32Array.from(rows, (row) => partitionOf[distinctCodes.distinctOf(row)]),
      ...residualsOf(this.#parts, rows),
      ...secondsOf(this.#parts, rows, this.#secondOf),
    };
  }
}

/** Rows as blocks of a segment. */
interface SavedSegment {
  readonly layout: SegmentLayout;
  readonly blocks: Iterable<SegmentRows>;
  /** The same rows in their second partitions; none without copies. */
  readonly copies: Iterable<SegmentRows>;
}

/** Second partitions of rows and their residual codes there; zeros where a row has no code. */
function secondsOf(parts: IndexParts, rows: Uint32Array, secondOf: Uint32Array | null) {
  if (secondOf === null) return {};
  const { distinctCodes } = parts;
  const { residuals, residualScales } = residualsOf(parts, rows, true);
  const seconds = Uint32Array.from(rows, (row) => secondOf[distinctCodes.distinctOf(row)]);
  return { seconds, secondResiduals: residuals, secondScales: residualScales };
}

/** Rows for one file. */
interface SavedSlice {
  readonly count: number;
  /**
   * How a reader finds rows with equal codes: there are none, by their first rows, or (undefined)
   * by comparing all codes.
   */
  readonly equals: 'none' | 'first' | undefined;
  readonly runs: RowRuns;
}

/** Columns of a slice, made once for all of its runs. */
interface RowsToWrite {
  readonly numbers: Uint32Array | null;
  readonly firsts: Uint32Array | null;
  readonly ids: Ids | null;
}

function tellOf(firsts: Uint32Array | null): 'none' | 'first' {
  return firsts === null ? 'none' : 'first';
}

/**
 * The index as the bytes of one Arrow file, which any Arrow reader opens. `columns` are carried
 * along, for each row that is there, in ascending order of rows.
 *
 * @example
 * const index = new SimHashIndex<string>();
 * index.add([1, 0], 'a');
 * console.log(codesFromArrow(indexToArrow(index)).ids); // [ 'a' ]
 */
export function indexToArrow(index: SimHashIndex, options?: { columns?: RowBatch }): Uint8Array {
  if (!(index instanceof SimHashIndex)) throw wrongType('index', 'a SimHashIndex', index);
  const { columns } = checkOptions('options', options, ['columns']);
  if (columns !== undefined && !(columns instanceof RowBatch)) {
    throw wrongType('columns', 'a RowBatch', columns);
  }
  const parts = partsOf(index);
  parts.refuseIfBusy();
  const rows = new SavedRows(parts);
  const { count, equals, runs } = rows.slice(0, rows.live.length, 0);
  if (columns !== undefined && columns.count !== count) {
    throw wrongValue('columns', `${count} rows`, columns.count);
  }
  const { partitions } = parts;
  const residualBytes = residualBytesIn(parts);
  const header = {
    ...{ kind: 'index', ...headerOf(parts, rows.nextRow) },
    ...{ centroids: partitions && toBase64(partitions.centroids), ...(equals && { equals }) },
    ...(residualBytes > 0 && { residualBytes }),
  };
  return bytesOf(header, count, runs, columns);
}

/** Bytes of a piece: a multiple of 3, so that the base64 texts of pieces can be joined. */
const PIECE = 3 << 12;

/** 16-bit integers as base64, in the byte order of this machine. */
function toBase64(values: Int16Array): string {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  let text = '';
  for (let at = 0; at < bytes.length; at += PIECE) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + PIECE)));
  }
  return text;
}
