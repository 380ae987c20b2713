/**
 * Slots grouped by their nearest centroid, stored group by group, so that a search visits only the
 * groups whose centroids are near its query. Slots added later are listed with their group until
 * the groups are put in order again.
 */

import type { Steps } from '../../base/steps';
import type { SimHasher } from '../../hashing/simhash';
import type { HitSearch } from '../../kernels/hits/hits';
import { type KernelName, productsKernel } from '../../kernels/kernels';
import { UNIT } from '../../kernels/products/products.scalar';
import { BLOCK_ROWS, ONE_WEIGHT, RANGE } from '../../kernels/residuals/residuals.scalar';
import type { Slots } from '../distinct/slots';
import type { KeptVectors } from '../vectors/kept-vectors';
import { Sketches } from './residual-codes';
import { type Space, spaceOf } from './space';

const BLOCK_SLOTS = 512;
/** Sketches between two steps: some milliseconds. */
const STEP_SLOTS = 1024;
/** Slots whose mean nearness to their centroids is taken for that of all. */
const NEARNESS_SLOTS = 2 ** 14;

/** Of the index whose slots they are. */
interface Origin {
  readonly vectors: KeptVectors | null;
  readonly bits: number;
  readonly hasher: SimHasher;
  readonly kernel: KernelName | undefined;
}

/** Centroids, and where the slots of each begin; and what `Partitions` found out of them before. */
export interface Grouping {
  readonly centroids: Int16Array;
  readonly starts: Uint32Array;
  readonly nearness?: number | undefined;
}

export class Partitions {
  readonly count: number;
  readonly centroids: Int16Array;
  readonly space: Space;
  /** Slots of partition p lie at `starts[p]` to `starts[p + 1]`. */
  readonly starts: Uint32Array;
  /** For a first look at the slots; null where no vectors are kept. */
  readonly sketches: Sketches | null;
  /** Where the sketches of partition p begin: at a block. */
  readonly #places: Uint32Array;
  #nearness = 0;
  #ranges = new Uint32Array(256);
  #rangesAsFloats = new Float32Array(this.#ranges.buffer);
  readonly #slots: Slots;
  readonly #late: number[][];
  /** The partition of each late slot. */
  readonly #lateIn: number[] = [];
  readonly #kernel: KernelName | undefined;
  readonly #order: Uint32Array;
  readonly #products: Int32Array;

