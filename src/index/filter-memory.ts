/**
 * A filter during one search: a function is asked for a row at most once, and its answers are
 * remembered. Where it accepts so few of the candidates that looking for more would take longer
 * than comparing what it accepts, it is asked for all rows.
 */

import { NO_ROW } from '../kernels/hits';
import type { RowFilter } from './filter';

export class FilterMemory {
  readonly #filter: RowFilter;
  readonly #answers = new Map<number, boolean>();
  readonly #found: number[] = [];
  #accepted = 0;
  #isAskedForAll = false;
  /** Whether it accepts few rows, so that all rows should be asked for at once. */
  readonly isNarrow: boolean;
  /** All rows that are accepted and have a code, ascending; null while they are not known. */
  known: Uint32Array | null;

  constructor(filter: RowFilter, known: Uint32Array | null = null, isNarrow = false) {
    this.#filter = filter;
    this.known = known;
    this.isNarrow = isNarrow;
  }

  /** How many rows the filter was asked for. */
  get calls(): number {
    return this.#answers.size;
  }

  /** The share of these that it accepted. */
  get share(): number {
    return this.#accepted / Math.max(1, this.calls);
  }

  /** True if a function of the user decides, which is given the ids of rows. */
  get isUserCode(): boolean {
    return this.#filter.isUserCode;
  }

  accepts(row: number): boolean {
    const known = this.#answers.get(row);
    if (known !== undefined) return known;
    if (this.#isAskedForAll) return false;
    const answer = this.#filter.accepts(row);
    this.#answers.set(row, answer);
    if (answer) this.#accepted++;
    return answer;
  }

  /** Asks for some of all rows, each once; places without a row are skipped. */
  ask(rows: Uint32Array): void {
    for (const row of rows) {
      if (row === NO_ROW) continue;
      // Not remembered one by one, since all rows of an index are asked for.
      if (this.#answers.get(row) ?? this.#filter.accepts(row)) this.#found.push(row);
    }
  }

  /** Once it was asked for all rows: those that it accepts. */
  know(): Uint32Array {
    this.#isAskedForAll = true;
    for (const row of this.#found) this.#answers.set(row, true);
    this.known = Uint32Array.from(this.#found).sort();
    return this.known;
  }
}
