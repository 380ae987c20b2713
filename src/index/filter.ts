/**
 * Filters: which rows a search may return. A function is asked for each row that is near enough;
 * the rows of a short list are compared one by one.
 */

import { checkAttached, checkInteger, wrongType } from '../base/check';
import { type Id, MAX_ROWS } from './ids';

/** Which rows a search may return: those that a function accepts, or those of a set of rows. */
export type Filter<I extends Id = Id> =
  | ((id: I, row: number) => boolean)
  | Uint32Array
  | readonly number[]
  | ReadonlySet<number>;

/** A checked filter, which accepts rows one by one. */
export interface RowFilter {
  accepts(row: number): boolean;
  /** True if `accepts` calls a function of the user, which may start another search. */
  readonly isUserCode: boolean;
  /** The allowed rows, ascending, each once; null where a function decides. */
  readonly rows: readonly number[] | null;
}

/**
 * Checks a filter and copies its rows; null without one. A function of the user is called by `ask`,
 * which must refuse changes of the index meanwhile (`IndexCore.accepts`).
 */
export function checkFilter(
  filter: unknown,
  ask: (filter: (id: Id, row: number) => unknown, row: number) => boolean,
): RowFilter | null {
  if (filter === undefined) return null;
  if (typeof filter === 'function') {
    const accepts = (row: number) => ask(filter as (id: Id) => unknown, row);
    return { accepts, isUserCode: true, rows: null };
  }
  const isRows = filter instanceof Set || filter instanceof Uint32Array || Array.isArray(filter);
  if (!isRows) throw wrongType('filter', 'a function, or rows as an array or a Set', filter);
  checkAttached('filter', filter);
  const allowed = new Set<number>();
  for (const row of filter as Iterable<unknown>) {
    allowed.add(checkInteger('a row of filter', row, 0, MAX_ROWS));
  }
  const rows = [...allowed].sort((a, b) => a - b);
  return { accepts: (row) => allowed.has(row), isUserCode: false, rows };
}
