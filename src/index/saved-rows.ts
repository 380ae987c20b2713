/**
 * Rows of an index, column by column, as its files hold them. Row numbers stay as they are, unless
 * nearly all rows were removed: where ids name the rows, their numbers then begin again at 0.
 */

import type { Ids } from '../base/ids';
import type { IndexRows, RowRuns } from '../table/sealed/index-rows';
import { mostNumbers } from './index-header';
import type { IndexParts } from './index-parts';

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
    this.isRenumbered = distinctCodes.rowCount > mostNumbers(this.live.length);
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
    const firsts = this.#parts.distinctCodes.firstsOf(rows);
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

  #rowsOf(rows: Uint32Array, { numbers, firsts, ids }: RowsToWrite, from: number): IndexRows {
    const { distinctCodes, vectors } = this.#parts;
    const end = from + rows.length;
    const partitionOf = this.#partitionOf;
    return {
      ...{ count: rows.length, ...distinctCodes.codesOf(rows) },
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
export interface SavedSlice {
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
