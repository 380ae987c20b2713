/** Names of an index's rows in a report: their ids, and their texts where it carries some. */

import { liveRows } from '../../measure/rows';
import type { IndexFolder, SimHashIndex } from '../../node';
import type { Call } from '../call';
import { Carried, carriedName } from '../input/carried';
import type { RowNames } from './index-page';

/** Texts are those of the column that `--text` names, or of the first that holds any. */
export async function rowNames(
  call: Call,
  folder: IndexFolder,
  index: SimHashIndex,
): Promise<RowNames> {
  const told = call.text('text');
  const column =
    told === undefined
      ? folder.columnInfo.find(({ fits }) => fits.includes('text'))?.name
      : carriedName(call, folder, told);
  const carried = column === undefined ? null : await Carried.read(folder, index, [column]);
  return {
    idOf: (row) => String(index.idOf(row)),
    areIdsNumbers: typeof index.idOf(liveRows(index)[0]) !== 'string',
    column: column ?? null,
    textOf: (row) => {
      if (carried === null || column === undefined) return null;
      const [value] = carried.valuesOf(column, [row]);
      return value === null ? '' : String(value);
    },
  };
}
