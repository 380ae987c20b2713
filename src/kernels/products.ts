/**
 * Dot products of vectors of 16-bit integers. Sums are exact 32-bit integers, so every engine gives
 * equal numbers: products of vectors of length UNIT cannot overflow (Cauchy and Schwarz). Rows in a
 * separate linear memory are read in place; others are copied, as are those of any memory where the
 * vectors are too wide for its scratch space.
 */

import { byGroup, padded, type Range, runOf, toStarts } from '../base/arrays';
import {
  Arena,
  FREE_START,
  type LinearMemory,
  memoryOf,
  SCAN_BYTES,
  Stage,
  scratch,
} from './memory';
import type { SearchKernels } from './search.generated';
import { searchKernels } from './search-kernels';

/** The length to which vectors are scaled before they are rounded to integers. */
export const UNIT = 32_767;

/** Vectors of `width` integers, one after another; `width` is a multiple of 8, padded by zeros. */
interface IntegerRows {
  readonly values: Int16Array;
  readonly width: number;
}

/** Rows of float32 or int8, one after another, and their lengths: 0 of a row that is not there. */
export interface RowsOfLengths {
  readonly values: Float32Array | Int8Array;
  readonly lengths: Float64Array;
  readonly dimensions: number;
}

/** Rows whose products with one query are computed in one call. */
const ROWS_OF_ONE = 4096;
/** Bytes of the counts of `orderInto`. */
const ORDER_BYTES = 4096;
/** Below all products. */
const NONE = -0x8000_0000;
/** Bytes of the products of 64 rows, which a kernel takes together, with two vectors. */
const WORK_BYTES = 512;
/** Bytes of rows that are rounded in one call. */
const ROUNDED_BYTES = 2 ** 19;
/** Vectors that are compared in one call: those that fit the scratch space, and at most so many. */
const MAX_VECTORS = 1024;
const VECTORS_BYTES = SCAN_BYTES - 2 ** 17;
/** Rows that one call adds, in 32 bits. */
const MAX_ADDED = 2 ** 15;
/** Products that one call may find to be high. */
const MAX_HIGH = 2 ** 19;
const MAX_BYTE = 127;
/** By what products of rows with each other grow. */
const PAIRS_GROWTH = 1.25;

/** The width of rows for vectors of `dimensions` values: the next multiple of 8. */
export function integerWidth(dimensions: number): number {
  return padded(dimensions);
}

/** The product of two vectors of `width` values that begin at `aAt` and `bAt`. */
export function product(
  a: Int16Array,
  aAt: number,
  b: Int16Array,
  bAt: number,
  width: number,
): number {
  let sum = 0; // below 2^31 by the lengths of the vectors, so exact
  for (let i = 0; i < width; i++) sum += a[aAt + i] * b[bAt + i];
  return sum;
}

/** The next multiple of 4: kernels take rows four at a time. */
const inFours = (count: number) => (count + 3) & ~3;

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
  return Math.max(8, Math.min(MAX_VECTORS, Math.floor(VECTORS_BYTES / (2 * width + 64))));
}

