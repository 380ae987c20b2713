/**
 * Pairs of rows in the order of (a, b), in bounded memory. A join compares distinct codes, so that
 * a million equal rows are compared once, and finds their pairs in no order. Those whose first row
 * lies in a window of rows are held, sorted and passed on. The window is all rows at first. If more
 * pairs are found than may be held, it is cut, and the next window, for which the join runs again,
 * begins where it ended.
 *
 * Distinct codes are found by a hash table and named by numbers, from 0 in the order of first rows.
 */

import { ascending, byGroup, grown, isValid } from '../base/arrays';
import { newSecret } from '../base/hash-tables';
import type { LongWork } from '../base/long-work';
import type { Codes } from '../codes/codes';
import { HIT, JoinMemory, joinKernel } from '../kernels/joins';
import { type JoinWanted, join, MAX_MASKS } from './join';

/** No row, or no distinct code. */
export const NONE = 0xffff_ffff;

/** Rows between two steps. */
const STEP_ROWS = 2 ** 15;

export interface DistinctCodes {
  /** The codes in the memory of the kernels, with masks for any join. */
  readonly memory: JoinMemory;
  readonly bits: number;
  /** Number of distinct codes. */
  readonly count: number;
  /** Distinct codes below this number are those of the collection that was read first. */
  readonly firstDistinct: number;
  /** Both collections; the same object if there is only one. */
  readonly left: CodedRows;
  readonly right: CodedRows;
}

/** The rows of a collection by their distinct codes. */
interface CodedRows {
  /** For each row its distinct code, NONE for a null one. */
  readonly codeOf: Uint32Array;
  /** The rows of code c, ascending, are `rows[starts[c]]` to `rows[starts[c + 1] - 1]`. */
  readonly starts: Uint32Array;
  readonly rows: Uint32Array;
}

/**
 * Finds the distinct codes of a collection, or of two. Of these the smaller one is read first, so
 * that its codes have the lower numbers: a join then needs only pairs whose lower code is below
 * `firstDistinct`. `rejects` is how many sets of bits pairs must differ in.
 */
