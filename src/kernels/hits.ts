/**
 * Searches for the `want` lightest codes. A code has a small integer weight (its distance, or
 * 2,048 (1 - cosine)), and the limit falls as lighter codes are seen. The result has every code
 * within the final limit, so it may have more than `want`: callers order equal weights by row.
 */

import { grown } from '../base/arrays';
import type { LinearMemory } from './memory';
import { searchKernels } from './search-kernels';

/** An entry of `rows` for a code that stands for no row; searches skip it. */
export const NO_ROW = 0xffff_ffff;

/** The codes that are searched, and the row that each stands for, or NO_ROW. */
export interface RowCodes {
  readonly bytesPerCode: number;
  readonly codes: Uint8Array;
  readonly rows: Uint32Array;
}

/** `count` pairs (code, weight): position of a code among those searched, and its weight. */
export interface Hits {
  readonly codes: Uint32Array;
  readonly weights: Uint32Array;
  readonly count: number;
}

/**
 * A copy of the hits within a limit, by weight; equal weights stay in the order of the list. A
 * counting sort, in linear time.
 */
export function sortedHits({ codes, weights, count }: Hits, limit: number): Hits {
  const ends = new Uint32Array(limit + 2);
  for (let i = 0; i < count; i++) if (weights[i] <= limit) ends[weights[i] + 1]++;
  for (let weight = 0; weight <= limit; weight++) ends[weight + 1] += ends[weight];
  const total = ends[limit + 1];
  const sorted = { codes: new Uint32Array(total), weights: new Uint32Array(total), count: total };
  for (let i = 0; i < count; i++) {
    if (weights[i] > limit) continue;
    const at = ends[weights[i]]++;
    sorted.codes[at] = codes[i];
    sorted.weights[at] = weights[i];
  }
  return sorted;
}

/** So few entries that V8 makes the array without a buffer of its own, which is faster. */
const FEW_HITS = 16;

/** Hits in arrays that double when they are full; only the first `count` entries are hits. */
class HitList implements Hits {
  codes: Uint32Array;
  weights: Uint32Array;
  count = 0;

  /** An empty list with space for so many hits. */
  constructor(capacity = FEW_HITS) {
    this.codes = new Uint32Array(Math.max(FEW_HITS, capacity));
    this.weights = new Uint32Array(Math.max(FEW_HITS, capacity));
  }

  push(code: number, weight: number): void {
    if (this.count === this.codes.length) {
      this.codes = grown(this.codes);
      this.weights = grown(this.weights);
    }
    this.codes[this.count] = code;
    this.weights[this.count++] = weight;
  }
}

/** Indices of u32 in the state; see hits.assembly.ts. */
const LIMIT = 0;
const WANT = 1;
const HELD = 2;
const NEXT_HIT = 3;
const HITS_END = 4;
const COUNTS = 16;

export class HitState {
  /** Address of the state. */
  readonly at: number;
  /** Address of `extraBytes` bytes for the search itself: tables, a query, ranges. */
  readonly extraAt: number;
  readonly #memory: LinearMemory;
  readonly #buffer: ArrayBuffer;
  readonly #state: Uint32Array;
  /** Address of the first hit. */
  readonly #hitsAt: number;
  /** Hits that were moved out of the memory; null in most searches, whose hits fit. */
  #list: HitList | null = null;

  /**
   * Begins a search for the `want` lightest codes of weights 0 to `maxWeight`. The scratch space
   * holds the state, the extra bytes, and then hits, each aligned to 16 bytes.
   */
  constructor(memory: LinearMemory, maxWeight: number, want: number, extraBytes: number) {
    const { room } = memory;
    this.at = room.at;
    this.#memory = memory;
    this.#buffer = memory.bytes.buffer;
    this.extraAt = (this.at + 4 * (COUNTS + maxWeight + 1) + 15) & ~15;
    this.#hitsAt = (this.extraAt + extraBytes + 15) & ~15;
    this.#state = new Uint32Array(this.#buffer, this.at, COUNTS + maxWeight + 1).fill(0);
    this.#state[LIMIT] = maxWeight;
    this.#state[WANT] = want;
    this.#state[NEXT_HIT] = this.#hitsAt;
    this.#state[HITS_END] = room.at + room.byteLength;
  }

  get limit(): number {
    return this.#state[LIMIT];
  }

  get held(): number {
    return this.#state[HELD];
  }

  /** Goes on with the limit and the counts of a search in another memory, not with its hits. */
  carry({ limit, held, counts }: Pick<HitState, 'limit' | 'held' | 'counts'>): void {
    this.#state[LIMIT] = limit;
    this.#state[HELD] = held;
    this.#state.set(counts, COUNTS);
  }

  /** How many hits were taken of each weight up to the limit. */
  get counts(): Uint32Array {
    return this.#state.subarray(COUNTS, COUNTS + this.limit + 1);
  }

  /**
   * Moves the hits within the limit to the list of the search, so that their space is free again.
   * Returns the list, which may also have hits within an earlier limit.
   */
  drain(): HitList {
    const hits = (this.#state[NEXT_HIT] - this.#hitsAt) / 4;
    this.#list ??= new HitList(hits / 2);
    const pairs = new Uint32Array(this.#buffer, this.#hitsAt, hits);
    const { limit } = this;
    for (let i = 0; i < hits; i += 2) {
      if (pairs[i + 1] <= limit) this.#list.push(pairs[i], pairs[i + 1]);
    }
    this.#state[NEXT_HIT] = this.#hitsAt;
    return this.#list;
  }

  /**
   * Ends the search: the hits within the limit by weight, equal ones as they were seen. They may be
   * views of the scratch space, valid until the next call in this memory.
   */
  sorted(): Hits {
    const end = this.#state[NEXT_HIT];
    const most = (end - this.#hitsAt) / 8;
    // The kernel sorts into the space behind the hits, where that has room for all of them.
    if (this.#list !== null || end + 8 * most > this.#state[HITS_END]) {
      return sortedHits(this.drain(), this.limit);
    }
    const count = searchKernels(this.#memory).sortHits(this.at, this.#hitsAt, end) >>> 0;
    const codes = new Uint32Array(this.#buffer, end, count);
    return { codes, weights: new Uint32Array(this.#buffer, end + 4 * count, count), count };
  }
}
