/**
 * What a cluster is like: its size, how close its rows are to its centre, its medoid and the rows
 * nearest to the centre. The medoid has the largest mean cosine to all rows of its cluster, and is
 * exact: that mean is the product with the mean of the rows, so that no pair need be compared.
 */

import { lengthOf } from '../base/length';
import type { Steps } from '../base/steps';
import { Highest } from '../base/top-k';
import { NONE } from '../join/distinct';
import { dot, PointBlock, type Points } from './cluster-space';

export interface Cluster {
  /** Rows. */
  readonly size: number;
  /** The row of the largest mean cosine to all rows of the cluster, the first of equals. */
  readonly medoid: number;
  /** Mean cosine of its rows to its centre. */
  readonly cohesion: number;
  /** Rows nearest to the centre, best first: a label. */
  readonly nearest: Uint32Array;
}

const BLOCK_ROWS = 512;

/** The clusters of `rows`, row `rows[i]` being in `clusterOf[i]`; none may be without rows. */
export function* summaries(
  points: Points,
  rows: Uint32Array,
  clusterOf: Uint32Array,
  { centres, labels }: { centres: Float64Array; labels: number },
): Steps<Cluster[]> {
  const { dimensions, length } = points;
  const sums = yield* sumsOf(points, rows, clusterOf, centres.length);
  const found = Array.from({ length: centres.length / dimensions }, () => new Found(labels));
  const block = new PointBlock(points, BLOCK_ROWS);
  for (let first = 0; first < rows.length; first += BLOCK_ROWS) {
    const count = block.take(rows, first);
    for (let i = 0; i < count; i++) {
      const cluster = clusterOf[first + i];
      if (cluster === NONE) continue;
      const from = i * dimensions;
      const to = cluster * dimensions;
      const cosine = dot(block.values, from, centres, to, dimensions) / length;
      const all = dot(block.values, from, sums, to, dimensions);
      found[cluster].take(rows[first + i], Math.max(-1, Math.min(1, cosine)), all);
    }
    yield undefined;
  }
  return found.map((one) => one.result());
}

/** The directions of the clusters' sums; a cluster whose rows cancel out has zeros. */
export function* directionsOf(
  points: Points,
  rows: Uint32Array,
  clusterOf: Uint32Array,
  count: number,
): Steps<Float64Array> {
  const { dimensions } = points;
  const centres = yield* sumsOf(points, rows, clusterOf, count * dimensions);
  for (let at = 0; at < centres.length; at += dimensions) {
    const length = lengthOf(centres, at, at + dimensions);
    for (let i = 0; length > 0 && i < dimensions; i++) centres[at + i] /= length;
  }
  return centres;
}

function* sumsOf(
  points: Points,
  rows: Uint32Array,
  clusterOf: Uint32Array,
  values: number,
): Steps<Float64Array> {
  const sums = new Float64Array(values);
  const block = new PointBlock(points, BLOCK_ROWS);
  for (let first = 0; first < rows.length; first += BLOCK_ROWS) {
    const count = block.take(rows, first);
    for (let i = 0; i < count; i++) {
      const cluster = clusterOf[first + i];
      if (cluster !== NONE) block.addTo(sums, cluster, i);
    }
    yield undefined;
  }
  return sums;
}

/** Of one cluster; rows come in ascending order. */
class Found {
  #size = 0;
  #medoid = NONE;
  #most = Number.NEGATIVE_INFINITY;
  #total = 0;
  readonly #nearest: Highest;

  constructor(labels: number) {
    this.#nearest = new Highest(labels);
  }

  take(row: number, cosine: number, all: number): void {
    this.#size++;
    this.#total += cosine;
    if (all > this.#most) {
      this.#most = all;
      this.#medoid = row;
    }
    this.#nearest.take(cosine, row);
  }

  result(): Cluster {
    return {
      size: this.#size,
      medoid: this.#medoid,
      cohesion: this.#total / this.#size,
      nearest: this.#nearest.result().rows,
    };
  }
}
