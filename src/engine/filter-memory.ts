/**
 * A filter during one search: a function is asked for a row at most once, and its answers are
 * remembered. Where it accepts so few of the candidates that looking for more would take longer
 * than comparing what it accepts, it is asked for all rows.
 */

import type { RowFilter } from '../index/filter';
import { NO_ROW } from '../kernels/hits';
import type { Placed } from './segment';

export class FilterMemory {
  readonly #filter: RowFilter;
  readonly #answers = new Map<number, boolean>();
  #accepted = 0;
  /** All rows that are accepted and have a code, ascending; null while they are not known. */
  known: Uint32Array | null = null;

  constructor(filter: RowFilter) {
    this.#filter = filter;
  }

  /** How many rows the filter was asked for. */
  get calls(): number {
    return this.#answers.size;
  }

  /** The share of these that it accepted. */
  get share(): number {
    return this.#accepted / Math.max(1, this.calls);
  }

  accepts(row: number): boolean {
    const known = this.#answers.get(row);
    if (known !== undefined) return known;
    const answer = this.#filter.accepts(row);
    this.#answers.set(row, answer);
    if (answer) this.#accepted++;
    return answer;
  }

  /** Asks for all rows, or takes those of a list; returns those that are accepted. */
  askAll(parts: readonly Placed[]): Uint32Array {
    const accepted: number[] = [];
    for (const { rows } of parts) {
      for (let position = 0; position < rows.count; position++) {
        const row = rows.codes.rows[position];
        if (row !== NO_ROW && this.accepts(row)) accepted.push(row);
      }
    }
    this.known = Uint32Array.from(accepted).sort();
    return this.known;
  }
}
