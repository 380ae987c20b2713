/**
 * Scans of distinct codes in parts that threads share: for one query by the kernel that holds the
 * lightest, for many by the one that compares codes with all of them. A part returns what can be
 * among the nearest of the whole: all codes as near as the `want` nearest of the part.
 */

import { NO_ROW } from '../kernels/hits/hits';
import { hammingKernel, type KernelName } from '../kernels/kernels';
import type { Task } from '../threads/job';

/** Distinct codes, the row of each, and the queries, one after another. */
interface ScanState {
  readonly codes: Uint8Array;
  readonly rows: Uint32Array;
  readonly queries: Uint8Array;
  readonly bytesPerCode: number;
  readonly kernel: KernelName | undefined;
}

/** Codes `first` to `end - 1`, distances below the limit of each query, how many are wanted. */
interface ScanPart {
  readonly first: number;
  readonly end: number;
  readonly limits: Uint32Array;
  readonly want: number;
}

/** Hits: the number of the query, the code, their distance. */
interface ScanHits {
  readonly queries: Uint32Array;
  readonly codes: Uint32Array;
  readonly distances: Uint32Array;
}

/** Scans for one query, or for many together; equal results whichever thread runs a part. */
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
    const search = hamming.search(memory, queries, want, limit - 1);
    search.range(first, end);
    const { codes: found, weights, count } = search.hits();
    return {
      queries: new Uint32Array(count),
      codes: Uint32Array.from(found.subarray(0, count)),
      distances: Uint32Array.from(weights.subarray(0, count)),
    };
  };
}

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
      // The farthest are not wanted once enough are nearer.
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

/** Codes between two reads of the limits. */
const FEW_CODES = 1024;

/** Hits of query, code and distance one after another; those that a limit now excludes are not. */
function hitsOf(all: readonly number[], limits: Uint32Array): ScanHits {
  const kept: number[] = [];
  for (let i = 0; i < all.length; i += 3) if (all[i + 2] < limits[all[i]]) kept.push(i);
  return {
    queries: Uint32Array.from(kept, (i) => all[i]),
    codes: Uint32Array.from(kept, (i) => all[i + 1]),
    distances: Uint32Array.from(kept, (i) => all[i + 2]),
  };
}
