/**
 * Finds the cheapest setting (probes and candidates) that finds enough. Each query is searched for
 * once, with many probes and candidates; what every smaller setting finds follows from the order of
 * the candidates and of their partitions. Work is counted, not timed, so the same rows and seed
 * give the same setting on every machine.
 */

import type { LongWork } from '../base/long-work';
import { mean, meanAtLeast } from '../base/mean-limits';
import { type Evaluated, type Measurable, timesOf, visitsOf } from './recall';
import type { Setting } from './search';
import { levelOf, type Space, visitCount } from './space';

/** What must be found: `recall` of the k nearest, on average. */
export interface Target {
  readonly recall: number;
  readonly k: number;
  /** Probability that, with other queries, a setting finds less than it must. */
  readonly doubt: number;
}

/** A setting with what it found. */
interface Choice extends Setting {
  /** False if no setting finds enough: then this one finds most. */
  readonly isEnough: boolean;
  /** Mean recall if re-ranking puts each true neighbour that is a candidate among the k best. */
  readonly recall: number;
  /** Work of a search, in entries. */
  readonly work: number;
}

/** Most candidates to re-rank, in units of k: of candidates by codes, and by entries. */
const MAX_OVERSAMPLE = 128;
const MAX_OVERSAMPLE_OF_ENTRIES = 64;
/** The same of a scan where nothing else finds enough. */
const MOST_CANDIDATES = 2 ** 14;
/** Candidates recorded where none are re-ranked, in units of k. */
const UNRANKED = 4;
/** Factor between the numbers of probes that are tried; and how many are tried beyond the least. */
const PROBE_RATIO = 2 ** (1 / 8);
const MORE_PROBES = 12;
/** How many of these numbers are tried by the same searches. */
const PROBES_TOGETHER = 5;
/**
 * Entries that take as long as a re-ranked row: 31 of residual codes of 100 dimensions, 24 of 256,
 * 19 of 784.
 */
const RANKED_ENTRIES = 24;

/** True if the shares that queries find show that enough is found, or if they find everything. */
function isEnough(
  shares: readonly number[],
  asked: readonly Evaluated[],
  { recall, doubt }: Target,
): boolean {
  if (shares.every((share) => share === 1)) return true;
  const times = asked.map(timesOf);
  return mean(shares, times) >= recall && meanAtLeast(shares, doubt, times) >= recall;
}

/** The cheapest setting that probably finds enough, else the one that finds most. */
export async function chosen(
  index: Measurable,
  all: readonly Evaluated[],
  target: Target,
  work: LongWork,
): Promise<Choice> {
  const { k } = target;
  const asked = all.filter(({ truth }) => truth.size > 0);
  const { space } = index;
  let best: Choice | null = null;
  if (space !== null) {
    const { count } = space;
    const settingOf = visitingBy(asked.map(({ query }) => index.visitsOf(query).products));
    const places: number[][] = [];
    for (const one of asked) {
      places.push(Array.from(await index.placesOf(one, one.truth.rows)));
      await work.step();
    }
    // The fewest probes whose partitions contain enough neighbours: no search finds more.
    const least = leastOf(1, count, (probes) => {
      const { counts } = settingOf(probes);
      return isEnough(
        sharesBelow(places, asked, (i) => counts[i]),
        asked,
        target,
      );
    });
    const grid = probesFrom(least, count);
    // More probes than the least can be cheaper, if they need fewer candidates to find enough.
    for (let tried = 0; tried < grid.length; tried += PROBES_TOGETHER) {
      const some = grid.slice(tried, tried + PROBES_TOGETHER);
      const most = some[some.length - 1];
      const own = { k, most: mostCandidates(space, k) };
      const seen = await recorded(index, asked, own, settingOf(most), work);
      for (const probes of some) {
        best = better(best, candidateWith(index, seen, target, settingOf(probes)));
        await work.step();
      }
      // Work falls with more probes, and then rises.
      if (best?.isEnough && best.probes !== most) break;
    }
    // A scan is tried too, unless less than half of the partitions are enough.
    const isFast = best?.isEnough && 2 * (best.probes as number) < count;
    if (best !== null && (isFast || !index.canScan)) return best;
  }
  const scan = async (most: number) => {
    const seen = await recorded(index, asked, { k, most }, null, work);
    return better(best, candidateWith(index, seen, target, null));
  };
  const usual = mostCandidates(null, k);
  best = await scan(usual);
  // Codes hardly tell vectors of few dimensions, or of narrow clusters, from each other.
  return best.isEnough || index.storage === 'none' ? best : scan(Math.max(usual, MOST_CANDIDATES));
}

