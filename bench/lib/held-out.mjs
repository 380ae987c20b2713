// Rows of a data set to hold, and others that are new queries; their true neighbours.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { scanVectorsAll, vectorsFromArrow } from '../../dist/index.js';
import { generator } from './random.mjs';

/** Queries at most, of what is left. */
export const QUERIES = 3000;

/** `count` random rows of a matrix, up to QUERIES of the others, and for each of these the set of its `k` nearest. */
export function heldOut({ values, dimensions }, count, k, seed) {
  const { below } = generator(seed);
  const order = Uint32Array.from({ length: values.length / dimensions }, (_, i) => i);
  const take = (from, size) => {
    const part = new Float32Array(size * dimensions);
    for (let i = 0; i < size; i++) {
      const other = from + i + below(order.length - from - i);
      [order[from + i], order[other]] = [order[other], order[from + i]];
      const at = order[from + i] * dimensions;
      part.set(values.subarray(at, at + dimensions), i * dimensions);
    }
    return { values: part, dimensions };
  };
  const rows = take(0, count);
  const queries = take(count, Math.min(QUERIES, order.length - count));
  const truth = scanVectorsAll(rows, queries, { k }).map((one) => new Set(one.rows));
  return { rows, queries, truth };
}

export function nounVectors() {
  const file = fileURLToPath(new URL('../../datasets/nouns/nouns.arrow', import.meta.url));
  return vectorsFromArrow(readFileSync(file), { id: 'word' }).vectors;
}
