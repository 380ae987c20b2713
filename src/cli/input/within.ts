/**
 * `--within COLUMN`: rows are compared only with rows that have the same value in this column. The
 * values are read with the rows; each distinct value becomes a number, the group of its rows.
 */

import type { RowBatch } from '../../node';
import type { Call } from '../call';
import type { HashSource } from './hash-source';
import { columnOf } from './open-input';

/** The groups of --within, gathered batch by batch. Rows with a null are in no group. */
export class Within {
  readonly column: string;
  /** By value its group, counted from 0 in the order in which values come. */
  readonly #groups = new Map<unknown, number>();
  readonly #ofRows: number[] = [];

  constructor(private readonly call: Call) {
    this.column = call.text('within') as string;
  }

  /** Fails unless the input has the column. An index folder has no source, null, and fails. */
  check(source: HashSource | null): void {
    if (source === null) this.call.misuse('--within needs a file, an index has its codes only');
    columnOf(this.call, source.reader, this.column);
  }

  /** Takes the values of the next rows; it must see all batches, in their order. */
  take(batch: RowBatch): void {
    for (const value of batch.values(this.column)) {
      const group = this.#groups.get(value) ?? this.#groups.size;
      if (value !== null) this.#groups.set(value, group);
      this.#ofRows.push(value === null ? -1 : group);
    }
  }

  /** By row its group, -1 for none: a copy. */
  get ofRows(): Int32Array {
    return Int32Array.from(this.#ofRows);
  }
}
