/**
 * Measures what a search finds of the true neighbours of evaluation queries: one share for each
 * query, from which `recallOf` makes the recall and its interval. The figures of `measureRecall`,
 * `optimize` and the benches come from here.
 */

import { mean, meanInterval } from '../base/mean-limits';
import type { Steps } from '../base/steps';
import { inParallel } from '../threads/parallel';
import { findCandidates, type Setting } from './candidates';
import type { EvaluationRecall, QueryCost, QueryRecall } from './index-options';
import type { Candidates, IndexParts, SearchParts } from './index-parts';
import { meanCost } from './query-cost';
import { exactBest, type Ranked, ranked, type Work } from './re-rank';
import { type IndexState, stateOf } from './shared-index';
import type { Asked } from './truth';

/** An index whose searches are measured, in memory or in files. */
export interface Measured {
  /** The index as the next search sees it. */
  readonly parts: SearchParts;
  /** True if a search may also compare all codes. */
  readonly mayScan: boolean;
  /** The partition of a row that has a code; 0 without partitions. */
  partitionOf(row: number): number;
  /** Its second partition; the same one where there are no copies. */
  secondOf(row: number): number;
  /** True if no other row has the code of this one. */
  isAlone(row: number): boolean;
  /**
   * Searches for each of some queries; `ms` is the time of one in milliseconds, if they are timed.
   */
  together<N extends keyof Results>(
    name: N,
    asked: readonly Evaluated[],
    how: Searching & { readonly isTimed?: boolean },
  ): Steps<{ results: Results[N][]; ms: number }>;
}

/** How queries are searched for. */
interface Searching {
  readonly k: number;
  readonly setting: Setting;
}

/** The result of a search for one query, by the name that threads know the search by. */
export interface Results {
  /** All candidates as rows, likeliest first. */
  readonly candidates: Uint32Array;
  /** How many true neighbours the result has, the cosine of its last row, and the work done. */
  readonly shares: { readonly found: number; readonly kthCosine: number; readonly work: Work };
}

/** A search for one evaluation query. */
export type Search<T> = (index: Searched, one: Evaluated, how: Searching) => Steps<T>;
type Searched = Pick<Measured, 'parts' | 'isAlone'>;

/** The searches by name: jobs for threads name them, since functions cannot be sent. */
export const SEARCHES: { readonly [N in keyof Results]: Search<Results[N]> } = {
  candidates: (index, one, { k, setting }) => candidatesOf(index, one, k, setting),
  shares: shareFound,
};

/** An index in memory as it is now, to be measured. */
export function inMemory(parts: IndexParts): Measured {
  const { distinctCodes, partitions } = parts;
  const of = (all: Uint32Array | null | undefined, row: number) =>
    all?.[distinctCodes.distinctOf(row)] ?? 0;
  let [partitionOf, secondOf]: (Uint32Array | null | undefined)[] = [];
  const measured: Measured = {
    parts,
    mayScan: true,
    partitionOf(row) {
      partitionOf ??= partitions?.partitionOfEach(distinctCodes.count);
      return of(partitionOf, row);
    },
    secondOf(row) {
      secondOf ??= partitions?.secondOfEach(distinctCodes.count);
      return secondOf ? of(secondOf, row) : measured.partitionOf(row);
    },
    isAlone(row) {
      let others = 0;
      distinctCodes.eachRow(distinctCodes.distinctOf(row), (other) => {
        if (other !== row) others++;
        return others === 0;
      });
      return others === 0;
    },
    *together(name, asked, how) {
      // Timed searches run one after another on this thread.
      const found = how.isTimed ? null : yield* searchedElsewhere(parts, name, asked, how);
      if (found !== null) return { results: found, ms: 0 };
      const results = [];
      let ms = 0;
      for (const one of asked) {
        const start = performance.now();
        results.push(yield* SEARCHES[name](measured, one, how));
        ms += performance.now() - start;
        yield undefined;
      }
      return { results, ms: ms / Math.max(1, asked.length) };
    },
  };
  return measured;
}

/** Codes that the searches of a part compare, about: some milliseconds of work. */
const PART_CODES = 2 ** 22;
const MAX_PART_QUERIES = 16;

/** What searches on other threads find; null if these cannot help, as with sparse vectors. */
function* searchedElsewhere<N extends keyof Results>(
  parts: IndexParts,
  name: N,
  asked: readonly Evaluated[],
  { k, setting }: Searching,
): Steps<Results[N][] | null> {
  const { distinctCodes, partitions, vectors } = parts;
  if (vectors?.kind === 'sparse' || asked.some(({ query }) => query.set)) return null;
  const visited = setting.probes === null ? 1 : setting.probes / (partitions?.count ?? 1);
  const most = Math.min(MAX_PART_QUERIES, PART_CODES / (visited * distinctCodes.count));
  const each = Math.max(1, Math.floor(most));
  const results: Results[N][] = [];
  const isDone = yield* inParallel<MeasuringState<N>, readonly Evaluated[], Results[N][]>({
    task: { name: 'measuring' },
    get state() {
      return { index: stateOf(parts, null), name, how: { k, setting } };
    },
    sharesRows: true,
    count: Math.ceil(asked.length / each),
    part: (i) => asked.slice(i * each, (i + 1) * each),
    take(found) {
      results.push(...found);
      return undefined;
    },
  });
  return isDone ? results : null;
}

