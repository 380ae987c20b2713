/**
 * The k nearest of every code: many lists in one array, since a selector object for each would take
 * too much memory. A list is a heap of the keys (distance, item) of base/top-k with the farthest as
 * root, so its limit is always known. Lists grow as they fill, up to a size of their own.
 */

import { grown } from '../base/arrays';
import { keyOf, weightOf } from '../base/top-k';

/** Capacity of a list with its first item; it doubles when the list is full. */
const FIRST_CAPACITY = 16;

/** The lists. An item belongs to a list at most once. */
export class BestLists {
  readonly count: number;
  /** Most items of each list. */
  readonly #wants: Uint32Array;
  /** By list what `limitOf` returns: one array to read, where its parts would be four. */
  readonly #limits: Uint32Array;
  /** Where each list begins in `#keys`, how many items have room there, and how many it has. */
  readonly #starts: Float64Array;
  readonly #capacities: Uint32Array;
  readonly #lengths: Uint32Array;
  #keys: Float64Array<ArrayBuffer>;
  #end = 0;

  /** List i holds up to `wants[i]` items, all within `maxDistance`. */
  constructor(wants: Uint32Array, maxDistance: number) {
    this.count = wants.length;
    this.#wants = wants;
    this.#limits = wants.map((want) => (want === 0 ? 0 : maxDistance + 1));
    this.#starts = new Float64Array(wants.length);
    this.#capacities = new Uint32Array(wants.length);
    this.#lengths = new Uint32Array(wants.length);
    this.#keys = new Float64Array(FIRST_CAPACITY);
  }

  /** Only items below this distance can still enter a list; 0 for a list of no items. */
  limitOf(list: number): number {
    return this.#limits[list];
  }

  /** Offers an item that the list was not offered before; returns the new limit. */
  offer(list: number, distance: number, item: number): number {
    const limit = this.#limits[list];
    if (distance >= limit) return limit;
    const want = this.#wants[list];
    const key = keyOf(distance, item);
    let length = this.#lengths[list];
    if (length < want) {
      if (length === this.#capacities[list]) this.#grow(list);
      this.#rise(this.#starts[list], length, key);
      this.#lengths[list] = ++length;
      if (length < want) return limit;
    } else if (key < this.#keys[this.#starts[list]]) {
      this.#sink(this.#starts[list], length, key); // drops the root of a full list
    }
    this.#limits[list] = weightOf(this.#keys[this.#starts[list]]) + 1;
    return this.#limits[list];
  }

  /** Offers an item that may have been offered before; searches the list for it. */
  offerAgain(list: number, distance: number, item: number): number {
    const limit = this.limitOf(list);
    if (distance >= limit) return limit;
    const start = this.#starts[list];
    const key = keyOf(distance, item);
    for (let i = 0; i < this.#lengths[list]; i++) if (this.#keys[start + i] === key) return limit;
    return this.offer(list, distance, item);
  }

  /** The keys of a list, nearest first: a view. Sorts the heap, so nothing may be offered then. */
  inOrder(list: number): Float64Array {
    const start = this.#starts[list];
    return this.#keys.subarray(start, start + this.#lengths[list]).sort();
  }

  /** Moves a full list to the end of the array with twice the capacity; its old space is lost. */
  #grow(list: number): void {
    const old = this.#capacities[list];
    const capacity = Math.min(this.#wants[list], old === 0 ? FIRST_CAPACITY : 2 * old);
    const start = this.#end;
    this.#end += capacity;
    if (this.#end > this.#keys.length) {
      this.#keys = grown(this.#keys, Math.max(this.#end, 2 * this.#keys.length));
    }
    const from = this.#starts[list];
    this.#keys.copyWithin(start, from, from + old);
    this.#starts[list] = start;
    this.#capacities[list] = capacity;
  }

  /** Adds a key to a heap of `length` keys. */
  #rise(start: number, length: number, key: number): void {
    const keys = this.#keys;
    let at = length;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (keys[start + above] >= key) break;
      keys[start + at] = keys[start + above];
      at = above;
    }
    keys[start + at] = key;
  }

  /** Replaces the root of a heap by a key. */
  #sink(start: number, length: number, key: number): void {
    const keys = this.#keys;
    let at = 0;
    for (let below = 1; below < length; below = 2 * at + 1) {
      if (below + 1 < length && keys[start + below + 1] > keys[start + below]) below++;
      if (keys[start + below] <= key) break;
      keys[start + at] = keys[start + below];
      at = below;
    }
    keys[start + at] = key;
  }
}
