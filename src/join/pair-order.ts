/**
 * Pairs of rows in the order of (a, b), in bounded memory. A join finds pairs of distinct codes in
 * no order; those whose first row lies in a window of rows are held, sorted and passed on. The
 * window is all rows at first. It is cut when more pairs are found than may be held; the next
 * one begins where it ended.
 */

import { grown } from '../base/arrays';
import { Item, type Steps, type Stream, withProgress } from '../base/steps';
import { HIT } from '../kernels/joins/join-memory';
import { type JoinWanted, join } from './join';
import type { JoinMethod } from './join-layout';
import { type Distinct, type DistinctRows, distinctAt, NONE } from './source';

/** Pairs by their rows. Rows of a second collection count from 0 there. */
export interface PairBatch {
  readonly a: Uint32Array;
  readonly b: Uint32Array;
  readonly distances: Uint16Array;
}

/** Pairs of a batch. */
const BATCH = 2 ** 16;
/** Capacity for pairs of distinct codes at first, and at most: 40 MB. */
const FIRST_HELD = 2 ** 14;
const MAX_HELD = 2 ** 22;
/** Rows, and pairs held, between two steps. */
const STEP_ROWS = 2 ** 15;
const STEP_HELD = 2 ** 18;
/** Values of those held from which the middle is found. */
const MIDDLE_OF = 1023;

/** Which pairs come, and how many may be held meanwhile. */
interface PairOrder extends Omit<JoinWanted, 'range'> {
  /** Of equal rows only the first is paired with others; they are paired with it. */
  readonly isFirstOnly: boolean;
  /** True of pairs of first rows that need not be found. */
  readonly isNeedless?: ((a: number, b: number) => boolean) | undefined;
  /** Most pairs of distinct codes to be held; tests make it small. */
  readonly maxHeld?: number;
}

/** All pairs, batch by batch; what else is yielded are steps. */
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

/** Pairs of distinct codes with a row in the window. */
function* heldIn(codes: Distinct, method: JoinMethod, order: PairOrder, held: Held): Steps<void> {
  const { left, right, distinctOfRow, firstDistinct } = codes;
  const isOne = left === right;
  // Distinct codes of one collection are in the order of their first rows, the lower one first.
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
      if (order.isNeedless?.(left.firstOf(hits[i]), right.firstOf(hits[i + 1]))) continue;
      held.take(hits[i], hits[i + 1], hits[i + 2], isOne);
      if (distinctOfRow !== null) held.take(hits[i + 1], hits[i], hits[i + 2], isOne);
    }
  });
}

/** Pairs of distinct codes, the first of which has a row in the window. */
class Held {
  /** The window of rows, which is cut when there are too many. */
  from = 0;
  to = 0;
  /** Those that may be held before the window is cut. */
  readonly #maxHeld: number;
  readonly #left: DistinctRows;
  readonly #right: DistinctRows;
  readonly #distinctOfRow: Uint32Array | null;
  /** By distinct code its first row in the window or behind; null where code i is row i. */
  readonly #nextRows: Uint32Array | null;
  #isFirstOnly = false;
  #distincts: Uint32Array;
  #others: Uint32Array;
  /** When sorted: of each of the others the first row, and the one that follows it. */
  #rows = new Uint32Array();
  #nexts = new Uint32Array();
  #distances: Uint16Array;
  #count = 0;
  /** Those of distinct code s, when sorted, lie from `#starts[s]` to `#starts[s + 1]`. */
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

  /** Empties it for the rows from `from` on. */
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

  /** Holds a pair if a row of the first is in the window and, of one collection, is before one. */
  take(distinct: number, other: number, distance: number, isOne: boolean): void {
    const first = this.#rowOf(distinct);
    if (first < this.from || first >= this.to) return; // NONE is beyond all
    if (this.#isFirstOnly && first !== this.#left.firstOf(distinct)) return;
    const lastOther = this.#isFirstOnly ? this.#right.firstOf(other) : this.#right.lastOf(other);
    if (lastOther === NONE || (isOne && lastOther <= first)) return;
    if (this.#count === this.#distincts.length && !this.#cut(first)) return;
    this.#distincts[this.#count] = distinct;
    this.#others[this.#count] = other;
    this.#distances[this.#count++] = distance;
  }

  /** The first row of a distinct code that is in the window or behind it; NONE for none. */
  #rowOf(distinct: number): number {
    return this.#nextRows === null ? this.#left.firstOf(distinct) : this.#nextRows[distinct];
  }

  /** Cuts the window in the middle, or grows; false when `row` is no longer in the window. */
  #cut(row: number): boolean {
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

  /** The row, roughly, that half of those held begin before. */
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

  /** Sorts the pairs by their first code; the arrays are replaced by sorted ones. */
  *sort(): Steps<void> {
    if (this.#starts.length === 0) this.#starts = new Uint32Array(this.#distinctCount + 1);
    const starts = this.#starts.fill(0);
    for (let i = 0; i < this.#count; i++) starts[this.#distincts[i]]++;
    let sum = 0;
    for (let distinct = 0; distinct < starts.length; distinct++) {
      sum += starts[distinct];
      starts[distinct] = sum; // where they end, until all are entered
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
    // In separate loops, where the cache misses of reads by a random index overlap.
    this.#rows = yield* mappedInSteps(this.#rows, first, 0);
    this.#nexts = yield* mappedInSteps(this.#rows, next, start);
  }

  /** Whether a distinct code has no pair; known once the pairs are sorted. */
  isAlone(distinct: number): boolean {
    return this.#starts[distinct] === this.#starts[distinct + 1];
  }

  /** Appends the rows near a distinct code that are behind `after`: all, or one for each code. */
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

/** `values[place - start]` of each place. */
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

/** Appends the pairs of one row. */
function pairsOf(
  row: number,
  codes: Distinct,
  held: Held,
  { isFirstOnly, bits }: PairOrder,
  out: Batches,
): void {
  const { distinctOfRow, left, right } = codes;
  const distinct = distinctAt(codes, row);
  if (distinct === NONE || (distinctOfRow === null && held.isAlone(distinct))) return;
  if (isFirstOnly && left.firstOf(distinct) !== row) return;
  const after = left === right ? row : -1;
  out.begin(row);
  // Equal codes differ in no bit.
  const equal = bits !== undefined && bits.differ.length > 0 ? NONE : right.firstOf(distinct);
  for (let other = equal; other !== NONE; other = right.nextOf(other)) {
    if (other > after) out.append(other, 0);
  }
  held.appendTo(out, distinct, after, !isFirstOnly);
  out.end();
}

/** Collects a batch of pairs, those of a row in the order of the other row. */
class Batches {
  #a = new Uint32Array(BATCH);
  #keys = new Float64Array(BATCH);
  #count = 0;
  #row = 0;
  #start = 0;

  get count(): number {
    return this.#count;
  }

  get isFull(): boolean {
    return this.#count >= BATCH;
  }

  /** What follows, up to `end`, is appended as pairs of this row. */
  begin(row: number): void {
    this.#row = row;
    this.#start = this.#count;
  }

  append(row: number, distance: number): void {
    if (this.#count === this.#keys.length) this.#keys = grown(this.#keys);
    this.#keys[this.#count++] = row * 2 ** 16 + distance; // exact, and sorted by the row
  }

  end(): void {
    if (this.#count > this.#a.length) this.#a = grown(this.#a, this.#keys.length);
    this.#a.fill(this.#row, this.#start, this.#count);
    if (this.#count > this.#start + 1) this.#keys.subarray(this.#start, this.#count).sort();
  }

  /** Returns all pairs that were appended, and empties the batch. */
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
