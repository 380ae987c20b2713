/**
 * Dot products of points: vectors of length 1 as integers of 7 bits and a scale. Sums of integers
 * are exact and all else is float32, so every engine gives equal numbers. Rows in a separate linear
 * memory are read in place; others are copied, as are those of any memory where the vectors are too
 * wide for its scratch space. Where the engine has it, an instruction multiplies bytes: twice as
 * fast.
 */

import { byGroup, padded, type Range, runOf, toStarts } from '../base/arrays';
import type { RowValues } from './dots';
import {
  Arena,
  FREE_START,
  type LinearMemory,
  memoryOf,
  registered,
  SCAN_BYTES,
  Stage,
  scratch,
} from './memory';
import { type ProductsKernels, productsModule } from './products.generated';
import { relaxedModule } from './relaxed.generated';

const modules = /* @__PURE__ */ [registered(relaxedModule), registered(productsModule)] as const;

/** This thread's kernels over a memory: of the first module that the engine compiles. */
function kernelsOf(memory: LinearMemory): ProductsKernels {
  memory.products ??= memory.instanceOf(...modules) as unknown as ProductsKernels;
  return memory.products;
}

/**
 * Points, one after another, of `width` bytes each: values, padded by zeros to a multiple of 16,
 * and TAIL bytes that begin with the scale (float32), 64 times the sum of the values (int32) and
 * the error (float32).
 */
export interface PointRows {
  readonly values: Int8Array;
  readonly width: number;
}

/** Rows, one after another, and their lengths: 0 of a row that is not there. */
export interface RowsOfLengths<Values extends RowValues = Float32Array | Int8Array> {
  readonly values: Values;
  readonly lengths: Float64Array;
  readonly dimensions: number;
}

/** Bytes of a point behind its values. */
const TAIL = 16;
/** The largest magnitude of a value, less where sums of so many would exceed 32 bits. */
export const MOST = 63;
const MOST_SUM = 2 ** 24;
/** The same of rows that are only compared with vectors: more than these may have. */
export const MOST_OF_ROWS = 127;
/** More than products in float32 are off by. */
const ROUNDING = 1e-5;
/** Rows whose products with one query are computed in one call. */
const ROWS_OF_ONE = 4096;
/** Bytes of the counts of `orderInto`. */
const ORDER_BYTES = 4096;
/** Rows that a kernel takes together. */
const BLOCK = 64;
/** Bytes of rows that are rounded in one call. */
const ROUNDED_BYTES = 2 ** 19;
/** Vectors that are compared in one call: those that fit the scratch space, and at most so many. */
const MAX_VECTORS = 1024;
const VECTORS_BYTES = SCAN_BYTES - 2 ** 17;
/** Rows that one call adds in float32. */
const MAX_ADDED = 2 ** 10;
/** Products that one call may find to be high. */
const MAX_HIGH = 2 ** 19;
/** The length of a single row that is there. */
const ONE = /* @__PURE__ */ Float64Array.of(1);
/** Below all products. */
const NONE = -2;
const MAX_BYTE = 127;
/** By what products of rows with each other grow. */
const PAIRS_GROWTH = 1.25;

/** Bytes of a point of so many dimensions. */
export function pointWidth(dimensions: number): number {
  return 16 * Math.ceil(dimensions / 16) + TAIL;
}

/** The values of a point, padding included. */
export function valuesIn(width: number): number {
  return width - TAIL;
}

/** The largest magnitude of values of a point, which is `most` or less. */
function mostOf(dimensions: number, most = MOST): number {
  return Math.max(1, Math.min(most, Math.floor(MOST_SUM / dimensions)));
}

/** Where the scale and the sum of the point at `at` are. */
function tailOf({ buffer, byteOffset }: Int8Array, at: number, width: number): DataView {
  return new DataView(buffer, byteOffset + at + width - TAIL, TAIL);
}

/** The value of one step of the point at `at`. */
export function scaleOf(points: Int8Array, at: number, width: number): number {
  return tailOf(points, at, width).getFloat32(0, true);
}

