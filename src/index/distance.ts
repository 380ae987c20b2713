/**
 * Searches by Hamming distance, which miss nothing: the k nearest rows, or all within a distance,
 * in the order of (distance, row). Tables of blocks of bits find them where the distance is small
 * and few codes share a block with the query; else all codes are scanned. Tables are made at the
 * second search of a segment that they could answer, so that a single search does not pay for them.
 */

import { rowOf, rowsOf, Smallest, weightOf } from '../base/top-k';
import { distance } from '../kernels/hamming';
import { copyOfHits, NO_ROW } from '../kernels/hits';
import { hammingKernel } from '../kernels/kernels';
import { BlockTables, MAX_FLIPS } from './block-tables';
import type { FilterMemory } from './filter-memory';
import type { Block, MemoryPart, Searched, Stepped, Want, Work } from './searched';

/** Rows and their distances in bits, ordered by (distance, row). */
export interface NearRows {
  readonly rows: Uint32Array;
  readonly distances: Uint16Array;
}

interface AskedByDistance {
  readonly k: number;
  /** Inclusive. */
  readonly maxDistance: number;
  readonly method: 'auto' | 'scan' | 'bands';
  readonly filter: FilterMemory | null;
}

/** Fewer codes are scanned in the time of some look-ups. */
const MIN_CODES = 4096;
/**
 * Codes that a scan compares in the time of one found by tables, which lies at a random place
 * (bench/exact.mjs).
 */
const SCANNED_PER_FOUND = 16;

/** Tables are made again when a tail has so many times their codes. */
const MAX_GROWTH = 1.25;

/** By part the tables of its codes, and how many searches could have used them. */
const tables = new WeakMap<MemoryPart, { searches: number; made: BlockTables | null }>();

export class DistanceSearch implements Stepped {
  /** What some block was searched by, tables where any was. */
  method: 'scan' | 'bands' = 'scan';
  readonly #index: Searched;
  readonly #code: Uint8Array;
  readonly #asked: AskedByDistance;
  readonly #work: Work;
  readonly #best: Smallest;
  #next = 0;

  constructor(index: Searched, code: Uint8Array, asked: AskedByDistance, work: Work) {
    this.#index = index;
    this.#code = code;
    this.#asked = asked;
    this.#work = work;
    this.#best = new Smallest(asked.k);
  }

  get isDone(): boolean {
    return this.#next === this.#index.blockCount;
  }

  get want(): Want | null {
    return this.isDone ? null : { kind: 'block', block: this.#next };
  }

  suspend(): void {}

  step(): void {
    const block = this.#index.blockAt(this.#next++);
    const known = this.#asked.filter?.known;
    if (known && block.part !== null) this.#takeKnown(block.part, known);
    else if (block.part !== null && this.#byTables(block.part, block.end)) this.method = 'bands';
    else this.#scan(block);
  }

  get near(): NearRows {
    const keys = this.#best.result();
    const distances = new Uint16Array(keys.length);
    for (let i = 0; i < keys.length; i++) distances[i] = weightOf(keys[i]);
    return { rows: rowsOf(keys), distances };
  }

  /** The largest distance at which a row can still enter. */
  #limit(best: Smallest): number {
    const { maxDistance } = this.#asked;
    return Math.min(maxDistance, Number.isFinite(best.bound) ? weightOf(best.bound) : maxDistance);
  }

  /** Offers a row that is there and that the filter accepts. */
  #offer(row: number, found: number, best: Smallest): void {
    const { filter } = this.#asked;
    if (row !== NO_ROW && (filter === null || filter.accepts(row))) best.take(found, row);
  }

  /** Compares rows that are known to be accepted. */
  #takeKnown(part: MemoryPart, known: Uint32Array): void {
    const { codes, bytesPerCode } = part.codes;
    for (const row of known) {
      const place = part.placeOf(row);
      if (place < 0) continue;
      const found = distance(this.#code, codes, place * bytesPerCode);
      this.#work.codesCompared++;
      if (found <= this.#asked.maxDistance) this.#best.take(found, row);
    }
  }

  /** Offers all codes of a part within the limit; false where tables do not pay. */
  #byTables(part: MemoryPart, count: number): boolean {
    const { method, maxDistance, k } = this.#asked;
    if (method === 'scan' || count < MIN_CODES) return false;
    const state = tables.get(part) ?? { searches: 0, made: null };
    tables.set(part, state);
    state.searches++;
    const isOld = state.made !== null && count > MAX_GROWTH * state.made.count;
    if (isOld || (state.made === null && (state.searches > 1 || method === 'bands'))) {
      state.made = BlockTables.of(part.codes.codes, count, this.#index.bits);
    }
    const { made } = state;
    if (made === null) return false;
    const most = method === 'bands' ? count : Math.floor(count / SCANNED_PER_FOUND);
    for (let flips = 0; flips <= MAX_FLIPS; flips++) {
      const near = new Smallest(k);
      const take = (place: number, found: number) => {
        this.#work.codesCompared++;
        if (found <= maxDistance) this.#offer(part.codes.rows[place], found, near);
      };
      if (!made.search(part.codes.codes, this.#code, flips, most, take)) return false;
      // Rows beyond what the tables reach may be nearer than the last of these.
      const last = Math.min(this.#limit(this.#best), this.#limit(near));
      if (last > made.reach(flips)) continue;
      for (const key of near.unordered()) this.#best.take(weightOf(key), rowOf(key));
      // Codes of a tail that were added after the tables were made are scanned.
      this.#scan({ codes: part.codes, first: made.count, end: count, part });
      return true;
    }
    return false;
  }

  /** Compares all codes of a block. */
  #scan({ codes, first, end }: Block): void {
    if (first >= end) return;
    const { bits, kernel } = this.#index;
    const { filter, k } = this.#asked;
    const want = filter === null ? Math.min(k, NO_ROW) : NO_ROW;
    const search = hammingKernel(kernel, Math.ceil(bits / 8)).search(
      codes,
      this.#code,
      want,
      this.#limit(this.#best),
    );
    search.range(first, end);
    this.#work.codesCompared += end - first;
    const { limit } = search;
    // A copy where a filter may be user code, whose own searches overwrite the hits.
    const hits = filter === null ? search.hits() : copyOfHits(search.hits());
    for (let i = 0; i < hits.count; i++) {
      if (hits.weights[i] > limit) continue;
      this.#offer(codes.rows[hits.codes[i]], hits.weights[i], this.#best);
    }
  }
}
