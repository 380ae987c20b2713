/**
 * The cheapest setting that finds enough. Each query is searched for once, with many probes and
 * candidates; what every smaller setting finds follows from the order of the candidates and the
 * places of their partitions. Costs are counted, not timed, so that the same rows and seed give the
 * same setting on every machine.
 */

import { mean, meanAtLeast } from '../base/mean-limits';
import type { Steps } from '../base/steps';
import { evenSums, type Setting } from './candidates';
import type { SearchParts } from './index-parts';
import { type Evaluated, type Measured, reaching, sharesOf } from './recall';

/** What must be found: a mean recall, or a share of queries that reach this recall. */
export interface Target {
  readonly recall: number;
  readonly coverage: number | null;
  readonly k: number;
}

export interface Choice extends Setting {
  /** False where no setting finds enough: then this one finds most. */
  readonly isEnough: boolean;
  /** The shares that the queries found, added up. */
  readonly found: number;
}

/** Chance that queries which are drawn again find less than they must. */
const DOUBT = 0.025;
/** Most rows re-ranked for each of k: candidates by codes, and by residual codes. */
const MAX_OVERSAMPLE = 128;
const MAX_OVERSAMPLE_OF_RESIDUALS = 64;
/** Candidates recorded for each of k where none are re-ranked. */
const UNRANKED = 4;
/** Step between numbers of probes that are tried, and how many are tried beyond the least. */
const PROBE_RATIO = 2 ** (1 / 8);
const MORE_PROBES = 12;
/**
 * Costs in nanoseconds, as measured on one machine: of a code, of each of its bytes, of a row that
 * is re-ranked, of each of its dimensions, and of a number that routing multiplies.
 */
const CODE = 2;
const CODE_BYTE = 0.1;
const RANKED_ROW = 100;
const RANKED_VALUE = 0.4;
const ROUTED_VALUE = 0.06;

/** True when these queries show that enough is found, or all of it. */
function isEnough(shares: Float64Array, { recall, coverage }: Target): boolean {
  const values = coverage === null ? shares : reaching(shares, recall);
  const wanted = coverage ?? recall;
  if (values.every((value) => value === 1)) return true;
  return mean(values) >= wanted && meanAtLeast(values, DOUBT) >= wanted;
}

/** The cheapest setting that surely finds enough, or the one that finds most. */
export function* chosen(
  index: Measured,
  asked: readonly Evaluated[],
  target: Target,
): Steps<Choice> {
  const { k } = target;
  const sizes = sizesOf(index.parts);
  const count = sizes.partitions?.count ?? 0;
  let best: Candidate | null = null;
  if (count > 0) {
    const visits = yield* visitingPlaces(index.parts, asked);
    const places = asked.map(({ neighbors }, i) =>
      Array.from(neighbors, (row) => visits[i][index.partitionOf(row)]),
    );
    const least = leastProbes(places, target, count);
    const most = Math.min(count, Math.ceil(least * PROBE_RATIO ** MORE_PROBES));
    const seen = yield* recorded(index, asked, k, { probes: most, visits });
    for (let probes = least; ; probes = Math.min(most, Math.ceil(probes * PROBE_RATIO))) {
      best = better(best, candidateWith(sizes, seen, target, probes));
      if (probes === most) break;
      yield undefined;
    }
  }
  const isLess = best?.isEnough && 2 * (best.probes as number) < count;
  if (best !== null && (isLess || !index.mayScan)) return best;
  const seen = yield* recorded(index, asked, k, { probes: null, visits: [] });
  return better(best, candidateWith(sizes, seen, target, null));
}

/** The least number of probes whose partitions hold enough, or all: no search finds more. */
function leastProbes(places: readonly number[][], target: Target, count: number): number {
  const sizes = places.map(({ length }) => length);
  return leastOf(1, count, (probes) => {
    const within = places.map((own) => own.filter((place) => place < probes).length);
    return isEnough(sharesOf(within, sizes), target);
  });
}

interface Candidate extends Choice {
  readonly cost: number;
}

/** Enough for less, or else the one that finds more. */
function better(a: Candidate | null, b: Candidate): Candidate {
  if (a === null || a.isEnough !== b.isEnough) return a?.isEnough ? a : b;
  if (a.isEnough) return b.cost < a.cost ? b : a;
  return b.found > a.found ? b : a;
}

/** With as few candidates as find enough, or as many as may be. */
function candidateWith(
  sizes: SearchSizes,
  seen: Recording,
  target: Target,
  probes: number | null,
): Candidate {
  const { k } = target;
  const ranks = seen.ranksWithin(probes ?? Number.POSITIVE_INFINITY);
  const isFound = (times: number) => isEnough(seen.shares(ranks, times * k), target);
  const most = Math.ceil(seen.maxWant / k);
  const enough = isFound(most);
  const want = Math.min(seen.maxWant, k * (enough ? leastOf(1, most, isFound) : most));
  const found = seen.shares(ranks, want).reduce((sum, share) => sum + share, 0);
  return { probes, want, isEnough: enough, found, cost: costOf(sizes, { probes, want }) };
}

