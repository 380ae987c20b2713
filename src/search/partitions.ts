/**
 * Slots grouped by their nearest centre, stored group by group, so that a search visits only the
 * groups whose centres are near its query. Slots added later are listed with their group until the
 * groups are put in order again.
 */

import type { SimHasher } from '../hashing/simhash';
import type { HitSearch } from '../kernels/hits';
import { type KernelName, productsKernel } from '../kernels/kernels';
import { BLOCK_ROWS, RANGE } from '../kernels/sketches.scalar';
import type { Steps } from '../long-call';
import type { KeptVectors } from './kept-vectors';
import { Sketches } from './sketches';
import type { Slots } from './slots';
import { type Space, spaceOf } from './space';

const BLOCK_SLOTS = 512;
/** Sketches between two steps: some milliseconds. */
const STEP_SLOTS = 1024;

/** Of the index whose slots they are. */
interface Origin {
  readonly vectors: KeptVectors | null;
  readonly bits: number;
  readonly hasher: SimHasher;
  readonly mean: Float64Array | null;
  readonly kernel: KernelName | undefined;
}

export class Partitions {
  readonly count: number;
  readonly centres: Int16Array;
  readonly space: Space;
  /** Slots of partition p lie at `starts[p]` to `starts[p + 1]`. */
  readonly starts: Uint32Array;
  /** For a first look at the slots; null where no vectors are kept. */
  readonly sketches: Sketches | null;
  /** Where the sketches of partition p begin: at a block. */
  readonly #places: Uint32Array;
  /** Of each partition, as `rangesOf` gives them. */
  readonly #ranges: Uint32Array;
  #rangesRoom = new Uint32Array(256);
  readonly #slots: Slots;
  readonly #late: number[][];
  #lateCount = 0;
  readonly #kernel: KernelName | undefined;
  readonly #order: Uint32Array;

  private constructor(origin: Origin, slots: Slots, centres: Int16Array, starts: Uint32Array) {
    const { vectors, bits, kernel } = origin;
    this.#slots = slots;
    this.space = spaceOf({ vectors, bits }, slots);
    this.centres = centres;
    this.count = centres.length / this.space.width;
    this.starts = starts;
    this.#places = blocksOf(starts);
    this.#ranges = new Uint32Array(RANGE * this.count);
    for (let p = 0; p < this.count; p++) {
      this.#ranges.set([this.#places[p], starts[p], starts[p + 1] - starts[p]], RANGE * p);
    }
    this.sketches = Sketches.of(origin, this.#places[this.count]);
    this.#late = Array.from({ length: this.count }, () => []);
    this.#kernel = kernel;
    this.#order = new Uint32Array(this.count);
  }

  /** Partitions with the sketches of all their slots. */
  static *of(
    origin: Origin,
    slots: Slots,
    centres: Int16Array,
    starts: Uint32Array,
  ): Steps<Partitions> {
    const partitions = new Partitions(origin, slots, centres, starts);
    if (partitions.sketches === null) return partitions;
    for (let slot = 0, p = 0; slot < starts[partitions.count]; slot++) {
      while (starts[p + 1] <= slot) p++;
      const place = partitions.#places[p] + slot - starts[p];
      partitions.sketches.set(place, slots.memory.rows[slot]);
      if (slot % STEP_SLOTS === STEP_SLOTS - 1) yield undefined;
    }
    return partitions;
  }

  get bytes(): number {
    const near = this.sketches?.bytes ?? 0;
    return this.centres.byteLength + 20 * this.count + 8 * this.#lateCount + near;
  }

  /** Slots added since the groups were put in order. */
  get lateCount(): number {
    return this.#lateCount;
  }

  /** Slots that were added, or have rows again. */
  take(slot: number, isNew: boolean): void {
    this.sketches?.set(this.#placeOf(slot), this.#slots.memory.rows[slot]);
    if (!isNew) return;
    const vector = new Int16Array(this.space.width);
    this.space.slotInto(slot, vector, 0);
    const nearest = new Uint32Array(1);
    productsKernel(this.#kernel).nearestInto(this.#rows, vector, nearest);
    this.addTo(nearest[0], slot);
  }

  /** A slot whose rows are all removed. */
  drop(slot: number): void {
    this.sketches?.remove(this.#placeOf(slot));
  }

  addTo(partition: number, slot: number): void {
    this.#late[partition].push(slot);
    this.#lateCount++;
  }

  get #rows() {
    return { values: this.centres, width: this.space.width };
  }

  /** The partitions nearest to a query, nearest first. Valid until the next call. */
  nearest(query: Int16Array, probes: number): Uint32Array {
    const nearest = this.#order.subarray(0, probes);
    productsKernel(this.#kernel).orderInto(this.#rows, query, nearest);
    return nearest;
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

  /** The slots of partitions as ranges of sketches, until the next call, and how many slots. */
  rangesOf(partitions: Uint32Array): { ranges: Uint32Array; codes: number } {
    let late = 0;
    if (this.#lateCount > 0) for (const p of partitions) late += this.#late[p].length;
    const all = this.#ranges;
    const length = RANGE * (partitions.length + late);
    if (length > this.#rangesRoom.length) this.#rangesRoom = new Uint32Array(2 * length);
    const ranges = this.#rangesRoom.subarray(0, length);
    let codes = late;
    let at = 0;
    for (let i = 0; i < partitions.length; i++, at += RANGE) {
      const from = RANGE * partitions[i];
      ranges[at] = all[from];
      ranges[at + 1] = all[from + 1];
      ranges[at + 2] = all[from + 2];
      codes += all[from + 2];
    }
    for (let i = 0; late > 0 && i < partitions.length; i++) {
      for (const slot of this.#late[partitions[i]]) {
        ranges[at] = this.#placeOfLate(slot);
        ranges[at + 1] = slot;
        ranges[at + 2] = 1;
        at += RANGE;
      }
    }
    return { ranges, codes };
  }

  /** Behind the partitions, in order. */
  #placeOfLate(slot: number): number {
    return this.#places[this.count] + slot - this.starts[this.count];
  }

  /** Where a slot's sketch is. */
  #placeOf(slot: number): number {
    if (slot >= this.starts[this.count]) return this.#placeOfLate(slot);
    let low = 0;
    let high = this.count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= slot) low = middle;
      else high = middle - 1;
    }
    return this.#places[low] + slot - this.starts[low];
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
