/**
 * Finds the cheapest setting (probes and candidates) that finds enough. Each query is searched for
 * once, with many probes and candidates; what every smaller setting finds follows from the order of
 * the candidates and of their partitions. Work is counted, not timed, so the same rows and seed
 * give the same setting on every machine.
 */

import { mean, meanAtLeast } from '../base/mean-limits';
import type { Steps } from '../base/steps';
import { evenSums, type Setting } from './candidates';
import type { SearchParts } from './index-parts';
import { type Evaluated, type Measured, sharesOf } from './recall';

/** What must be found: `recall` of the k nearest, on average. */
export interface Target {
  readonly recall: number;
  readonly k: number;
}

/** A setting with what it found. */
interface Choice extends Setting {
  /** False if no setting finds enough: then this one finds most. */
  readonly isEnough: boolean;
  /** Sum over the queries of the shares found. */
  readonly found: number;
}

/** Probability that, with other queries, a setting finds less than it must. */
const DOUBT = 0.025;
/** Most candidates to re-rank, in units of k: of candidates by codes, and by residual codes. */
const MAX_OVERSAMPLE = 128;
const MAX_OVERSAMPLE_OF_RESIDUALS = 64;
/** Candidates recorded where none are re-ranked, in units of k. */
const UNRANKED = 4;
/** Factor between the numbers of probes that are tried; and how many are tried beyond the least. */
const PROBE_RATIO = 2 ** (1 / 8);
const MORE_PROBES = 12;
/**
 * Entries that take as long as a re-ranked row: 31 of residual codes of 100 dimensions, 24 of 256,
 * 19 of 784.
 */
const RANKED_ENTRIES = 24;

/** True if these queries show that enough is found, or if they find everything. */
function isEnough(shares: Float64Array, { recall }: Target): boolean {
  if (shares.every((share) => share === 1)) return true;
  return mean(shares) >= recall && meanAtLeast(shares, DOUBT) >= recall;
}

/** The cheapest setting that surely finds enough, else the one that finds most. */
export function* chosen(
  index: Measured,
  asked: readonly Evaluated[],
  target: Target,
): Steps<Choice> {
  const { k } = target;
  const count = index.parts.partitions?.count ?? 0;
  let best: Candidate | null = null;
  if (count > 0) {
    const visits = yield* visitingPlaces(index.parts, asked);
    // For each true neighbour the number of partitions that are visited before its own.
    const places = asked.map(({ neighbors }, i) =>
      Array.from(neighbors, (row) => placeOf(index, visits[i], row)),
    );
    const least = leastProbes(places, target, count);
    const most = Math.min(count, Math.ceil(least * PROBE_RATIO ** MORE_PROBES));
    const seen = yield* recorded(index, asked, k, { probes: most, visits });
    // More probes than the least can be cheaper, if they need fewer candidates to find enough.
    for (let probes = least; ; probes = Math.min(most, Math.ceil(probes * PROBE_RATIO))) {
      best = better(best, candidateWith(index.parts, seen, target, probes));
      if (probes === most) break;
      yield undefined;
    }
  }
  // A scan is tried too, unless less than half of the partitions are enough.
  const isLess = best?.isEnough && 2 * (best.probes as number) < count;
  if (best !== null && (isLess || !index.mayScan)) return best;
  const seen = yield* recorded(index, asked, k, { probes: null, visits: [] });
  return better(best, candidateWith(index.parts, seen, target, null));
}

/** The fewest probes whose partitions contain enough neighbours: no search finds more. */
function leastProbes(places: readonly number[][], target: Target, count: number): number {
  const sizes = places.map(({ length }) => length);
  return leastOf(1, count, (probes) => {
    const within = places.map((own) => own.filter((place) => place < probes).length);
    return isEnough(sharesOf(within, sizes), target);
  });
}

/** A choice with the work of a search. */
interface Candidate extends Choice {
  readonly work: number;
}

