/**
 * Pairs of rows in the order of (a, b), in bounded memory. A join finds pairs of distinct codes in
 * no order; those whose first row lies in a window of rows are held, sorted and passed on. The
 * window is all rows at first. If more pairs are found than may be held, it is cut, and the next
 * window, for which the join runs again, begins where it ended.
 */
import { grown } from '../base/arrays';
import { Item, type Steps, type Stream, withProgress } from '../base/steps';
import { HIT } from '../kernels/joins';
import { type JoinWanted, join } from './join';
import type { JoinMethod } from './join-layout';
import { type Distinct, type DistinctRows, distinctAt, NONE } from './source';

/** Pairs by their rows; rows of a second collection count from 0. */
export interface PairBatch {
  readonly a: Uint32Array;
  readonly b: Uint32Array;
  readonly distances: Uint16Array;
}

/** Pairs of a batch, about. */
const BATCH = 2 ** 16;
/** Pairs of distinct codes that can be held at first, and at most: 40 MB. */
const FIRST_HELD = 2 ** 14;
const MAX_HELD = 2 ** 22;
/** Rows, and held pairs, between two steps. */
const STEP_ROWS = 2 ** 15;
const STEP_HELD = 2 ** 18;
/** Size of the sample whose median is the middle of the held pairs. */
const MIDDLE_OF = 1023;

/** Which pairs are wanted, and how many may be held. */
interface PairOrder extends Omit<JoinWanted, 'range'> {
  /** Only the first of equal rows is paired with others; the rest are paired with it. */
  readonly isFirstOnly: boolean;
  /** Most pairs of distinct codes to be held; tests make it small. */
  readonly maxHeld?: number;
}

/** All pairs of rows, as batches in order. */
export function* pairsInOrder(
  codes: Distinct,
  method: JoinMethod,
  order: PairOrder,
): Stream<PairBatch> {
  const { left } = codes;
  const held = new Held(codes, order.maxHeld ?? MAX_HELD);
  const out = new Batches();
  for (let from = left.start; from < left.end; from = held.to) {
    held.begin(from, order.isFirstOnly);
    yield* withProgress(heldIn(codes, method, order, held), (done, total) => {
      return [from + ((held.to - from) * done) / total, left.end];
    });
    // Without null or equal rows, a window without near codes has no pairs at all.
    if (held.isEmpty && codes.distinctOfRow === null) continue;
    yield* held.sort();
    for (let row = from; row < held.to; row++) {
      pairsOf(row, codes, held, order, out);
      if (out.isFull) yield new Item(out.taken(codes));
      else if (row % STEP_ROWS === 0) yield undefined;
    }
  }
  if (out.count > 0) yield new Item(out.taken(codes));
}

/** Runs the join, and holds pairs of distinct codes whose first row lies in the window. */
function* heldIn(codes: Distinct, method: JoinMethod, order: PairOrder, held: Held): Steps<void> {
  const { left, right, distinctOfRow, firstDistinct } = codes;
  const isOne = left === right;
  // Distinct codes of one collection are numbered by first rows, so hits have the lower one first.
  const isLowerFirst = distinctOfRow === null || (isOne && order.isFirstOnly);
  const range = () => {
    if (!isOne && distinctOfRow !== null) return [0, firstDistinct] as const;
    return [
      isLowerFirst ? left.distinctBefore(held.from) : 0,
      left.distinctBefore(held.to),
    ] as const;
  };
  yield* join(codes, method, { ...order, range }, (hits, count) => {
    for (let i = 0; i < HIT * count; i += HIT) {
      held.take(hits[i], hits[i + 1], hits[i + 2], isOne);
      // Rows of equal codes mix: either code of a hit may have the earlier row of a pair.
      if (distinctOfRow !== null) held.take(hits[i + 1], hits[i], hits[i + 2], isOne);
    }
  });
}

/** Pairs of distinct codes, from the point of view of the one with a row in the window. */
class Held {
  /** The window of rows, `from` to `to - 1`; `to` falls when it is cut. */
  from = 0;
  to = 0;
  /** Pairs that may be held before the window is cut. */
  readonly #maxHeld: number;
  readonly #left: DistinctRows;
  readonly #right: DistinctRows;
  readonly #distinctOfRow: Uint32Array | null;
  /** For each distinct code its first row from `from` on; null where code i is row i. */
  readonly #nextRows: Uint32Array | null;
  #isFirstOnly = false;
  #distincts: Uint32Array;
  #others: Uint32Array;
  /** After `sort`: for each of `#others` its first row, and the row that follows that one. */
  #rows = new Uint32Array();
  #nexts = new Uint32Array();
  #distances: Uint16Array;
  #count = 0;
  /** After `sort`: the pairs of distinct code s are `#starts[s]` to `#starts[s + 1] - 1`. */
  #starts = new Uint32Array();
  readonly #distinctCount: number;

