/** A dedup plan as rows, in the columns that `readPlan` of the library reads. */

import { type DedupPlan, RowBatch } from '../../node';
import type { Collection } from '../input/collection';
import { idsAt, rowBlocks } from '../input/ids';

const BATCH_ROWS = 8192;
const ACTIONS = ['drop', 'keep'] as const;

export function* planRows(plan: DedupPlan, rows: Collection): Generator<RowBatch> {
  const { groups, kept, keepers, distances, cosines, checks } = plan;
  const { ids } = rows;
  let firstRow = 0;
  for (const row of rowBlocks(rows, BATCH_ROWS)) {
    const columns = {
      row,
      ...(ids !== null && { id: idsAt(ids, row) }),
      group: row.map((one) => groups[one]),
      action: Array.from(row, (one) => ACTIONS[kept[one]]),
      duplicate_of: row.map((one) => keepers[one]),
      distance: Uint16Array.from(row, (one) => distances[one]),
      ...(cosines !== null && { cosine: Float64Array.from(row, (one) => cosines[one]) }),
      check: row.map((one) => checks[one]),
    };
    yield RowBatch.of(columns, { firstRow });
    firstRow += row.length;
  }
}
