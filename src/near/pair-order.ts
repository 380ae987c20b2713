/**
 * Pairs of rows in the order of (a, b), in bounded memory. A join compares distinct codes, so that
 * a million equal rows are compared once, and finds their pairs in no order. Those whose first row
 * lies in a window of rows are held, sorted and passed on. The window is all rows at first. If more
 * pairs are found than may be held, it is cut, and the next window, for which the join runs again,
 * begins where it ended.
 *
 * Distinct codes are found by a hash table and named by numbers, from 0 in the order of first rows.
 * Rows of a second collection are numbered behind those of the first.
 */

import { ascending, byGroup, grown, toStarts } from '../base/arrays';
import { newSecret } from '../base/hash-tables';
import type { LongWork } from '../base/long-work';
import type { Codes } from '../codes/codes';
import { HIT, JoinMemory } from '../kernels/joins';
import { type JoinWanted, join, maxTables } from './join';

/** No row, or no distinct code. */
export const NONE = 0xffff_ffff;

/** Rows between two steps, and held pairs. */
const STEP_ROWS = 2 ** 15;
const STEP_HELD = 2 ** 18;

export interface DistinctCodes {
  /** The codes in the memory of the kernels, with masks for joins up to `maxDistance`. */
  readonly memory: JoinMemory;
  readonly bits: number;
  /** Number of distinct codes. */
  readonly count: number;
  /** Distinct codes below this number are those of the collection that was read first. */
  readonly firstDistinct: number;
  /** For each row its distinct code, NONE for a null one. Null where distinct code i is row i. */
  readonly distinctOfRow: Uint32Array | null;
  /** Rows of the first and of the second collection; the same object if there is only one. */
  readonly left: DistinctRows;
  readonly right: DistinctRows;
}

/** The rows `start` to `end - 1` of a collection by their distinct codes. */
class DistinctRows {
  readonly start: number;
  readonly end: number;
  /**
   * Rows in the order of their distinct codes, then of rows: those of code c are
   * `rows[starts[c]]` to `rows[starts[c + 1] - 1]`. Both null where distinct code i is row i.
   */
  readonly starts: Uint32Array | null = null;
  readonly rows: Uint32Array | null = null;

  /** Sorts the rows by their codes, of which there are `count`: a counting sort. */
  constructor(distinctOfRow: Uint32Array | null, start: number, end: number, count: number) {
    this.start = start;
    this.end = end;
    if (distinctOfRow === null) return;
    const { starts, members } = byGroup(distinctOfRow.subarray(start, end), count);
    this.starts = starts;
    this.rows = start === 0 ? members : members.map((at) => start + at);
  }

  /** The first row of a distinct code in this collection, or NONE. */
  firstOf(distinct: number): number {
    if (this.starts === null || this.rows === null) {
      return distinct >= this.start && distinct < this.end ? distinct : NONE;
    }
    const at = this.starts[distinct];
    return at < this.starts[distinct + 1] ? this.rows[at] : NONE;
  }

  /** The last row of a distinct code in this collection, or NONE. */
  lastOf(distinct: number): number {
    if (this.starts === null || this.rows === null) return this.firstOf(distinct);
    const end = this.starts[distinct + 1];
    return this.starts[distinct] < end ? this.rows[end - 1] : NONE;
  }

