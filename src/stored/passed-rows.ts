/**
 * What is known about rows of partitions that passed through memory. Codes are numbered in the
 * order in which they were kept. A measured search, one of many that run together, keeps only the
 * places of rows, in 20 bytes each.
 */

import { grown } from '../base/arrays';
import type { PassedRow } from './block-reader';
import type { StoredSegment } from './content';
import type { PartitionCache } from './partition-cache';

/** Numbers of a row: itself, its segment, its block, its position there, its vector's checksum. */
const NUMBERS = 5;
const NO_CODE = new Uint8Array();

/** The rows of one search, by the number of their code. */
export class PassedRows {
  readonly #cache: PartitionCache;
  readonly #segments: readonly StoredSegment[];
  readonly #isMeasured: boolean;
  #count = 0;
  #numbers = new Uint32Array(64 * NUMBERS);
  /** Measured searches: for each code its further rows. */
  readonly #further = new Map<number, PassedRow[]>();
  /** Other searches: for each code all of its rows. */
  readonly #rows: PassedRow[][] = [];

  constructor(cache: PartitionCache, segments: readonly StoredSegment[], isMeasured: boolean) {
    this.#cache = cache;
    this.#segments = segments;
    this.#isMeasured = isMeasured;
  }

  /**
   * Keeps the rows of the code at a cell, since other partitions may take the cell. Returns the
   * number of the code.
   */
  keep(cell: number): number {
    const cache = this.#cache;
    const code = this.#count++;
    const further = cache.furtherAt(cell);
    if (!this.#isMeasured) {
      this.#rows.push([cache.rowAt(cell), ...further.map((one) => cache.rowAt(cell, one))]);
      return code;
    }
    const at = NUMBERS * code;
    if (at === this.#numbers.length) this.#numbers = grown(this.#numbers);
    const { segment, block, place, check } = cache.placeAt(cell);
    const numbers = this.#numbers;
    numbers[at] = cache.codes.rows[cell];
    numbers[at + 1] = this.#segments.indexOf(segment);
    numbers[at + 2] = block;
    numbers[at + 3] = place;
    numbers[at + 4] = check;
    if (further.length > 0) {
      const others = further.map((one) => ({
        ...cache.placeAt(cell, one),
        ...{ row: one.row, id: null, code: NO_CODE },
      }));
      this.#further.set(code, others);
    }
    return code;
  }

  /** The first row with a code. */
  rowOf(code: number): number {
    return this.#isMeasured ? this.#numbers[NUMBERS * code] : this.#rows[code][0].row;
  }

  /** The rows with a code, ascending. */
  numbersOf(code: number): number[] {
    const others = this.#isMeasured ? this.#further.get(code) : this.#rows[code].slice(1);
    const first = this.rowOf(code);
    return others === undefined ? [first] : [first, ...others.map(({ row }) => row)];
  }

  /** The rows with a code and what is known about them; measured searches know no ids and codes. */
  rowsOf(code: number): readonly PassedRow[] {
    if (!this.#isMeasured) return this.#rows[code];
    const at = NUMBERS * code;
    const [row, segment, block, place, check] = this.#numbers.subarray(at, at + NUMBERS);
    const first: PassedRow = {
      ...{ segment: this.#segments[segment], block, place, check, entries: null },
      ...{ row, id: null, code: NO_CODE },
    };
    return [first, ...(this.#further.get(code) ?? [])];
  }
}
