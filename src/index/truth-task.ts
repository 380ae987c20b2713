/**
 * The tasks by which threads find, for many queries, the rows of the largest integer products:
 * those that can be among the nearest. Limits of earlier parts only leave out rows that are too
 * far, so the result does not depend on when parts run.
 */

import { rowOf, Smallest, weightOf } from '../base/top-k';
import { roundInto } from '../k-means/points';
import { productsKernel } from '../kernels/products';
import type { Task } from '../threads/job';
import { DenseVectors } from './vectors/dense-vectors';
import type { DenseState } from './vectors/row-vectors';

/** Queries of `width` integers each, one after another. */
interface PointsState {
  readonly queries: Int16Array;
  readonly width: number;
  /** How many rows each query needs. */
  readonly want: number;
}

/** The same, with the dense vectors of all rows. */
interface TruthState extends PointsState {
  readonly vectors: DenseState;
}

/** Rows `first` to `end - 1`; those whose `isThere` is 0 are left out. */
interface TruthPart {
  readonly first: number;
  readonly end: number;
  readonly isThere: Uint8Array;
  /** For each query the lowest product that can still enter. */
  readonly least: Int32Array;
}

/** Points that the caller has rounded, and their rows in any order. */
interface PointsPart {
  readonly points: Int16Array;
  readonly rows: Uint32Array;
  readonly least: Int32Array;
}

/** Keys of (weight, row) as `Smallest` makes them; those of query i end at `ends[i]`. */
interface Nearest {
  readonly keys: Float64Array;
  readonly ends: Uint32Array;
}

/** Products are divided by this, so that weights stay below 2^21, where `Smallest` is exact. */
export const PRODUCT_STEP = 2 ** 11;
const MIN_PRODUCT = -(2 ** 31);
/** Rows that are rounded together and stay in the cache while they are compared. */
const BLOCK_ROWS = 512;

/** The lowest product that comes before a key. */
function leastBefore(bound: number): number {
  return Math.max(MIN_PRODUCT, 2 ** 31 - PRODUCT_STEP * (weightOf(bound) + 1));
}

/** Merges the results of parts: for each query the rows of the largest products. */
export class NearestOfParts {
  readonly best: readonly Smallest[];
  /** For each query the lowest product that can still enter. */
  readonly least: Int32Array;

  /** Holds `want` rows for each of `queries` queries. */
  constructor(queries: number, want: number) {
    this.best = Array.from({ length: queries }, () => new Smallest(want));
    this.least = new Int32Array(queries).fill(MIN_PRODUCT);
  }

  /** Takes the result of a part, and raises the limits. */
  take({ keys, ends }: Nearest): void {
    for (const [query, end] of ends.entries()) {
      const own = this.best[query];
      for (let at = ends[query - 1] ?? 0; at < end; at++) {
        own.take(weightOf(keys[at]), rowOf(keys[at]));
      }
      this.least[query] = leastBefore(own.bound);
    }
  }
}

/** The largest products of one part, block by block. */
class LargestProducts {
  readonly #queries: Int16Array;
  readonly #width: number;
  readonly #best: readonly Smallest[];
  readonly #least: Int32Array;

  /** Holds `want` rows for each query; rows below the products `least` are left out. */
  constructor(
    queries: Int16Array,
    { width, want }: Pick<PointsState, 'width' | 'want'>,
    least: Int32Array,
  ) {
    this.#queries = queries;
    this.#width = width;
    this.#best = Array.from(least, () => new Smallest(want));
    this.#least = Int32Array.from(least);
  }

  /** Takes the `count` points of a block; `rowOf` returns the row of each, null to leave it out. */
  take(block: Int16Array, count: number, rowOf: (i: number) => number | null): void {
    const rows = { values: block, width: this.#width };
    const [best, least] = [this.#best, this.#least];
    productsKernel.productsOfMany(
      rows,
      0,
      count,
      this.#queries,
      least,
      (from, here, query, found, at) => {
        for (let i = 0; i < here; i++) {
          if (found[at + i] < least[query]) continue;
          const row = rowOf(from + i);
          if (row === null) continue;
          best[query].take(weightOfProduct(found[at + i]), row);
          const limit = leastBefore(best[query].bound);
          if (limit > least[query]) least[query] = limit;
        }
      },
    );
  }

  /** What was found, for `NearestOfParts`. */
  get nearest(): Nearest {
    const found = this.#best.map((one) => one.result());
    let sum = 0;
    const ends = Uint32Array.from(found, ({ length }) => {
      sum += length;
      return sum;
    });
    const keys = new Float64Array(sum);
    for (const [i, own] of found.entries()) keys.set(own, ends[i] - own.length);
    return { keys, ends };
  }
}

/** Compares rows of an index in memory; a worker rounds their vectors itself. */
export const NEAREST_ROWS: Task<TruthState, TruthPart, Nearest> = {
  name: 'nearest rows',
  open({ vectors: state, queries, width, want }) {
    const vectors = DenseVectors.over(state);
    const block = new Int16Array(BLOCK_ROWS * width);
    return ({ first, end, isThere, least }) => {
      const largest = new LargestProducts(queries, { width, want }, least);
      for (let from = first; from < end; from += BLOCK_ROWS) {
        const count = Math.min(BLOCK_ROWS, end - from);
        for (let i = 0; i < count; i++) {
          const to = i * width;
          if (isThere[from - first + i] === 0) block.fill(0, to, to + width);
          else roundInto(vectors.valuesAt(from + i), vectors.normOf(from + i), block, to);
        }
        largest.take(block, count, (i) => (isThere[from - first + i] === 0 ? null : from + i));
      }
      return largest.nearest;
    };
  },
};

/** Compares points that the calling thread reads, as those of an index in files. */
export const NEAREST_POINTS: Task<PointsState, PointsPart, Nearest> = {
  name: 'nearest points',
  open({ queries, width, want }) {
    return ({ points, rows, least }) => {
      const largest = new LargestProducts(queries, { width, want }, least);
      for (let from = 0; from < rows.length; from += BLOCK_ROWS) {
        const count = Math.min(BLOCK_ROWS, rows.length - from);
        const block = points.subarray(from * width, (from + count) * width);
        largest.take(block, count, (i) => rows[from + i]);
      }
      return largest.nearest;
    };
  },
};

/** A product as a weight: larger products are lighter, 0 for the largest possible. */
function weightOfProduct(product: number): number {
  return Math.ceil((2 ** 31 - product) / PRODUCT_STEP);
}