/** A usual number of partitions, and how many each of some queries visits. */
interface Visiting {
  readonly probes: number;
  readonly slack: number;
  readonly counts: readonly number[];
}

/**
 * Makes settings by which queries, of these products with partitions, visit about so many of them:
 * the slack is how far the product of the last one is below the level of a query, in the mean over
 * the queries.
 */
function visitingBy(products: readonly Float32Array[]): (probes: number) => Visiting {
  const levels = products.map(levelOf);
  return (probes) => {
    const slack = mean(products.map((own, i) => levels[i] - own[probes - 1]));
    return { probes, slack, counts: products.map((own) => visitCount(own, probes, slack)) };
  };
}

/** The shares of their neighbours that queries find at places, or ranks, below their limits. */
function sharesBelow(
  places: readonly (readonly number[])[],
  asked: readonly Evaluated[],
  limitOf: (i: number) => number,
): number[] {
  return places.map((own, i) => {
    const limit = limitOf(i);
    const { size } = asked[i].truth;
    return Math.min(size, own.filter((place) => place < limit).length) / size;
  });
}

/** Numbers of probes, from the least on. */
function probesFrom(least: number, count: number): number[] {
  const most = Math.min(count, Math.ceil(least * PROBE_RATIO ** MORE_PROBES));
  const grid = [least];
  for (let probes = least; probes < most; grid.push(probes)) {
    probes = Math.min(most, Math.ceil(probes * PROBE_RATIO));
  }
  return grid;
}

/** The better choice: finds enough by less work, else finds enough, else finds more. */
function better(a: Choice | null, b: Choice): Choice {
  if (a === null || a.isEnough !== b.isEnough) return a?.isEnough ? a : b;
  if (a.isEnough) return b.work < a.work ? b : a;
  return b.recall > a.recall ? b : a;
}

/** A setting with the fewest candidates that find enough, or with as many as allowed. */
function candidateWith(
  index: Measurable,
  { maxWant, asked, seen }: Recording,
  target: Target,
  visiting: Visiting | null,
): Choice {
  const { k } = target;
  const ranks = seen.map((one, i) => ranksWithin(one, visiting?.counts[i]));
  const shares = (want: number) => sharesBelow(ranks, asked, () => want);
  const isFound = (times: number) => isEnough(shares(times * k), asked, target);
  const most = Math.ceil(maxWant / k);
  const enough = isFound(most);
  const want = Math.min(maxWant, k * (enough ? leastOf(1, most, isFound) : most));
  const recall = mean(shares(want), asked.map(timesOf));
  const probes = visiting?.probes ?? null;
  const visited = visiting && mean(visiting.counts);
  const work = workOf(index, { probes: visited, want });
  return { probes, slack: visiting?.slack, want, isEnough: enough, recall, work };
}

/**
 * The least integer in low..high for which `holds` is true, by bisection. It must be true of
 * `high`, and of every integer above one of which it is true.
 */
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
  { space, rows, storage }: Pick<Measurable, 'space' | 'rows' | 'storage'>,
  { probes, want }: Pick<Setting, 'probes' | 'want'>,
): number {
  const ranked = storage === 'none' ? 0 : RANKED_ENTRIES * want;
  if (probes === null || space === null) return rows + ranked;
  const { count } = space;
  return count + (probes / count) * rows * space.entriesPerRow + ranked;
}

/** The candidates of one query. */
interface Seen {
  /** For each candidate, best first, the place of its partition; all 0 for a scan. */
  readonly places: Uint16Array;
  /** Which candidates are true neighbours, ascending. */
  readonly hits: Uint32Array;
}

/** Searches for all queries, from which follows what smaller settings find. */
interface Recording {
  /** Most candidates that a setting may take. */
  readonly maxWant: number;
  readonly asked: readonly Evaluated[];
  readonly seen: readonly Seen[];
}

/**
 * The ranks of the true neighbours of a query among the candidates of its first `count` partitions,
 * which keep their order when fewer partitions are visited.
 */
