/** The ids of an index's rows: what they are, and how many rows there can be. */

/** The name of a row: all rows of an index have ids of one kind. */
export type Id = string | number | bigint;

/** The kind of an index's ids, which the first added rows decide: 'row' if they had none. */
export type IdKind = 'row' | 'number' | 'bigint' | 'string';

/**
 * An id as an index with ids of this kind holds it: up to 2^53 an integer is the same id as a
 * number and as a bigint. Null where no row of such an index can have the id.
 */
export function idOfKind(id: Id, kind: IdKind | null): Id | null {
  if (kind === null) return null;
  if (kind === 'string' || typeof id === 'string') return typeof id === kind ? id : null;
  if (typeof id === 'number') {
    if (!Number.isSafeInteger(id)) return null;
    return kind === 'bigint' ? BigInt(id) : id;
  }
  if (typeof id !== 'bigint') return null; // as a caller without types may give
  if (kind === 'bigint') return BigInt.asIntN(65, id) === id ? id : null;
  const number = Number(id);
  return Number.isSafeInteger(number) ? number : null;
}

/** Most rows of an index: larger 32-bit numbers have other meanings. */
export const MAX_ROWS = 0xffff_fff0;
