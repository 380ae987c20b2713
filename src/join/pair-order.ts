/**
 * Pairs of rows in the order of (a, b), in bounded memory. A join finds pairs of slots in no order;
 * those whose first row lies in a window of rows are held, sorted and told of. The window is all
 * rows to begin with, and is cut when more pairs are found than there is room for; the next one
 * begins where it ended.
 */

import { Item, type Steps, type Stream } from '../base/steps';
import { HIT } from '../kernels/joins/join-memory';
import { type Distinct, NONE, type SlotRows, slotAt } from './distinct';
import { type JoinWanted, join } from './join';
import type { JoinPlan } from './join-layout';

/** Pairs by their rows. Rows of a second collection count from 0 there. */
export interface PairBatch {
  readonly a: Uint32Array;
  readonly b: Uint32Array;
  readonly distances: Uint16Array;
}

/** Pairs of a batch. */
const BATCH = 2 ** 16;
/** Pairs of slots that there is room for at first, and at most: 40 MB. */
const FIRST_HELD = 2 ** 14;
const MOST_HELD = 2 ** 22;
/** Values of those held from which the middle is found. */
const MIDDLE_OF = 1023;

export interface PairOrder extends Omit<JoinWanted, 'range'> {
  /** Of equal rows only the first is paired with others; they are paired with it. */
  readonly isFirstOnly: boolean;
  /** Most pairs of slots to be held; tests make it small. */
  readonly mostHeld?: number;
}

/** All pairs, batch by batch; what else is yielded are steps. */
export function* pairsInOrder(
  codes: Distinct,
  plan: JoinPlan,
  order: PairOrder,
): Stream<PairBatch> {
  const { left } = codes;
  const held = new Held(codes, order.mostHeld ?? MOST_HELD);
  const out = new Batches();
  for (let from = left.start; from < left.end; from = held.to) {
    held.begin(from, order.isFirstOnly);
    for (const step of heldIn(codes, plan, order, held)) {
      if (!Array.isArray(step)) yield undefined;
      else yield [from + ((held.to - from) * step[0]) / step[1], left.end];
    }
    if (held.isEmpty && codes.slotOfRow === null) continue;
    held.sort();
    for (let row = from; row < held.to; row++) {
      pairsOf(row, codes, held, order.isFirstOnly, out);
      if (out.isFull) yield new Item(out.taken(codes));
    }
  }
  if (out.count > 0) yield new Item(out.taken(codes));
}

/** Pairs of slots with a row in the window. */
function* heldIn(codes: Distinct, plan: JoinPlan, order: PairOrder, held: Held): Steps<void> {
  const { left, right, slotOfRow, firstSlots } = codes;
  const isOne = left === right;
  // Of one collection slots are in the order of their first row, and the lower one is first.
  const isLowerFirst = slotOfRow === null || (isOne && order.isFirstOnly);
  const range = () => {
    if (!isOne && slotOfRow !== null) return [0, firstSlots] as const;
    return [isLowerFirst ? left.slotsBefore(held.from) : 0, left.slotsBefore(held.to)] as const;
  };
  yield* join(codes, plan, { ...order, range }, (hits, count) => {
    for (let i = 0; i < HIT * count; i += HIT) {
      held.take(hits[i], hits[i + 1], hits[i + 2], isOne);
      if (slotOfRow !== null) held.take(hits[i + 1], hits[i], hits[i + 2], isOne);
    }
  });
}

/** Slots beside slots, the first of which has a row in the window. */
class Held {
  /** The window of rows, which is cut when there are too many. */
  from = 0;
  to = 0;
  /** Those that may be held before the window is cut. */
  readonly #most: number;
  readonly #left: SlotRows;
  readonly #right: SlotRows;
  readonly #slotOfRow: Uint32Array | null;
  /** By slot its first row in the window or behind; null where slot i is row i. */
  readonly #nextRows: Uint32Array | null;
  #isFirstOnly = false;
  #slots: Uint32Array;
  #others: Uint32Array;
  /** When sorted: of each of the others the first row, and the one that follows it. */
  #rows = new Uint32Array();
  #nexts = new Uint32Array();
  #distances: Uint16Array;
  #count = 0;
  /** Those of slot s, when sorted, lie from `#starts[s]` to `#starts[s + 1]`. */
  #starts = new Uint32Array();
  readonly #slotCount: number;

  constructor({ left, right, count, slotOfRow }: Distinct, most: number) {
    const room = Math.min(most, FIRST_HELD);
    this.#most = most;
    this.#left = left;
    this.#right = right;
    this.#slotOfRow = slotOfRow;
    this.#nextRows = left.first?.slice() ?? null;
    this.#slots = new Uint32Array(room);
    this.#others = new Uint32Array(room);
    this.#distances = new Uint16Array(room);
    this.#slotCount = count;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  begin(from: number, isFirstOnly: boolean): void {
    if (this.#nextRows !== null && this.#slotOfRow !== null) {
      for (let row = this.from; row < from; row++) {
        const slot = this.#slotOfRow[row];
        if (slot !== NONE) this.#nextRows[slot] = this.#left.nextOf(row);
      }
    }
    this.from = from;
    this.#isFirstOnly = isFirstOnly;
    this.to = this.#left.end;
    this.#count = 0;
  }

