/**
 * A search of a WebAssembly kernel, by the state of hits.assembly.ts in the scratch space of the
 * memory that is searched. The scratch space has room for some hits; when it is full, they are
 * moved to a list. One search at a time may use a memory, from its start until its hits are taken.
 */

import { type LinearMemory, SCAN_BYTES } from '../memory';
import type { KernelExports } from '../module.generated';
import { HitList, type HitSearch, type Hits, sortedHits } from './hits';

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
  readonly #kernels: KernelExports;
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
  constructor(
    { kernels, bytes, free }: LinearMemory,
    maxWeight: number,
    want: number,
    extraBytes: number,
  ) {
    this.at = free;
    this.#kernels = kernels;
    this.#buffer = bytes.buffer;
    this.extraAt = (this.at + 4 * (COUNTS + maxWeight + 1) + 15) & ~15;
    this.#hitsAt = (this.extraAt + extraBytes + 15) & ~15;
    this.#state = new Uint32Array(bytes.buffer, this.at, COUNTS + maxWeight + 1).fill(0);
    this.#state[LIMIT] = maxWeight;
    this.#state[WANT] = want;
    this.#state[NEXT_HIT] = this.#hitsAt;
    this.#state[HITS_END] = free + SCAN_BYTES;
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

  /** Takes the limit of a search that ended in another memory, and counts its own hits alone. */
  endAt(limit: number): void {
    this.#state[LIMIT] = limit;
    this.#state.fill(0, COUNTS, COUNTS + limit + 1);
    const hits = new Uint32Array(
      this.#buffer,
      this.#hitsAt,
      (this.#state[NEXT_HIT] - this.#hitsAt) / 4,
    );
    for (let i = 1; i < hits.length; i += 2) {
      if (hits[i] <= limit) this.#state[COUNTS + hits[i]]++;
    }
  }

  /** Goes on, as one that took nothing yet, where another with hits within this limit is. */
  goOn({ codes, weights, count }: Hits, limit: number): void {
    this.#list = new HitList(count);
    this.#state[LIMIT] = limit;
    this.#state[HELD] = count;
    for (let i = 0; i < count; i++) {
      this.#list.push(codes[i], weights[i]);
      this.#state[COUNTS + weights[i]]++;
    }
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
    const count = this.#kernels.sortHits(this.at, this.#hitsAt, end) >>> 0;
    const codes = new Uint32Array(this.#buffer, end, count);
    return { codes, weights: new Uint32Array(this.#buffer, end + 4 * count, count), count };
  }

  /**
   * A search over codes by a kernel: `look` weighs codes `first` to `end - 1` and returns the code
   * to continue with, which is `end`, or an earlier one when the space for hits is full.
   */
  search(look: (first: number, end: number) => number): HitSearch {
    const state = this;
    return {
      get limit() {
        return state.limit;
      },
      get held() {
        return state.held;
      },
      range(first, end) {
        for (let next = look(first, end); next < end; next = look(next, end)) state.drain();
      },
      hits: () => state.drain(),
    };
  }
}
