/**
 * `--within COLUMN`: rows are compared with rows of the same value only. The values are read with
 * the rows, and become a number each.
 */

import type { RowBatch } from '../../node';
import type { Call } from '../call';
import type { HashSource } from './hash-source';
import { columnOf } from './open-input';

/** The groups of --within, gathered batch by batch: rows of equal values; null ones are in none. */
export class Within {
  readonly column: string;
  readonly #groups = new Map<unknown, number>();
  readonly #ofRows: number[] = [];

  constructor(private readonly call: Call) {
    this.column = call.text('within') as string;
  }

  /** Fails where there is no such column; an index folder has no source. */
  check(source: HashSource | null): void {
    if (source === null) this.call.misuse('--within needs a file, an index has its codes only');
    columnOf(this.call, source.reader, this.column);
  }

  take(batch: RowBatch): void {
    for (const value of batch.values(this.column)) {
      const group = this.#groups.get(value) ?? this.#groups.size;
      if (value !== null) this.#groups.set(value, group);
      this.#ofRows.push(value === null ? -1 : group);
    }
  }

  get ofRows(): Int32Array {
    return Int32Array.from(this.#ofRows);
  }
}