  /** A pair, if it tells of rows in the window: of one collection, if the second may follow. */
  take(slot: number, other: number, distance: number, isOne: boolean): void {
    const first = this.#rowOf(slot);
    if (first < this.from || first >= this.to) return; // NONE is beyond all
    if (this.#isFirstOnly && first !== this.#left.firstOf(slot)) return;
    const lastOther = this.#isFirstOnly ? this.#right.firstOf(other) : this.#right.lastOf(other);
    if (lastOther === NONE || (isOne && lastOther <= first)) return;
    if (this.#count === this.#slots.length && !this.#makeRoom(first)) return;
    this.#slots[this.#count] = slot;
    this.#others[this.#count] = other;
    this.#distances[this.#count++] = distance;
  }

  #rowOf(slot: number): number {
    return this.#nextRows === null ? this.#left.firstOf(slot) : this.#nextRows[slot];
  }

  /** Cuts the window in the middle, or grows; false when `row` is no longer in the window. */
  #makeRoom(row: number): boolean {
    const to = Math.max(this.from + 1, this.#middle());
    if (to === this.to || this.#count < this.#most) {
      this.#grow();
      return true;
    }
    this.to = to;
    let count = 0;
    for (let i = 0; i < this.#count; i++) {
      if (this.#rowOf(this.#slots[i]) >= to) continue;
      this.#slots[count] = this.#slots[i];
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
      return this.#rowOf(this.#slots[Math.floor((i * this.#count) / MIDDLE_OF)]);
    }).sort();
    return some[MIDDLE_OF >> 1];
  }

  #grow(): void {
    const grow = <T extends Uint32Array | Uint16Array>(from: T): T => {
      const grown = new (from.constructor as Uint32ArrayConstructor)(2 * from.length) as T;
      grown.set(from);
      return grown;
    };
    this.#slots = grow(this.#slots);
    this.#others = grow(this.#others);
    this.#distances = grow(this.#distances);
  }

  /** Puts them in the order of their first slot: the arrays change places with sorted ones. */
  sort(): void {
    if (this.#starts.length === 0) this.#starts = new Uint32Array(this.#slotCount + 1);
    const starts = this.#starts.fill(0);
    for (let i = 0; i < this.#count; i++) starts[this.#slots[i]]++;
    let sum = 0;
    for (let slot = 0; slot < starts.length; slot++) {
      sum += starts[slot];
      starts[slot] = sum; // where they end, until all are placed
    }
    const others = new Uint32Array(this.#others.length);
    const distances = new Uint16Array(this.#distances.length);
    for (let i = this.#count - 1; i >= 0; i--) {
      const at = --starts[this.#slots[i]];
      others[at] = this.#others[i];
      distances[at] = this.#distances[i];
    }
    this.#others = others;
    this.#distances = distances;
    const { first, next, start } = this.#right;
    this.#rows = others.subarray(0, this.#count);
    if (first === null || next === null) return;
    // In loops of their own, where cache misses overlap.
    this.#rows = this.#rows.map((slot) => first[slot]);
    this.#nexts = this.#rows.map((row) => next[row - start]);
  }

  isAlone(slot: number): boolean {
    return this.#starts[slot] === this.#starts[slot + 1];
  }

  /** Appends the rows beside a slot that come behind `after`, or of each code the first. */
  appendTo(out: Batches, slot: number, after: number, isAll: boolean): void {
    const { next, start } = this.#right;
    const rows = this.#rows;
    const nexts = this.#nexts;
    const distances = this.#distances;
    const end = this.#starts[slot + 1];
    for (let i = this.#starts[slot]; i < end; i++) {
      if (rows[i] > after) out.append(rows[i], distances[i]);
      if (next === null || !isAll) continue;
      for (let row = nexts[i]; row !== NONE; row = next[row - start]) {
        if (row > after) out.append(row, distances[i]);
      }
    }
  }
}

/** Appends the pairs of one row. */
function pairsOf(
  row: number,
  codes: Distinct,
  held: Held,
  isFirstOnly: boolean,
  out: Batches,
): void {
  const { slotOfRow, left, right } = codes;
  const slot = slotAt(codes, row);
  if (slot === NONE || (slotOfRow === null && held.isAlone(slot))) return;
  if (isFirstOnly && left.firstOf(slot) !== row) return;
  const after = left === right ? row : -1;
  out.begin(row);
  for (let other = right.firstOf(slot); other !== NONE; other = right.nextOf(other)) {
    if (other > after) out.append(other, 0);
  }
  held.appendTo(out, slot, after, !isFirstOnly);
  out.end();
}

/** Pairs on their way out, those of a row in the order of the other. */
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

  begin(row: number): void {
    this.#row = row;
    this.#start = this.#count;
  }

  append(row: number, distance: number): void {
    if (this.#count === this.#keys.length) {
      const grown = new Float64Array(2 * this.#count);
      grown.set(this.#keys);
      this.#keys = grown;
    }
    this.#keys[this.#count++] = row * 2 ** 16 + distance; // exact, and sorted by the row
  }

  end(): void {
    const { length } = this.#a;
    if (this.#count > length) {
      const grown = new Uint32Array(this.#keys.length);
      grown.set(this.#a);
      this.#a = grown;
    }
    this.#a.fill(this.#row, this.#start, this.#count);
    if (this.#count > this.#start + 1) this.#keys.subarray(this.#start, this.#count).sort();
  }

  /** All that were appended, and begins anew. */
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