  private constructor(origin: Origin, slots: Slots, { centroids, starts }: Grouping) {
    const { vectors, bits, kernel, hasher } = origin;
    this.#slots = slots;
    this.space = spaceOf({ vectors, bits }, slots);
    this.centroids = centroids;
    this.count = centroids.length / this.space.width;
    this.starts = starts;
    this.#places = blocksOf(starts);
    const sketched = { vectors, seed: hasher.seed, ...(kernel !== undefined && { kernel }) };
    this.sketches = Sketches.of(sketched, this.#places[this.count]);
    this.#late = Array.from({ length: this.count }, () => []);
    this.#kernel = kernel;
    this.#order = new Uint32Array(this.count);
    this.#products = new Int32Array(this.count);
  }

  /** Partitions with the sketches of all their slots. */
  static *of(origin: Origin, slots: Slots, grouping: Grouping): Steps<Partitions> {
    const partitions = new Partitions(origin, slots, grouping);
    if (partitions.sketches === null) return partitions;
    partitions.#nearness = grouping.nearness ?? (yield* partitions.#meanNearness());
    yield* partitions.#each((slot, p) => partitions.#sketch(slot, p));
    return partitions;
  }

  /** Of some slots all over. */
  *#meanNearness(): Steps<number> {
    const { rows } = this.#slots.memory;
    const every = Math.ceil(this.starts[this.count] / NEARNESS_SLOTS);
    let sum = 0;
    let count = 0;
    yield* this.#each((slot, p) => {
      if (slot % every !== 0) return;
      sum += (this.sketches as Sketches).nearnessOf(rows[slot], this.#centroidOf(p));
      count++;
    });
    return Math.max(0, sum / Math.max(1, count));
  }

  /** Slots that are in order, and their partitions. */
  *#each(look: (slot: number, partition: number) => void): Steps<void> {
    for (let slot = 0, p = 0; slot < this.starts[this.count]; slot++) {
      while (this.starts[p + 1] <= slot) p++;
      look(slot, p);
      if (slot % STEP_SLOTS === STEP_SLOTS - 1) yield undefined;
    }
  }

  #sketch(slot: number, p: number): void {
    const middle = { centroid: this.#centroidOf(p), length: this.#nearness };
    this.sketches?.set(this.#placeOf(slot, p), this.#slots.memory.rows[slot], middle);
  }

  #centroidOf(p: number): Int16Array {
    const { width } = this.space;
    return this.centroids.subarray(p * width, (p + 1) * width);
  }

  get bytes(): number {
    const near = this.sketches?.bytes ?? 0;
    return this.centroids.byteLength + 20 * this.count + 16 * this.lateCount + near;
  }

  /** The mean cosine of vectors with their centroids, by which sketches are made. */
  get nearness(): number {
    return this.#nearness;
  }

  /** Slots added since the groups were put in order. */
  get lateCount(): number {
    return this.#lateIn.length;
  }

  /** Slots that were added, or have rows again. */
  take(slot: number, isNew: boolean): void {
    if (isNew) this.#add(slot);
    this.#sketch(slot, this.#partitionOf(slot));
  }

  #add(slot: number): void {
    const vector = new Int16Array(this.space.width);
    this.space.slotInto(slot, vector, 0);
    const nearest = new Uint32Array(1);
    productsKernel(this.#kernel).nearestInto(this.#rows, vector, nearest);
    this.#late[nearest[0]].push(slot);
    this.#lateIn.push(nearest[0]);
  }

  /** A slot whose rows are all removed. */
  drop(slot: number): void {
    this.sketches?.remove(this.#placeOf(slot, this.#partitionOf(slot)));
  }

  get #rows() {
    return { values: this.centroids, width: this.space.width };
  }

  /**
   * The partitions nearest to a query, nearest first, and the products with their centroids. Valid
   * until the next call.
   */
  nearest(query: Int16Array, probes: number): { order: Uint32Array; products: Int32Array } {
    const order = this.#order.subarray(0, probes);
    const products = this.#products.subarray(0, probes);
    productsKernel(this.#kernel).orderInto(this.#rows, query, order, products);
    return { order, products };
  }

  /** Shows the slots of partitions to a search; returns how many. */
  visit(partitions: Uint32Array, search: HitSearch): number {
    let count = 0;
    for (const partition of partitions) {
      const first = this.starts[partition];
      const end = this.starts[partition + 1];
      search.range(first, end);
      const late = this.#late[partition];
      for (const slot of late) search.range(slot, slot + 1);
      count += end - first + late.length;
    }
    return count;
  }

  /**
   * The slots of the partitions nearest to a query as ranges of sketches, until the next call, and
   * how many slots.
   */
  ranges(query: Int16Array, probes: number): { ranges: Uint32Array; codes: number } {
    const { order, products } = this.nearest(query, probes);
    let late = 0;
    if (this.lateCount > 0) for (const p of order) late += this.#late[p].length;
    const length = RANGE * (order.length + late);
    if (length > this.#ranges.length) {
      this.#ranges = new Uint32Array(2 * length);
      this.#rangesAsFloats = new Float32Array(this.#ranges.buffer);
    }
    let codes = late;
    let at = 0;
    for (let i = 0; i < order.length; i++) {
      const p = order[i];
      // What was taken off the partition's rows adds this to their cosines.
      const more = (this.#nearness * products[i] * ONE_WEIGHT) / (UNIT * UNIT);
      const first = this.starts[p];
      const count = this.starts[p + 1] - first;
      at = this.#range(at, this.#places[p], first, count, more);
      codes += count;
      if (late === 0) continue;
      for (const slot of this.#late[p]) at = this.#range(at, this.#placeOf(slot, p), slot, 1, more);
    }
    return { ranges: this.#ranges.subarray(0, length), codes };
  }

  #range(at: number, place: number, slot: number, count: number, more: number): number {
    const ranges = this.#ranges;
    ranges[at] = place;
    ranges[at + 1] = slot;
    ranges[at + 2] = count;
    this.#rangesAsFloats[at + 3] = more;
    return at + RANGE;
  }

  /** Where the sketch of a slot is: those of late ones are behind the partitions, in order. */
  #placeOf(slot: number, p: number): number {
    const total = this.starts[this.count];
    if (slot >= total) return this.#places[this.count] + slot - total;
    return this.#places[p] + slot - this.starts[p];
  }

  #partitionOf(slot: number): number {
    const late = slot - this.starts[this.count];
    if (late >= 0) return this.#lateIn[late];
    let low = 0;
    let high = this.count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= slot) low = middle;
      else high = middle - 1;
    }
    return low;
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

/** Where the blocks of each partition's sketches begin, and where those behind them do. */
function blocksOf(starts: Uint32Array): Uint32Array {
  const places = new Uint32Array(starts.length);
  for (let p = 1; p < starts.length; p++) {
    const blocks = Math.ceil((starts[p] - starts[p - 1]) / BLOCK_ROWS);
    places[p] = places[p - 1] + BLOCK_ROWS * blocks;
  }
  return places;
}

/** The nearest centroid of each slot. */
export function* nearestCentroids(
  space: Space,
  centroids: Int16Array,
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
      { values: centroids, width },
      vectors,
      nearest.subarray(first, end),
    );
    yield [end, slots.count];
  }
  return nearest;
}

/** Slots in the order of their partitions, empty ones left out, and where each partition starts. */
export function* groupedSlots(
  slots: Slots,
  partitionOf: Uint32Array,
  count: number,
): Steps<{ slots: Slots; starts: Uint32Array }> {
  const starts = new Uint32Array(count + 1);
  for (let slot = 0; slot < slots.count; slot++) {
    if (!slots.isEmpty(slot)) starts[partitionOf[slot] + 1]++;
  }
  yield undefined;
  for (let p = 0; p < count; p++) starts[p + 1] += starts[p];
  const order = new Uint32Array(starts[count]);
  const next = starts.slice(0, count);
  for (let slot = 0; slot < slots.count; slot++) {
    if (!slots.isEmpty(slot)) order[next[partitionOf[slot]]++] = slot;
  }
  yield undefined;
  return { slots: yield* slots.rearranged(order), starts };
}
