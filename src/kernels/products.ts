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
/** Rows that the kernel compares with all vectors before the next ones. */
const BLOCK = 64;
/** Bytes of rows that are rounded in one call. */
const ROUNDED_BYTES = 2 ** 19;
/** Bytes of the products of a block with two vectors. */
const BLOCK_BYTES = 8 * BLOCK;
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

/** Groups of rows, and which vectors are compared with those of each. */
export interface GroupLists {
  /** The first row of each group, and at last their number. */
  readonly starts: Uint32Array;
  /** Vectors by group; those of group g end at `ends[g]`. */
  readonly members: Uint32Array;
  readonly ends: Uint32Array;
}

/** Rows of high products: those of vector i end at `ends[i]`. */
export interface HighRows {
  readonly ends: Uint32Array;
  readonly places: Uint32Array;
}

/** How many vectors one call compares with rows: their number for this width. */
export function vectorsAtOnce(width: number): number {
  return Math.max(8, Math.min(MAX_VECTORS, Math.floor(VECTORS_BYTES / (2 * width))));
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
   * Writes for each vector the row of the largest product, the first of equal ones, to `out`. With
   * lists, at most `vectorsAtOnce` vectors, a vector is compared
   * with the rows of its groups.
   */
  nearestInto(
    rows: IntegerRows,
    vectors: Int16Array,
    out: Uint32Array,
    lists: GroupLists | null = null,
  ): void {
    const { width } = rows;
    const most = vectorsAtOnce(width);
    if (out.length > most) {
      for (let first = 0; first < out.length; first += most) {
        const some = vectors.subarray(first * width, (first + most) * width);
        productsKernel.nearestInto(rows, some, out.subarray(first, first + most));
      }
      return;
    }
    const staged = new Staged(rows, vectors, lists);
    const largest = staged.add(new Int32Array(out.length).fill(NONE));
    const nearest = staged.add(out);
    const { kernels, work, vectorsAt } = staged;
    staged.each((at, count, first, list, listed) => {
      const more = [width, largest, nearest, work] as const;
      kernels.nearestRows(at, count, first, vectorsAt, list, listed, ...more);
    });
    out.set(numbersAt(staged.memory, nearest, out.length));
  },

  /**
   * For each vector the `most` rows of the largest products, of equal ones the first, as one list
   * after another. At most `vectorsAtOnce` vectors.
   */
  nearestLists(rows: IntegerRows, vectors: Int16Array, most: number): Uint32Array {
    const { width } = rows;
    const count = rows.values.length / width;
    const vectorCount = vectors.length / width;
    const productBytes = 8 * inFours(count);
    const staged = new Staged(rows, vectors, null, productBytes + 4 * most * vectorCount);
    const { kernels, rowsAt, vectorsAt, work } = staged;
    const out = work + productBytes;
    kernels.nearestLists(rowsAt, count, vectorsAt, vectorCount, width, most, out, work);
    return numbersAt(staged.memory, out, most * vectorCount);
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
  const { width } = rows;
  const count = rows.values.length / width;
  const staged = new Staged(rows, vectors, null, BLOCK_BYTES + 8 * count * least.length);
  const bounds = staged.add(least);
  const { rowsAt, vectorsAt, work } = staged;
  const out = work + BLOCK_BYTES;
  const given = [vectorsAt, least.length, width, bounds] as const;
  const end = staged.kernels.highProducts(rowsAt, count, ...given, out, work);
  return numbersAt(staged.memory, out, (end - out) / 4);
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
  /** Bytes of the products of a vector with the rows of the largest group. */
  readonly #groupBytes: number;
  /** Where in the arena vectors have their products with the rows of their groups. */
  #productsAt = 0;
  #productBytes = 0;

  /** Group g has rows `starts[g]` to `starts[g + 1] - 1`. */
  constructor({ values, width }: IntegerRows, starts: Uint32Array) {
    this.#width = width;
    this.#starts = starts;
    this.#groups = starts.length - 1;
    this.#count = values.length / width;
    const sizes = starts.subarray(1).map((end, group) => end - starts[group]);
    this.#groupBytes = 4 * inFours(Math.max(...sizes));
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
    const width = this.#width;
    const count = vectors.length / width;
    const each = near.length / count;
    const { starts: firsts, members } = byGroup(near, this.#groups);
    const bytes = this.#groupBytes;
    if (bytes * near.length > this.#productBytes) {
      this.#productBytes = bytes * near.length;
      this.#productsAt = this.#space(this.#productBytes);
    }
    const lists = { starts: this.#starts, members, ends: firsts.subarray(1) };
    const staged = new Staged(this.#rows, vectors, lists);
    const { kernels, vectorsAt } = staged;
    staged.each((at, rows, _, list, listed) => {
      const out = [each, width, this.#productsAt, bytes] as const;
      kernels.groupProducts(at, rows, vectorsAt, list, listed, ...out);
    });
    const stagedAgain = () => {
      const stage = new Stage(staged.memory);
      const groups = [stage.add(near), stage.add(this.#starts)] as const;
      return { stage, products: [this.#productsAt, bytes, count, each, ...groups] as const };
    };
    const { stage: found, products } = stagedAgain();
    const largest = found.add(new Int32Array(count).fill(NONE));
    const nearest = found.add(new Uint32Array(count));
    kernels.largestOfGroups(...products, most, largest, nearest);
    const own = numbersAt(found.memory, nearest, count);
    const highest = numbersAt(found.memory, largest, count);
    this.#pairAll(own, near);
    // What was staged is overwritten by now.
    const { stage: last, products: same } = stagedAgain();
    const given = [last.add(own), last.add(highest)] as const;
    const losses = last.add(new Float32Array(count).fill(Number.POSITIVE_INFINITY));
    const best = last.add(own);
    const table = this.#table.byteOffset;
    kernels.secondOfGroups(...same, ...given, table, this.#groups, losses, best);
    return { own, seconds: numbersAt(last.memory, best, count) };
  }

  /** Makes the products of the own rows of vectors with the rows of the vectors' groups. */
  #pairAll(own: Uint32Array, near: Uint32Array): void {
    const each = near.length / own.length;
    let table = this.#table;
    for (let i = 0; i < near.length; i++) {
      const row = own[Math.floor(i / each)];
      if (table[row * this.#groups + near[i]] !== 0) continue;
      this.#pair(row, near[i]);
      table = this.#table; // the memory may have grown, which detaches views
    }
  }

  /** Makes the products of a row with those of a group. */
  #pair(row: number, group: number): void {
    const width = this.#width;
    const [first, end] = [this.#starts[group], this.#starts[group + 1]];
    const at = this.#space(padded(end - first)); // kernels read some ahead
    const { values } = this.#rows;
    const products = new Int32Array(end - first);
    const others = { values: values.subarray(first * width, end * width), width };
    productsKernel.productsInto(others, values.subarray(row * width, (row + 1) * width), products);
    const pairs = new Int8Array(values.buffer, at, products.length);
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

/**
 * Rows, and vectors that a kernel compares with them, in one memory: that of the rows where it has
 * room for all else, else the scratch memory with a copy of the rows.
 */
class Staged extends Stage {
  readonly kernels: SearchKernels;
  readonly rowsAt: number;
  readonly vectorsAt: number;
  /** Space for the products of two vectors, or as much as was asked for. */
  readonly work: number;
  readonly #rows: IntegerRows;
  readonly #lists: GroupLists | null;
  readonly #listsAt: number;
  readonly #vectors: number;

  /** There is space to add four numbers a vector. */
  constructor(
    rows: IntegerRows,
    vectors: Int16Array,
    lists: GroupLists | null,
    workBytes = BLOCK_BYTES,
  ) {
    const { width, values } = rows;
    const count = vectors.length / width;
    const listed = lists?.members.length ?? 0;
    const bytes = workBytes + 2 * vectors.length + 4 * listed + 16 * count + 64;
    const { memory, at, free } = placed(rows, 0, values.length / width, bytes);
    super(memory, free);
    this.kernels = searchKernels(memory);
    this.rowsAt = at;
    this.work = this.space(workBytes);
    this.vectorsAt = this.add(vectors);
    this.#listsAt = lists === null ? 0 : this.add(lists.members);
    this.#rows = rows;
    this.#lists = lists;
    this.#vectors = count;
  }

  /**
   * Calls `visit` for each group that has vectors: with the address, number and first of its rows,
   * and the address and number of the list of its vectors. Without lists for all rows and vectors.
   */
  each(
    visit: (at: number, count: number, first: number, list: number, listed: number) => void,
  ): void {
    const { width, values } = this.#rows;
    if (this.#lists === null) {
      visit(this.rowsAt, values.length / width, 0, 0, this.#vectors);
      return;
    }
    const { starts, ends } = this.#lists;
    for (let group = 0, from = 0; group < ends.length; from = ends[group++]) {
      const [first, count] = [starts[group], starts[group + 1] - starts[group]];
      const listed = ends[group] - from;
      if (count === 0 || listed === 0) continue;
      visit(this.rowsAt + 2 * first * width, count, first, this.#listsAt + 4 * from, listed);
    }
  }
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
