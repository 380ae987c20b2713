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
export interface TruthState {
  readonly vectors: DenseState;
  readonly queries: Int16Array;
  readonly width: number;
  /** How many rows of each query are wanted. */
  readonly want: number;
  readonly kernel: KernelName | undefined;
}

/** Rows `first` to `end - 1`; `isThere` is 0 of those that do not count. */
export interface TruthPart {
  readonly first: number;
  readonly end: number;
  readonly isThere: Uint8Array;
  /** By query, the least product that is of use. */
  readonly least: Int32Array;
}

/** Keys of weight and row as `Smallest` has them, those of a query up to its end. */
export interface Nearest {
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

export const NEAREST_ROWS: Task<TruthState, TruthPart, Nearest> = {
  name: 'nearest rows',
  open({ vectors: state, queries, width, want, kernel: name }) {
    const vectors = DenseVectors.over(state);
    const kernel = productsKernel(name);
    const block = new Int16Array(BLOCK_ROWS * width);
    return ({ first, end, isThere, least: given }) => {
      const least = given.slice();
      const best = Array.from(least, () => new Smallest(want));
      for (let from = first; from < end; from += BLOCK_ROWS) {
        const count = Math.min(BLOCK_ROWS, end - from);
        for (let i = 0; i < count; i++) {
          const to = i * width;
          if (isThere[from - first + i] === 0) block.fill(0, to, to + width);
          else roundInto(vectors.valuesAt(from + i), vectors.normOf(from + i), block, to);
        }
        const rows = { values: block, width };
        kernel.productsOfMany(rows, 0, count, queries, least, (row, here, query, products, at) => {
          for (let i = 0; i < here; i++) {
            const place = from - first + row + i;
            if (products[at + i] < least[query] || isThere[place] === 0) continue;
            best[query].take(weightOfProduct(products[at + i]), first + place);
            const limit = leastBefore(best[query].bound);
            if (limit > least[query]) least[query] = limit;
          }
        });
      }
      const found = best.map((one) => one.result());
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
