/**
 * What a search finds of the true neighbours of evaluation queries: query by query, as shares from
 * which `recallOf` makes the recall, its interval and the coverage. `measureRecall`, `optimize` and
 * the benches have their figures from here.
 */

import { mean, meanAtLeast, meanInterval } from '../base/mean-limits';
import type { Steps } from '../base/steps';
import { inParallel } from '../threads/parallel';
import { type FullSetting, findCandidates, type Setting } from './candidates';
import { type Signs, signsOf } from './doubt';
import type { EvaluationRecall, QueryCost, QueryRecall } from './index-options';
import type { Candidates, IndexParts, SearchParts } from './index-parts';
import { meanCost } from './query-cost';
import { exactBest, type Ranked, ranked, type Work } from './re-rank';
import { type IndexState, stateOf } from './shared-index';
import type { Asked } from './truth';

/** An index whose searches are measured, wherever its rows are. */
export interface Measured {
  /** What the next search sees of it. */
  readonly parts: SearchParts;
  /** True where a search may also compare all codes. */
  readonly mayScan: boolean;
  /** The partition of a row that has a code, where there are partitions. */
  partitionOf(row: number): number;
  /** True when no other row has the code of this one. */
  isAlone(row: number): boolean;
  /** Searches for each of some queries, and the milliseconds that one takes where it is timed. */
  together<N extends keyof Results>(
    name: N,
    asked: readonly Evaluated[],
    how: Searching & { readonly isTimed?: boolean },
  ): Steps<{ results: Results[N][]; ms: number }>;
}

/** With what queries are searched for. */
interface Searching {
  readonly k: number;
  readonly setting: FullSetting;
}

/** What a search for one query gives, by the name under which threads know it. */
export interface Results {
  /** Rows, likeliest first, all of them. */
  readonly candidates: Uint32Array;
  readonly shares: { readonly found: number; readonly signs: Signs; readonly work: Work };
}

/** A search for one query. */
export type Search<T> = (index: Searched, one: Evaluated, how: Searching) => Steps<T>;
type Searched = Pick<Measured, 'parts' | 'isAlone'>;

export const SEARCHES: { readonly [N in keyof Results]: Search<Results[N]> } = {
  candidates: (index, one, { k, setting }) => candidatesOf(index, one, k, setting),
  shares: shareFound,
};

