/**
 * The input of k-means: rows as points of one common length in float64, read in blocks that integer
 * products can compare. Only the function that makes the points knows their source (vectors, codes
 * or integers).
 */

import { ascending } from '../base/arrays';
import { Arena } from '../kernels/memory';
import { integerWidth, UNIT } from '../kernels/products';
import { lengthOf } from '../vectors/vectors';

export interface Points {
  /** Rows that have a direction, ascending. Null, removed and all-zero rows have none. */
  readonly rows: Uint32Array;
  /** Number of all rows, with or without a direction. */
  readonly rowCount: number;
  readonly dimensions: number;
  /** Length of every point: 1, the root of the bits for codes of ±1, about UNIT for integers. */
  readonly length: number;
  /**
   * The points of all rows where they are integers already, `integerWidth(dimensions)` each: read
   * in place, not copied.
   */
  readonly integers?: Int16Array;
  /** Writes the point of a row to `out[at]..`. */
  into(row: number, out: Float64Array, at: number): void;
}

/**
 * Integer vectors of one length, one after another, padded to `integerWidth(dimensions)`, as points
 * that are not copied.
 */
export function integerPoints(
  integers: Int16Array,
  dimensions: number,
  length: number = UNIT,
): Points {
  const width = integerWidth(dimensions);
  const rowCount = integers.length / width;
  return {
    rowCount,
    dimensions,
    length,
    integers,
    rows: ascending(rowCount),
    into(row, out, at) {
      for (let i = 0; i < dimensions; i++) out[at + i] = integers[row * width + i];
    },
  };
}

/** Space for integer vectors, all 0, in a new WebAssembly memory that kernels read in place. */
export function allocateIntegers(count: number, width: number): Int16Array {
  const arena = new Arena(2 * (count + 3) * width, true); // the kernel reads up to three more
  return new Int16Array(arena.bytes.buffer, arena.bytes.byteOffset, count * width);
}

/** Writes a vector of length `length`, scaled to UNIT and rounded, to `out[at]..`; 0 stays 0. */
export function roundInto(
  vector: ArrayLike<number>,
  length: number,
  out: Int16Array,
  at: number,
): void {
  const scale = length > 0 ? UNIT / length : 0;
  // By `Math.floor`, since `Math.round` is much slower.
  for (let i = 0; i < vector.length; i++) out[at + i] = Math.floor(vector[i] * scale + 0.5);
}

/** A block of points next to each other, as float64 and rounded for integer products. */
export class PointBlock {
  /** Largest number of points of a block. */
  readonly capacity: number;
  /** Values of a rounded point, padding included. */
  readonly width: number;
  readonly #points: Points;
  readonly #values: Float64Array;
  readonly #rounded: Int16Array;
  /** The points taken last, which need not be read again. */
  #taken: { readonly rows: Uint32Array; readonly first: number } | null = null;
  /** The first row taken, where points are integers. */
  #firstRow = 0;

  constructor(points: Points, capacity: number) {
    const copied = points.integers === undefined ? capacity : 0;
    this.#points = points;
    this.capacity = capacity;
    this.width = integerWidth(points.dimensions);
    this.#values = new Float64Array(copied * points.dimensions);
    this.#rounded = new Int16Array(copied * this.width);
  }

  /**
   * Takes the points of `rows[first]..`, as many as fit; returns their number. Integer points are
   * not copied, so their rows must be consecutive.
   */
  take(rows: Uint32Array, first: number): number {
    const { dimensions, integers } = this.#points;
    const count = Math.min(this.capacity, rows.length - first);
    if (integers !== undefined) {
      this.#firstRow = rows[first];
      return count;
    }
    if (this.#taken?.rows === rows && this.#taken.first === first) return count;
    for (let i = 0; i < count; i++) {
      this.#points.into(rows[first + i], this.#values, i * dimensions);
    }
    this.#taken = { rows, first };
    return count;
  }

  /** The dot product of the i-th point and the vector that begins at `others[at]`. */
  dot(i: number, others: Float64Array, at: number): number {
    return dot(...this.#placeOf(i), others, at, this.#points.dimensions);
  }

  /** Adds the i-th point to sum number `sum`. */
  addTo(sums: Float64Array, sum: number, i: number): void {
    const { dimensions } = this.#points;
    const [values, from] = this.#placeOf(i);
    const to = sum * dimensions;
    for (let j = 0; j < dimensions; j++) sums[to + j] += values[from + j];
  }

  /** The values of the i-th point, and where they begin. */
  #placeOf(i: number): [Int16Array | Float64Array, number] {
    const { dimensions, integers } = this.#points;
    if (integers === undefined) return [this.#values, i * dimensions];
    return [integers, (this.#firstRow + i) * this.width];
  }

  /** The first `count` points at length UNIT; valid until the next points are taken. */
  rounded(count: number): Int16Array {
    const { dimensions, length, integers } = this.#points;
    const { width } = this;
    if (integers !== undefined) {
      return integers.subarray(this.#firstRow * width, (this.#firstRow + count) * width);
    }
    const values = this.#values;
    const rounded = this.#rounded;
    const scale = UNIT / length;
    for (let i = 0, from = 0; i < count; i++) {
      const to = i * width;
      for (let j = 0; j < dimensions; j++) {
        rounded[to + j] = Math.floor(values[from++] * scale + 0.5); // as in `roundInto`
      }
    }
    return rounded.subarray(0, count * width);
  }
}

/** The dot product of `dimensions` values from `a[aAt]` and `b[bAt]` on, added in order. */
export function dot(
  a: Int16Array | Float64Array,
  aAt: number,
  b: Float64Array,
  bAt: number,
  dimensions: number,
): number {
  let sum = 0;
  for (let i = 0; i < dimensions; i++) sum += a[aAt + i] * b[bAt + i];
  return sum;
}

const MAX_BYTE = 127;
/** Above the magnitude of all values, so that cutting off digits rounds down. */
const ABOVE = 2 ** 16;

/**
 * Rounds vectors of `width` values in place, and scales them to a length near `length` unless they
 * are all zero. Rounds by a quotient of integers, in a third of the time of `Math.round`.
 */
export function roundToByteRows(values: Int16Array, width: number, length: number): void {
  const bytes = new Int8Array(width);
  for (let row = 0; row < values.length; row += width) {
    let peak = 0;
    for (let i = 0; i < width; i++) peak = Math.max(peak, Math.abs(values[row + i]));
    if (peak === 0) continue;
    for (let i = 0; i < width; i++) bytes[i] = Math.round((values[row + i] * MAX_BYTE) / peak);
    const twice = 2 * Math.round((MAX_BYTE * length) / lengthOf(bytes));
    for (let i = 0; i < width; i++) {
      const sum = (bytes[i] * twice + MAX_BYTE + 2 * MAX_BYTE * ABOVE) | 0;
      values[row + i] = ((sum / (2 * MAX_BYTE)) | 0) - ABOVE;
    }
  }
}
