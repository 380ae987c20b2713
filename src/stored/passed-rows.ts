/**
 * What is known of rows whose partitions passed, by the order in which they were kept. Of searches
 * that are measured, of which many run together, only where rows are: in 20 bytes a row.
 */

import { grown } from '../base/arrays';
import type { PassedRow } from './block-reader';
import type { StoredSegment } from './content';
import type { PartitionCache } from './partition-cache';

/** Numbers of a row: itself, its segment, its block, its place there, the check of its vector. */
const NUMBERS = 5;
const NO_CODE = new Uint8Array();

export class PassedRows {
  readonly #cache: PartitionCache;
  readonly #segments: readonly StoredSegment[];
  readonly #isMeasured: boolean;
  #count = 0;
  #numbers = new Uint32Array(64 * NUMBERS);
  /** Of those that are measured, by code: rows that have the same code. */
  readonly #further = new Map<number, PassedRow[]>();
  readonly #rows: PassedRow[][] = [];

  constructor(cache: PartitionCache, segments: readonly StoredSegment[], isMeasured: boolean) {
    this.#cache = cache;
    this.#segments = segments;
    this.#isMeasured = isMeasured;
  }

  /** Keeps the rows of a cell's code, which others may take; returns a number for the code. */
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
    const { block, place } = cache.locate(cell);
    const numbers = this.#numbers;
    numbers[at] = cache.codes.rows[cell];
    numbers[at + 1] = this.#segments.indexOf(block.segment);
    numbers[at + 2] = block.block;
    numbers[at + 3] = place;
    numbers[at + 4] = block.rows.checks?.[place] ?? 0;
    if (further.length > 0) {
      const others = further.map((one) => ({
        ...cache.placeAt(cell, one),
        ...{ row: one.row, id: null, code: NO_CODE },
      }));
      this.#further.set(code, others);
    }
    return code;
  }

  /** The first row of a code. */
  rowOf(code: number): number {
    return this.#isMeasured ? this.#numbers[NUMBERS * code] : this.#rows[code][0].row;
  }

  /** The rows of a code, ascending. */
  numbersOf(code: number): number[] {
    const others = this.#isMeasured ? this.#further.get(code) : this.#rows[code].slice(1);
    const first = this.rowOf(code);
    return others === undefined ? [first] : [first, ...others.map(({ row }) => row)];
  }

  /** The same, with what is known of them. */
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