  constructor({ left, right, count, distinctOfRow }: Distinct, most: number) {
    const capacity = Math.min(most, FIRST_HELD);
    this.#maxHeld = most;
    this.#left = left;
    this.#right = right;
    this.#distinctOfRow = distinctOfRow;
    this.#nextRows = left.first?.slice() ?? null;
    this.#distincts = new Uint32Array(capacity);
    this.#others = new Uint32Array(capacity);
    this.#distances = new Uint16Array(capacity);
    this.#distinctCount = count;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Empties it, and begins a window at `from`. */
  begin(from: number, isFirstOnly: boolean): void {
    if (this.#nextRows !== null && this.#distinctOfRow !== null) {
      for (let row = this.from; row < from; row++) {
        const distinct = this.#distinctOfRow[row];
        if (distinct !== NONE) this.#nextRows[distinct] = this.#left.nextOf(row);
      }
    }
    this.from = from;
    this.#isFirstOnly = isFirstOnly;
    this.to = this.#left.end;
    this.#count = 0;
  }

  /**
   * Holds a pair if a row of `distinct` lies in the window and, within one collection, some row of
   * `other` comes after it.
   */
  take(distinct: number, other: number, distance: number, isOne: boolean): void {
    const first = this.#rowOf(distinct);
    if (first < this.from || first >= this.to) return; // NONE is beyond all
    if (this.#isFirstOnly && first !== this.#left.firstOf(distinct)) return;
    // Within one collection a pair needs a row of `other` beyond this row of `distinct`.
    const lastOther = this.#isFirstOnly ? this.#right.firstOf(other) : this.#right.lastOf(other);
    if (lastOther === NONE || (isOne && lastOther <= first)) return;
    if (this.#count === this.#distincts.length && !this.#cut(first)) return;
    this.#distincts[this.#count] = distinct;
    this.#others[this.#count] = other;
    this.#distances[this.#count++] = distance;
  }

  /** The first row of a distinct code in or after the window, or NONE. */
  #rowOf(distinct: number): number {
    return this.#nextRows === null ? this.#left.firstOf(distinct) : this.#nextRows[distinct];
  }

  /** Cuts the window in the middle, or grows; false if `row` is then outside of the window. */
  #cut(row: number): boolean {
    // A window of one row is not cut: all of its pairs are held, even if they exceed the limit.
    const to = Math.max(this.from + 1, this.#middle());
    if (to === this.to || this.#count < this.#maxHeld) {
      this.#grow();
      return true;
    }
    this.to = to;
    let count = 0;
    for (let i = 0; i < this.#count; i++) {
      if (this.#rowOf(this.#distincts[i]) >= to) continue;
      this.#distincts[count] = this.#distincts[i];
      this.#others[count] = this.#others[i];
      this.#distances[count++] = this.#distances[i];
    }
    if (2 * count > this.#count) this.#grow();
    this.#count = count;
    return row < to;
  }

  /** The median, estimated by a sample, of the first rows of the held pairs. */
  #middle(): number {
    const some = Float64Array.from({ length: MIDDLE_OF }, (_, i) => {
      return this.#rowOf(this.#distincts[Math.floor((i * this.#count) / MIDDLE_OF)]);
    }).sort();
    return some[MIDDLE_OF >> 1];
  }

  #grow(): void {
    this.#distincts = grown(this.#distincts);
    this.#others = grown(this.#others);
    this.#distances = grown(this.#distances);
  }

  /** Sorts the pairs by their first code (counting sort), as `appendTo` needs them. */
  *sort(): Steps<void> {
    if (this.#starts.length === 0) this.#starts = new Uint32Array(this.#distinctCount + 1);
    const starts = this.#starts.fill(0);
    for (let i = 0; i < this.#count; i++) starts[this.#distincts[i]]++;
    let sum = 0;
    for (let distinct = 0; distinct < starts.length; distinct++) {
      sum += starts[distinct];
      starts[distinct] = sum; // the end of each; entering pairs turns it into the start
    }
    const others = new Uint32Array(this.#others.length);
    const distances = new Uint16Array(this.#distances.length);
    for (let i = this.#count - 1; i >= 0; i--) {
      const at = --starts[this.#distincts[i]];
      others[at] = this.#others[i];
      distances[at] = this.#distances[i];
      if (i % STEP_HELD === 0) yield undefined;
    }
    this.#others = others;
    this.#distances = distances;
    const { first, next, start } = this.#right;
    this.#rows = others.subarray(0, this.#count);
    if (first === null || next === null) return;
    // Separate loops, so that the cache misses of reads by a random index overlap.
    this.#rows = yield* mappedInSteps(this.#rows, first, 0);
    this.#nexts = yield* mappedInSteps(this.#rows, next, start);
  }

  /** True if a distinct code has no pair. Valid after `sort`. */
  isAlone(distinct: number): boolean {
    return this.#starts[distinct] === this.#starts[distinct + 1];
  }

  /** Appends the rows beyond `after` near a distinct code: all, or the first of each code. */
  appendTo(out: Batches, distinct: number, after: number, isAll: boolean): void {
    const { next, start } = this.#right;
    const rows = this.#rows;
    const nexts = this.#nexts;
    const distances = this.#distances;
    const end = this.#starts[distinct + 1];
    for (let i = this.#starts[distinct]; i < end; i++) {
      if (rows[i] > after) out.append(rows[i], distances[i]);
      if (next === null || !isAll) continue;
      for (let row = nexts[i]; row !== NONE; row = next[row - start]) {
        if (row > after) out.append(row, distances[i]);
      }
    }
  }
}

/** `values[place - start]` for each place. */
function* mappedInSteps(
  places: Uint32Array,
  values: Uint32Array,
  start: number,
): Steps<Uint32Array<ArrayBuffer>> {
  const mapped = new Uint32Array(places.length);
  for (let i = 0; i < places.length; i++) {
    mapped[i] = values[places[i] - start];
    if (i % STEP_HELD === STEP_HELD - 1) yield undefined;
  }
  return mapped;
}

/** Appends the pairs of one row: with rows of an equal code, and with rows of near codes. */
function pairsOf(
  row: number,
  codes: Distinct,
  held: Held,
  { isFirstOnly }: PairOrder,
  out: Batches,
): void {
  const { distinctOfRow, left, right } = codes;
  const distinct = distinctAt(codes, row);
  if (distinct === NONE || (distinctOfRow === null && held.isAlone(distinct))) return;
  if (isFirstOnly && left.firstOf(distinct) !== row) return;
  const after = left === right ? row : -1;
  out.begin(row);
  for (let other = right.firstOf(distinct); other !== NONE; other = right.nextOf(other)) {
    if (other > after) out.append(other, 0);
  }
  held.appendTo(out, distinct, after, !isFirstOnly);
  out.end();
}

/** Collects a batch of pairs; those of a row are sorted by the other row. */
class Batches {
  #a = new Uint32Array(BATCH);
  #keys = new Float64Array(BATCH);
  #count = 0;
  #row = 0;
  #start = 0;

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
    this.#start = this.#count;
  }

  /** Adds a pair of the present row with this row. */
  append(row: number, distance: number): void {
    if (this.#count === this.#keys.length) this.#keys = grown(this.#keys);
    this.#keys[this.#count++] = row * 2 ** 16 + distance; // exact below 2^53; sorts by row
  }

  /** Ends the pairs of the present row, and sorts them. */
  end(): void {
    if (this.#count > this.#a.length) this.#a = grown(this.#a, this.#keys.length);
    this.#a.fill(this.#row, this.#start, this.#count);
    if (this.#count > this.#start + 1) this.#keys.subarray(this.#start, this.#count).sort();
  }

  /** Returns a copy of all pairs that were appended, and empties the batch. */
  taken({ left, right }: Distinct): PairBatch {
    const count = this.#count;
    const start = left === right ? 0 : right.start;
    const b = new Uint32Array(count);
    const distances = new Uint16Array(count);
    for (let i = 0; i < count; i++) {
      const key = this.#keys[i];
      b[i] = Math.floor(key / 2 ** 16) - start;
      distances[i] = key % 2 ** 16;
    }
    this.#count = 0;
    return { a: this.#a.slice(0, count), b, distances };
  }
}
