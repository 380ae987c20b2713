/**
 * Decides whether rows should lie in a second partition too: counts what a search would score until
 * its partitions hold the wanted share of the true neighbours of evaluation queries, with copies
 * and without. Counts alone decide, no clock; those of a build are of a sample.
 */

import { SecondCentroids } from '../k-means/second-centroid';
import type { CentroidTree } from '../k-means/two-level';
import { productsKernel } from '../kernels/products';

/** Queries that decide, and neighbours of each, at most. */
export const COPY_QUERIES = 100;
export const COPY_NEIGHBORS = 32;
/**
 * The share of the entries that a search must score at most for copies to be worth their memory and
 * the time to make them. It is about .64 on sentence embeddings and .81 on GloVe, where searches
 * with copies took .69 and .87 of the time, and above 1 on images.
 */
const MAX_SHARE = 3 / 4;

/** Queries with their true neighbours, as points among the centroids, one after another. */
interface Spread {
  readonly queries: Int16Array;
  readonly neighbors: Int16Array;
  /** How many neighbours each query has. */
  readonly counts: readonly number[];
  /** The partition of each neighbour. */
  readonly own: Uint32Array;
  /** Codes of each partition, or numbers in proportion to them, and codes in all. */
  readonly sizes: ArrayLike<number>;
  readonly codes: number;
}

export function copiesPay({ state }: CentroidTree, spread: Spread, recall: number): boolean {
  const { own, sizes } = spread;
  const count = sizes.length;
  if (count < 2 || own.length === 0) return false;
  const seconds = new SecondCentroids({ ...state, pairs: null }).of(spread.neighbors, own);
  const [places, entriesBefore] = visitsOf(state, spread);
  const entriesFor = (placeOf: (query: number, neighbor: number) => number) => {
    const needed: number[] = [];
    let neighbor = 0;
    for (const [query, some] of spread.counts.entries()) {
      for (let i = 0; i < some; i++) needed.push(placeOf(query, neighbor++));
    }
    needed.sort((a, b) => a - b);
    const probes = needed[Math.ceil(recall * needed.length) - 1] + 1;
    return entriesBefore[probes];
  };
  const first = (query: number, neighbor: number) => places[query * count + own[neighbor]];
  const either = (query: number, neighbor: number) =>
    Math.min(first(query, neighbor), places[query * count + seconds[neighbor]]);
  // Partitions are twice as large with copies; a centroid is compared in the time of an entry.
  return count + 2 * entriesFor(either) <= MAX_SHARE * (count + entriesFor(first));
}

/**
 * For each query the place of each partition in the order of its search, and the codes that the
 * first 0, 1, 2, ... partitions have in the mean over the queries.
 */
function visitsOf(
  { centroids, width }: CentroidTree['state'],
  { queries, counts, sizes, codes }: Spread,
): [places: Uint32Array, entries: Float64Array] {
  const count = sizes.length;
  const orders = new Uint32Array(counts.length * count);
  const rows = { values: centroids, width };
  productsKernel.orderInto(rows, queries, orders, new Int32Array(orders.length));
  const places = new Uint32Array(orders.length);
  const entries = new Float64Array(count + 1);
  let total = 0;
  for (let p = 0; p < count; p++) total += sizes[p];
  const share = codes / Math.max(1, total) / counts.length;
  for (const query of counts.keys()) {
    for (let place = 0; place < count; place++) {
      const p = orders[query * count + place];
      places[query * count + p] = place;
      entries[place + 1] += sizes[p] * share;
    }
  }
  for (let i = 1; i <= count; i++) entries[i] += entries[i - 1];
  return [places, entries];
}
