/**
 * The true neighbours of rows by the exact cosines of their sparse vectors, found dimension by
 * dimension: which queries have it, and with what weight. A row meets only the queries with which
 * it shares a dimension; cosines are those of `KeptSparse.cosinesOf` to the bit.
 */

import type { Steps } from '../base/steps';
import type { IndexState } from './state';
import { cosineOf, type KeptSparse } from './vectors/kept-sparse';

const STEP_ROWS = 512;

/** For each of `queries`, rows with codes, its k nearest other rows. */
export function* trueSparseNeighbors(
  { slots }: IndexState,
  sparse: KeptSparse,
  queries: Uint32Array,
  k: number,
): Steps<Uint32Array[]> {
  const having = new Map<bigint, Having>();
  queries.forEach((row, query) => {
    const norm = sparse.normOf(row);
    const { indices, values } = sparse.at(row);
    indices.forEach((dimension, i) => {
      const found = having.get(dimension) ?? { queries: [], weights: [] };
      having.set(dimension, found);
      found.queries.push(query);
      found.weights.push(values[i] / norm);
    });
  });
  const best = Array.from(queries, () => new Best(k));
  const dots = new Float64Array(queries.length);
  for (let row = 0; row < slots.rowCount; row++) {
    if (row % STEP_ROWS === STEP_ROWS - 1) yield [row, slots.rowCount];
    if (!slots.hasCode(row)) continue;
    const { indices, values } = sparse.at(row);
    dots.fill(0);
    for (let i = 0; i < indices.length; i++) {
      const found = having.get(indices[i]);
      if (found === undefined) continue;
      const weight = values[i];
      for (let j = 0; j < found.queries.length; j++) {
        dots[found.queries[j]] += weight * found.weights[j];
      }
    }
    const norm = sparse.normOf(row);
    for (let query = 0; query < queries.length; query++) {
      if (queries[query] !== row) best[query].take(cosineOf(dots[query], norm), row);
    }
  }
  return best.map((one) => one.rows.slice(0, one.count));
}

/** The queries that have a dimension, and their weights at length 1. */
interface Having {
  readonly queries: number[];
  readonly weights: number[];
}

/** The rows of the highest cosines, of equal ones those that came first. */
class Best {
  readonly rows: Uint32Array;
  readonly #cosines: Float64Array;
  count = 0;

  constructor(k: number) {
    this.rows = new Uint32Array(k);
    this.#cosines = new Float64Array(k);
  }

  take(cosine: number, row: number): void {
    const isFull = this.count === this.rows.length;
    if (isFull && cosine <= this.#cosines[this.count - 1]) return;
    let at = isFull ? this.count - 1 : this.count++;
    for (; at > 0 && cosine > this.#cosines[at - 1]; at--) {
      this.#cosines[at] = this.#cosines[at - 1];
      this.rows[at] = this.rows[at - 1];
    }
    this.#cosines[at] = cosine;
    this.rows[at] = row;
  }
}
