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
  return !validity || bitAt(validity, row);
}

/** True where bit `at` is 1. */
export function bitAt(bits: Uint8Array, at: number): boolean {
  return ((bits[at >> 3] >> (at & 7)) & 1) === 1;
}

/** A bitmap of `count` bits, each asked for once, in order; unused ones are 0. */
export function bitmapOf(count: number, isSet: (row: number) => boolean): Uint8Array<ArrayBuffer> {
  const bits = new Uint8Array(Math.ceil(count / 8));
  for (let row = 0; row < count; row++) if (isSet(row)) bits[row >> 3] |= 1 << (row & 7);
  return bits;
}

/** The bits of rows `first` to `end - 1`, from bit 0 on; null where there is no bitmap. */
export function bitsOf<T extends null | undefined>(
  validity: Uint8Array | T,
  first: number,
  end: number,
): Uint8Array | T {
  return validity && bitmapOf(end - first, (i) => bitAt(validity, first + i));
}

/** How many of the first `count` rows are null. */
export function countNulls(validity: Uint8Array | null | undefined, count: number): number {
  let nulls = 0;
  for (let row = 0; validity && row < count; row++) if (!bitAt(validity, row)) nulls++;
  return nulls;
}
