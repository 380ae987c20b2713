// Generated vectors for sizes that no data set here has, with the structure of what models make of sentences: topics,
// about 500 rows each, with noise about as long around them, and a spectrum that falls, so that a few dozen
// directions carry most of the variance. Of 352,575 rows x 384 the nearest, tenth and hundredth have cosines of .70,
// .65 and .57 on average and unrelated rows 0 +- .15; an index of 2,048 partitions visits 37 for a recall of .95.

import { scanVectorsAll } from '../../dist/index.js';
import { generator } from './random.mjs';

const ROWS_A_TOPIC = 500;

/** A function that draws so many further rows, of `count` in all; the same rows on every run. */
export function likeSentences(count, dimensions) {
  const { below, normal } = generator(dimensions);
  const spread = Float64Array.from({ length: dimensions }, (_, i) => 1 / (1 + i / 16));
  const topics = Math.max(1, Math.round(count / ROWS_A_TOPIC));
  const middles = Float32Array.from({ length: topics * dimensions }, normal);
  return (rows) => {
    const values = new Float32Array(rows * dimensions);
    for (let at = 0; at < values.length; at += dimensions) {
      const topic = dimensions * below(topics);
      for (let i = 0; i < dimensions; i++) {
        values[at + i] = (middles[topic + i] + normal()) * spread[i];
      }
    }
    return { values, dimensions };
  };
}

/** The vectors of a matrix, one a row. */
export function rowsOf({ values, dimensions }) {
  return Array.from({ length: values.length / dimensions }, (_, i) =>
    values.subarray(i * dimensions, (i + 1) * dimensions),
  );
}

/** For each query the rows of its `k` nearest, exactly; batches come one after another. */
export function nearestOfBatches(k) {
  const best = [];
  return {
    add(first, rows, queries) {
      scanVectorsAll(rows, queries, { k }).forEach((found, i) => {
        best[i] = (best[i] ?? [])
          .concat(Array.from(found.rows, (own, j) => [first + own, found.cosines[j]]))
          .sort((a, b) => b[1] - a[1])
          .slice(0, k);
      });
    },
    rows: () => best.map((own) => own.map(([row]) => row)),
  };
}
