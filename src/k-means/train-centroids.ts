/**
 * Spherical k-means (Dhillon & Modha 2001) on integer unit vectors: each vector goes to the
 * centroid of the largest product, each centroid to the direction of the sum of its vectors.
 * Products are exact and every choice is seeded, so that the same vectors give the same centroids
 * everywhere.
 */

import seedrandom from 'seedrandom';
import { lengthOf } from '../base/length';
import type { Steps } from '../base/steps';
import { type KernelName, productsKernel } from '../kernels/kernels';
import { Arena } from '../kernels/memory';
import { roundInto } from '../vectors/round-vector';

export interface Training {
  /** Centroids wanted. */
  count: number;
  seed: string;
  /** Share of the sample that each round looks at; early rounds need less. */
  rounds: readonly number[];
  kernel?: KernelName;
}

/** Vectors between two steps. */
const BLOCK_ROWS = 512;
const MOVED_ROWS = 16_384;

/** Centroids of `sample`, vectors of `width` integers in random order, in a memory of their own. */
export function* trainCentroids(
  sample: Int16Array,
  width: number,
  { count, seed, rounds, kernel }: Training,
): Steps<Int16Array> {
  const sampleCount = sample.length / width;
  const random = seedrandom.alea(seed);
  const centroids = allocateCentroids(count, width);
  centroids.set(sample.subarray(0, count * width));
  const nearest = new Uint32Array(sampleCount);
  const seen = rounds.map((share) => Math.max(count, Math.round(share * sampleCount)));
  const total = seen.reduce((sum, some) => sum + some, 0);
  let done = 0;
  for (const some of seen) {
    for (let first = 0; first < some; first += BLOCK_ROWS) {
      const end = Math.min(some, first + BLOCK_ROWS);
      const block = sample.subarray(first * width, end * width);
      const rows = { values: centroids, width };
      productsKernel(kernel).nearestInto(rows, block, nearest.subarray(first, end));
      done += end - first;
      yield [done, total];
    }
    yield* moveCentroids(centroids, sample, nearest.subarray(0, some), width, random);
    yield [done, total];
  }
  return centroids;
}

/** Zeroed centroids in a memory of their own, where products read them. */
export function allocateCentroids(count: number, width: number): Int16Array {
  const arena = new Arena(2 * (count + 3) * width); // the kernel reads up to three more
  return new Int16Array(arena.bytes.buffer, arena.bytes.byteOffset, count * width);
}

/** Each centroid to the direction of its vectors; one without any to a vector drawn at random. */
function* moveCentroids(
  centroids: Int16Array,
  sample: Int16Array,
  nearest: Uint32Array,
  width: number,
  random: () => number,
): Steps<void> {
  const sums = new Float64Array(centroids.length);
  for (let row = 0; row < nearest.length; row++) {
    const from = row * width;
    const to = nearest[row] * width;
    for (let i = 0; i < width; i++) sums[to + i] += sample[from + i];
    if (row % MOVED_ROWS === MOVED_ROWS - 1) yield undefined;
  }
  for (let at = 0; at < centroids.length; at += width) {
    const sum = sums.subarray(at, at + width);
    const length = lengthOf(sum);
    if (length > 0) roundInto(sum, length, centroids, at);
    else {
      const from = Math.floor(random() * nearest.length) * width;
      centroids.set(sample.subarray(from, from + width), at);
    }
  }
}
