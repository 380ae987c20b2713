/**
 * Pairs of rows in the order of (a, b), in bounded memory. A join finds pairs of distinct codes in
 * no order; those whose first row lies in a window of rows are held, sorted and passed on. The
 * window is all rows at first. If more pairs are found than may be held, it is cut, and the next
 * window, for which the join runs again, begins where it ended.
 */

import { grown, toStarts } from '../base/arrays';
import type { LongWork } from '../base/long-work';
import { HIT } from '../kernels/joins';
import { type DistinctCodes, distinctAt, NONE } from './distinct-codes';
import { type JoinWanted, join } from './join';

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
/** Rows, and held pairs, between two steps. */
const STEP_ROWS = 2 ** 15;
const STEP_HELD = 2 ** 18;

/** Which pairs are wanted, and how many may be held. */
interface PairOrder extends Omit<JoinWanted, 'range'> {
  /** Only the first of equal rows is paired with others; the rest are paired with it. */
  readonly isFirstOnly: boolean;
  /** Most pairs of distinct codes to be held; tests make it small. */
  readonly maxHeld?: number;
}

/** Passes on all pairs of rows in order, in batches. */
export async function pairsInOrder(
  codes: DistinctCodes,
  order: PairOrder,
  send: Send<OrderedPairs>,
  work: LongWork,
): Promise<void> {
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
      if (out.isFull) await send(out.take());
      if (row % STEP_ROWS === 0) await work.step();
    }
  }
  if (out.count > 0) await send(out.take());
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

  constructor(codes: DistinctCodes, { isFirstOnly, maxHeld = MAX_HELD, differ = [] }: PairOrder) {
    this.#codes = codes;
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
    const { right } = this.#codes;
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
    if (distinct === NONE) return;
    const from = this.#starts[distinct];
    const end = this.#starts[distinct + 1];
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