function ranksWithin({ places, hits }: Seen, count = Number.POSITIVE_INFINITY): number[] {
  const ranks: number[] = [];
  let rank = 0;
  let hit = 0;
  for (let i = 0; hit < hits.length; i++) {
    const isThere = places[i] < count;
    if (i === hits[hit]) {
      hit++;
      if (isThere) ranks.push(rank);
    }
    if (isThere) rank++;
  }
  return ranks;
}

/** Most candidates to re-rank, of searches of the partitions of a space, or of all rows. */
export function mostCandidates(space: Space | null, k: number): number {
  const isByEntry = space !== null && space.bytesPerEntry > 0;
  return k * (isByEntry ? MAX_OVERSAMPLE_OF_ENTRIES : MAX_OVERSAMPLE);
}

/** Searches for all queries with `most` candidates, if the index has so many rows. */
async function recorded(
  index: Measurable,
  asked: readonly Evaluated[],
  { k, most }: { readonly k: number; readonly most: number },
  visiting: Visiting | null,
  work: LongWork,
): Promise<Recording> {
  const { storage, rows: count } = index;
  const isUnranked = storage === 'none';
  const maxWant = isUnranked ? k : Math.min(most, Math.max(k, count));
  // Without vectors the k best are the result; those behind are the best of fewer partitions.
  const want = isUnranked ? UNRANKED * k : maxWant;
  const setting = { probes: visiting?.probes ?? null, slack: visiting?.slack, want };
  const found = await index.search(asked, { k: 1, setting, isUnranked: true }, work);
  const seen: Seen[] = [];
  for (const [i, { rows: all }] of found.entries()) {
    const { own, truth } = asked[i];
    const [near, known] = [new Set(truth.rows), new Set(own)];
    const hits: number[] = [];
    const rows = all.filter((row) => {
      if (known.has(row)) return false;
      if (near.has(row)) hits.push(known.size - own.size);
      known.add(row);
      return true;
    });
    const places =
      visiting === null ? new Uint16Array(rows.length) : await index.placesOf(asked[i], rows);
    seen.push({ places, hits: Uint32Array.from(hits) });
    await work.step();
  }
  return { maxWant, asked, seen };
}

/** Queries that decide, and neighbours of each, at most. */
export const COPY_QUERIES = 100;
export const COPY_NEIGHBORS = 32;
/**
 * The share of the entries that a search must score at most for copies to be worth their memory and
 * the time to make them. It is .52 on sentence embeddings and .82 on GloVe, where searches with
 * copies took .73 and .97 of the time, .76 and .82 on generated rows, and above 1 on images.
 */
const MAX_SHARE = 0.8;

/** Queries whose first neighbours, at most COPY_NEIGHBORS, are `points`, one after another. */
interface Neighborhood {
  readonly asked: readonly Evaluated[];
  readonly points: Int8Array;
  /** The number of all rows. */
  readonly rows: number;
}

/**
 * Decides whether rows should lie in a second partition too: counts what a search would score until
 * its partitions hold the wanted share of the true neighbours of evaluation queries, with copies
 * and without. Counts alone decide, no clock; partitions count as equally large, which changes the
 * share by .02 at most (nouns, GloVe, sentences, images).
 */
export function copiesPay(
  space: Space,
  { asked, points, rows }: Neighborhood,
  recall: number,
): boolean {
  const { count } = space;
  if (count < 2 || points.length === 0) return false;
  const { own, seconds } = space.nearestTwo(points);
  const firsts: number[] = [];
  const eithers: number[] = [];
  let neighbor = 0;
  for (const { query, truth } of asked) {
    const { places } = visitsOf(space, query);
    for (let i = 0; i < Math.min(COPY_NEIGHBORS, truth.rows.length); i++, neighbor++) {
      const first = places[own[neighbor]];
      firsts.push(first);
      eithers.push(Math.min(first, places[seconds[neighbor]]));
    }
  }
  const visited = (places: number[]) =>
    places.sort((a, b) => a - b)[Math.ceil(recall * places.length) - 1] + 1;
  // Partitions are twice as large with copies; a centroid is compared in the time of an entry.
  const size = rows / count;
  return count + 2 * size * visited(eithers) <= MAX_SHARE * (count + size * visited(firsts));
}
