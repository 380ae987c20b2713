/** Rows of plain values gathered into batches of a fixed set of columns. */

import { builderOf, type ColumnBuilder, type ColumnKind, finished } from './columns/builder';
import { type ColumnInfo, columnInfo } from './columns/info';
import { RowBatch } from './row-batch';

export interface ColumnPlan {
  readonly name: string;
  readonly kind: ColumnKind;
}

export class RowAssembler {
  /** One for each column, in order; a row is appended to all of them, and counted. */
  readonly builders: readonly ColumnBuilder[];
  readonly columns: readonly ColumnInfo[];
  readonly #plans: readonly ColumnPlan[];
  #firstRow = 0;
  #isFirst = true;

  constructor(
    plans: readonly ColumnPlan[],
    readonly file: string,
  ) {
    this.#plans = plans;
    this.builders = plans.map(({ kind }) => builderOf(kind));
    this.columns = this.#finish().map(({ field }) => columnInfo(field));
  }

  /** Rows since the last batch. */
  count = 0;

  /** True before the first batch was taken. */
  get isFirst(): boolean {
    return this.#isFirst;
  }

  #finish() {
    return this.#plans.map(({ name, kind }, i) => finished(name, this.builders[i], kind));
  }

  /** The rows since the last batch. */
  take(): RowBatch {
    const { count, file } = this;
    const batch = RowBatch.ofColumns(this.#finish(), count, { firstRow: this.#firstRow, file });
    this.#firstRow += count;
    this.#isFirst = false;
    this.count = 0;
    return batch;
  }
}