/** What a thread opens a job with: the index, the name of the search and its setting. */
export interface MeasuringState<N extends keyof Results = keyof Results> {
  readonly index: IndexState;
  readonly name: N;
  readonly how: Searching;
}

/** An evaluation query with the rows of its true neighbours. */
export interface Evaluated extends Asked {
  readonly neighbors: Uint32Array;
}

/** What searches found of the neighbours of their queries; queries without any are left out. */
interface Found {
  /** For each query the share of its neighbours that was found. */
  readonly shares: Float64Array;
  /** For each query the cosine of the last of the k rows that were found. */
  readonly kthCosines: Float64Array;
  /** Milliseconds of one search, if they were timed. */
  readonly ms: number;
  readonly cost: QueryCost | null;
}

/** What a setting finds for evaluation queries, as a report states it. */
export interface Figures {
  readonly recall: EvaluationRecall;
  readonly found: Found;
  readonly reached: boolean;
  /** Milliseconds of one search. */
  readonly ms: number;
  /** True if the queries are rows that took part in training. */
  readonly isTrained: boolean;
}

/** Recalls are rounded to 1 / UNITS, far below their error: .956 instead of .9559999999999. */
const UNITS = 1e12;

/** The recall of queries from the shares that they found; 1 for no queries. */
export function recallOf(shares: Float64Array): QueryRecall {
  const queries = shares.length;
  return {
    recall: queries === 0 ? 1 : Math.round(UNITS * mean(shares)) / UNITS,
    interval: meanInterval(shares),
    queries,
  };
}

/** Shares from counts of found neighbours and of all; queries without neighbours are left out. */
export function sharesOf(found: ArrayLike<number>, sizes: ArrayLike<number>): Float64Array {
  const shares = Float64Array.from(found, (count, i) => count / sizes[i]);
  return shares.filter((_, i) => sizes[i] > 0);
}

/**
 * The candidates of a query as rows. If the query is a row, that row is left out, and one more
 * candidate is taken in its place.
 */
export function* candidatesOf(
  index: Searched,
  asked: Asked,
  k: number,
  setting: Setting,
): Steps<Uint32Array> {
  const { candidates } = yield* candidatesFor(index, asked, k, setting);
  return withoutOwn(asked, ranked(candidates)).rows;
}

/** The candidates of a query, its own row included; `wanted` counts that row too. */
function* candidatesFor(
  index: Searched,
  { row: own, query }: Asked,
  k: number,
  setting: Setting,
): Steps<{ parts: SearchParts; candidates: Candidates; wanted: number; work: Work }> {
  const { parts } = index;
  const work: Work = { codesCompared: 0, candidates: 0, probes: 0 };
  const rank = parts.canCompare(query) ? 'exact' : 'estimate';
  // Equal codes are one candidate, so the own row needs a place only if its code is its own.
  const want = setting.want + (own !== null && index.isAlone(own) ? 1 : 0);
  const wanted = own === null ? k : k + 1;
  const request = { k: wanted, want, filter: null, probes: setting.probes, rank } as const;
  return { parts, candidates: yield* findCandidates(parts, query, request, work), wanted, work };
}

/** What was found without the query's own row. Changes the given arrays. */
function withoutOwn({ row: own }: Asked, found: Ranked): Ranked {
  const at = own === null ? -1 : found.rows.indexOf(own);
  if (at < 0) return found;
  const rows = found.rows.copyWithin(at, at + 1).subarray(0, -1);
  return { rows, cosines: found.cosines.copyWithin(at, at + 1).subarray(0, -1) };
}

/** Searches for one query and counts its true neighbours among the k results. */
function* shareFound(
  index: Searched,
  one: Evaluated,
  { k, setting }: Searching,
): Steps<Results['shares']> {
  const { parts, candidates, wanted, work } = yield* candidatesFor(index, one, k, setting);
  const rank = parts.canCompare(one.query) ? 'exact' : 'estimate';
  const all =
    rank === 'exact'
      ? yield* exactBest(parts, one.query, candidates, wanted, work)
      : ranked(candidates);
  const best = withoutOwn(one, all);
  const truth = new Set(one.neighbors);
  const rows = best.rows.subarray(0, k);
  const found = rows.filter((row) => truth.has(row)).length;
  return { found, kthCosine: best.cosines[rows.length - 1] ?? 0, work };
}

/** Searches for all queries: what they found, milliseconds of one search, and mean cost. */
export function* sharesFound(
  index: Measured,
  asked: readonly Evaluated[],
  how: Searching & { readonly isTimed?: boolean },
): Steps<Found> {
  const { results, ms } = yield* index.together('shares', asked, how);
  const sizes = asked.map(({ neighbors }) => neighbors.length);
  const found = results.map((one) => one.found);
  const withNeighbors = results.filter((_, i) => sizes[i] > 0);
  const kthCosines = Float64Array.from(withNeighbors, (one) => one.kthCosine);
  const cost = meanCost(
    index.parts,
    results.map(({ work }) => work),
  );
  return { shares: sharesOf(found, sizes), kthCosines, ms, cost };
}
