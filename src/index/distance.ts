/**
 * Searches by Hamming distance, which miss nothing: the k nearest rows, or all within a distance,
 * in the order of (distance, row). Tables of blocks of bits find them where the distance is small
 * and few codes share a block with the query; else all codes are scanned. Tables are made at the
 * second search of a segment that they could answer, so that a single search does not pay for them.
 */

import { keyOf, rowOf, rowsOf, Smallest, weightOf } from '../base/top-k';
import { distance, distanceOfWords } from '../kernels/hamming';
import { type HitSearch, NO_ROW } from '../kernels/hits';
import { hammingKernel } from '../kernels/kernels';
import { BlockTables } from './block-tables';
import type { FilterMemory } from './filter';
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

/**
 * Look-ups that took longer than a scan halve what the next searches spend on tables, down to this
 * part of a scan.
 */
const MIN_SHARE = 1 / 64;
/**
 * With a filter the nearest 8 k rows are sought first, then 8 times as many each time too few pass.
 */
const FILTERED = 8;

/** Tables are made again when a tail has so many times their codes. */
const MAX_GROWTH = 1.25;

/**
 * For each segment or tail the tables of its codes, how many searches could have used them, and
 * which part of the time of a scan a search may spend on them.
 */
const tables = new WeakMap<
  MemoryPart,
  { searches: number; made: BlockTables | null; share: number }
>();

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
    const state = tables.get(part) ?? { searches: 0, made: null, share: 1 };
    tables.set(part, state);
    state.searches++;
    const isOld = state.made !== null && count > MAX_GROWTH * state.made.count;
    if (isOld || (state.made === null && (state.searches > 1 || method === 'bands'))) {
      state.made = BlockTables.of(part.codes.codes, count, this.#index.bits);
    }
    const { made } = state;
    // A filter may start another search while the tables are in use: that search scans.
    const isUseless = made === null || (k >= count && maxDistance > made.reach);
    if (isUseless || made.isInUse) return false;
    const near = new Smallest(k);
    const most = (state.share * count) / SCANNED_PER_FOUND;
    let isDone = false;
    made.isInUse = true;
    try {
      isDone = this.#lookUp(part, made, near, method === 'bands' ? count : most);
    } finally {
      made.isInUse = false; // also where a filter throws
    }
    if (!isDone) {
      // Tables took longer than a scan: the next searches give up on them earlier.
      if (method === 'auto') state.share = Math.max(MIN_SHARE, state.share / 2);
      return false;
    }
    state.share = Math.min(1, 2 * state.share);
    for (const key of near.unordered()) this.#best.take(weightOf(key), rowOf(key));
    // Codes of a tail that were added after the tables were made are scanned.
    this.#scan({ codes: part.codes, first: made.count, end: count, part });
    return true;
  }

  /**
   * Offers to `near` the codes that tables find, until no other can enter; false if more than
   * `most` codes would have to be compared.
   */
  #lookUp(part: MemoryPart, made: BlockTables, near: Smallest, most: number): boolean {
    const { codes, bytesPerCode, rows } = part.codes;
    const { buffer, byteOffset, length } = codes;
    const isOfWords = bytesPerCode % 4 === 0 && byteOffset % 4 === 0;
    const words = isOfWords ? new Int32Array(buffer, byteOffset, length / 4) : null;
    const code = words && new Int32Array(this.#code.slice().buffer);
    let left = most;
    made.begin(this.#code);
    for (let radius = 0; radius <= made.reach; radius++) {
      const count = made.lookUp(radius, left);
      if (count < 0) return false;
      left -= count;
      this.#work.codesCompared += count;
      let limit = Math.min(this.#limit(this.#best), this.#limit(near));
      for (let i = 0; i < count; i++) {
        const position = made.found[i];
        const bits =
          words !== null && code !== null
            ? distanceOfWords(code, words, position * (bytesPerCode / 4))
            : distance(this.#code, codes, position * bytesPerCode);
        if (bits > limit) continue;
        this.#offer(rows[position], bits, near);
        limit = Math.min(limit, this.#limit(near));
      }
      if (limit <= radius) return true;
    }
    return false;
  }

  /** Compares all codes of a block. */
  #scan({ codes, first, end }: Block): void {
    if (first >= end) return;
    const { bits, kernel } = this.#index;
    const { filter, k } = this.#asked;
    const by = hammingKernel(kernel, Math.ceil(bits / 8));
    const limit = this.#limit(this.#best);
    // With a filter more hits are sought until enough of the nearest are accepted.
    let keys: Float64Array | null = null;
    for (let want = filter === null ? k : FILTERED * k; keys === null; want *= FILTERED) {
      const search = by.search(codes, this.#code, Math.min(want, NO_ROW), limit);
      search.range(first, end);
      this.#work.codesCompared += end - first;
      const isAll = search.held < want;
      // A copy of the hits, since searches of user code overwrite them.
      const found = keysOf(codes, search);
      keys = filter === null ? found : this.#accepted(found.sort(), filter, isAll);
    }
    for (let i = 0; i < keys.length; i++) this.#best.take(weightOf(keys[i]), rowOf(keys[i]));
  }

  /**
   * The first k keys whose rows the filter accepts; null if too few of these hits pass and more
   * must be sought.
   */
  #accepted(keys: Float64Array, filter: FilterMemory, isAll: boolean): Float64Array | null {
    const { bound } = this.#best;
    const { k } = this.#asked;
    let [count, next] = [0, 0];
    for (; next < keys.length && count < k && keys[next] < bound; next++) {
      if (filter.accepts(rowOf(keys[next]))) keys[count++] = keys[next];
    }
    const isEnough = isAll || count === k || next < keys.length;
    return isEnough ? keys.subarray(0, count) : null;
  }
}

/** The keys (distance, row) of the hits of a scan, without those of removed rows. */
function keysOf({ rows }: Block['codes'], search: HitSearch): Float64Array {
  const { limit } = search;
  const hits = search.hits();
  const keys = new Float64Array(hits.count);
  let count = 0;
  for (let i = 0; i < hits.count; i++) {
    const row = rows[hits.codes[i]];
    if (hits.weights[i] <= limit && row !== NO_ROW) keys[count++] = keyOf(hits.weights[i], row);
  }
  return keys.subarray(0, count);
}