/** By how much a product differs at most from that of the vectors, for each of its two points. */
export function errorOf(points: Int8Array, at: number, width: number): number {
  return tailOf(points, at, width).getFloat32(8, true);
}

/** Writes the tail of the point at `at`, whose values are written and exact. */
export function endPoint({ values, width }: PointRows, at: number): void {
  let sum = 0;
  let square = 0;
  for (let i = at; i < at + width - TAIL; i++) {
    sum += values[i];
    square += values[i] * values[i];
  }
  const tail = tailOf(values, at, width);
  tail.setFloat32(0, square > 0 ? 1 / Math.sqrt(square) : 0, true);
  tail.setInt32(4, 64 * sum, true);
  tail.setFloat32(8, width < MOST_SUM ? ROUNDING : 2, true);
}

/** Writes a vector as a point to the values from `at` on. */
export function roundInto(vector: Float64Array, { values }: PointRows, at: number): void {
  values.set(pointsOf({ values: vector, lengths: ONE, dimensions: vector.length }), at);
}

/** The product of two points that begin at `aAt` and `bAt`. */
export function product(
  a: Int8Array,
  aAt: number,
  b: Int8Array,
  bAt: number,
  width: number,
): number {
  let sum = 0;
  for (let i = 0; i < width - TAIL; i++) sum += a[aAt + i] * b[bAt + i];
  const { fround } = Math;
  return fround(fround(fround(sum) * scaleOf(a, aAt, width)) * scaleOf(b, bAt, width));
}

/** The next multiple of 4: kernels take rows four at a time. */
const inFours = (count: number) => (count + 3) & ~3;

/** Bytes that a kernel needs for a block of rows, with products of two vectors. */
const workBytes = (width: number) => BLOCK * (16 + 2 * width);

/** Rows in groups: group g has `starts[g]` to `starts[g + 1] - 1`. */
export interface Groups {
  readonly starts: Uint32Array;
  /** The groups with whose rows vectors are compared, as many of each, one after another. */
  readonly near: Uint32Array;
}

/** Rows of high products: those of vector i end at `ends[i]`. */
export interface HighRows {
  readonly ends: Uint32Array;
  readonly places: Uint32Array;
}

/** How many vectors one call compares with rows: their number for this width. */
export function vectorsAtOnce(width: number): number {
  return Math.max(8, Math.min(MAX_VECTORS, Math.floor(VECTORS_BYTES / (3 * width + 64))));
}

