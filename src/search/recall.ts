/**
 * Recall measured on the index's own rows: held-out rows are the queries, their true neighbours the
 * truth. One pass tells, for every number of candidates, how many of the true ones are among them.
 */

import { wilson } from '../hashing/angle';
import type { Steps } from '../long-call';
import type { IndexState, Query } from './state';
import { lightest, type Ranked, type Work } from './weighted-search';

/** A held-out row as a query, and its true neighbours. */
export interface HeldOut {
  readonly row: number;
  readonly query: Query;
  readonly neighbors: Uint32Array;
}

/** How to search: null probes for a scan, `want` rows to be re-ranked. */
export interface Setting {
  readonly probes: number | null;
  readonly want: number;
}

/** The candidates of a held-out row, without itself. */
export function* candidatesOf(
  state: IndexState,
  { row, query }: HeldOut,
  k: number,
  { probes, want }: Setting,
): Steps<Uint32Array> {
  const work: Work = { codesCompared: 0, candidates: 0, probes: 0 };
  const request = { k: k + 1, want: want + 1, probes, filter: null };
  const { rows }: Ranked = yield* lightest(state, query, request, work);
  return rows.filter((other) => other !== row).subarray(0, want);
}

/**
 * For each number of candidates up to `most`, how many true neighbours are among so many: summed
 * over the queries; and the milliseconds a query took.
 */
export function* foundBy(
  state: IndexState,
  heldOut: readonly HeldOut[],
  k: number,
  { probes, want }: Setting,
): Steps<{ found: Uint32Array; ms: number }> {
  const found = new Uint32Array(want + 1);
  let ms = 0;
  for (const one of heldOut) {
    const start = performance.now();
    const candidates = yield* candidatesOf(state, one, k, { probes, want });
    ms += performance.now() - start;
    const truth = new Set(one.neighbors);
    candidates.forEach((row, i) => {
      if (truth.has(row)) found[i + 1]++;
    });
    yield undefined;
  }
  for (let i = 1; i < found.length; i++) found[i] += found[i - 1];
  return { found, ms: ms / heldOut.length };
}

/** True neighbours there are to be found. */
export function toBeFound(heldOut: readonly HeldOut[]): number {
  return heldOut.reduce((sum, { neighbors }) => sum + neighbors.length, 0);
}

/** Least number found of `total` whose interval lies above the wanted share, or all of them. */
export function surelyEnough(wanted: number, total: number): number {
  let low = Math.ceil(wanted * total);
  let high = total;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (wilson(middle, total)[0] >= wanted) high = middle;
    else low = middle + 1;
  }
  return low;
}
