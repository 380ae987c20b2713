/**
 * Validity bitmaps in Arrow's layout: bit r, lowest first in its byte, is 0 where row r is null.
 */

import { wrongType, wrongValue } from './check';

/** Fails unless `validity` has a bit for each of `count` rows, or is absent. */
export function checkValidity(validity: unknown, count: number): void {
  if (validity === undefined || validity === null) return;
  if (!(validity instanceof Uint8Array)) throw wrongType('validity', 'a Uint8Array', validity);
  if (validity.length * 8 < count) {
    throw wrongValue('validity', `a bit for each of ${count} rows`, `${validity.length} bytes`);
  }
}

/** True where row `row` is not null; without a bitmap no row is. */
export function isValid(validity: Uint8Array | null | undefined, row: number): boolean {
  return !validity || ((validity[row >> 3] >> (row & 7)) & 1) === 1;
}
