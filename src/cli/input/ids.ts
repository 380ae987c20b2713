/** Rows and the users' names of them: of some rows, and of those that are there in an index. */

import { liveRows } from '../../measure/rows';
import type { Id, Ids, SimHashIndex } from '../../node';

/** The ids of some rows, of the same type for whichever. */
export function idsAt(ids: Ids, rows: ArrayLike<number>): Ids {
  const { length } = rows;
  if (Array.isArray(ids)) return Array.from(rows, (row) => ids[row]);
  if (ids instanceof BigInt64Array || ids instanceof BigUint64Array) {
    const some =
      ids instanceof BigInt64Array ? new BigInt64Array(length) : new BigUint64Array(length);
    for (let i = 0; i < length; i++) some[i] = ids[rows[i]];
    return some;
  }
  const numbers = ids as Int32Array | Uint32Array;
  const some = numbers instanceof Int32Array ? new Int32Array(length) : new Uint32Array(length);
  for (let i = 0; i < length; i++) some[i] = numbers[rows[i]];
  return some;
}

/** The rows that are there in an index, and by row their ids; those of removed rows are empty. */
export function rowsOfIndex(index: SimHashIndex): { rows: Uint32Array; ids: Ids } {
  const rows = liveRows(index);
  const all: (Id | undefined)[] = Array((rows.at(-1) ?? -1) + 1).fill(undefined);
  for (const row of rows) all[row] = index.idOf(row);
  return { rows, ids: typed(all) };
}

function typed(all: readonly (Id | undefined)[]): Ids {
  if (all.some((id) => typeof id === 'string')) return all.map((id) => String(id ?? ''));
  const integers = all.map((id) => BigInt(id ?? 0));
  if (integers.every((id) => id === BigInt.asUintN(32, id))) {
    return Uint32Array.from(integers, Number);
  }
  if (integers.every((id) => id === BigInt.asIntN(64, id))) return BigInt64Array.from(integers);
  return BigUint64Array.from(integers);
}

/** The rows of a collection, some at a time. */
export function* rowBlocks(
  rows: { readonly count: number; readonly there: Uint32Array | null },
  blockRows: number,
): Generator<Uint32Array> {
  const { there } = rows;
  const count = there?.length ?? rows.count;
  for (let first = 0; first === 0 || first < count; first += blockRows) {
    const end = Math.min(count, first + blockRows);
    yield there?.slice(first, end) ??
      Uint32Array.from({ length: end - first }, (_, i) => first + i);
  }
}