export async function distinctOf(
  left: Codes,
  right: Codes | null,
  rejects: number,
  work: LongWork,
): Promise<DistinctCodes> {
  const total = left.count + (right?.count ?? 0);
  const masks = rejects + MAX_MASKS;
  const memory = JoinMemory.allocate(total, left.bytesPerCode, masks, total);
  const { numbers } = memory.arrays;
  const secret = newSecret();
  let [present, count] = [0, 0];
  // Codes of rows that are not null follow each other in memory, then each distinct one only once.
  const numbered = async (codes: Codes) => {
    const codeOf = new Uint32Array(codes.count).fill(NONE);
    for (let from = 0; from < codes.count; from += STEP_ROWS) {
      const end = copyInto(memory, present, codes, from);
      count = joinKernel.distinctInto(memory, present, end, count, secret);
      for (let row = from; present < end; row++) {
        if (isValid(codes.validity, row)) codeOf[row] = numbers[present++];
      }
      await work.step();
    }
    return codeOf;
  };
  const isRightFirst = right !== null && right.count < left.count;
  const first = await numbered(isRightFirst ? right : left);
  const firstDistinct = count;
  const second = right === null ? null : await numbered(isRightFirst ? left : right);
  const byCode = (codeOf: Uint32Array): CodedRows => {
    // Where all rows of a single collection differ, distinct code i is row i.
    if (right === null && count === total) {
      return { codeOf, starts: ascending(count + 1), rows: codeOf };
    }
    const { starts, members } = byGroup(codeOf, count);
    return { codeOf, starts, rows: members };
  };
  const one = byCode(first);
  const other = second === null ? one : byCode(second);
  const [ours, theirs] = isRightFirst ? [other, one] : [one, other];
  return { memory, bits: left.bits, count, firstDistinct, left: ours, right: theirs };
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
  const { length } = codes.left.codeOf;
  const held = new Held(codes, order);
  const out = new Batch();
  for (let from = 0; from < length; from = held.to) {
    held.begin(from);
    const part = work.part((done, total) => [from + ((held.to - from) * done) / total, length]);
    const wanted = { ...order, range: () => held.range };
    await join(codes, wanted, (hits, count) => held.takeHits(hits, count), part);
    // Where all rows of one collection differ, a window without near codes has no pairs.
    if (held.isEmpty && codes.left === codes.right && codes.count === length) continue;
    held.sort();
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
  /** The window's bounds for the lower code of a hit. */
  range: readonly [from: number, to: number] = [0, 0];
  readonly #codes: DistinctCodes;
  readonly #isOne: boolean;
  /** False where pairs must differ in some bits: equal codes do not. */
  readonly #hasEqual: boolean;
  /** Pairs that may be held before the window is cut. */
  readonly #maxHeld: number;
  /** For each distinct code its first row in the window, or NONE. */
  readonly #rows: Uint32Array;
  #firsts: Uint32Array;
  #others: Uint32Array;
  #distances: Uint16Array;
  #count = 0;
  /** After `sort`: the pairs of distinct code c are `members[starts[c]]` and those behind. */
  #byFirst = { starts: new Uint32Array(), members: new Uint32Array() };

  constructor(codes: DistinctCodes, { maxHeld = MAX_HELD, differ = [] }: PairOrder) {
    this.#codes = codes;
    this.#isOne = codes.left === codes.right;
    this.#hasEqual = differ.length === 0;
    this.#maxHeld = maxHeld;
    this.#rows = new Uint32Array(codes.count);
    const capacity = Math.min(maxHeld, FIRST_HELD);
    this.#firsts = new Uint32Array(capacity);
    this.#others = new Uint32Array(capacity);
    this.#distances = new Uint16Array(capacity);
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Empties it, and begins a window at `from` that reaches to the last row. */
  begin(from: number): void {
    this.#count = 0;
    this.from = from;
    this.#setEnd(this.#codes.left.codeOf.length);
  }

  /** Takes hits of the join: two distinct codes and their distance. */
  takeHits(hits: Uint32Array, count: number): void {
    for (let i = 0; i < HIT * count; i += HIT) {
      // Rows of equal codes mix: either code of a hit may have the earlier row of a pair.
      this.#take(hits[i], hits[i + 1], hits[i + 2]);
      this.#take(hits[i + 1], hits[i], hits[i + 2]);
    }
  }

  /** Holds a pair if a row of `first` lies in the window, and one of `other` may come after it. */
  #take(first: number, other: number, distance: number): void {
    if (this.#rows[first] === NONE) return;
    const { starts, rows } = this.#codes.right;
    const end = starts[other + 1];
    if (starts[other] === end || (this.#isOne && rows[end - 1] < this.#rows[first])) return;
    if (this.#count === this.#firsts.length) {
      if (this.#count >= this.#maxHeld) this.#cut();
      if (this.#count === this.#firsts.length) this.#grow();
      if (this.#rows[first] === NONE) return;
    }
    this.#firsts[this.#count] = first;
    this.#others[this.#count] = other;
    this.#distances[this.#count++] = distance;
  }

  #setEnd(to: number): void {
    this.to = to;
    const { left, right, count, firstDistinct } = this.#codes;
    this.#rows.fill(NONE);
    let [low, high] = [count, 0];
    for (let row = to - 1; row >= this.from; row--) {
      const code = left.codeOf[row];
      if (code === NONE) continue;
      this.#rows[code] = row;
      low = Math.min(low, code);
      high = Math.max(high, code + 1);
    }
    // The lower code is that of a row in the window, or of one that may be paired with it.
    for (let row = this.#isOne ? to : 0; row < right.codeOf.length; row++) {
      low = Math.min(low, right.codeOf[row]); // NONE is larger than all codes
    }
    this.range = [low, Math.min(firstDistinct, high)];
  }

  /** Cuts quarters of the window off until a quarter of the held pairs is gone, or one row left. */
  #cut(): void {
    const most = 0.75 * this.#count;
    while (this.#count > most && this.to > this.from + 1) {
      this.#setEnd(this.from + Math.max(1, Math.floor(0.75 * (this.to - this.from))));
      let count = 0;
      for (let i = 0; i < this.#count; i++) {
        if (this.#rows[this.#firsts[i]] === NONE) continue;
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

  /** Sorts the pairs by their first code, as `appendPairs` needs them. */
  sort(): void {
    this.#byFirst = byGroup(this.#firsts.subarray(0, this.#count), this.#codes.count);
  }

  /** Appends the pairs of a row: with rows of an equal code, and with rows of near codes. */
  appendPairs(row: number, out: Batch): void {
    const code = this.#codes.left.codeOf[row];
    if (code === NONE) return;
    const { starts, members } = this.#byFirst;
    const after = this.#isOne ? row : -1;
    if (this.#hasEqual) this.#appendRows(out, code, after, 0);
    for (let at = starts[code]; at < starts[code + 1]; at++) {
      const pair = members[at];
      this.#appendRows(out, this.#others[pair], after, this.#distances[pair]);
    }
    out.end(row);
  }

  /** Appends the rows of a distinct code beyond `after`. */
  #appendRows(out: Batch, distinct: number, after: number, distance: number): void {
    const { starts, rows } = this.#codes.right;
    for (let at = starts[distinct + 1] - 1; at >= starts[distinct] && rows[at] > after; at--) {
      out.append(rows[at], distance);
    }
  }
}

/** Collects a batch of pairs; those of a row are sorted by the other row. */
class Batch {
  #a = new Uint32Array(BATCH);
  #keys = new Float64Array(BATCH);
  /** Pairs so far, and those of rows that were ended. */
  count = 0;
  #ended = 0;

  /** True if the batch should be taken; it may be larger, since a row's pairs stay together. */
  get isFull(): boolean {
    return this.count >= BATCH;
  }

  /** Adds a pair of the present row with this row. */
  append(row: number, distance: number): void {
    if (this.count === this.#keys.length) this.#keys = grown(this.#keys);
    this.#keys[this.count++] = row * 2 ** 16 + distance; // exact below 2^53; sorts by row
  }

  /** Ends the pairs of a row, and sorts them. */
  end(row: number): void {
    const [from, end] = [this.#ended, this.count];
    if (from === end) return;
    if (end > this.#a.length) this.#a = grown(this.#a, this.#keys.length);
    this.#a.fill(row, from, end);
    if (end > from + 1) this.#keys.subarray(from, end).sort();
    this.#ended = end;
  }

  /** Returns a copy of all pairs that were appended, and empties the batch. */
  take(): OrderedPairs {
    const { count } = this;
    const b = new Uint32Array(count);
    const distances = new Uint16Array(count);
    for (let i = 0; i < count; i++) {
      const key = this.#keys[i];
      b[i] = Math.floor(key / 2 ** 16);
      distances[i] = key % 2 ** 16;
    }
    this.count = this.#ended = 0;
    return { a: this.#a.slice(0, count), b, distances };
  }
}
