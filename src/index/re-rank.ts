/**
 * The end of searches by weight (ranks 'estimate' and 'exact'): from the best distinct codes to
 * their rows, and to the best of these. Searches by distance end in by-distance.ts.
 */

import type { Steps } from '../base/steps';
import { Highest, keyOf, rowOf, Smallest, weightOf } from '../base/top-k';
import { copyOfHits, type Hits, NO_ROW, type Search } from '../kernels/hits/hits';
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
  /** Standard error of this estimate; infinite where it is not known. */
  readonly error: number;
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
  { cosineOf, error, mayTakeTies }: Estimates,
  run: (ask: number) => Steps<Search>,
): Steps<Candidates> {
  const { distinctCodes } = parts;
  const firstRowOf: RowOf = (code) => distinctCodes.rowOf(code);
  if (wanted.filter !== null || !mayTakeTies || distinctCodes.hasDuplicates) {
    const best = new Smallest(wanted.want);
    yield* takeLightest(best, parts, firstRowOf, wanted, run);
    return rankedRows(parts, best, cosineOf, wanted, error);
  }
  const hits = (yield* run(wanted.want)).hits();
  // While this search waits for vectors, others overwrite hits and rows.
  const { codes, weights, count } = parts.readVectors === null ? hits : copyOfHits(hits);
  const estimateOf = (i: number) => cosineOf(weights[i]);
  if (parts.readVectors === null) return { count, estimateOf, error, codes, rowOf: firstRowOf };
  return { count, estimateOf, error, codes: codes.map(firstRowOf), rowOf: null };
}

/** The rows of the best distinct codes, at most k of each, in order. */
export function rankedRows(
  { distinctCodes }: SearchParts,
  best: Smallest,
  cosineOf: (weight: number) => number,
  { k, want, filter }: Wanted,
  error = Number.POSITIVE_INFINITY,
): Candidates {
  const keys = distinctCodes.hasDuplicates ? expanded(best.result()) : best.result();
  return {
    ...{ count: keys.length, codes: keys.map(rowOf), rowOf: null, error },
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

/** The rows of candidates `first` to `end - 1`, to the beginning of `rows`. */
export function rowsInto(
  { codes, rowOf }: Candidates,
  first: number,
  end: number,
  rows: Uint32Array,
) {
  if (rowOf === null) for (let i = first; i < end; i++) rows[i - first] = codes[i];
  else for (let i = first; i < end; i++) rows[i - first] = rowOf(codes[i]);
}

/** The first candidates, looked up; all where `most` is not given. */
export function ranked(candidates: Candidates, most = candidates.count): Ranked {
  const { estimateOf } = candidates;
  const count = Math.min(most, candidates.count);
  const rows = new Uint32Array(count);
  rowsInto(candidates, 0, count, rows);
  return { rows, cosines: Float64Array.from(rows, (_, i) => estimateOf(i)) };
}

/** Candidates whose exact cosines are computed together, so that reads of memory overlap. */
const TOGETHER = 16;
/** Rows of so many candidates: to make an array takes longer than to fill it. */
let rowsRoom = new Uint32Array(TOGETHER);

/**
 * The k rows of the highest exact cosines among the candidates. Ends where the estimates that
 * follow are below the k-th by more than `margin` times their likely error, and notes in `work` how
 * many candidates were ranked.
 */
export function* exactBest(
  parts: SearchParts,
  query: Query,
  candidates: Candidates,
  { k, margin }: { readonly k: number; readonly margin: number },
  work: Work,
): Steps<Ranked> {
  const { count, estimateOf, error } = candidates;
  const best = new Highest(Math.min(k, count));
  const step = Number.isFinite(error) ? Math.max(TOGETHER, k) : 8 * TOGETHER;
  let done = 0;
  while (done < count && !(done > 0 && estimateOf(done) + margin * error < best.bound)) {
    let end = Math.min(done + step, count);
    // Equal estimates are ranked together, since their order is not that of the rows.
    while (end < count && estimateOf(end) === estimateOf(end - 1)) end++;
    if (parts.readVectors !== null) {
      yield* parts.readVectors(candidates, { first: done, end, k });
    }
    if (end - done > rowsRoom.length) rowsRoom = new Uint32Array(2 * (end - done));
    const rows = rowsRoom.subarray(0, end - done);
    rowsInto(candidates, done, end, rows);
    const cosines = parts.exactCosines(query, rows);
    for (let i = 0; i < rows.length; i++) best.take(cosines[i], rows[i]);
    done = end;
  }
  work.candidates = done;
  const { rows, scores } = best.result();
  return { rows, cosines: scores };
}

/**
 * Standard errors by which an estimate must fall short where nothing else was measured. On GloVe
 * 2.25 leaves out 45 % of the candidates, and .05 % of the neighbours with them; at 200 dimensions
 * .3 %, so that `optimize` takes a wider margin where the wanted recall needs it.
 */
export const MARGIN = 2.25;
export const WIDER_MARGINS = [3.5, 8] as const;

/** The k rows of the highest cosines, then row. */
export function bestByCosine(
  rows: Uint32Array,
  cosines: Float64Array,
  k: number,
): { rows: Uint32Array; cosines: Float64Array } {
  const best = new Highest(Math.min(k, rows.length));
  for (let i = 0; i < rows.length; i++) best.take(cosines[i], rows[i]);
  const { rows: bestRows, scores } = best.result();
  return { rows: bestRows, cosines: scores };
}
