/**
 * Changes to an index in a folder, each a generation of its own: rows appended or removed, all
 * files written anew. The index is opened for it; whoever holds one already saves that instead.
 */

import { checkOptions, wrongType, wrongValue } from '../base/check';
import { checkLongCall, LONG_CALL, type LongCall } from '../base/steps';
import type { Codes } from '../codes/codes';
import type { Id } from '../index/id-table';
import type { IdList, SimHashIndex } from '../index/simhash-index';
import { RowBatch } from '../table/row-batch';
import type { VectorBatch } from '../vectors/vectors';
import { openIndex } from './index-folder';
import { originOf } from './origin';
import { save } from './save-index';
import type { SaveRequest } from './save-request';

export interface AppendOptions extends LongCall {
  /** Of the new rows, where the folder carries columns. */
  columns?: RowBatch;
}

/** Appends rows; returns the number of the first. */
export async function appendToIndex(
  folder: string,
  batch: VectorBatch | Codes,
  ids?: IdList,
  options?: AppendOptions,
): Promise<number> {
  const { columns, ...call } = checkOptions('options', options, ['columns', ...LONG_CALL]);
  checkLongCall(call);
  if (columns !== undefined && !(columns instanceof RowBatch)) {
    throw wrongType('columns', 'a RowBatch', columns);
  }
  const { signal } = call;
  const index = await openIndex(folder, signal && { signal });
  const before = index.count;
  const firstRow = await index.addAllAsync(batch, ids, call);
  const added = index.count - before;
  if (columns !== undefined && columns.count !== added) {
    throw wrongValue('columns', `${added} rows, as are new`, columns.count);
  }
  await change(index, folder, { addedColumns: columns });
  return firstRow;
}

/** Removes rows by their ids; returns how many were there. */
export async function removeFromIndex(folder: string, ids: Iterable<Id>): Promise<number> {
  const index = await openIndex(folder);
  let count = 0;
  for (const id of ids) count += Number(index.remove(id));
  if (count > 0) await change(index, folder, {});
  return count;
}

/** Writes all rows anew, without those that were removed, in as few files as can be. */
export async function compactIndex(folder: string, options?: LongCall): Promise<void> {
  const call = checkLongCall(checkOptions('options', options, LONG_CALL));
  const { signal } = call;
  const index = await openIndex(folder, signal && { signal });
  await change(index, folder, { isWhole: true, given: call });
}

/** Saves an index that was opened from the folder a moment ago. */
async function change(
  index: SimHashIndex,
  folder: string,
  wish: Partial<SaveRequest>,
): Promise<void> {
  const origin = originOf(index) ?? null;
  await save(index, { folder, base: origin?.manifest ?? null, origin, given: {}, ...wish });
}
