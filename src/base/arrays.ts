/** Typed arrays that grow, joined ones, numbers in order, and binary search in ascending ones. */

/** A copy of an array with zeros after its values, `length` elements in all or twice as many. */
export function grown<T extends Uint16Array | Uint32Array | Float32Array | Float64Array>(
  values: T,
  length = 2 * values.length,
): T {
  const copy = new (values.constructor as new (length: number) => T)(length);
  copy.set(values);
  return copy;
}

/** The values that pass, as `filter` gives them: in less time where they are few. */
export function whereOf(values: Uint32Array, passes: (value: number) => boolean): Uint32Array {
  const kept = new Uint32Array(values.length);
  let count = 0;
  for (const value of values) if (passes(value)) kept[count++] = value;
  return kept.subarray(0, count);
}

/** The index of the first value that is not below `least`, in ascending values. */
export function lowerBound(values: Uint32Array, least: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** One array of all parts, a copy; of bytes where there are none. */
export function concatenated<T extends ArrayBufferView & { readonly length: number }>(
  parts: readonly T[],
): T {
  // A Buffer is an array of bytes too, but none is made by its constructor.
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

/** The numbers from 0 to `count - 1`, in a loop: `from` takes ten times as long. */
export function ascending(count: number): Uint32Array<ArrayBuffer> {
  const numbers = new Uint32Array(count);
  for (let i = 0; i < count; i++) numbers[i] = i;
  return numbers;
}

/** Replaces counts by where their groups start in one array of all; returns the sum. */
export function toStarts(counts: Uint32Array): number {
  let sum = 0;
  for (let i = 0; i < counts.length; i++) {
    const count = counts[i];
    counts[i] = sum;
    sum += count;
  }
  return sum;
}

/** Whether two arrays have the same bytes. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
