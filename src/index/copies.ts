/**
 * Decides whether rows should lie in a second partition too: counts what a search would score until
 * its partitions hold the wanted share of the true neighbours of evaluation queries, with copies
 * and without. Counts alone decide, no clock.
 */

import { SecondCentroids } from '../k-means/two-level';
import { placesOf } from './choice';
import type { Evaluated } from './recall';
import type { Space } from './space';

/** Queries that decide, and neighbours of each, at most. */
export const COPY_QUERIES = 100;
export const COPY_NEIGHBORS = 32;
/**
 * The share of the entries that a search must score at most for copies to be worth their memory and
 * the time to make them. It is about .64 on sentence embeddings and .81 on GloVe, where searches
 * with copies took .69 and .87 of the time, and above 1 on images (bench/query-cost.mjs).
 */
const MAX_SHARE = 3 / 4;

/** Queries whose first neighbours, at most COPY_NEIGHBORS, are `points`, one after another. */
interface Neighborhood {
  readonly asked: readonly Evaluated[];
  readonly points: Int16Array;
  /** The number of all rows, and a sample of their points. */
  readonly rows: number;
  readonly sample: Int16Array;
}

/**
 * At most this many points of a sample are assigned, to estimate how many rows each partition has.
 */
const MAX_SAMPLED = 2 ** 16;

export function copiesPay(
  space: Space,
  { asked, points, rows, sample }: Neighborhood,
  recall: number,
): boolean {
  const { count, width } = space;
  if (count < 2 || points.length === 0) return false;
  const own = space.nearestTo(points);
  const seconds = new SecondCentroids(space.parts.tree).of(points, own);
  const sizes = new Float64Array(count);
  const sampled = Math.min(MAX_SAMPLED, sample.length / width);
  for (const p of space.nearestTo(sample.subarray(0, sampled * width))) sizes[p] += rows / sampled;
  const firsts: number[] = [];
  const eithers: number[] = [];
  /** Rows in the partitions that a search visits first, in the mean over the queries. */
  const entries = new Float64Array(count + 1);
  let neighbor = 0;
  for (const { query, truth } of asked) {
    const places = placesOf(space, query);
    for (let p = 0; p < count; p++) entries[places[p] + 1] += sizes[p] / asked.length;
    for (let i = 0; i < Math.min(COPY_NEIGHBORS, truth.rows.length); i++, neighbor++) {
      const first = places[own[neighbor]];
      firsts.push(first);
      eithers.push(Math.min(first, places[seconds[neighbor]]));
    }
  }
  for (let i = 1; i <= count; i++) entries[i] += entries[i - 1];
  const entriesFor = (needed: number[]) => {
    needed.sort((a, b) => a - b);
    return entries[needed[Math.ceil(recall * needed.length) - 1] + 1];
  };
  // Partitions are twice as large with copies; a centroid is compared in the time of an entry.
  return count + 2 * entriesFor(eithers) <= MAX_SHARE * (count + entriesFor(firsts));
}
