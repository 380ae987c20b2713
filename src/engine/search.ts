/**
 * A search by cosine: from a query to the best rows. Stages follow one another, and each keeps the
 * best by (score, row) of what the one before has left, over all segments and the tail, so that the
 * answer does not depend on how rows are spread over them:
 *
 * 1. partitions nearest to the query, or all rows of an index without a space;
 * 2. candidates: of dense vectors by their entries, else by codes whose bits are weighted with the
 *    sums of the query; a weight is a small integer, the lower the likelier a row is near;
 * 3. the exact cosines of the candidates, where the index holds vectors, in the order of weights,
 *    until those that follow are too unlikely to enter.
 */

import { Highest, keyOf, rowOf, Smallest, weightOf } from '../base/top-k';
import { sumsOf, weightsOf } from '../index/candidates';
import type { Query, SearchParts } from '../index/index-parts';
import type { UnitVector } from '../index/vectors/row-vectors';
import type { KernelName } from '../kernels/kernels';
import { bestEntries, ONE_WEIGHT } from '../kernels/residuals';
import { weightedKernel } from '../kernels/weighted';
import type { Entries } from './entries';
import type { FilterMemory } from './filter-memory';
import type { Placed, Probe } from './segment';
import type { Space } from './space';

/** What a search reads: one version of an index. */
export interface Searched {
  readonly bits: number;
  readonly kernel: KernelName;
  /** Null in an index without partitions. */
  readonly space: Space | null;
  readonly hasCopies: boolean;
  /** Segments in the order of their rows, then the tail. */
  readonly parts: readonly Placed[];
}

/** How candidates are found. */
export interface Setting {
  /** Partitions to visit; null for all rows. */
  readonly probes: number | null;
  /** Candidates to find. */
  readonly want: number;
  /** Standard errors by which an estimate must fall short where exact ranking ends. */
  readonly margin: number;
}

export interface Asked extends Setting {
  readonly k: number;
  readonly filter: FilterMemory | null;
}

/** What a search did, for `explain`. */
export interface Work {
  codesCompared: number;
  candidates: number;
  probes: number;
}

/** Rows, best first, and their cosines, exact or estimated. */
interface Best {
  readonly rows: Uint32Array;
  readonly cosines: Float64Array;
}

/** Candidates by (weight, row); see `base/top-k.ts` for keys. */
interface Candidates {
  readonly keys: Float64Array;
  readonly cosineOf: (weight: number) => number;
  /** The standard error of these cosines; infinite where it is not known. */
  readonly error: number;
}

/** Partitions of the first round of a search, and of the first two, as shares of all. */
const ROUNDS = [1 / 16, 1 / 4, 1];
/** A filter that accepts less than this share is asked for all rows. */
const NARROW = 1 / 64;
/** Calls after which that is known. */
const CALLS = 1024;
/** Candidates whose exact cosines are computed together, so that reads of memory overlap. */
const TOGETHER = 16;

/** The k rows of the highest cosines among the candidates of a setting. */
export function nearestByCosine(
  index: Searched,
  query: Query,
  asked: Asked,
  isExact: boolean,
  work: Work,
): Best {
  const known = asked.filter?.known ?? null;
  if (known !== null && isExact) return exactOf(index, query, known, asked.k, work);
  for (let probes = asked.probes; ; probes = Math.min(2 * probes, index.space?.count ?? 0)) {
    const found = candidatesOf(index, query, { ...asked, probes }, isExact, work);
    if (found === 'narrow') {
      const rows = (asked.filter as FilterMemory).askAll(index.parts);
      if (isExact) return exactOf(index, query, rows, asked.k, work);
      return nearestByCosine(index, query, asked, isExact, work);
    }
    if (found.keys.length < asked.k && probes !== null && probes < (index.space?.count ?? 0))
      continue;
    return isExact ? exactBest(index, query, found, asked, work) : estimated(found, asked.k);
  }
}

/** Candidates that the filter accepts; 'narrow' where they are so few that it is asked for all. */
function candidatesOf(
  index: Searched,
  query: Query,
  asked: Asked,
  isExact: boolean,
  work: Work,
): Candidates | 'narrow' {
  const isDense = index.space !== null && index.space.bytesPerEntry > 0;
  const find = isExact && isDense && asked.probes !== null ? byEntries : byCodes;
  const { filter } = asked;
  if (filter === null) return find(index, query, asked, work).candidates;
  // A kernel knows no filter: it is asked for more until enough of what it finds is accepted.
  for (let want = 4 * asked.want; ; want *= 8) {
    const { candidates, isAll } = find(index, query, { ...asked, want }, work);
    const keys = candidates.keys.filter((key) => filter.accepts(rowOf(key)));
    if (keys.length >= asked.want || isAll) {
      return { ...candidates, keys: keys.subarray(0, Math.max(asked.want, asked.k)) };
    }
    if (filter.calls >= CALLS && filter.share < NARROW) return 'narrow';
  }
}

/** Candidates, and whether there are no others in what was searched. */
interface Found {
  readonly candidates: Candidates;
  readonly isAll: boolean;
}

