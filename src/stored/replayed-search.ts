/**
 * A search among residual codes that sees all but its first partitions in any order, with the
 * result of the usual order. The result depends on the order because the limit falls: the sides of
 * a residual code rule a row out by the limit of that moment. So every row that passes the limit
 * after the first partitions is held. When all partitions were seen, the held rows are taken in the
 * order of the search, exactly as a kernel would take them.
 */

import { grown } from '../base/arrays';
import { FallingLimit, type Hits, sortedHits } from '../kernels/hits/hits';
import { MAX_RESIDUAL_WEIGHT, ONE_WEIGHT } from '../kernels/residuals/residuals.scalar';

/** Numbers of a held row: code, weight, side estimate. All are exact in float32. */
const NUMBERS = 3;

/** One search: `take`, then `count` and `hold` in any order of partitions, then `replay`. */
export class ReplayedSearch {
  readonly #want: number;
  readonly #reach: number;
  readonly #hits: FallingLimit;
  /** For each partition, in the order of the search: its rows, and the range of its held rows. */
  readonly #counts: Uint32Array;
  readonly #firsts: Uint32Array;
  readonly #ends: Uint32Array;
  #held = new Float32Array(64 * NUMBERS);
  #count = 0;

  /**
   * Looks for the `want` nearest rows in `partitions` partitions; `gap` is the one of
   * `ResidualKernel.search`.
   */
  constructor(want: number, gap: number, partitions: number) {
    this.#want = want;
    this.#reach = Math.fround(gap);
    this.#hits = new FallingLimit(MAX_RESIDUAL_WEIGHT, want);
    this.#counts = new Uint32Array(partitions);
    this.#firsts = new Uint32Array(partitions);
    this.#ends = new Uint32Array(partitions);
  }

  /** Takes a hit of the first partitions, which were searched in their order. */
  take(code: number, weight: number): void {
    this.#hits.take(code, weight);
  }

  /** Adds to the number of rows of partition `i`. */
  count(i: number, rows: number): void {
    this.#counts[i] += rows;
  }

  /**
   * Holds a row of partition `i`. Rows of a partition must come one after another, in the order in
   * which a kernel visits them. `estimate` is the row's `sideEstimate`.
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
   * Takes the held rows of partition `first` and the following ones, in order. `products` are 2,048
   * times the products of the query with the centroids, in float32. Returns how many partitions
   * were visited, and how many rows they have.
   */
  replay(first: number, products: Float32Array): { visited: number; codes: number } {
    const [hits, held] = [this.#hits, this.#held];
    let [before, visited, codes] = [hits.limit, first, 0];
    for (let i = first; i < products.length; i++) {
      if (this.#counts[i] === 0) continue;
      // As in the kernels, the search never ends between two partitions of equal products.
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

  /**
   * The hits sorted by weight, and by the order of the search if weights are equal, as from a
   * kernel.
   */
  hits(): Hits {
    return sortedHits(this.#hits.list, this.#hits.limit);
  }
}
