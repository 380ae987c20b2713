/**
 * Slots grouped by their nearest centre, stored group by group, so that a search visits only the
 * groups whose centres are near its query. Slots added later are listed with their group until the
 * groups are put in order again.
 */

import { type KernelName, productsKernel } from '../kernels/kernels';
import type { WeightedSearch } from '../kernels/weighted.scalar';
import type { Steps } from '../long-call';
import type { Slots } from './slots';
import type { Space } from './space';

const BLOCK_SLOTS = 512;
/** Orders partitions by product, then number, in one float64. */
const PLACES = 2 ** 20;

export class Partitions {
  readonly count: number;
  readonly centres: Int16Array;
  readonly space: Space;
  /** Slots of partition p lie at `starts[p]` to `starts[p + 1]`. */
  readonly starts: Uint32Array;
  readonly #late: number[][];
  #lateCount = 0;
  readonly #kernel: KernelName | undefined;
  readonly #products: Int32Array;
  readonly #keys: Float64Array;

  constructor(space: Space, centres: Int16Array, starts: Uint32Array, kernel?: KernelName) {
    this.space = space;
    this.centres = centres;
    this.count = centres.length / space.width;
    this.starts = starts;
    this.#late = Array.from({ length: this.count }, () => []);
    this.#kernel = kernel;
    this.#products = new Int32Array(this.count);
    this.#keys = new Float64Array(this.count);
  }

  get bytes(): number {
    return this.centres.byteLength + 20 * this.count + 8 * this.#lateCount;
  }

  /** Slots added since the groups were put in order. */
  get lateCount(): number {
    return this.#lateCount;
  }

  /** The group of a new slot. */
  add(slot: number): void {
    const vector = new Int16Array(this.space.width);
    this.space.slotInto(slot, vector, 0);
    const nearest = new Uint32Array(1);
    productsKernel(this.#kernel).nearestInto(this.#rows, vector, nearest);
    this.addTo(nearest[0], slot);
  }

  addTo(partition: number, slot: number): void {
    this.#late[partition].push(slot);
    this.#lateCount++;
  }

  get #rows() {
    return { values: this.centres, width: this.space.width };
  }

  /** The `probes` partitions nearest to a query, nearest first. */
  nearest(query: Int16Array, probes: number): Uint32Array {
    const products = this.#products;
    productsKernel(this.#kernel).productsInto(this.#rows, query, products);
    const least = leastOfMost(products, probes);
    const keys = this.#keys;
    let held = 0;
    for (let p = 0; p < products.length; p++) {
      if (products[p] >= least) keys[held++] = (2 ** 31 - products[p]) * PLACES + p;
    }
    const order = keys.subarray(0, held).sort();
    const nearest = new Uint32Array(Math.min(probes, held));
    for (let i = 0; i < nearest.length; i++) nearest[i] = order[i] % PLACES;
    return nearest;
  }

  /** Shows the slots of a partition to a search; returns how many. */
  visit(partition: number, search: WeightedSearch): number {
    const first = this.starts[partition];
    const end = this.starts[partition + 1];
    search.range(first, end);
    const late = this.#late[partition];
    for (const slot of late) search.range(slot, slot + 1);
    return end - first + late.length;
  }

  /** The partition of each slot. */
  partitionOfSlots(count: number): Uint32Array {
    const partitions = new Uint32Array(count);
    for (let p = 0; p < this.count; p++) {
      partitions.fill(p, this.starts[p], this.starts[p + 1]);
      for (const slot of this.#late[p]) partitions[slot] = p;
    }
    return partitions;
  }
}

const BINS = 512;
const bins = new Uint32Array(BINS);

/** A bound that at least `count` products reach, and few more: by counting them in bins. */
function leastOfMost(products: Int32Array, count: number): number {
  if (count >= products.length) return Number.NEGATIVE_INFINITY;
  let most = products[0];
  let least = products[0];
  for (let p = 1; p < products.length; p++) {
    if (products[p] > most) most = products[p];
    else if (products[p] < least) least = products[p];
  }
  const scale = (BINS - 1) / (most - least || 1);
  bins.fill(0);
  for (let p = 0; p < products.length; p++) bins[((most - products[p]) * scale) | 0]++;
  let bin = 0;
  for (let seen = bins[0]; seen < count; seen += bins[bin]) bin++;
  return most - (bin + 1) / scale;
}

/** The nearest centre of each slot. */
export function* nearestCentres(
  space: Space,
  centres: Int16Array,
  slots: Slots,
  kernel?: KernelName,
): Steps<Uint32Array> {
  const { width } = space;
  const nearest = new Uint32Array(slots.count);
  const block = new Int16Array(BLOCK_SLOTS * width);
  for (let first = 0; first < slots.count; first += BLOCK_SLOTS) {
    const end = Math.min(slots.count, first + BLOCK_SLOTS);
    for (let slot = first; slot < end; slot++) {
      if (!slots.isEmpty(slot)) space.slotInto(slot, block, (slot - first) * width);
    }
    const vectors = block.subarray(0, (end - first) * width);
    productsKernel(kernel).nearestInto(
      { values: centres, width },
      vectors,
      nearest.subarray(first, end),
    );
    yield [end, slots.count];
  }
  return nearest;
}

/** Slots in the order of their partitions, empty ones left out, and where each partition starts. */
export function groupedSlots(
  slots: Slots,
  partitionOf: Uint32Array,
  count: number,
): { slots: Slots; starts: Uint32Array } {
  const starts = new Uint32Array(count + 1);
  for (let slot = 0; slot < slots.count; slot++) {
    if (!slots.isEmpty(slot)) starts[partitionOf[slot] + 1]++;
  }
  for (let p = 0; p < count; p++) starts[p + 1] += starts[p];
  const order = new Uint32Array(starts[count]);
  const next = starts.slice(0, count);
  for (let slot = 0; slot < slots.count; slot++) {
    if (!slots.isEmpty(slot)) order[next[partitionOf[slot]]++] = slot;
  }
  return { slots: slots.rearranged(order), starts };
}