export const productsKernel = {
  /** Writes the product of each row with the query to `out`, in order of row. */
  productsInto(rows: IntegerRows, query: Int16Array, out: Int32Array): void {
    const { width } = rows;
    const count = rows.values.length / width;
    const { memory, at, free } = placed(rows, 0, count, 2 * width + 4 * ROWS_OF_ONE);
    const outAt = free + 2 * width;
    new Int16Array(memory.bytes.buffer, free, width).set(query);
    for (let row = 0; row < count; row += ROWS_OF_ONE) {
      const here = Math.min(ROWS_OF_ONE, count - row);
      const rowAt = at + 2 * row * width;
      searchKernels(memory).productsInto(rowAt, here, free, width, outAt);
      out.set(new Int32Array(memory.bytes.buffer, outAt, here), row);
    }
  },

  /**
   * Writes the rows of the largest products with a query, of those in some ranges, to `order`, and
   * these products to `products`. The order is coarse: by the difference from the largest product,
   * in at most 1,024 steps of equal width, then by place in the ranges.
   */
  orderInto(
    rows: IntegerRows,
    ranges: readonly Range[],
    query: Int16Array,
    order: Uint32Array,
    products: Int32Array,
  ): void {
    const { width } = rows;
    const count = rows.values.length / width;
    const room = inFours(count) + 4;
    const { memory, at, free } = placed(rows, 0, count, ORDER_BYTES + 8 * room + 2 * width);
    const kernels = searchKernels(memory);
    const { bytes } = memory;
    const countsAt = free + 2 * width;
    const productsAt = countsAt + ORDER_BYTES;
    const orderAt = productsAt + 4 * room;
    new Int16Array(bytes.buffer, free, width).set(query);
    const starts: number[] = [];
    let done = 0;
    for (const { first, end } of ranges) {
      starts.push(done);
      // Up to three products behind a range are of other rows: those of the next one replace them.
      kernels.productsInto(at + 2 * first * width, end - first, free, width, productsAt + 4 * done);
      done += end - first;
    }
    kernels.orderInto(productsAt, done, order.length, countsAt, orderAt);
    const places = new Uint32Array(bytes.buffer, orderAt, order.length);
    const all = new Int32Array(bytes.buffer, productsAt, done);
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
  nearest(rows: IntegerRows, vectors: Int16Array, groups: Groups): Uint32Array {
    const { width } = rows;
    const all = new Grouped(rows, vectors, groups, WORK_BYTES);
    const { count, each, kernels } = all;
    const largest = all.add(new Int32Array(count).fill(NONE));
    const nearest = all.add(new Uint32Array(count));
    const work = all.space(WORK_BYTES);
    all.eachGroup((at, size, first, list) => {
      kernels.nearestRows(at, size, first, ...list, each, width, largest, nearest, work);
    });
    return numbersAt(all.memory, nearest, count);
  },

  /**
   * For each vector the `most` rows of the largest products, of equal ones the first, as one list
   * after another.
   */
  nearestLists(rows: IntegerRows, vectors: Int16Array, most: number): Uint32Array {
    const length = (most * vectors.length) / rows.width;
    const groups = oneGroup(rows, vectors);
    const bytes = bytesOfLargest(groups.starts);
    const all = new Grouped(rows, vectors, groups, bytes * groups.near.length + 4 * length);
    const [products, out] = [all.space(bytes * all.count), all.space(4 * length)];
    all.productsInto(products, bytes);
    all.kernels.largestLists(products, bytes, all.count, most, out);
    return numbersAt(all.memory, out, length);
  },

  /** Adds the listed rows to `sums`, in the order of their values. */
  addRows(rows: IntegerRows, list: Uint32Array, sums: Float64Array): void {
    const { values, width } = rows;
    for (let first = 0; first < list.length; first += MAX_ADDED) {
      const some = list.subarray(first, first + MAX_ADDED);
      const bytes = some.byteLength + 4 * width + 16;
      const { memory, at, free } = placed(rows, 0, values.length / width, bytes);
      const stage = new Stage(memory, free);
      const [listAt, out] = [stage.add(some), stage.space(4 * width)];
      searchKernels(memory).sumRows(at, listAt, some.length, width, out);
      const found = new Int32Array(memory.bytes.buffer, out, width);
      for (let i = 0; i < sums.length; i++) sums[i] += found[i];
    }
  },

  /**
   * The rows whose product with a vector is at least the vector's entry of `least`: those of vector
   * i, ascending, end at `ends[i]`.
   */
  highRows(rows: IntegerRows, vectors: Int16Array, least: Int32Array): HighRows {
    const { values, width } = rows;
    const count = values.length / width;
    const ends = new Uint32Array(least.length);
    const most = vectorsAtOnce(width);
    const found: Uint32Array[] = [];
    const here = Math.max(4, inFours(Math.floor(MAX_HIGH / Math.min(most, least.length))));
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

export type ProductsKernel = typeof productsKernel;

/** Rows at length UNIT, rounded and padded by zeros; zeros of a row without a length. */
export function pointsOf({ values, lengths, dimensions }: RowsOfLengths): Int16Array {
  const width = integerWidth(dimensions);
  const points = new Int16Array(lengths.length * width);
  const scales = lengths.map((length) => (length > 0 ? UNIT / length : 0));
  const type = values.BYTES_PER_ELEMENT;
  const most = Math.ceil(ROUNDED_BYTES / (type * dimensions));
  for (let first = 0; first < scales.length; first += most) {
    const end = Math.min(scales.length, first + most);
    const byteLength = (end - first) * (type * dimensions + 8 + 2 * width);
    const stage = new Stage(scratch(byteLength + 64));
    const rows = stage.add(values.subarray(first * dimensions, end * dimensions));
    const factors = stage.add(scales.subarray(first, end));
    const out = stage.space(2 * (end - first) * width);
    const { memory } = stage;
    searchKernels(memory).roundRows(type, rows, end - first, dimensions, factors, width, out);
    points.set(new Int16Array(memory.bytes.buffer, out, (end - first) * width), first * width);
  }
  return points;
}

/** Pairs of a vector and a row of a high product, of few rows. */
function highOf(rows: IntegerRows, vectors: Int16Array, least: Int32Array): Uint32Array {
  const groups = oneGroup(rows, vectors);
  const bytes = bytesOfLargest(groups.starts);
  const most = bytes * least.length;
  const all = new Grouped(rows, vectors, groups, 3 * most);
  const [bounds, products, out] = [all.add(least), all.space(most), all.space(2 * most)];
  all.productsInto(products, bytes);
  const end = all.kernels.highProducts(products, bytes, least.length, bounds, out);
  return numbersAt(all.memory, out, (end - out) / 4);
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
  constructor({ values, width }: IntegerRows, starts: Uint32Array) {
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
    return 2 * (this.#count + 3) * this.#width;
  }

  get #rows(): IntegerRows {
    const { buffer, byteOffset } = this.#arena.bytes;
    const width = this.#width;
    return { values: new Int16Array(buffer, byteOffset, this.#count * width), width };
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
    vectors: Int16Array,
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
    const all = new Grouped(this.#rows, vectors, { starts, near }, pairBytes);
    const { count, kernels } = all;
    const lists = all.productsInto(this.#productsAt, pairBytes);
    const largest = all.add(new Int32Array(count).fill(NONE));
    const nearest = all.add(new Uint32Array(count));
    kernels.largestOfGroups(...lists, most, largest, nearest);
    const own = numbersAt(all.memory, nearest, count);
    const work = all.space(pairBytes);
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

  /** Makes the products of a row with those of a group; there is space for them at `work`. */
  #pair(row: number, group: number, { kernels }: Grouped, work: number): void {
    const width = this.#width;
    const [first, end] = [this.#starts[group], this.#starts[group + 1]];
    const at = this.#space(padded(end - first)); // kernels read some ahead
    const { buffer, byteOffset } = this.#arena.bytes;
    const [rowAt, rowsAt] = [row, first].map((one) => byteOffset + 2 * one * width);
    kernels.productsInto(rowsAt, end - first, rowAt, width, work);
    const products = new Int32Array(buffer, work, end - first);
    const pairs = new Int8Array(buffer, at, products.length);
    for (let i = 0; i < products.length; i++) {
      pairs[i] = Math.floor((MAX_BYTE * products[i]) / (UNIT * UNIT) + 0.5);
    }
    this.#table[row * this.#groups + group] = at;
  }
}

/** A copy of some numbers in a memory. */
function numbersAt(memory: LinearMemory, at: number, length: number): Uint32Array {
  return new Uint32Array(memory.bytes.buffer, at, length).slice();
}

/** All rows as one group, with which all vectors are compared. */
function oneGroup({ values, width }: IntegerRows, vectors: Int16Array): Groups {
  const starts = Uint32Array.of(0, values.length / width);
  return { starts, near: new Uint32Array(vectors.length / width) };
}

/**
 * Vectors and the rows of their groups in one memory: that of the rows where it has space for all,
 * else the scratch memory with a copy of the rows. More may be added.
 */
class Grouped extends Stage {
  readonly kernels: SearchKernels;
  /** Vectors, and groups of each. */
  readonly count: number;
  readonly each: number;
  readonly #width: number;
  readonly #groups: Groups;
  readonly #rowsAt: number;
  readonly #vectorsAt: number;

  /** With space to add `more` bytes, and four numbers a vector. */
  constructor(rows: IntegerRows, vectors: Int16Array, groups: Groups, more: number) {
    const { width, values } = rows;
    const { starts, near } = groups;
    const count = vectors.length / width;
    const numbers = 2 * near.length + starts.length + 4 * count;
    const byteLength = 2 * vectors.length + 4 * numbers + more + 128;
    const { memory, at, free } = placed(rows, 0, values.length / width, byteLength);
    super(memory, free);
    this.kernels = searchKernels(memory);
    this.count = count;
    this.each = near.length / count;
    this.#width = width;
    this.#groups = groups;
    this.#rowsAt = at;
    this.#vectorsAt = this.add(vectors);
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
      visit(this.#rowsAt + 2 * first * this.#width, size, first, own);
    }
  }

  /**
   * Writes the products of vectors with the rows of their groups, in `bytes` bytes for each group,
   * to the address `products`. Returns what kernels need of them.
   */
  productsInto(products: number, bytes: number) {
    const { count, each } = this;
    this.eachGroup((at, rows, _, list) => {
      this.kernels.groupProducts(at, rows, ...list, each, this.#width, products, bytes);
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

/**
 * A memory with rows `first` to `end - 1` from address `at` on, and with `workBytes` bytes from
 * `free` on: the rows' own where it has both, else the scratch memory with a copy. Kernels may read
 * three more rows behind them.
 */
function placed(
  { values, width }: IntegerRows,
  first: number,
  end: number,
  workBytes: number,
): { memory: LinearMemory; at: number; free: number } {
  const home = memoryOf(values);
  if (home !== undefined && workBytes <= SCAN_BYTES) {
    return { memory: home, at: values.byteOffset + 2 * first * width, free: home.free };
  }
  const at = FREE_START + ((workBytes + 15) & ~15);
  const memory = scratch(at - FREE_START + 2 * (end - first + 3) * width);
  new Int16Array(memory.bytes.buffer, at, (end - first) * width).set(
    values.subarray(first * width, end * width),
  );
  return { memory, at, free: FREE_START };
}
