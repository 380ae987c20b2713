/**
 * Searches for the `want` lightest codes. A code has a small integer weight (its distance, or
 * 2,048 (1 - cosine)), and the limit falls as lighter codes are seen. The result has every code
 * within the final limit, so it may have more than `want`: callers order equal weights by row.
 */

import { grown } from '../../base/arrays';

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

export interface Search {
  /**
   * The limit so far, inclusive: the lowest weight within which are at least `want` of the codes
   * seen, or the initial limit while there are fewer.
   */
  readonly limit: number;
  /** The number of codes seen whose weight is within the limit. */
  readonly held: number;
  /**
   * All codes seen within the limit, in no order, and perhaps some that were within an earlier one.
   * Valid until the next search begins in the same memory.
   */
  hits(): Hits;
}

/** A search over codes that lie one after another. */
export interface HitSearch extends Search {
  /** Weighs codes `first` to `end - 1`. A search may take several ranges. */
  range(first: number, end: number): void;
}

/** Hits that stay as they are when another search begins. */
export function copyOfHits({ codes, weights, count }: Hits): Hits {
  return { codes: codes.slice(0, count), weights: weights.slice(0, count), count };
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
export class HitList implements Hits {
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

/** The falling limit of scalar kernels; those of WebAssembly have the state of hits.assembly.ts. */
export class FallingLimit {
  /** All codes that were within the limit when they were taken. */
  readonly list = new HitList();
  /** Codes taken, by weight. */
  readonly #counts: Uint32Array;
  readonly #want: number;
  /** As in `Search`. */
  limit: number;
  /** The sum of `#counts` from 0 to `limit`. */
  held = 0;

  /** Weights are 0 to `maxWeight`, which is the first limit. */
  constructor(maxWeight: number, want: number) {
    this.#counts = new Uint32Array(maxWeight + 1);
    this.#want = want;
    this.limit = maxWeight;
  }

  /** Adds a code if its weight is within the limit, and lowers the limit as far as possible. */
  take(code: number, weight: number): void {
    if (weight > this.limit) return;
    this.list.push(code, weight);
    this.#counts[weight]++;
    this.held++;
    while (this.limit > 0 && this.held - this.#counts[this.limit] >= this.#want) {
      this.held -= this.#counts[this.limit--];
    }
  }

  /** Goes on, as one that took nothing yet, where another with hits within this limit is. */
  goOn({ codes, weights, count }: Hits, limit: number): void {
    this.limit = limit;
    for (let i = 0; i < count; i++) {
      this.list.push(codes[i], weights[i]);
      this.#counts[weights[i]]++;
    }
    this.held = count;
  }

  /** A search that calls `look`, which weighs and takes a code, for one code after another. */
  search(look: (code: number) => void): HitSearch {
    const hits = this;
    return {
      get limit() {
        return hits.limit;
      },
      get held() {
        return hits.held;
      },
      range(first, end) {
        for (let code = first; code < end; code++) look(code);
      },
      hits: () => hits.list,
    };
  }
}