  /** In a single collection: how many of `count` codes have their first row before `row`. */
  distinctBefore(row: number, count: number): number {
    if (this.starts === null) return Math.min(row, count);
    let [low, high] = [0, count];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.firstOf(middle) < row) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The distinct code of a row, or NONE for a null one. */
export function distinctAt({ distinctOfRow }: DistinctCodes, row: number): number {
  return distinctOfRow === null ? row : distinctOfRow[row];
}

/** Finds the distinct codes of a collection, or of two. */
export async function distinctOf(
  left: Codes,
  right: Codes | null,
  maxDistance: number,
  work: LongWork,
): Promise<DistinctCodes> {
  const total = left.count + (right?.count ?? 0);
  const masks = 1 + maxTables(maxDistance);
  const memory = JoinMemory.allocate(total, left.bytesPerCode, masks, total);
  const { numbers } = memory.arrays;
  const secret = newSecret();
  const sources = inOrderOfSize(left, right);
  const ends: number[] = []; // by collection, the number of distinct codes up to its end
  let [present, count] = [0, 0];
  // Codes of rows that are not null follow each other in memory, then each distinct one only once.
  for (const { codes } of sources) {
    for (let from = 0; from < codes.count; from += STEP_ROWS) {
      const end = copyInto(memory, present, codes, from);
      count = memory.distinctInto(present, end, count, secret);
      present = end;
      await work.step();
    }
    ends.push(count);
  }
  let distinctOfRow: Uint32Array | null = count < present ? numbers : null;
  // With null rows, or the second collection in front, rows and positions in memory differ.
  if (present < total || sources[0].firstRow > 0) {
    distinctOfRow = new Uint32Array(total).fill(NONE);
    let code = 0;
    for (const { codes, firstRow } of sources) {
      for (let row = 0; row < codes.count; row++) {
        if (row % STEP_ROWS === 0) await work.step();
        if (!codes.isNull(row)) distinctOfRow[firstRow + row] = numbers[code++];
      }
    }
  }
  await work.step();
  const ours = new DistinctRows(distinctOfRow, 0, left.count, count);
  await work.step();
  const theirs = right === null ? ours : new DistinctRows(distinctOfRow, left.count, total, count);
  const { bits } = left;
  const firstDistinct = ends[0];
  return { memory, bits, count, distinctOfRow, firstDistinct, left: ours, right: theirs };
}

/**
 * The smaller collection first, so that its distinct codes have the lower numbers: a join of two
 * then needs only pairs whose lower code is below `firstDistinct`.
 */
function inOrderOfSize(left: Codes, right: Codes | null) {
  const first = { codes: left, firstRow: 0 };
  if (right === null) return [first];
  const second = { codes: right, firstRow: left.count };
  return right.count < left.count ? [second, first] : [first, second];
}

/**
 * Copies codes of a step from row `from` on, null ones left out, to codes `first` onward; returns
 * their end.
 */
function copyInto(memory: JoinMemory, first: number, codes: Codes, from: number): number {
  const { bytes, bytesPerCode } = codes;
  const stride = 4 * memory.words;
  const { buffer, byteOffset } = memory.arrays.codes;
  const target = new Uint8Array(buffer, byteOffset + first * stride);
  const to = Math.min(codes.count, from + STEP_ROWS);
  if (stride === bytesPerCode && codes.validity === null) {
    target.set(bytes.subarray(from * stride, to * stride));
    return first + to - from;
  }
  let count = 0;
  for (let row = from; row < to; row++) {
    if (codes.isNull(row)) continue;
    const at = count++ * stride;
    for (let i = 0; i < bytesPerCode; i++) target[at + i] = bytes[row * bytesPerCode + i];
  }
  return first + count;
}

/** Pairs by their rows; rows of a second collection count from 0. */
export interface OrderedPairs {
  readonly a: Uint32Array;
  readonly b: Uint32Array;
  readonly distances: Uint16Array;
}

/** Takes batches of pairs, one after another. */
export type Send<T> = (batch: T) => void | Promise<void>;

/** Pairs of a batch, about. */
const BATCH = 2 ** 16;
/** Pairs of distinct codes that can be held at first, and at most: 40 MB. */
const FIRST_HELD = 2 ** 14;
const MAX_HELD = 2 ** 22;

/** Which pairs are wanted, and how many may be held. */
interface PairOrder extends Omit<JoinWanted, 'range'> {
  /** Only the first of equal rows is paired with others; the rest are paired with it. */
  readonly isFirstOnly: boolean;
  /** Most pairs of distinct codes to be held; tests make it small. */
  readonly maxHeld?: number;
  /** Within one collection: false for a row whose pairs with later near rows are not wanted. */
  readonly isHead?: ((row: number) => boolean) | undefined;
}

/**
 * Passes on all pairs of rows in order, in batches. Where half of the rows behind a window are
 * needless by then, it stops there, and returns the others: pairs among these are left to find.
 */
export async function pairsInOrder(
  codes: DistinctCodes,
  order: PairOrder,
  send: Send<OrderedPairs>,
  work: LongWork,
): Promise<Uint32Array | null> {
  const { left, distinctOfRow } = codes;
  const held = new Held(codes, order);
  const out = new Batch(codes);
  for (let from = left.start; from < left.end; from = held.to) {
    held.begin(from);
    const part = work.part((done, total) => {
      return [from + ((held.to - from) * done) / total, left.end];
    });
    const wanted = { ...order, range: () => held.range() };
    await join(codes, wanted, (hits, count) => held.takeHits(hits, count), part);
    // Without null or equal rows, a window without near codes has no pairs at all.
    if (held.isEmpty && distinctOfRow === null) continue;
    await held.sort(work);
    for (let row = from; row < held.to; row++) {
      held.appendPairs(row, out);
      const isFull = out.isFull;
      if (isFull) await send(out.take());
      if (isFull || row % STEP_ROWS === 0) await work.step();
    }
    if (out.count > 0) {
      await send(out.take());
      await work.step();
    }
    if (order.isHead === undefined) continue;
    const rest = ascending(left.end - held.to).map((i) => held.to + i);
    const needed = rest.filter((row) => !held.isNeedless(row));
    if (2 * needed.length < rest.length) return needed;
  }
  return null;
}

/** Pairs of distinct codes, each from the one that has a row in the window. */
class Held {
  /** The window of rows, `from` to `to - 1`; `to` falls when it is cut. */
  from = 0;
  to = 0;
  readonly #codes: DistinctCodes;
  readonly #isFirstOnly: boolean;
  /** False where pairs must differ in some bits: equal codes do not. */
  readonly #hasEqual: boolean;
  readonly #isOne: boolean;
  readonly #isHead: (row: number) => boolean;
  /** Pairs that may be held before the window is cut. */
  readonly #maxHeld: number;
  /** For each distinct code its first row in the window, or NONE; null where code i is row i. */
  readonly #rows: Uint32Array | null;
  #firsts: Uint32Array;
  #others: Uint32Array;
  #distances: Uint16Array;
  #count = 0;
  /** After `sort`: the pairs of distinct code s are `#starts[s]` to `#starts[s + 1] - 1`. */
  readonly #starts: Uint32Array;

