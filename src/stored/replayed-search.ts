/**
 * A search among residual codes that sees all but its first partitions in any order. What a search
 * finds depends on the order: its limit falls, and sides rule out rows by the limit of the moment.
 * So every row is held that the limit after the first partitions lets pass; when all partitions
 * were seen, these rows are taken in the order of the search, as a kernel takes them.
 */

import { grown } from '../base/arrays';
import { FallingLimit, type Hits, sortedHits } from '../kernels/hits/hits';
import { MAX_RESIDUAL_WEIGHT, ONE_WEIGHT } from '../kernels/residuals/residuals.scalar';

/** Numbers of a row that is held: its code, its weight, what its sides say. Exact in float32. */
const NUMBERS = 3;

export class ReplayedSearch {
  readonly #want: number;
  readonly #reach: number;
  readonly #hits: FallingLimit;
  /** Of each partition in the order of the search: its rows, and which of the held are there. */
  readonly #counts: Uint32Array;
  readonly #firsts: Uint32Array;
  readonly #ends: Uint32Array;
  #held = new Float32Array(64 * NUMBERS);
  #count = 0;

  constructor(want: number, gap: number, partitions: number) {
    this.#want = want;
    this.#reach = Math.fround(gap);
    this.#hits = new FallingLimit(MAX_RESIDUAL_WEIGHT, want);
    this.#counts = new Uint32Array(partitions);
    this.#firsts = new Uint32Array(partitions);
    this.#ends = new Uint32Array(partitions);
  }

  /** Takes a hit of the first partitions. */
  take(code: number, weight: number): void {
    this.#hits.take(code, weight);
  }

  /** Partition `i` of the order has so many rows more. */
  count(i: number, rows: number): void {
    this.#counts[i] += rows;
  }

  /**
   * Holds a row of partition `i` of the order, as the kernel sees it after those before; rows of a
   * partition follow one another. `estimate` is what its sides say, see `sideEstimate`.
   */
  hold(i: number, code: number, weight: number, estimate: number): void {
    const at = NUMBERS * this.#count;
    if (at === this.#held.length) this.#held = grown(this.#held);
    if (this.#ends[i] === 0) this.#firsts[i] = this.#count;
    this.#ends[i] = ++this.#count;
    this.#held[at] = code;
    this.#held[at + 1] = weight;
    this.#held[at + 2] = estimate;
  }

  /**
   * Takes the rows of partitions `first` and on. `products` are 2,048 times those of the query with
   * the centroids, in float32. Returns how many partitions were visited, and their rows.
   */
  replay(first: number, products: Float32Array): { visited: number; codes: number } {
    const [hits, held] = [this.#hits, this.#held];
    let [before, visited, codes] = [hits.limit, first, 0];
    for (let i = first; i < products.length; i++) {
      if (this.#counts[i] === 0) continue;
      if (visited === first || products[i] !== products[visited - 1]) {
        const below = Math.fround(ONE_WEIGHT - hits.limit - products[i]);
        if (hits.held >= this.#want && below > this.#reach) break;
        before = hits.limit;
      }
      for (let at = this.#firsts[i]; at < this.#ends[i]; at++) {
        const estimate = held[NUMBERS * at + 2];
        if (estimate > ONE_WEIGHT - before - 1)
          hits.take(held[NUMBERS * at], held[NUMBERS * at + 1]);
      }
      codes += this.#counts[i];
      visited = i + 1;
    }
    return { visited, codes };
  }

  get limit(): number {
    return this.#hits.limit;
  }

  get held(): number {
    return this.#hits.held;
  }

  /** As they come from a kernel: by weight, equal ones in the order of the search. */
  hits(): Hits {
    return sortedHits(this.#hits.list, this.#hits.limit);
  }
}