export const productsKernel = {
  /** Writes the product of each row with the query to `out`, in order of row. */
  productsInto(rows: PointRows, query: Int8Array, out: Float32Array): void {
    const { width } = rows;
    const count = rows.values.length / width;
    const { memory, at, free } = placed(rows, 3 * width + 4 * ROWS_OF_ONE + 64);
    const stage = new Stage(memory, free);
    const kernels = kernelsOf(memory);
    const vector = addVectors(stage, kernels, query, width);
    const outAt = stage.space(4 * ROWS_OF_ONE);
    for (let row = 0; row < count; row += ROWS_OF_ONE) {
      const here = Math.min(ROWS_OF_ONE, count - row);
      kernels.productsInto(at + row * width, here, vector, width, outAt);
      out.set(new Float32Array(memory.bytes.buffer, outAt, here), row);
    }
  },

  /**
   * Writes the rows of the largest products with a query, of those in some ranges, to `order`, and
   * these products to `products`. The order is coarse: by the difference from the largest product,
   * in at most 1,024 steps of equal width, then by place in the ranges.
   */
  orderInto(
    rows: PointRows,
    ranges: readonly Range[],
    query: Int8Array,
    order: Uint32Array,
    products: Float32Array,
  ): void {
    const { width } = rows;
    const count = rows.values.length / width;
    const room = inFours(count) + 4;
    const { memory, at, free } = placed(rows, ORDER_BYTES + 8 * room + 3 * width + 64);
    const kernels = kernelsOf(memory);
    const { bytes } = memory;
    const stage = new Stage(memory, free);
    const vector = addVectors(stage, kernels, query, width);
    const countsAt = stage.space(ORDER_BYTES);
    const productsAt = stage.space(4 * room);
    const orderAt = stage.space(4 * room);
    const starts: number[] = [];
    let done = 0;
    for (const { first, end } of ranges) {
      starts.push(done);
      // Up to three products behind a range are of other rows: those of the next one replace them.
      const out = productsAt + 4 * done;
      kernels.productsInto(at + first * width, end - first, vector, width, out);
      done += end - first;
    }
    kernels.orderInto(productsAt, done, order.length, countsAt, orderAt);
    const places = new Uint32Array(bytes.buffer, orderAt, order.length);
    const all = new Float32Array(bytes.buffer, productsAt, done);
    for (let i = 0; i < places.length; i++) {
      const range = runOf(starts, places[i]);
      order[i] = ranges[range].first + places[i] - starts[range];
      products[i] = all[places[i]];
    }
  },

  /**
   * For each vector the row of the largest product among the rows of its groups, of equal ones the
   * first; 0 where they have no rows. At most `vectorsAtOnce` vectors, here and below.
   */
  nearest(rows: PointRows, vectors: Int8Array, groups: Groups): Uint32Array {
    const { width } = rows;
    const all = new Grouped(rows, vectors, groups, 0);
    const { count, each, kernels, work } = all;
    const largest = all.add(new Float32Array(count).fill(NONE));
    const nearest = all.add(new Uint32Array(count));
    all.eachGroup((at, size, first, list) => {
      kernels.nearestRows(at, size, first, ...list, each, width, largest, nearest, work);
    });
    return numbersAt(all.memory, nearest, count);
  },

  /**
   * For each vector the `most` rows of the largest products, of equal ones the first, as one list
   * after another.
   */
  nearestLists(rows: PointRows, vectors: Int8Array, most: number): Uint32Array {
    const length = (most * vectors.length) / rows.width;
    const groups = oneGroup(rows, vectors);
    const bytes = bytesOfLargest(groups.starts);
    const all = new Grouped(rows, vectors, groups, bytes * groups.near.length + 4 * length);
    const [products, out] = [all.space(bytes * all.count), all.space(4 * length)];
    all.productsInto(products, bytes);
    all.kernels.largestLists(products, bytes, all.count, most, out);
    return numbersAt(all.memory, out, length);
  },

  /** Adds the listed rows to `sums`, by sums in float32 of some hundreds of them. */
  addRows(rows: PointRows, list: Uint32Array, sums: Float64Array): void {
    const { width } = rows;
    for (let first = 0; first < list.length; first += MAX_ADDED) {
      const some = list.subarray(first, first + MAX_ADDED);
      const { memory, at, free } = placed(rows, some.byteLength + 4 * width + 16);
      const stage = new Stage(memory, free);
      const [listAt, out] = [stage.add(some), stage.space(4 * width)];
      kernelsOf(memory).sumRows(at, listAt, some.length, width, out);
      const found = new Float32Array(memory.bytes.buffer, out, width);
      for (let i = 0; i < sums.length; i++) sums[i] += found[i];
    }
  },

  /**
   * The rows whose product with a vector, and the error of the row, are at least the vector's entry
   * of `least`: those of vector i, ascending, end at `ends[i]`.
   */
  highRows(rows: PointRows, vectors: Int8Array, least: Float32Array): HighRows {
    const { values, width } = rows;
    const count = values.length / width;
    const ends = new Uint32Array(least.length);
    const most = vectorsAtOnce(width);
    const found: Uint32Array[] = [];
    const here = inFours(Math.ceil(MAX_HIGH / Math.min(most, least.length)));
    for (let vector = 0; vector < least.length; vector += most) {
      const some = vectors.subarray(vector * width, (vector + most) * width);
      const bounds = least.subarray(vector, vector + most);
      for (let row = 0; row < count; row += here) {
        const own = { values: values.subarray(row * width, (row + here) * width), width };
        const high = highOf(own, some, bounds);
        for (let i = 0; i < high.length; i += 2) {
          high[i] += vector;
          high[i + 1] += row;
          ends[high[i]]++;
        }
        found.push(high);
      }
    }
    const places = new Uint32Array(toStarts(ends));
    for (const high of found) {
      for (let i = 0; i < high.length; i += 2) places[ends[high[i]]++] = high[i + 1];
    }
    return { ends, places };
  },
};

