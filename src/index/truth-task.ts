/**
 * Rows against many queries by products of integers, in parts that threads share: which rows can
 * be among the nearest of each query. Limits of earlier parts only leave out what is too far.
 */

import { Smallest, weightOf } from '../base/top-k';
import { roundInto } from '../k-means/points';
import { type KernelName, productsKernel } from '../kernels/kernels';
import type { Task } from '../threads/job';
import { DenseVectors } from './vectors/dense-vectors';
import type { DenseState } from './vectors/row-vectors';

/** Vectors by row, and queries of `width` integers. */
interface TruthState {
  readonly vectors: DenseState;
  readonly queries: Int16Array;
  readonly width: number;
  /** How many rows of each query are wanted. */
  readonly want: number;
  readonly kernel: KernelName | undefined;
}

/** Rows `first` to `end - 1`; `isThere` is 0 of those that do not count. */
interface TruthPart {
  readonly first: number;
  readonly end: number;
  readonly isThere: Uint8Array;
  /** By query, the least product that is of use. */
  readonly least: Int32Array;
}

/** Keys of weight and row as `Smallest` has them, those of a query up to its end. */
interface Nearest {
  readonly keys: Float64Array;
  readonly ends: Uint32Array;
}

/** Weights of products in the order of `Smallest`, which is exact below 2^21. */
export const PRODUCT_STEP = 2 ** 11;
export const MIN_PRODUCT = -(2 ** 31);
/** Rows whose integers are in the cache together. */
const BLOCK_ROWS = 512;

/** The least product of a row that comes before a key. */
export function leastBefore(bound: number): number {
  return Math.max(MIN_PRODUCT, 2 ** 31 - PRODUCT_STEP * (weightOf(bound) + 1));
}

/** The rows whose products with queries are largest, block by block. */
export class LargestProducts {
  readonly #queries: Int16Array;
  readonly #width: number;
  readonly #best: readonly Smallest[];
  readonly #least: Int32Array;
  readonly #kernel: KernelName | undefined;

  /** `queries` one after another; `want` rows are held for each, of at least these products. */
  constructor(
    queries: Int16Array,
    { width, want, kernel }: Pick<TruthState, 'width' | 'want' | 'kernel'>,
    least: ArrayLike<number> = new Int32Array(queries.length / width).fill(MIN_PRODUCT),
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

  /** By query the keys of weight and row, as `Smallest` has them. */
  get keys(): Float64Array[] {
    return this.#best.map((one) => one.result());
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
      const found = largest.keys;
      let sum = 0;
      const ends = Uint32Array.from(found, ({ length }) => {
        sum += length;
        return sum;
      });
      const keys = new Float64Array(sum);
      for (const [i, own] of found.entries()) keys.set(own, ends[i] - own.length);
      return { keys, ends };
    };
  },
};

function weightOfProduct(product: number): number {
  return Math.ceil((2 ** 31 - product) / PRODUCT_STEP);
}
