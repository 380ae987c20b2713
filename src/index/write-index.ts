/**
 * Writes an index: the JSON header of its files, and its rows column by column (docs/format.md).
 * Names in files are those of version 1 of the format: `keep` is the option `vectors`. Row numbers
 * stay as they are, unless nearly all rows were removed: where ids name the rows, their numbers
 * then begin again at 0. Free functions, so that a bundle of `SimHashIndex` has no apache-arrow.
 */

import { checkOptions, wrongType, wrongValue } from '../base/check';
import type { Ids } from '../base/ids';
import { RowBatch } from '../table/row-batch';
import { indexToArrow as bytesOf, type IndexRows, type RowRuns } from '../table/sealed/index-rows';
import type { SegmentLayout, SegmentRows } from '../table/sealed/segment-tables';
import { MAX_ROWS } from './distinct/distinct-codes';
import { codesOf, firstsOf } from './distinct/row-codes';
import type { IdKind } from './id-table';
import type { IndexParts } from './index-parts';
import { type SavedReport, savedReport } from './saved-report';
import { partsOf, SimHashIndex } from './simhash-index';
import { segmentOf } from './write-segment';

/** The header of an index's files, as JSON. */
export interface IndexHeader {
  readonly bits: number;
  readonly projection: string;
  readonly seed: string;
  readonly dimensions?: number;
  readonly texts?: string;
  readonly zero: string;
  readonly keep: string;
  readonly mean: readonly number[] | null;
  /** True when codes were added that these options did not make. */
  readonly isForeign: boolean;
  readonly ids: IdKind | null;
  /** The number that the next row gets. */
  readonly nextRow: number;
  /** How many distinct codes the rows have; missing in files of version 1. */
  readonly distinct?: number;
  /** True where some of these have several rows. */
  readonly shared?: boolean;
  readonly report: SavedReport | null;
  /** The mean cosine of vectors with their partitions' centroids. */
  readonly nearness?: number;
  /** By which searches end early; without them, none does. */
  readonly gaps?: readonly number[];
  /** Of vectors held as int8: their zeros, and the squares of what these lost, in steps. */
  readonly zeros?: readonly [count: number, squares: number];
}

/** The header of an index whose next row gets the number `nextRow`. */
export function headerOf(parts: IndexParts, nextRow: number): IndexHeader {
  const { hasher, mean, isForeign, report, partitions } = parts;
  const keep = parts.vectors?.kind ?? 'none';
  return {
    ...{ bits: parts.bits, projection: hasher.projection, seed: String(hasher.seed) },
    ...(hasher.dimensions !== undefined && { dimensions: hasher.dimensions }),
    ...(hasher.options.texts !== undefined && { texts: hasher.options.texts }),
    ...{ zero: hasher.zero, keep, mean: mean && Array.from(mean) },
    ...{ isForeign, ids: parts.ids.kind, nextRow, report: report && savedReport(report) },
    ...(partitions !== null && { nearness: partitions.nearness, gaps: partitions.gaps }),
    ...zerosOf(parts),
  };
}

/** What zeros of int8 lost, as headers tell it. */
export function zerosOf({ dense }: IndexParts): Pick<IndexHeader, 'zeros'> {
  if (dense?.kind !== 'int8') return {};
  return { zeros: [dense.zeros.count, dense.zeros.squares] };
}

/**
 * Most row numbers of so many rows: a gap takes memory too, and a file must not ask for any amount
 * of it. 64 numbers a row, or 2^26.
 */
export function maxRowNumbers(count: number): number {
  return Math.min(MAX_ROWS, Math.max(2 ** 26, 64 * count));
}

/**
 * The rows of an index in the order in which files have them. Made once a save: it looks through
 * all rows, and the index must not change while it is in use.
 */
export class SavedRows {
  /** The rows that are there, ascending. */
  readonly live: Uint32Array;
  /** The number that the next row gets, by the files. */
  readonly nextRow: number;
  /** True when the row numbers in the files begin again at 0. */
  readonly isRenumbered: boolean;
  readonly #parts: IndexParts;
  readonly #partitionOf: Uint32Array | null;

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
  }

  /**
   * Rows by their places among those that are there, `first` to `end - 1`; their numbers are told
   * where they do not go up one by one from `firstRow` on.
   */
  slice(first: number, end: number, firstRow: number): SavedSlice {
    const rows = this.live.subarray(first, end);
    const hasGaps = rows.length > 0 && rows[rows.length - 1] !== firstRow + rows.length - 1;
    const firsts = firstsOf(this.#parts.distinctCodes, rows);
    const columns: RowsToWrite = {
      numbers: hasGaps && !this.isRenumbered ? rows : null,
      // They would name rows by numbers that are no more.
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

  /** The blocks of a segment with rows by their places among those that are there. */
  segment(first: number, end: number): { layout: SegmentLayout; blocks: Generator<SegmentRows> } {
    return segmentOf(this.#parts, {
      rows: this.live.subarray(first, end),
      renumbered: this.isRenumbered ? this.live : null,
      partitionOf: this.#partitionOf,
    });
  }

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
    };
  }
}

/** Rows that go to one file. */
interface SavedSlice {
  readonly count: number;
  /** How a reader knows which rows share a code; undefined when it has to find out. */
  readonly equals: 'none' | 'first' | undefined;
  readonly runs: RowRuns;
}

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
  const header = {
    ...{ kind: 'index', ...headerOf(parts, rows.nextRow) },
    ...{ centres: partitions && toBase64(partitions.centroids), ...(equals && { equals }) },
  };
  return bytesOf(header, count, runs, columns);
}

/** Characters of a piece, a multiple of 4, and bytes, of 3. */
const PIECE = 3 << 12;

function toBase64(values: Int16Array): string {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  let text = '';
  for (let at = 0; at < bytes.length; at += PIECE) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + PIECE)));
  }
  return text;
}