/** Rows as points, of values up to `highest`; zeros of a row without a length. */
export function pointsOf(
  { values, lengths, dimensions }: RowsOfLengths<RowValues>,
  highest = MOST,
): Int8Array {
  const width = pointWidth(dimensions);
  const points = new Int8Array(lengths.length * width);
  const type = values.BYTES_PER_ELEMENT;
  const bytesOfRow = type * dimensions;
  const most = Math.ceil(ROUNDED_BYTES / (bytesOfRow + width + 8));
  for (let first = 0; first < lengths.length; first += most) {
    const own = lengths.subarray(first, first + most);
    const bytes = own.length * bytesOfRow;
    const some = new Int8Array(values.buffer, values.byteOffset + first * bytesOfRow, bytes);
    const rows = { values: some, width: bytesOfRow };
    const { memory, at, free } = placed(rows, own.length * (width + 8) + 8);
    const stage = new Stage(memory, free);
    const [lengthsAt, out] = [stage.add(own), stage.space(own.length * width)];
    const level = mostOf(dimensions, highest);
    kernelsOf(memory).roundRows(type, at, own.length, dimensions, lengthsAt, level, width, out);
    points.set(new Int8Array(memory.bytes.buffer, out, own.length * width), first * width);
  }
  return points;
}

/** Pairs of a vector and a row of a high product, of few rows. */
function highOf(rows: PointRows, vectors: Int8Array, least: Float32Array): Uint32Array {
  const { values, width } = rows;
  const count = values.length / width;
  const most = 8 * count * least.length;
  const byteLength = 4 * vectors.length + 4 * least.length + workBytes(width) + most + 64;
  const { memory, at, free } = placed(rows, byteLength);
  const [stage, kernels] = [new Stage(memory, free), kernelsOf(memory)];
  const vectorsAt = addVectors(stage, kernels, vectors, width);
  const bounds = stage.add(least);
  const [work, out] = [stage.space(workBytes(width)), stage.space(most)];
  const given = [at, count, vectorsAt, least.length, width] as const;
  const end = kernels.highRows(...given, bounds, work, out);
  return numbersAt(memory, out, (end - out) / 4);
}

/**
 * Rows in groups, and their products with each other as bytes: of rows that are the own ones of
 * vectors with those of the groups of these vectors, made when they are first needed.
 */
export class PairedRows {
  readonly #width: number;
  readonly #starts: Uint32Array;
  readonly #count: number;
  readonly #groups: number;
  /** The rows, by row and group the address of its products with the group, and these products. */
  readonly #arena: Arena;
  #byteLength: number;
  /** Where in the arena vectors have their products with the rows of their groups. */
  #productsAt = 0;
  #productBytes = 0;

  /** Group g has rows `starts[g]` to `starts[g + 1] - 1`. */
  constructor({ values, width }: PointRows, starts: Uint32Array) {
    this.#width = width;
    this.#starts = starts;
    this.#groups = starts.length - 1;
    this.#count = values.length / width;
    this.#byteLength = this.#tableAt + 4 * this.#count * this.#groups;
    this.#arena = new Arena(this.#byteLength);
    this.#rows.values.set(values);
  }

  /** Kernels may read three more rows. */
  get #tableAt(): number {
    return (this.#count + 3) * this.#width;
  }