/** By the entries of the partitions nearest to the query. */
function byEntries(index: Searched, query: Query, asked: Asked, work: Work): Found {
  const space = index.space as Space;
  const route = space.route(query, asked.probes as number);
  const probes = Array.from(route.order, (p, i) => {
    return { p, product: ONE_WEIGHT * space.shortened(route.cosines[i]) };
  });
  const parts = index.parts.filter(({ entries, rows }) => entries !== null && rows.count > 0);
  const rounds = roundsOf(probes);
  const looked = parts.map((part) => ({
    rows: (part.entries as Entries).memory,
    rounds: rounds.map((own) => part.entriesIn(own)),
  }));
  for (const { rounds } of looked) {
    for (const ranges of rounds) {
      for (let at = 2; at < ranges.length; at += 4) work.codesCompared += ranges[at];
    }
  }
  work.probes = probes.length;
  const want = index.hasCopies ? 2 * asked.want : asked.want;
  const hits = bestEntries(looked, space.tablesOf(query.unit as Float64Array), want);
  const count = hits.reduce((sum, one) => sum + one.count, 0);
  const keys = new Float64Array(count);
  let at = 0;
  for (const [i, { codes, weights, count }] of hits.entries()) {
    const { positions } = parts[i].entries as Entries;
    const { rows } = parts[i];
    for (let hit = 0; hit < count; hit++) {
      keys[at++] = keyOf(weights[hit], rows.rowAt(positions[codes[hit]]));
    }
  }
  keys.sort();
  const cosineOf = (weight: number) => 1 - weight / ONE_WEIGHT;
  const distinct = index.hasCopies ? withoutCopies(keys) : keys;
  return { candidates: { keys: distinct, cosineOf, error: space.error }, isAll: count < want };
}

/** Partitions by round, the nearest first. */
function roundsOf(probes: readonly Probe[]): (readonly Probe[])[] {
  let first = 0;
  return ROUNDS.map((share) => {
    const end = Math.min(probes.length, Math.max(first + 1, Math.round(share * probes.length)));
    const round = probes.slice(first, end);
    first = end;
    return round;
  });
}

/** Keys of which no row occurs twice: the lower of two stays. */
function withoutCopies(keys: Float64Array): Float64Array {
  const seen = new Set<number>();
  return keys.filter((key) => {
    const row = rowOf(key);
    if (seen.has(row)) return false;
    seen.add(row);
    return true;
  });
}

/** By the codes of the partitions nearest to the query, or of all rows. */
function byCodes(index: Searched, query: Query, asked: Asked, work: Work): Found {
  const weights = weightsOf(sumsOf({ bits: index.bits } as SearchParts, query));
  const { space } = index;
  const best = new Smallest(asked.want);
  let held = 0;
  const probes =
    space === null || asked.probes === null
      ? null
      : Array.from(space.route(query, asked.probes).order, (p) => ({ p, product: 0 }));
  work.probes = probes?.length ?? 0;
  for (const part of index.parts) {
    const { codes, count } = part.rows;
    const ranges = probes === null ? [{ first: 0, end: count }] : part.codesIn(probes);
    const search = weightedKernel.search(codes, weights, asked.want);
    for (const { first, end } of ranges) {
      if (first < end) search.range(first, end);
      work.codesCompared += end - first;
    }
    const hits = search.hits();
    for (let i = 0; i < hits.count; i++) {
      if (hits.weights[i] > search.limit) continue;
      best.take(hits.weights[i], codes.rows[hits.codes[i]]);
      held++;
    }
  }
  const { cosineOf } = weights;
  const keys = best.result();
  const candidates = { keys, cosineOf, error: Number.POSITIVE_INFINITY };
  return { candidates, isAll: held < asked.want };
}

function estimated({ keys, cosineOf }: Candidates, k: number): Best {
  const best = keys.subarray(0, k);
  const rows = Uint32Array.from(best, rowOf);
  return { rows, cosines: Float64Array.from(best, (key) => cosineOf(weightOf(key))) };
}

/**
 * The k rows of the highest exact cosines. Ends where the estimates that follow are below the k-th
 * by more than `margin` times their standard error.
 */
function exactBest(
  index: Searched,
  query: Query,
  { keys, cosineOf, error }: Candidates,
  { k, margin }: Asked,
  work: Work,
): Best {
  const best = new Highest(Math.min(k, keys.length));
  const step = Number.isFinite(error) ? Math.max(TOGETHER, k) : 8 * TOGETHER;
  const estimateOf = (i: number) => cosineOf(weightOf(keys[i]));
  let done = 0;
  while (done < keys.length && !(done > 0 && estimateOf(done) + margin * error < best.bound)) {
    let end = Math.min(done + step, keys.length);
    // Equal estimates are ranked together, since their order is not that of the cosines.
    while (end < keys.length && weightOf(keys[end]) === weightOf(keys[end - 1])) end++;
    const rows = Uint32Array.from(keys.subarray(done, end), rowOf);
    const cosines = exactCosines(index.parts, query.unit as UnitVector, rows);
    for (let i = 0; i < rows.length; i++) best.take(cosines[i], rows[i]);
    done = end;
  }
  work.candidates += done;
  const { rows, scores } = best.result();
  return { rows, cosines: scores };
}

/** The k of some rows with the highest exact cosines. */
function exactOf(index: Searched, query: Query, some: Uint32Array, k: number, work: Work): Best {
  const best = new Highest(Math.min(k, some.length));
  const cosines = exactCosines(index.parts, query.unit as UnitVector, some);
  for (let i = 0; i < some.length; i++) best.take(cosines[i], some[i]);
  work.candidates += some.length;
  const { rows, scores } = best.result();
  return { rows, cosines: scores };
}

/** The exact cosines of rows that are there, in their order. */
function exactCosines(parts: readonly Placed[], unit: UnitVector, rows: Uint32Array): Float64Array {
  const cosines = new Float64Array(rows.length);
  for (const { rows: own } of parts) {
    const at: number[] = [];
    const positions: number[] = [];
    for (let i = 0; i < rows.length; i++) {
      const position = own.positionOf(rows[i]);
      if (position < 0) continue;
      at.push(i);
      positions.push(position);
    }
    if (at.length === 0) continue;
    const found = own.vectors?.cosinesOf(Uint32Array.from(positions), unit) as Float64Array;
    for (let i = 0; i < at.length; i++) cosines[at[i]] = found[i];
  }
  return cosines;
}
