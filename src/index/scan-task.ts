/**
 * The task by which threads scan distinct codes: with one query by the kernel that holds the
 * nearest, with many by the one that compares codes with all of them. A part returns every code
 * that can be among the nearest of the whole scan: all that are as near as its `want` nearest.
 */

import { NO_ROW } from '../kernels/hits';
import { hammingKernel, type KernelName } from '../kernels/kernels';
import type { Task } from '../threads/job';

/** Distinct codes, the first row of each, and queries, one after another. */
interface ScanState {
  readonly codes: Uint8Array;
  readonly rows: Uint32Array;
  readonly queries: Uint8Array;
  readonly bytesPerCode: number;
  readonly kernel: KernelName | undefined;
}

/**
 * Codes `first` to `end - 1`. `limits` has one exclusive distance a query: no farther code is
 * needed. `want` is how many of a part each query can use.
 */
interface ScanPart {
  readonly first: number;
  readonly end: number;
  readonly limits: Uint32Array;
  readonly want: number;
}

/**
 * The first `count` entries are hits, in no order: positions of the queries, null where all are of
 * the only one, positions of the codes, and their distances.
 */
interface ScanHits {
  readonly queries: Uint32Array | null;
  readonly codes: Uint32Array;
  readonly distances: Uint32Array;
  readonly count: number;
}

/** A scan for one query, or for many together; a part has the same result on every thread. */
export const SCANNING: Task<ScanState, ScanPart, ScanHits> = {
  name: 'scanning',
  open(state) {
    const { queries, bytesPerCode } = state;
    return queries.length === bytesPerCode ? forOne(state) : forMany(state);
  },
};

function forOne({ codes, rows, queries, bytesPerCode, kernel }: ScanState) {
  const memory = { codes, rows, bytesPerCode };
  const hamming = hammingKernel(kernel, bytesPerCode);
  return ({ first, end, limits, want }: ScanPart): ScanHits => {
    const [limit] = limits;
    if (limit === 0) return hitsOf([], limits);
    const search = hamming.search(memory, queries, want, limit - 1); // its limit is inclusive
    search.range(first, end);
    const { codes: found, weights: distances, count } = search.hits();
    return { queries: null, codes: found, distances, count };
  };
}

/**
 * Holds, for each query, a falling limit as `FallingLimit` has it: counts by distance say when the
 * farthest hits are not needed any more.
 */
function forMany({ codes, rows, queries, bytesPerCode, kernel }: ScanState) {
  const hamming = hammingKernel(kernel, bytesPerCode);
  const width = 8 * bytesPerCode + 1;
  const counts = new Uint32Array((queries.length / bytesPerCode) * width);
  return ({ first, end, limits: given, want }: ScanPart): ScanHits => {
    const limits = given.slice();
    const held = new Uint32Array(limits.length);
    const hits: number[] = [];
    counts.fill(0);
    const take = (query: number, code: number, distance: number) => {
      if (distance >= limits[query] || rows[code] === NO_ROW) return;
      hits.push(query, code, distance);
      counts[query * width + distance]++;
      held[query]++;
      // The farthest hits are not needed once `want` nearer ones are held.
      for (let last = limits[query] - 1; held[query] > want; last--) {
        const farthest = counts[query * width + last];
        if (held[query] - farthest < want) break;
        held[query] -= farthest;
        limits[query] = last;
      }
    };
    for (let from = first; from < end; from += FEW_CODES) {
      hamming.hitsOfMany(codes, from, Math.min(FEW_CODES, end - from), queries, limits, take);
    }
    return hitsOf(hits, limits);
  };
}

/** Codes between two reads of the limits by the kernel. */
const FEW_CODES = 1024;

/** Hits from triples of query, code and distance; those beyond the final limits are left out. */
function hitsOf(all: readonly number[], limits: Uint32Array): ScanHits {
  const kept: number[] = [];
  for (let i = 0; i < all.length; i += 3) if (all[i + 2] < limits[all[i]]) kept.push(i);
  return {
    queries: Uint32Array.from(kept, (i) => all[i]),
    codes: Uint32Array.from(kept, (i) => all[i + 1]),
    distances: Uint32Array.from(kept, (i) => all[i + 2]),
    count: kept.length,
  };
}
