/**
 * Search by distance: exact, whichever plan runs. Hits are slots in any order; what comes out is
 * rows in the order of (distance, row).
 */

import { NO_ROW } from '../kernels/hits';
import { hammingKernel } from '../kernels/kernels';
import type { Steps } from '../long-call';
import type { RowFilter } from './filter';
import type { Collector } from './nearest';
import type { Work } from './rank-rows';
import type { Slots } from './slots';
import { keyOf, rowOf, Smallest, weightOf } from './smallest';
import type { IndexState } from './state';

/** Slots between two steps, and between two looks at the limits: of many queries, and of one. */
const STEP_BYTES = 2 ** 21;
const ONE_STEP_BYTES = 2 ** 25;
const FIRST_SLOTS = 128;

/** Rows and distances, nearest first. */
export interface RowsByDistance {
  readonly rows: Uint32Array;
  readonly distances: Uint16Array;
}

/** Takes slots; a slot counts by its first row that the filter accepts. */
export class SlotCollector implements Collector {
  /** Those of the index when the search began: others may take their place on the way. */
  readonly slots: Slots;
  readonly #filter: RowFilter | null;
  readonly #k: number;
  readonly #best: Smallest;
  readonly #most: number;

  /** The k nearest of those within `maxDistance`. */
  constructor(state: IndexState, k: number, maxDistance: number, filter: RowFilter | null) {
    this.slots = state.slots;
    this.#filter = filter;
    this.#k = k;
    this.#best = new Smallest(k);
    this.#most = maxDistance + 1;
  }

  /** Slots within the limit that a scan must tell of: all, where some may not be accepted. */
  get want(): number {
    return this.#filter === null ? this.#k : NO_ROW;
  }

  get limit(): number {
    const { bound } = this.#best; // a lower row at the same distance comes before
    return bound < 0 ? 0 : Math.min(this.#most, weightOf(bound) + 1);
  }

  take(slot: number, distance: number): void {
    if (distance >= this.#most) return;
    const row = this.#firstRow(slot);
    if (row !== undefined) this.#best.take(distance, row);
  }

  #firstRow(slot: number): number | undefined {
    const { slots } = this;
    const first = slots.memory.rows[slot];
    if (first === NO_ROW) return undefined;
    if (this.#filter === null) return first;
    for (const row of slots.rowsOf(slot)) if (this.#filter.accepts(row)) return row;
    return undefined;
  }

  result(): RowsByDistance {
    const { slots } = this;
    let keys = this.#best.result();
    if (slots.hasDuplicates) {
      const all = new Smallest(this.#k);
      for (const key of keys) this.#expand(key, all);
      keys = all.result();
    }
    return { rows: Uint32Array.from(keys, rowOf), distances: Uint16Array.from(keys, weightOf) };
  }

  #expand(key: number, all: Smallest): void {
    const { slots } = this;
    const distance = weightOf(key);
    for (const row of slots.rowsOf(slots.slotOf(rowOf(key)))) {
      if (keyOf(distance, row) >= all.bound) return;
      if (this.#filter === null || this.#filter.accepts(row)) all.take(distance, row);
    }
  }
}

/** All of the collectors' slots from `firstSlot` on, for the codes of one query or of many. */
export function* scanSlots(
  state: IndexState,
  codes: readonly Uint8Array[],
  collectors: readonly SlotCollector[],
  work: Work,
  firstSlot = 0,
): Steps<void> {
  const [{ slots }] = collectors;
  const { bytesPerCode } = slots;
  const kernel = hammingKernel(state.kernel, bytesPerCode);
  if (codes.length === 1) {
    const step = Math.max(FIRST_SLOTS, Math.floor(ONE_STEP_BYTES / bytesPerCode));
    const [collector] = collectors;
    for (let first = firstSlot; first < slots.count; first += step) {
      const { want, limit } = collector;
      if (limit === 0) return;
      const search = kernel.search(slots.memory, codes[0], want, limit - 1);
      const end = Math.min(first + step, slots.count);
      search.range(first, end);
      const { codes: found, weights, count } = search.hits();
      for (let i = 0; i < count; i++) collector.take(found[i], weights[i]);
      work.codesCompared += end - first;
      yield undefined;
    }
    return;
  }
  const queries = new Uint8Array(codes.length * bytesPerCode);
  codes.forEach((code, i) => {
    queries.set(code, i * bytesPerCode);
  });
  const limits = new Uint32Array(codes.length);
  const step = Math.max(FIRST_SLOTS, Math.floor(STEP_BYTES / bytesPerCode / codes.length));
  for (let first = firstSlot, here = FIRST_SLOTS; first < slots.count; first += here, here = step) {
    here = Math.min(here, slots.count - first);
    collectors.forEach((collector, i) => {
      limits[i] = collector.limit;
    });
    const { codes: bytes } = slots.memory;
    kernel.hitsOfMany(bytes, first, here, queries, limits, (query, slot, distance) => {
      const collector = collectors[query];
      if (distance >= collector.limit) return;
      collector.take(slot, distance);
      limits[query] = collector.limit;
    });
    work.codesCompared += here * codes.length;
    yield undefined;
  }
}