/** The better choice: finds enough by less work, else finds enough, else finds more. */
function better(a: Candidate | null, b: Candidate): Candidate {
  if (a === null || a.isEnough !== b.isEnough) return a?.isEnough ? a : b;
  if (a.isEnough) return b.work < a.work ? b : a;
  return b.found > a.found ? b : a;
}

/** A setting with the fewest candidates that find enough, or with as many as allowed. */
function candidateWith(
  parts: SearchParts,
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
  return { probes, want, isEnough: enough, found, work: workOf(parts, { probes, want }) };
}

/** The least integer in low..high that `holds`, by bisection: so must `high`, and all above one. */
function leastOf(low: number, high: number, holds: (value: number) => boolean): number {
  let [from, to] = [low, high];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (holds(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}

/**
 * Entries that a search of this setting scores and centroids that it compares, and rows that it
 * re-ranks, in the same unit.
 */
export function workOf(
  { partitions, distinctCodes, vectors }: SearchParts,
  { probes, want }: Setting,
): number {
  const ranked = vectors === null ? 0 : RANKED_ENTRIES * want;
  if (probes === null || partitions === null) return distinctCodes.count + ranked;
  const { count, entriesPerCode } = partitions;
  return count + (probes / count) * distinctCodes.count * entriesPerCode + ranked;
}

/** For each query the position of each partition in the order in which a search visits them. */
function* visitingPlaces(
  { partitions, bits }: SearchParts,
  asked: readonly Evaluated[],
): Steps<Uint16Array[]> {
  if (partitions === null) return [];
  const places: Uint16Array[] = [];
  for (const { query } of asked) {
    const point = partitions.space.queryOf(query.sums ?? evenSums(query.code, bits), query.unit);
    const own = new Uint16Array(partitions.count);
    partitions
      .nearest({ point, unit: null }, partitions.count)
      .order.forEach((partition, place) => {
        own[partition] = place;
      });
    places.push(own);
    yield undefined;
  }
  return places;
}

/** The place at which a search comes to a row first; `visits` has the place of each partition. */
function placeOf(index: Measured, visits: Uint16Array, row: number): number {
  return Math.min(visits[index.partitionOf(row)], visits[index.secondOf(row)]);
}

/** The candidates of one query. */
interface Seen {
  /** For each candidate, best first, the position of its partition; all 0 for a scan. */
  readonly places: Uint16Array;
  /** Which candidates are true neighbours, ascending. */
  readonly hits: Uint32Array;
}

/** Searches for all queries, from which follows what smaller settings find. */
class Recording {
  /** Most candidates that a setting may take. */
  readonly maxWant: number;
  readonly #sizes: number[];
  readonly #seen: Seen[];

  constructor(maxWant: number, asked: readonly Evaluated[], seen: Seen[]) {
    this.maxWant = maxWant;
    this.#sizes = asked.map(({ neighbors }) => neighbors.length);
    this.#seen = seen;
  }

  /**
   * For each query the ranks of its true neighbours among the candidates of its first `probes`
   * partitions, which keep their order when fewer partitions are visited.
   */
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

  /** The shares found with `want` candidates, from `ranksWithin`. */
  shares(ranks: readonly number[][], want: number): Float64Array {
    const found = ranks.map((own) => own.filter((rank) => rank < want).length);
    return sharesOf(found, this.#sizes);
  }
}

/** Searches for all queries with as many candidates as are allowed. */
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
  // Without vectors the k best are the result; those behind are the best of fewer partitions.
  const want = vectors === null ? UNRANKED * k : maxWant;
  const setting = { probes, want };
  const { results } = yield* index.together('candidates', asked, { k, setting });
  const seen: Seen[] = [];
  for (const [i, rows] of results.entries()) {
    const truth = new Set(asked[i].neighbors);
    const places = new Uint16Array(rows.length);
    const hits: number[] = [];
    rows.forEach((row, at) => {
      if (probes !== null) places[at] = placeOf(index, visits[i], row);
      if (truth.has(row)) hits.push(at);
    });
    seen.push({ places, hits: Uint32Array.from(hits) });
    yield undefined;
  }
  return new Recording(maxWant, asked, seen);
}
