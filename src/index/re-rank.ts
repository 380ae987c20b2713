/**
 * The end of searches by weight (ranks 'estimate' and 'exact'): from the best distinct codes to
 * their rows, and to the best of these. Searches by distance end in by-distance.ts.
 */

import type { Steps } from '../base/steps';
import { Highest, keyOf, rowOf, Smallest, weightOf } from '../base/top-k';
import { copyOfHits, type Hits, NO_ROW, type Search } from '../kernels/hits';
import type { RowFilter } from './filter';
import type { Candidates, Query, SearchParts } from './index-parts';

/** What the end of a search by weight is asked for. */
export interface Wanted {
  readonly k: number;
  /** Distinct codes to rank: k, or more for re-ranking. */
  readonly want: number;
  readonly filter: RowFilter | null;
}

/** What the weights of a search say of cosines. */
export interface Estimates {
  /** The cosine that a weight estimates. */
  readonly cosineOf: (weight: number) => number;
  /** True when all codes of the last weight may be candidates, in any order of equal weights. */
  readonly mayTakeTies: boolean;
}

/** The first row of a code that a search has found. */
type RowOf = (code: number) => number;

/** What a search did, for `explain`. */
export interface Work {
  codesCompared: number;
  candidates: number;
  probes: number;
}

/** Rows, likeliest first, and the cosines that weights estimate. */
export interface Ranked {
  readonly rows: Uint32Array;
  readonly cosines: Float64Array;
}

/**
 * The wanted distinct codes among those that a search sees, each by its first row that the filter
 * accepts; `firstRowOf` tells the first row of each code. A kernel knows no filter: it is asked for
 * more, and the search is run again, until enough of its hits are accepted.
 */
export function* takeLightest(
  best: Smallest,
  parts: SearchParts,
  firstRowOf: RowOf,
  { want, filter }: Wanted,
  run: (ask: number) => Steps<Search>,
): Steps<void> {
  if (filter === null) {
    const search = yield* run(want);
    takeHits(best, firstRowOf, search.hits(), search.limit);
    return;
  }
  for (let ask = 4 * want; ; ask *= 8) {
    const search = yield* run(ask);
    const { limit, held } = search;
    const { codes, weights, count } = filter.isUserCode ? copyOfHits(search.hits()) : search.hits();
    const distinctCodes = new Smallest(want);
    let passing = 0;
    for (let i = 0; i < count; i++) {
      if (weights[i] > limit) continue;
      const row = parts.distinctCodes.firstRow(
        parts.distinctCodes.distinctOf(firstRowOf(codes[i])),
        filter,
      );
      if (row === NO_ROW) continue;
      distinctCodes.take(weights[i], row);
      passing++;
    }
    if (passing < want && held >= ask) continue;
    for (const key of distinctCodes.result()) best.take(weightOf(key), rowOf(key));
    return;
  }
}

function takeHits(best: Smallest, firstRowOf: RowOf, hits: Hits, limit: number): void {
  const { codes, weights, count } = hits;
  for (let i = 0; i < count; i++)
    if (weights[i] <= limit) best.take(weights[i], firstRowOf(codes[i]));
}

/** What a search finds, lightest first. */
export function* rankedHits(
  parts: SearchParts,
  wanted: Wanted,
  { cosineOf, mayTakeTies }: Estimates,
  run: (ask: number) => Steps<Search>,
): Steps<Candidates> {
  const { distinctCodes } = parts;
  const firstRowOf: RowOf = (code) => distinctCodes.rowOf(code);
  if (wanted.filter !== null || !mayTakeTies || distinctCodes.hasDuplicates) {
    const best = new Smallest(wanted.want);
    yield* takeLightest(best, parts, firstRowOf, wanted, run);
    return rankedRows(parts, best, cosineOf, wanted);
  }
  const hits = (yield* run(wanted.want)).hits();
  // While this search waits for vectors, others overwrite hits and rows.
  const { codes, weights, count } = parts.allSimilarities === null ? hits : copyOfHits(hits);
  const estimateOf = (i: number) => cosineOf(weights[i]);
  if (parts.allSimilarities === null) return { count, estimateOf, codes, rowOf: firstRowOf };
  return { count, estimateOf, codes: codes.map(firstRowOf), rowOf: null };
}

/** The rows of the best distinct codes, at most k of each, in order. */
export function rankedRows(
  { distinctCodes }: SearchParts,
  best: Smallest,
  cosineOf: (weight: number) => number,
  { k, want, filter }: Wanted,
): Candidates {
  const keys = distinctCodes.hasDuplicates ? expanded(best.result()) : best.result();
  return {
    ...{ count: keys.length, codes: keys.map(rowOf), rowOf: null },
    estimateOf: (i) => cosineOf(weightOf(keys[i])),
  };

  /**
   * Adds the further rows of each distinct code: up to k of each, and more where too few remain.
   */
  function expanded(keys: Float64Array): Float64Array {
    const all: number[] = [];
    const spare: number[] = [];
    for (const key of keys) {
      const weight = weightOf(key);
      let taken = 0;
      distinctCodes.eachRow(distinctCodes.distinctOf(rowOf(key)), (row) => {
        if (filter !== null && !filter.accepts(row)) return true;
        if (taken++ < k) all.push(keyOf(weight, row));
        else if (spare.length < want) spare.push(keyOf(weight, row));
        else return false;
        return true;
      });
    }
    return Float64Array.from(all.concat(spare.slice(0, Math.max(0, want - all.length)))).sort();
  }
}

/** The rows of the first candidates. */
function rowsOf({ codes, rowOf }: Candidates, count: number): Uint32Array {
  const rows = new Uint32Array(count);
  if (rowOf === null) for (let i = 0; i < count; i++) rows[i] = codes[i];
  else for (let i = 0; i < count; i++) rows[i] = rowOf(codes[i]);
  return rows;
}

/** The first candidates, looked up; all where `most` is not given. */
export function ranked(candidates: Candidates, most = candidates.count): Ranked {
  const { estimateOf } = candidates;
  const rows = rowsOf(candidates, Math.min(most, candidates.count));
  return { rows, cosines: Float64Array.from(rows, (_, i) => estimateOf(i)) };
}

/**
 * The k rows of the highest exact cosines among the candidates; notes in `work` how many were
 * ranked.
 */
export function* exactBest(
  parts: SearchParts,
  query: Query,
  candidates: Candidates,
  k: number,
  work: Work,
): Steps<Ranked> {
  const rows = rowsOf(candidates, candidates.count);
  const cosines =
    parts.allSimilarities === null
      ? parts.exactCosines(query, rows)
      : yield* parts.allSimilarities(query, rows);
  work.candidates = rows.length;
  return bestByCosine(rows, cosines, k);
}

/** The k rows of the highest cosines, then row. */
export function bestByCosine(rows: Uint32Array, cosines: Float64Array, k: number): Ranked {
  const best = new Highest(Math.min(k, rows.length));
  for (let i = 0; i < rows.length; i++) best.take(cosines[i], rows[i]);
  const { rows: bestRows, scores } = best.result();
  return { rows: bestRows, cosines: scores };
}
