// Generated vectors for sizes that no data set here has, with the structure of what a model makes of sentences. A row
// is the sum of what four subjects say, each in three steps of ten unequal choices, the later within the earlier, and
// of noise. So neighbours come nearer as rows become more, and no partition has all rows that share something. The
// numbers were fitted to the vectors of all-MiniLM-L6-v2 for the sentences of datasets/sentences: mean cosines of the
// nearest, tenth and hundredth row are .63, .51, .42; generated .61, .53, .45.

import { scanVectorsAll } from '../../dist/index.js';
import { generator } from './random.mjs';

const SUBJECTS = 4;
const STEPS = 3;
const CHOICES = 10;
/** Of uniform numbers to this power: the first choice is taken by a third of the rows. */
const UNEQUAL = 2.2;
/** Of the variance of a row, for each step of each subject; noise has the rest. */
const SHARE = 0.075;
/** Directions, of which each choice and each half of the noise takes one. */
const DIRECTIONS = 8192;
/** The standard deviation of dimension i is 1 / (1 + i / FALL). */
const FALL = 200;

/** A function that draws so many further rows; the same rows on every run. */
export function likeSentences(dimensions) {
  const { below, normal } = generator(dimensions);
  const directions = Float32Array.from({ length: DIRECTIONS * dimensions }, normal);
  const spread = Float64Array.from({ length: dimensions }, (_, i) => 1 / (1 + i / FALL));
  const step = Math.sqrt(SHARE);
  const noise = Math.sqrt((1 - SUBJECTS * STEPS * SHARE) / 2);
  const sums = new Float64Array(dimensions);
  const add = (direction, weight) => {
    const at = dimensions * direction;
    for (let i = 0; i < dimensions; i++) sums[i] += weight * directions[at + i];
  };
  return async (rows) => {
    const values = new Float32Array(rows * dimensions);
    for (let at = 0; at < values.length; at += dimensions) {
      sums.fill(0);
      for (let subject = 0; subject < SUBJECTS; subject++) {
        let path = subject + 1;
        for (let i = 0; i < STEPS; i++) {
          path = mixed(path, Math.floor(CHOICES * (below(2 ** 30) / 2 ** 30) ** UNEQUAL));
          await add(path % DIRECTIONS, step);
        }
      }
      await add(below(DIRECTIONS), noise);
      await add(below(DIRECTIONS), below(2) === 0 ? noise : -noise);
      for (let i = 0; i < dimensions; i++) values[at + i] = sums[i] * spread[i];
    }
    return { values, dimensions };
  };
}

/** A 32-bit hash of a path and its next choice. */
function mixed(path, choice) {
  let hash = Math.imul(path * 31 + choice + 1, 0x9e3779b1) >>> 0;
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x85ebca6b) >>> 0;
  return (hash ^ (hash >>> 13)) >>> 0;
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
    async add(first, rows, queries) {
      (await scanVectorsAll(rows, queries, { k })).forEach((found, i) => {
        best[i] = (best[i] ?? [])
          .concat(Array.from(found.rows, (own, j) => [first + own, found.cosines[j]]))
          .sort((a, b) => b[1] - a[1])
          .slice(0, k);
      });
    },
    rows: () => best.map((own) => own.map(([row]) => row)),
  };
}
