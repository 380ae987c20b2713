/** Typed arrays: growth, joining, filtering, prefix sums, comparison and binary search. */

/**
 * A copy of `values` followed by zeros, `length` elements in all: by default twice as many as
 * before. A `length` below that of `values` throws.
 */
export function grown<
  T extends Uint8Array | Uint16Array | Int32Array | Uint32Array | Float32Array | Float64Array,
>(values: T, length = 2 * values.length): T {
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
 * A string that is equal for equal bytes alone, as a key of a Map: of 32 bytes in half the time of
 * `join`. At most 65,535 bytes, since calls have limited arguments.
 */
export function keyOfBytes(bytes: Uint8Array): string {
  return String.fromCharCode.apply(null, bytes as unknown as number[]);
}
