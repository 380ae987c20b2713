/** Typed arrays: growth, joining, prefix sums, comparison, binary search; and bitmaps. */

import { type Ids, wrongType, wrongValue } from './check';

/**
 * A copy of `values` followed by zeros, `length` elements in all: by default twice as many as
 * before. A `length` below that of `values` throws.
 */
export function grown<T extends ArrayLike<number> & { set(values: ArrayLike<number>): void }>(
  values: T,
  length = 2 * values.length,
): T {
  const copy = new (values.constructor as new (length: number) => T)(length);
  copy.set(values);
  return copy;
}

/** Places `first` to `end - 1`. */
export interface Range {
  readonly first: number;
  readonly end: number;
}

/** The index of the first of ascending values that is at least `least`; their count if none is. */
export function lowerBound(values: ArrayLike<number>, least: number): number;
export function lowerBound(values: ArrayLike<bigint>, least: bigint): number;
export function lowerBound<T extends number | bigint>(values: ArrayLike<T>, least: T): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The last of some runs that begins at a place or before it; the first begins at 0. */
export function runOf(starts: ArrayLike<number>, place: number): number {
  return lowerBound(starts, place + 1) - 1;
}

/** Copies all parts, which have one type, into one array; without parts an empty Uint8Array. */
export function concatenated<T extends ArrayBufferView & { readonly length: number }>(
  parts: readonly T[],
): T {
  // Node's Buffer is a Uint8Array too, but `new Buffer(length)` is deprecated.
  const isOfBytes = parts.length === 0 || parts[0] instanceof Uint8Array;
  const Type = (isOfBytes ? Uint8Array : parts[0].constructor) as Uint8ArrayConstructor;
  const all = new Type(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part as unknown as Uint8Array, at);
    at += part.length;
  }
  return all as unknown as T;
}

/** The next multiple of 8: buffers of files and memories are padded to it. */
export function padded(count: number): number {
  return Math.ceil(count / 8) * 8;
}

/** The numbers 0 to `count - 1`. A loop, since `Uint32Array.from` takes ten times as long. */
export function ascending(count: number): Uint32Array<ArrayBuffer> {
  const numbers = new Uint32Array(count);
  for (let i = 0; i < count; i++) numbers[i] = i;
  return numbers;
}

/**
 * Replaces the size of each group, in place, by where the group starts when all lie one after
 * another (an exclusive prefix sum). Returns the sum of the sizes, which must be below 2^32.
 */
export function toStarts(counts: Uint32Array): number {
  let sum = 0;
  for (let i = 0; i < counts.length; i++) {
    const count = counts[i];
    counts[i] = sum;
    sum += count;
  }
  return sum;
}

/**
 * Positions by group, of `count` groups, by a counting sort: those of group g, ascending, are
 * `members[starts[g]]` to `members[starts[g + 1] - 1]`. Positions of a larger group are left out.
 */
export function byGroup(groupOf: ArrayLike<number>, count: number) {
  const starts = new Uint32Array(count + 1);
  for (let i = 0; i < groupOf.length; i++) if (groupOf[i] < count) starts[groupOf[i]]++;
  const members = new Uint32Array(toStarts(starts));
  const next = starts.slice();
  for (let i = 0; i < groupOf.length; i++) if (groupOf[i] < count) members[next[groupOf[i]]++] = i;
  return { starts, members };
}

/**
 * A string that is equal for equal bytes alone, as a key of a Map: of 32 bytes in half the time of
 * `join`. At most 65,535 bytes, since calls have limited arguments.
 */
export function keyOfBytes(bytes: Uint8Array): string {
  return String.fromCharCode.apply(null, bytes as unknown as number[]);
}

/** Copies the values at some indices, in their order. By a loop, since `map` takes longer. */
export function valuesAt<T extends Int32Array | Uint32Array>(values: T, indices: Uint32Array): T {
  const some = new (values.constructor as new (length: number) => T)(indices.length);
  for (let i = 0; i < indices.length; i++) some[i] = values[indices[i]];
  return some;
}

/** Copies the ids of some rows, in the order of `rows`, to an array of the type of `ids`. */
export function idsAt(ids: Ids, rows: Uint32Array): Ids {
  if (Array.isArray(ids)) return Array.from(rows, (row) => ids[row]);
  return valuesAt(ids as Int32Array, rows);
}

// Validity bitmaps have Arrow's layout: bit r, lowest first in its byte, is 0 where row r is null.
// Without a bitmap (null or undefined) no row is null.

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
