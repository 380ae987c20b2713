/**
 * Validity bitmaps in Arrow's layout: bit r, lowest first in its byte, is 0 where row r is null.
 * Without a bitmap (null or undefined) no row is null.
 */

import { wrongType, wrongValue } from './check';

/** Throws unless `validity` is absent or has a bit for each of `count` rows, or more bits. */
export function checkValidity(validity: unknown, count: number): void {
  if (validity === undefined || validity === null) return;
  if (!(validity instanceof Uint8Array)) throw wrongType('validity', 'a Uint8Array', validity);
  if (validity.length * 8 < count) {
    throw wrongValue('validity', `a bit for each of ${count} rows`, `${validity.length} bytes`);
  }
}

/** True where row `row` is not null. Checks no bounds. */
export function isValid(validity: Uint8Array | null | undefined, row: number): boolean {
  return !validity || bitAt(validity, row);
}

/** True where bit `at` is 1. Checks no bounds; `at` is below 2^31. */
export function bitAt(bits: Uint8Array, at: number): boolean {
  return ((bits[at >> 3] >> (at & 7)) & 1) === 1;
}

/** Makes a bitmap of `count` bits; calls `isSet` once for each row, in order. Unused bits are 0. */
export function bitmapOf(count: number, isSet: (row: number) => boolean): Uint8Array<ArrayBuffer> {
  const bits = new Uint8Array(Math.ceil(count / 8));
  for (let row = 0; row < count; row++) if (isSet(row)) bits[row >> 3] |= 1 << (row & 7);
  return bits;
}

/** Copies the bits of rows `first` to `end - 1`, from bit 0 on; an absent bitmap stays absent. */
export function bitsOf<T extends null | undefined>(
  validity: Uint8Array | T,
  first: number,
  end: number,
): Uint8Array | T {
  return validity && bitmapOf(end - first, (i) => bitAt(validity, first + i));
}

/** Counts the nulls among the first `count` rows. */
export function countNulls(validity: Uint8Array | null | undefined, count: number): number {
  let nulls = 0;
  for (let row = 0; validity && row < count; row++) if (!bitAt(validity, row)) nulls++;
  return nulls;
}