/** An index in memory, to be measured as it is now. */
export function inMemory(parts: IndexParts): Measured {
  const { distinctCodes, partitions } = parts;
  let partitionOf: Uint32Array | undefined;
  const measured: Measured = {
    parts,
    mayScan: true,
    partitionOf(row) {
      partitionOf ??= partitions?.partitionOfEach(distinctCodes.count);
      return partitionOf?.[distinctCodes.distinctOf(row)] ?? 0;
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

/** Codes that the searches of a part look at, about: some milliseconds. */
const PART_CODES = 2 ** 22;
const MAX_PART_QUERIES = 16;

/** What other threads find; null where they cannot help. */
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

export interface MeasuringState<N extends keyof Results = keyof Results> {
  readonly index: IndexState;
  readonly name: N;
  readonly how: Searching;
}

/** A query with its true neighbours. */
export interface Evaluated extends Asked {
  readonly neighbors: Uint32Array;
}

/** What searches found of their queries' neighbours; queries without any are left out. */
export interface Found {
  readonly shares: Float64Array;
  readonly signs: readonly Signs[];
  /** Milliseconds a query, where searches are timed. */
  readonly ms: number;
  readonly cost: QueryCost | null;
}

/** What a setting finds of evaluation queries, as a report says it. */
export interface Figures {
  readonly recall: EvaluationRecall;
  /** What the searches found. */
  readonly found: Found;
  readonly reached: boolean;
  /** Milliseconds a query. */
  readonly ms: number;
  /** True where the queries are rows that took part in training. */
  readonly isTrained: boolean;
}

/** Chance that a stated coverage is too high. */
const COVERAGE_DOUBT = 0.05;
/** The recall of single queries whose share is stated where none was asked for. */
export const USUAL_LEVEL = 0.9;

/** Recalls are rounded to this part, far below what is known of them: .956, not .9559999999999. */
const UNITS = 1e12;

/** Recall from the shares found by single queries. */
export function recallOf(shares: Float64Array, level = USUAL_LEVEL): QueryRecall {
  const queries = shares.length;
  return {
    recall: queries === 0 ? 1 : Math.round(UNITS * mean(shares)) / UNITS,
    interval: meanInterval(shares),
    coverage: { recall: level, share: meanAtLeast(reaching(shares, level), COVERAGE_DOUBT) },
    queries,
  };
}

/** 1 for each query that finds this share of its neighbours, 0 for the others. */
export function reaching(shares: Float64Array, level: number): Float64Array {
  return shares.map((share) => (share >= level ? 1 : 0));
}

/** Shares of how many were found of how many; queries without neighbours are left out. */
export function sharesOf(found: ArrayLike<number>, sizes: ArrayLike<number>): Float64Array {
  const shares = Float64Array.from(found, (count, i) => count / sizes[i]);
  return shares.filter((_, i) => sizes[i] > 0);
}

/** The candidates of a query, without its own row: as many codes as if that row were not there. */
export function* candidatesOf(
  index: Searched,
  asked: Asked,
  k: number,
  setting: Setting,
): Steps<Uint32Array> {
  const { candidates } = yield* candidatesFor(index, asked, k, setting);
  return withoutOwn(asked, ranked(candidates)).rows;
}

/** The candidates that a search finds, of which the query's own row is one more than is wanted. */
function* candidatesFor(
  index: Searched,
  { row: own, query }: Asked,
  k: number,
  setting: Setting,
): Steps<{ parts: SearchParts; candidates: Candidates; wanted: number; work: Work }> {
  const { parts } = index;
  const work: Work = { codesCompared: 0, candidates: 0, probes: 0 };
  const rank = parts.canCompare(query) ? 'exact' : 'estimate';
  // Rows of one code count as one candidate.
  const want = setting.want + (own !== null && index.isAlone(own) ? 1 : 0);
  const wanted = own === null ? k : k + 1;
  const request = { k: wanted, want, filter: null, probes: setting.probes, rank } as const;
  return { parts, candidates: yield* findCandidates(parts, query, request, work), wanted, work };
}

/** What was found, but for the query's own row. */
function withoutOwn({ row: own }: Asked, found: Ranked): Ranked {
  const at = own === null ? -1 : found.rows.indexOf(own);
  if (at < 0) return found;
  const rows = found.rows.copyWithin(at, at + 1).subarray(0, -1);
  return { rows, cosines: found.cosines.copyWithin(at, at + 1).subarray(0, -1) };
}

/** How many of its neighbours a search for one query finds. */
function* shareFound(
  index: Searched,
  one: Evaluated,
  { k, setting }: Searching,
): Steps<Results['shares']> {
  const { parts, candidates, wanted, work } = yield* candidatesFor(index, one, k, setting);
  const rank = parts.canCompare(one.query) ? 'exact' : 'estimate';
  const all =
    rank === 'exact'
      ? yield* exactBest(parts, one.query, candidates, { ...setting, k: wanted }, work)
      : ranked(candidates);
  const best = withoutOwn(one, all);
  const truth = new Set(one.neighbors);
  const found = best.rows.subarray(0, k).filter((row) => truth.has(row)).length;
  const signs = signsOf(parts, { want: setting.want, candidates, best, rank });
  return { found, signs, work };
}

/** What searches find, query by query, with their signs, and the milliseconds that one takes. */
export function* sharesFound(
  index: Measured,
  asked: readonly Evaluated[],
  how: Searching & { readonly isTimed?: boolean },
): Steps<Found> {
  const { results, ms } = yield* index.together('shares', asked, how);
  const sizes = asked.map(({ neighbors }) => neighbors.length);
  const found = results.map((one) => one.found);
  const signs = results.filter((_, i) => sizes[i] > 0).map((one) => one.signs);
  const cost = meanCost(
    index.parts,
    results.map(({ work }) => work),
  );
  return { shares: sharesOf(found, sizes), signs, ms, cost };
}
