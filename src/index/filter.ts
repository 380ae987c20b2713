/** Which rows a search may return: all, those that a function accepts, or a given set. */

import { checkInteger, wrongType } from '../base/check';
import { MAX_ROWS } from './distinct/distinct-codes';
import type { Id } from './id-table';

export type Filter<I extends Id = Id> =
  | ((id: I, row: number) => boolean)
  | Uint32Array
  | readonly number[]
  | ReadonlySet<number>;

export interface RowFilter {
  accepts(row: number): boolean;
  /** The rows themselves, ascending, where a set is given. */
  readonly rows: readonly number[] | null;
}

export function checkFilter(filter: unknown, idOf: (row: number) => Id): RowFilter | null {
  if (filter === undefined) return null;
  if (typeof filter === 'function') {
    return { accepts: (row) => Boolean(filter(idOf(row), row)), rows: null };
  }
  const isRows = filter instanceof Set || filter instanceof Uint32Array || Array.isArray(filter);
  if (!isRows) throw wrongType('filter', 'a function, or rows as an array or a Set', filter);
  const allowed = new Set<number>();
  for (const row of filter as Iterable<unknown>) {
    allowed.add(checkInteger('a row of filter', row, 0, MAX_ROWS));
  }
  return { accepts: (row) => allowed.has(row), rows: [...allowed].sort((a, b) => a - b) };
}