  constructor(
    codes: DistinctCodes,
    { isFirstOnly, maxHeld = MAX_HELD, differ = [], isHead = () => true }: PairOrder,
  ) {
    this.#codes = codes;
    this.#isHead = isHead;
    this.#isFirstOnly = isFirstOnly;
    this.#hasEqual = differ.length === 0;
    this.#isOne = codes.left === codes.right;
    this.#maxHeld = maxHeld;
    this.#rows = codes.distinctOfRow && new Uint32Array(codes.count);
    const capacity = Math.min(maxHeld, FIRST_HELD);
    this.#firsts = new Uint32Array(capacity);
    this.#others = new Uint32Array(capacity);
    this.#distances = new Uint16Array(capacity);
    this.#starts = new Uint32Array(codes.count + 1);
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Empties it, and begins a window at `from` that reaches to the last row. */
  begin(from: number): void {
    this.#count = 0;
    this.#setWindow(from, this.#codes.left.end);
  }

  /**
   * The window's bounds for the lower code of a hit. Within one collection codes are numbered by
   * first rows, so the lower one has the earlier first row.
   */
  range(): readonly [from: number, to: number] {
    const { left, count, distinctOfRow, firstDistinct } = this.#codes;
    if (!this.#isOne && distinctOfRow !== null) return [0, firstDistinct];
    const isLowerFirst = distinctOfRow === null || this.#isFirstOnly;
    const from = isLowerFirst ? left.distinctBefore(this.from, count) : 0;
    return [from, left.distinctBefore(this.to, count)];
  }

  /** True of a row that has no pairs: no head, and no equal row is paired with it alone. */
  isNeedless(row: number): boolean {
    if (this.#isHead(row)) return false;
    const { left } = this.#codes;
    const distinct = distinctAt(this.#codes, row);
    return !this.#isFirstOnly || distinct === NONE || left.lastOf(distinct) === row;
  }

  /** Takes hits of the join: two distinct codes and their distance. */
  takeHits(hits: Uint32Array, count: number): void {
    const areRows = this.#codes.distinctOfRow === null;
    for (let i = 0; i < HIT * count; i += HIT) {
      this.#take(hits[i], hits[i + 1], hits[i + 2]);
      // Rows of equal codes mix: either code of a hit may have the earlier row of a pair.
      if (!areRows) this.#take(hits[i + 1], hits[i], hits[i + 2]);
    }
  }

  /** Holds a pair if a row of `first` lies in the window, and one of `other` may come after it. */
  #take(first: number, other: number, distance: number): void {
    const row = this.#rowOf(first);
    if (row === NONE) return;
    const { right, distinctOfRow } = this.#codes;
    const isAlone = this.#isFirstOnly || distinctOfRow === null;
    if (isAlone && !this.#isHead(row)) return;
    const last = this.#isFirstOnly ? right.firstOf(other) : right.lastOf(other);
    if (last === NONE || (this.#isOne && last < row)) return;
    if (this.#count === this.#firsts.length) {
      if (this.#count >= this.#maxHeld) this.#cut();
      if (this.#count === this.#firsts.length) this.#grow();
      if (this.#rowOf(first) === NONE) return;
    }
    this.#firsts[this.#count] = first;
    this.#others[this.#count] = other;
    this.#distances[this.#count++] = distance;
  }

  /** The first row in the window from which a distinct code has pairs, or NONE. */
  #rowOf(distinct: number): number {
    if (this.#rows !== null) return this.#rows[distinct];
    return distinct >= this.from && distinct < this.to ? distinct : NONE;
  }

  #setWindow(from: number, to: number): void {
    [this.from, this.to] = [from, to];
    const rows = this.#rows?.fill(NONE);
    if (rows === undefined) return;
    const { left } = this.#codes;
    for (let row = to - 1; row >= from; row--) {
      const distinct = distinctAt(this.#codes, row);
      if (distinct === NONE) continue;
      if (!this.#isFirstOnly || left.firstOf(distinct) === row) rows[distinct] = row;
    }
  }

  /** Cuts quarters of the window off until a quarter of the held pairs is gone, or one row left. */
  #cut(): void {
    const most = 0.75 * this.#count;
    while (this.#count > most && this.to > this.from + 1) {
      const rows = Math.floor(0.75 * (this.to - this.from));
      this.#setWindow(this.from, this.from + Math.max(1, rows));
      let count = 0;
      for (let i = 0; i < this.#count; i++) {
        if (this.#rowOf(this.#firsts[i]) === NONE) continue;
        this.#firsts[count] = this.#firsts[i];
        this.#others[count] = this.#others[i];
        this.#distances[count++] = this.#distances[i];
      }
      this.#count = count;
    }
  }

  #grow(): void {
    this.#firsts = grown(this.#firsts);
    this.#others = grown(this.#others);
    this.#distances = grown(this.#distances);
  }

  /** Sorts the pairs by their first code (counting sort), as `appendPairs` needs them. */
  async sort(work: LongWork): Promise<void> {
    const starts = this.#starts.fill(0);
    for (let i = 0; i < this.#count; i++) starts[this.#firsts[i]]++;
    toStarts(starts);
    const next = starts.slice();
    const others = new Uint32Array(this.#others.length);
    const distances = new Uint16Array(this.#distances.length);
    for (let i = 0; i < this.#count; i++) {
      const at = next[this.#firsts[i]]++;
      others[at] = this.#others[i];
      distances[at] = this.#distances[i];
      if (i % STEP_HELD === 0) await work.step();
    }
    [this.#others, this.#distances] = [others, distances];
  }

  /** Appends the pairs of a row: with rows of an equal code, and with rows of near codes. */
  appendPairs(row: number, out: Batch): void {
    const { left, right } = this.#codes;
    const distinct = distinctAt(this.#codes, row);
    if (distinct === NONE || this.isNeedless(row)) return;
    const from = this.#starts[distinct];
    const end = this.#isHead(row) ? this.#starts[distinct + 1] : from;
    const { starts, rows } = right;
    // Most rows have no pair: no code is near theirs, and none is equal that is not their own.
    const own = this.#isOne ? 1 : 0;
    const isAlone = starts === null || starts[distinct + 1] - starts[distinct] === own;
    if (from === end && (isAlone || !this.#hasEqual)) return;
    if (this.#isFirstOnly && left.firstOf(distinct) !== row) return;
    const after = this.#isOne ? row : -1;
    out.begin(row);
    if (starts === null || rows === null) {
      // Without equal rows an equal code is that of a row of the other collection, or of itself.
      for (let i = from; i < end; i++) {
        if (this.#others[i] > after) out.append(this.#others[i], this.#distances[i]);
      }
    } else {
      if (this.#hasEqual) this.#appendRows(out, distinct, after, 0, false);
      for (let i = from; i < end; i++) {
        this.#appendRows(out, this.#others[i], after, this.#distances[i], this.#isFirstOnly);
      }
    }
    out.end();
  }

  /** Appends the rows of a distinct code beyond `after`: all, or the first of them. */
  #appendRows(
    out: Batch,
    distinct: number,
    after: number,
    distance: number,
    isFirstOnly: boolean,
  ): void {
    const { starts, rows } = this.#codes.right;
    if (starts === null || rows === null) return;
    const from = starts[distinct];
    const end = isFirstOnly ? Math.min(from + 1, starts[distinct + 1]) : starts[distinct + 1];
    for (let at = from; at < end; at++) if (rows[at] > after) out.append(rows[at], distance);
  }
}

/** Collects a batch of pairs; those of a row are sorted by the other row. */
class Batch {
  /** Rows of the second collection count from here. */
  readonly #start: number;
  #a = new Uint32Array(BATCH);
  #keys = new Float64Array(BATCH);
  #count = 0;
  #row = 0;
  #from = 0;

  constructor({ left, right }: DistinctCodes) {
    this.#start = left === right ? 0 : right.start;
  }

  get count(): number {
    return this.#count;
  }

  /** True if the batch should be taken; it may be larger, since a row's pairs stay together. */
  get isFull(): boolean {
    return this.#count >= BATCH;
  }

  /** Starts the pairs of a row, which `append` adds and `end` sorts. */
  begin(row: number): void {
    this.#row = row;
    this.#from = this.#count;
  }

  /** Adds a pair of the present row with this row. */
  append(row: number, distance: number): void {
    if (this.#count === this.#keys.length) this.#keys = grown(this.#keys);
    this.#keys[this.#count++] = row * 2 ** 16 + distance; // exact below 2^53; sorts by row
  }

  /** Ends the pairs of the present row, and sorts them. */
  end(): void {
    if (this.#count > this.#a.length) this.#a = grown(this.#a, this.#keys.length);
    this.#a.fill(this.#row, this.#from, this.#count);
    if (this.#count > this.#from + 1) this.#keys.subarray(this.#from, this.#count).sort();
  }

  /** Returns a copy of all pairs that were appended, and empties the batch. */
  take(): OrderedPairs {
    const count = this.#count;
    const b = new Uint32Array(count);
    const distances = new Uint16Array(count);
    for (let i = 0; i < count; i++) {
      const key = this.#keys[i];
      b[i] = Math.floor(key / 2 ** 16) - this.#start;
      distances[i] = key % 2 ** 16;
    }
    this.#count = 0;
    return { a: this.#a.slice(0, count), b, distances };
  }
}