  get #rows(): PointRows {
    const { buffer, byteOffset } = this.#arena.bytes;
    const width = this.#width;
    return { values: new Int8Array(buffer, byteOffset, this.#count * width), width };
  }

  get #table(): Uint32Array {
    const { buffer, byteOffset } = this.#arena.bytes;
    return new Uint32Array(buffer, byteOffset + this.#tableAt, this.#count * this.#groups);
  }

  /** The address of new space in the arena. */
  #space(byteLength: number): number {
    const from = this.#byteLength;
    this.#byteLength += byteLength;
    const { length } = this.#arena.bytes;
    if (this.#byteLength > length) {
      this.#arena.reserve(Math.max(this.#byteLength, Math.floor(PAIRS_GROWTH * length)));
    }
    return this.#arena.bytes.byteOffset + from;
  }

  /**
   * For each vector, of the rows of its `most` nearest groups, that of the largest product, of
   * equal ones the first of the nearest group; and a second one near it, in another direction: of
   * the others of all its groups the one of the least
   *
   *     |r'|^2 + 1.5 (r.r' / |r|)^2
   *
   * where r and r' are the differences of the vector from its own row and from this one, both rows
   * at half their length, in float32. A vector without another row has its own one twice. `near`
   * has as many groups of each vector, the nearest first. At most `vectorsAtOnce` vectors.
   */
  nearestTwo(
    vectors: Int8Array,
    near: Uint32Array,
    most: number,
  ): { own: Uint32Array; seconds: Uint32Array } {
    const starts = this.#starts;
    const pairBytes = bytesOfLargest(starts);
    const bytes = pairBytes * near.length;
    if (bytes > this.#productBytes) {
      this.#productBytes = bytes;
      this.#productsAt = this.#space(bytes);
    }
    const all = new Grouped(this.#rows, vectors, { starts, near }, pairBytes + 3 * this.#width);
    const { count, kernels } = all;
    const lists = all.productsInto(this.#productsAt, pairBytes);
    const largest = all.add(new Float32Array(count).fill(NONE));
    const nearest = all.add(new Uint32Array(count));
    kernels.largestOfGroups(...lists, most, largest, nearest);
    const own = numbersAt(all.memory, nearest, count);
    const work = [all.space(2 * this.#width), all.space(pairBytes)] as const;
    let table = this.#table;
    for (let i = 0; i < near.length; i++) {
      const row = own[Math.floor(i / all.each)];
      if (table[row * this.#groups + near[i]] !== 0) continue;
      this.#pair(row, near[i], all, work);
      table = this.#table; // the memory may have grown, which detaches views
    }
    const losses = all.add(new Float32Array(count).fill(Number.POSITIVE_INFINITY));
    const best = all.add(own);
    const given = [nearest, largest, table.byteOffset, this.#groups] as const;
    kernels.secondOfGroups(...lists, ...given, losses, best);
    return { own, seconds: numbersAt(all.memory, best, count) };
  }

  /** Makes the products of a row with those of a group; there is space for the row and for them. */
  #pair(
    row: number,
    group: number,
    { kernels }: Grouped,
    [vector, out]: readonly [vector: number, out: number],
  ): void {
    const width = this.#width;
    const [first, end] = [this.#starts[group], this.#starts[group + 1]];
    const at = this.#space(padded(end - first)); // kernels read some ahead
    const { buffer, byteOffset } = this.#arena.bytes;
    kernels.toVectors(byteOffset + row * width, 1, width, vector);
    kernels.productsInto(byteOffset + first * width, end - first, vector, width, out);
    const products = new Float32Array(buffer, out, end - first);
    const pairs = new Int8Array(buffer, at, products.length);
    for (let i = 0; i < products.length; i++) {
      pairs[i] = Math.floor(MAX_BYTE * products[i] + 0.5);
    }
    this.#table[row * this.#groups + group] = at;
  }
}

/** A copy of some numbers in a memory. */
function numbersAt(memory: LinearMemory, at: number, length: number): Uint32Array {
  return new Uint32Array(memory.bytes.buffer, at, length).slice();
}

/** All rows as one group, with which all vectors are compared. */
function oneGroup({ values, width }: PointRows, vectors: Int8Array): Groups {
  const starts = Uint32Array.of(0, values.length / width);
  return { starts, near: new Uint32Array(vectors.length / width) };
}

/**
 * Vectors and the rows of their groups in one memory: that of the rows where it has space for all,
 * else the scratch memory with a copy of the rows. More may be added.
 */
class Grouped extends Stage {
  readonly kernels: ProductsKernels;
  /** Space of a kernel for a block of rows. */
  readonly work: number;
  /** Vectors, and groups of each. */
  readonly count: number;
  readonly each: number;
  readonly #width: number;
  readonly #groups: Groups;
  readonly #rowsAt: number;
  readonly #vectorsAt: number;

  /** With space to add `more` bytes, and four numbers a vector. */
  constructor(rows: PointRows, vectors: Int8Array, groups: Groups, more: number) {
    const { width } = rows;
    const { starts, near } = groups;
    const count = vectors.length / width;
    const numbers = 2 * near.length + starts.length + 4 * count;
    const byteLength = 3 * vectors.length + 4 * numbers + workBytes(width) + more + 128;
    const { memory, at, free } = placed(rows, byteLength);
    super(memory, free);
    this.kernels = kernelsOf(memory);
    this.count = count;
    this.each = near.length / count;
    this.#width = width;
    this.#groups = groups;
    this.#rowsAt = at;
    this.#vectorsAt = addVectors(this, this.kernels, vectors, width);
    this.work = this.space(workBytes(width));
  }

  /**
   * Calls `visit` for each group that has rows and vectors: with the address, number and first of
   * its rows, the address of all vectors, and the address and number of the list of its own.
   */
  eachGroup(
    visit: (
      at: number,
      rows: number,
      first: number,
      list: readonly [number, number, number],
    ) => void,
  ): void {
    const { starts, near } = this.#groups;
    const { starts: firsts, members } = byGroup(near, starts.length - 1);
    const list = this.add(members);
    for (let group = 0; group + 1 < starts.length; group++) {
      const first = starts[group];
      const [size, listed] = [starts[group + 1] - first, firsts[group + 1] - firsts[group]];
      if (size === 0 || listed === 0) continue;
      const own = [this.#vectorsAt, list + 4 * firsts[group], listed] as const;
      visit(this.#rowsAt + first * this.#width, size, first, own);
    }
  }

  /**
   * Writes the products of vectors with the rows of their groups, in `bytes` bytes for each group,
   * to the address `products`. Returns what kernels need of them.
   */
  productsInto(products: number, bytes: number) {
    const { count, each, work } = this;
    this.eachGroup((at, rows, _, list) => {
      this.kernels.groupProducts(at, rows, ...list, each, this.#width, work, products, bytes);
    });
    const { near, starts } = this.#groups;
    return [products, bytes, count, each, this.add(near), this.add(starts)] as const;
  }
}

/** Bytes of the products of a vector with the rows of the largest group. */
function bytesOfLargest(starts: Uint32Array): number {
  let most = 0;
  for (let i = 1; i < starts.length; i++) most = Math.max(most, starts[i] - starts[i - 1]);
  return 4 * inFours(most);
}

/** The address of a copy of points as vectors. */
function addVectors(
  stage: Stage,
  kernels: ProductsKernels,
  points: Int8Array,
  width: number,
): number {
  const count = points.length / width;
  const at = stage.add(points);
  const vectors = stage.space(count * kernels.vectorBytes(width));
  kernels.toVectors(at, count, width, vectors);
  return vectors;
}

/**
 * A memory with rows from address `at` on, and with `workBytes` bytes from `free` on: the rows' own
 * where it has both, else the scratch memory with a copy. Kernels may read three more rows.
 */
function placed(
  { values, width }: PointRows,
  workBytes: number,
): { memory: LinearMemory; at: number; free: number } {
  const home = memoryOf(values);
  if (home !== undefined && workBytes <= SCAN_BYTES) {
    return { memory: home, at: values.byteOffset, free: home.free };
  }
  const at = FREE_START + ((workBytes + 15) & ~15);
  const memory = scratch(at - FREE_START + values.length + 3 * width);
  new Int8Array(memory.bytes.buffer, at, values.length).set(values);
  return { memory, at, free: FREE_START };
}
