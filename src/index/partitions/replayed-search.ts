/**
 * A search among residual codes that sees all but its first partitions in any order, with the
 * result of the usual order. The result depends on the order because the limit falls: the sides of
 * a residual code rule a row out by the limit of that moment. So every row that passes the limit
 * after the first partitions is held. When all partitions were seen, the held rows are taken in the
 * order of the search, exactly as a kernel would take them.
 */

import { grown } from '../../base/arrays';
import { FallingLimit, type Hits, sortedHits } from '../../kernels/hits';
import { HELD } from '../../kernels/residual-search';
import { MAX_RESIDUAL_WEIGHT, ONE_WEIGHT } from '../../kernels/residuals';

/** Before others, a search sees this part of its partitions, nearest first, */
const FIRST_PART = 1 / 16;
/** and so many rows for each that is wanted. */
const ROWS_A_HIT = 4;

/**
 * How many partitions, of `rowsOf(i)` rows each, a search for the `want` nearest rows sees in its
 * order before it sees others in any order.
 */
export function firstPartitions(
  products: Float32Array,
  want: number,
  rowsOf: (i: number) => number,
): number {
  let [end, rows] = [0, 0];
  while (
    end < products.length &&
    (end < FIRST_PART * products.length || rows < ROWS_A_HIT * want)
  ) {
    rows += rowsOf(end++);
  }
  return wholeEnd(products, end);
}

/** The partition from `end` on that is not between two of equal products. */
export function wholeEnd(products: Float32Array, end: number): number {
  let whole = Math.min(products.length, end);
  while (whole < products.length && products[whole] === products[whole - 1]) whole++;
  return whole;
}

/** One search: `take`, then in turns `hold` in any order of partitions, and `replay`. */
export class ReplayedSearch {
  readonly #want: number;
  readonly #reach: number;
  readonly #hits: FallingLimit;
  /** For each partition, in the order of the search: its rows, and the range of its held rows. */
  readonly #counts: Uint32Array;
  readonly #firsts: Uint32Array;
  readonly #ends: Uint32Array;
  /** HELD numbers for each held row, and the same bytes as float32, to read estimates. */
  #held = new Uint32Array(64 * HELD);
  #estimates = new Float32Array(this.#held.buffer);
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
   * Holds rows of partition `i`, as `TakeHeld` has them. Those of a partition must come one after
   * another, in the order in which a kernel visits them.
   */
  hold(i: number, held: Uint32Array, first: number, end: number): void {
    const at = HELD * this.#count;
    while (at + end - first > this.#held.length) {
      this.#held = grown(this.#held);
      this.#estimates = new Float32Array(this.#held.buffer);
    }
    for (let from = first, to = at; from < end; from++, to++) this.#held[to] = held[from];
    if (this.#ends[i] === 0) this.#firsts[i] = this.#count;
    this.#count += (end - first) / HELD;
    this.#ends[i] = this.#count;
  }

  /**
   * Takes the held rows of partitions `first` to `end - 1`, in order, and forgets them. `products`
   * are 2,048 times the products of the query with the centroids, in float32; `first` must not be
   * between two equal ones. Returns how many partitions were visited, less than `end` where the
   * search has ended, and how many rows the visited ones have.
   */
  replay(first: number, end: number, products: Float32Array): { visited: number; codes: number } {
    const [hits, held, estimates] = [this.#hits, this.#held, this.#estimates];
    this.#count = 0;
    let [before, codes] = [hits.limit, 0];
    for (let i = first; i < end; i++) {
      // As in the kernels, the search never ends between two partitions of equal products.
      if (i === first || products[i] !== products[i - 1]) {
        const below = Math.fround(ONE_WEIGHT - hits.limit - products[i]);
        if (hits.held >= this.#want && below > this.#reach) return { visited: i, codes };
        before = hits.limit;
      }
      for (let at = HELD * this.#firsts[i]; at < HELD * this.#ends[i]; at += HELD) {
        if (estimates[at + 2] > ONE_WEIGHT - before - 1) hits.take(held[at], held[at + 1]);
      }
      codes += this.#counts[i];
    }
    return { visited: end, codes };
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
