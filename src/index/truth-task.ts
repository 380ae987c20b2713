/**
 * Rows against many queries by products of integers, in parts that threads share: which rows can
 * be among the nearest of each query. Limits of earlier parts only leave out what is too far.
 */

import { rowOf, Smallest, weightOf } from '../base/top-k';
import { roundInto } from '../k-means/points';
import { type KernelName, productsKernel } from '../kernels/kernels';
import type { Task } from '../threads/job';
import { DenseVectors } from './vectors/dense-vectors';
import type { DenseState } from './vectors/row-vectors';

/** Queries of `width` integers. */
interface PointsState {
  readonly queries: Int16Array;
  readonly width: number;
  /** How many rows of each query are wanted. */
  readonly want: number;
  readonly kernel: KernelName | undefined;
}

/** The same, and vectors by row. */
interface TruthState extends PointsState {
  readonly vectors: DenseState;
}

/** Rows `first` to `end - 1`; `isThere` is 0 of those that do not count. */
interface TruthPart {
  readonly first: number;
  readonly end: number;
  readonly isThere: Uint8Array;
  /** By query, the least product that is of use. */
  readonly least: Int32Array;
}

/** Points and their rows, which may be in any order. */
interface PointsPart {
  readonly points: Int16Array;
  readonly rows: Uint32Array;
  readonly least: Int32Array;
}

/** Keys of weight and row as `Smallest` has them, those of a query up to its end. */
interface Nearest {
  readonly keys: Float64Array;
  readonly ends: Uint32Array;
}

/** Weights of products in the order of `Smallest`, which is exact below 2^21. */
export const PRODUCT_STEP = 2 ** 11;
const MIN_PRODUCT = -(2 ** 31);
/** Rows whose integers are in the cache together. */
const BLOCK_ROWS = 512;

/** The least product of a row that comes before a key. */
function leastBefore(bound: number): number {
  return Math.max(MIN_PRODUCT, 2 ** 31 - PRODUCT_STEP * (weightOf(bound) + 1));
}

/** The rows whose products with queries are largest, of what all parts have found. */
export class NearestOfParts {
  readonly best: readonly Smallest[];
  /** By query, the least product that is still of use. */
  readonly least: Int32Array;

  /** `want` rows are held for each of so many queries. */
  constructor(queries: number, want: number) {
    this.best = Array.from({ length: queries }, () => new Smallest(want));
    this.least = new Int32Array(queries).fill(MIN_PRODUCT);
  }

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

/** The same, block by block. */
class LargestProducts {
  readonly #queries: Int16Array;
  readonly #width: number;
  readonly #best: readonly Smallest[];
  readonly #least: Int32Array;
  readonly #kernel: KernelName | undefined;

  /** `queries` one after another; `want` rows are held for each, of at least these products. */
  constructor(
    queries: Int16Array,
    { width, want, kernel }: Pick<PointsState, 'width' | 'want' | 'kernel'>,
    least: Int32Array,
  ) {
    this.#queries = queries;
    this.#width = width;
    this.#best = Array.from(least, () => new Smallest(want));
    this.#least = Int32Array.from(least);
    this.#kernel = kernel;
  }

  /** Compares the points of a block; `rowOf` is the row of each, null where it has none. */
  take(block: Int16Array, count: number, rowOf: (i: number) => number | null): void {
    const rows = { values: block, width: this.#width };
    const [best, least] = [this.#best, this.#least];
    const kernel = productsKernel(this.#kernel);
    kernel.productsOfMany(rows, 0, count, this.#queries, least, (from, here, query, found, at) => {
      for (let i = 0; i < here; i++) {
        if (found[at + i] < least[query]) continue;
        const row = rowOf(from + i);
        if (row === null) continue;
        best[query].take(weightOfProduct(found[at + i]), row);
        const limit = leastBefore(best[query].bound);
        if (limit > least[query]) least[query] = limit;
      }
    });
  }

  /** What was found. */
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

export const NEAREST_ROWS: Task<TruthState, TruthPart, Nearest> = {
  name: 'nearest rows',
  open({ vectors: state, queries, width, want, kernel }) {
    const vectors = DenseVectors.over(state);
    const block = new Int16Array(BLOCK_ROWS * width);
    return ({ first, end, isThere, least }) => {
      const largest = new LargestProducts(queries, { width, want, kernel }, least);
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

export const NEAREST_POINTS: Task<PointsState, PointsPart, Nearest> = {
  name: 'nearest points',
  open({ queries, width, want, kernel }) {
    return ({ points, rows, least }) => {
      const largest = new LargestProducts(queries, { width, want, kernel }, least);
      for (let from = 0; from < rows.length; from += BLOCK_ROWS) {
        const count = Math.min(BLOCK_ROWS, rows.length - from);
        const block = points.subarray(from * width, (from + count) * width);
        largest.take(block, count, (i) => rows[from + i]);
      }
      return largest.nearest;
    };
  },
};

function weightOfProduct(product: number): number {
  return Math.ceil((2 ** 31 - product) / PRODUCT_STEP);
}
