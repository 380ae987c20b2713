/**
 * Where k-means begins: k-means++ (Arthur & Vassilvitskii 2007). Each next centroid is drawn from
 * the rows in proportion to 1 - cosine to the nearest centroid so far, half the squared distance of
 * unit vectors. Products are integers and draws are seeded: the same rows begin everywhere.
 */

import type { Steps } from '../base/steps';
import { type KernelName, productsKernel } from '../kernels/kernels';
import { integerWidth, UNIT } from '../kernels/products/products.scalar';
import { allocateCentroids } from './k-means';
import { PointBlock, type Points } from './points';

const BLOCK_ROWS = 1024;

/** `count` different places of `rows`, as the rows where centroids begin. */
export function* startingRows(
  points: Points,
  rows: Uint32Array,
  count: number,
  random: () => number,
  kernel?: KernelName,
): Steps<Uint32Array> {
  const width = integerWidth(points.dimensions);
  const packed = allocateCentroids(rows.length, width);
  const block = new PointBlock(points, BLOCK_ROWS);
  for (let first = 0; first < rows.length; first += BLOCK_ROWS) {
    packed.set(block.rounded(block.take(rows, first)), first * width);
    yield undefined;
  }
  const products = new Int32Array(rows.length);
  const weights = new Float64Array(rows.length).fill(Number.POSITIVE_INFINITY);
  const isTaken = new Uint8Array(rows.length);
  const chosen = new Uint32Array(count);
  let place = Math.floor(random() * rows.length);
  for (let i = 0; ; i++) {
    chosen[i] = rows[place];
    isTaken[place] = 1;
    if (i === count - 1) return chosen;
    const centroid = packed.slice(place * width, (place + 1) * width);
    productsKernel(kernel).productsInto({ values: packed, width }, centroid, products);
    let total = 0;
    for (let row = 0; row < rows.length; row++) {
      const weight = isTaken[row] === 1 ? 0 : Math.max(0, UNIT * UNIT - products[row]);
      if (weight < weights[row]) weights[row] = weight;
      total += weights[row];
    }
    place = drawPlace(weights, isTaken, random() * total);
    yield undefined;
  }
}

/** The place at which the weights, summed up, pass `target`; where all are 0, the first untaken. */
function drawPlace(weights: Float64Array, isTaken: Uint8Array, target: number): number {
  let left = target;
  let last = isTaken.indexOf(0);
  for (let place = 0; place < weights.length; place++) {
    if (weights[place] === 0) continue;
    last = place;
    left -= weights[place];
    if (left < 0) break;
  }
  return last;
}
