/** Rows of plain values gathered into batches of a fixed set of columns. */

import { builderOf, type ColumnBuilder, type ColumnKind, finished } from './columns/builder';
import { type ColumnInfo, columnInfo } from './columns/info';
import { RowBatch } from './row-batch';

/** A column of rows to come: its name, and the kind of its values. */
export interface ColumnPlan {
  readonly name: string;
  readonly kind: ColumnKind;
}

/** Bytes of a batch, about; it has fewer rows where they are wide. */
export const BATCH_BYTES = 1 << 23;

/** Builders of the columns of some rows, and the limits of a batch. Used again for each batch. */
export class RowAssembler {
  /** One for each column, in order; a row is appended to all of them, and counted. */
  readonly builders: readonly ColumnBuilder[];
  readonly columns: readonly ColumnInfo[];
  readonly #plans: readonly ColumnPlan[];
  #firstRow = 0;
  #isFirst = true;

  /** Bytes of the source since the last batch. */
  #bytes = 0;

  /** `batchRows`: most rows of a batch. `file` is named in errors. */
  constructor(
    plans: readonly ColumnPlan[],
    readonly file: string,
    readonly batchRows = Number.POSITIVE_INFINITY,
  ) {
    this.#plans = plans;
    this.builders = plans.map(({ kind }) => builderOf(kind));
    this.columns = this.#finish().map(({ field }) => columnInfo(field));
  }

  /** Rows since the last batch. */
  count = 0;

  /** Counts bytes of the source that were read; true once the rows are enough for a batch. */
  isFullAfter(bytes: number): boolean {
    this.#bytes += bytes;
    return this.count >= this.batchRows || (this.count > 0 && this.#bytes >= BATCH_BYTES);
  }

  /** The last rows; of a source without any, one batch without rows. */
  *rest(): Generator<RowBatch> {
    if (this.count > 0 || this.#isFirst) yield this.take();
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
    this.#bytes = 0;
    return batch;
  }
}