/** The least integer for which a condition holds that holds for `high`, and for all above one. */
function leastOf(low: number, high: number, holds: (value: number) => boolean): number {
  let [from, to] = [low, high];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (holds(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** What the cost of a search depends on. */
interface SearchSizes {
  readonly codes: number;
  readonly bits: number;
  /** Of the vectors; of the codes, where no dense ones are held. */
  readonly dimensions: number;
  readonly isRanked: boolean;
  readonly partitions: { count: number; width: number; isByResidual: boolean } | null;
}

export function sizesOf({
  partitions,
  distinctCodes,
  hasher,
  bits,
  vectors,
}: SearchParts): SearchSizes {
  const isDense = vectors !== null && vectors.kind !== 'sparse';
  const dimensions = (isDense && hasher.dimensions) || bits;
  return {
    ...{ codes: distinctCodes.count, bits, dimensions },
    isRanked: vectors !== null,
    partitions: partitions && {
      ...{ count: partitions.count, width: partitions.space.width },
      isByResidual: partitions.residualCodes !== null,
    },
  };
}

/** Nanoseconds that a search takes, about. */
export function costOf(sizes: SearchSizes, { probes, want }: Setting): number {
  const { codes, bits, dimensions, isRanked, partitions } = sizes;
  const ranked = isRanked ? want * (RANKED_ROW + RANKED_VALUE * dimensions) : 0;
  const code = CODE + (CODE_BYTE * bits) / 8;
  if (probes === null || partitions === null) return codes * code + ranked;
  const near = partitions.isByResidual ? CODE + (CODE_BYTE * dimensions) / 4 : code;
  const routing = partitions.count * partitions.width * ROUTED_VALUE;
  return routing + (probes / partitions.count) * codes * near + ranked;
}

/**
 * For each query the place of each partition in the order in which a search visits them.
 */
function* visitingPlaces(
  { partitions, bits }: SearchParts,
  asked: readonly Evaluated[],
): Steps<Uint16Array[]> {
  if (partitions === null) return [];
  const places: Uint16Array[] = [];
  for (const { query } of asked) {
    const point = partitions.space.queryOf(query.sums ?? evenSums(query.code, bits), query.unit);
    const own = new Uint16Array(partitions.count);
    partitions.nearest(point, partitions.count).order.forEach((partition, place) => {
      own[partition] = place;
    });
    places.push(own);
    yield undefined;
  }
  return places;
}

/** What one query's search saw. */
interface Seen {
  /** Of each candidate, best first, the place of its partition; all 0 for a scan. */
  readonly places: Uint16Array;
  /** Which of the candidates are true neighbours, ascending. */
  readonly hits: Uint32Array;
}

/** Searches of all queries, from which the shares follow that smaller settings find. */
class Recording {
  /** Candidates that a search may take at most. */
  readonly maxWant: number;
  readonly #sizes: number[];
  readonly #seen: Seen[];

  constructor(maxWant: number, asked: readonly Evaluated[], seen: Seen[]) {
    this.maxWant = maxWant;
    this.#sizes = asked.map(({ neighbors }) => neighbors.length);
    this.#seen = seen;
  }

  /** For each query the ranks of its true neighbours among the candidates in so many partitions. */
  ranksWithin(probes: number): number[][] {
    return this.#seen.map(({ places, hits }) => {
      const ranks: number[] = [];
      let rank = 0;
      let hit = 0;
      for (let i = 0; hit < hits.length; i++) {
        const isThere = places[i] < probes;
        if (i === hits[hit]) {
          hit++;
          if (isThere) ranks.push(rank);
        }
        if (isThere) rank++;
      }
      return ranks;
    });
  }

  /** The shares found with so many candidates, from `ranksWithin`. */
  shares(ranks: readonly number[][], want: number): Float64Array {
    const found = ranks.map((own) => own.filter((rank) => rank < want).length);
    return sharesOf(found, this.#sizes);
  }
}

/** Searches for all queries with as many candidates as may be. */
function* recorded(
  index: Measured,
  asked: readonly Evaluated[],
  k: number,
  { probes, visits }: { probes: number | null; visits: readonly Uint16Array[] },
): Steps<Recording> {
  const { distinctCodes, partitions, vectors } = index.parts;
  const isByResidual = probes !== null && partitions?.residualCodes;
  const times = isByResidual ? MAX_OVERSAMPLE_OF_RESIDUALS : MAX_OVERSAMPLE;
  const maxWant = vectors === null ? k : Math.min(times * k, Math.max(k, distinctCodes.rowCount));
  // Without vectors the k best are the result; those behind them are the best of fewer partitions.
  const want = vectors === null ? UNRANKED * k : maxWant;
  const setting = { probes, want, margin: 0 };
  const { results } = yield* index.together('candidates', asked, { k, setting });
  const seen: Seen[] = [];
  for (const [i, rows] of results.entries()) {
    const truth = new Set(asked[i].neighbors);
    const places = new Uint16Array(rows.length);
    const hits: number[] = [];
    rows.forEach((row, at) => {
      if (probes !== null) places[at] = visits[i][index.partitionOf(row)];
      if (truth.has(row)) hits.push(at);
    });
    seen.push({ places, hits: Uint32Array.from(hits) });
    yield undefined;
  }
  return new Recording(maxWant, asked, seen);
}
