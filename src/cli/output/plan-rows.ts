/** A dedup plan as rows of the command's output, which `readPlan` of the library reads. */

import { planBatch } from '../../groups/plan-table';
import type { DedupPlan, RowBatch } from '../../node';
import type { Collection } from '../input/collection';
import { idsAt, rowBlocks } from '../input/ids';

const BATCH_ROWS = 8192;

export function* planRows(plan: DedupPlan, rows: Collection): Generator<RowBatch> {
  const { ids } = rows;
  for (const row of rowBlocks(rows, BATCH_ROWS)) {
    yield planBatch(plan, row, ids === null ? null : idsAt(ids, row));
  }
}
