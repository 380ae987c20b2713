/**
 * Searches among residual codes for many queries at once, with the results of one after another.
 * Queries are routed as a matrix product. Where many of them visit each partition, its rows are
 * read once for all, while they are in the processor's cache: each query sees its nearest
 * partitions first, in its own order, and the others in rounds of growing size, partition by
 * partition, as replayed-search.ts allows. A round uses the limits of the one before, and leaves
 * out the queries that have ended.
 */

import type { Steps } from '../../base/steps';
import { copyOfHits } from '../../kernels/hits';
import { type HeldRows, mostHolding, residualKernel, VISIT } from '../../kernels/residual-search';
import type { ResidualTables } from '../../kernels/residuals';
import type { Routes } from './centroids';
import { ended, gapOf, shortened, type Weighed } from './gaps';
import type { Partitions } from './partitions';
import { firstPartitions, ReplayedSearch, wholeEnd } from './replayed-search';
import type { ResidualCodes } from './residual-codes';
import type { PartitionQuery } from './space';

/** So many times as many partitions are seen at the end of a round as at its beginning. */
const GROWTH = 4;
/** Rows looked at between two steps, which take some milliseconds. */
const STEP_ROWS = 2 ** 20;
/**
 * Rounds need at least so many visits of a partition, and so many bytes that each looks at, in the
 * mean: fewer cost more to hold than they save.
 */
const LEAST_VISITS = 24;
const LEAST_BYTES = 4096;

/** What is asked of all queries alike, as of `Partitions.weighResiduals`. */
interface Asked {
  readonly probes: number;
  readonly ask: number;
}

/** The same of entries: `ask` of them are held. */
interface AskedEntries extends Asked {
  readonly gap: number;
}

/** A query with its tables, and its partitions, nearest first. */
interface Routed extends Routes {
  readonly tables: ResidualTables;
}

/** A search in rounds. */
interface Searching extends Routed {
  /** 2,048 times the products of the query with the centroids. */
  readonly cosines: Float32Array;
  readonly search: ReplayedSearch;
  /** The partitions of the round: `first` to `end - 1` of the order. */
  first: number;
  end: number;
  /** How many partitions were visited, and their rows. */
  visited: number;
  codes: number;
}

/** Whether so many queries gain by being routed, or by visiting partitions, together. */
export function paysTogether(partitions: Partitions, queries: number, probes: number): boolean {
  return !partitions.routing.isCoded(probes) || hasRounds(partitions, queries, probes);
}

/** For each query what `Partitions.weighResiduals` gives for it. */
export function* weighTogether(
  partitions: Partitions,
  queries: readonly PartitionQuery[],
  asked: Asked,
): Steps<Weighed[]> {
  const { bytesPerRow } = residualsOf(partitions).parts;
  const { probes, ask } = asked;
  const searched = { ...asked, gap: gapOf(partitions.gaps, probes, ask) };
  const entries = { ...searched, ask: partitions.heldFor(ask) };
  const most = mostHolding(bytesPerRow);
  const all: Weighed[] = [];
  for (let from = 0; from < queries.length; from += most) {
    const some = routed(partitions, queries.slice(from, from + most), probes);
    if (hasRounds(partitions, some.length, probes)) {
      all.push(...(yield* inRounds(partitions, some, entries)));
      continue;
    }
    for (const one of some) {
      all.push(weighedFirst(partitions, one, probes, entries));
      yield undefined;
    }
  }
  return all.map(({ search, ...one }) => ({ ...one, search: partitions.codesOf(search, ask) }));
}

function residualsOf({ residualCodes }: Partitions): ResidualCodes {
  return residualCodes as ResidualCodes;
}

function hasRounds(partitions: Partitions, queries: number, probes: number): boolean {
  const { count, starts } = partitions;
  const entries = partitions.heldFor(starts[count]);
  const bytes = (entries / count) * (residualsOf(partitions).parts.bytesPerRow / 2);
  return (queries * probes) / count >= LEAST_VISITS && bytes >= LEAST_BYTES;
}

function routed(
  partitions: Partitions,
  queries: readonly PartitionQuery[],
  probes: number,
): Routed[] {
  const routes = partitions.routing.nearestOfEach(queries, probes);
  return Array.from(routes, (own, i) => {
    const { tables, ...formula } = residualsOf(partitions).tablesOf(queries[i].unit);
    return { ...own, tables: { ...formula, tables: tables.slice() } };
  });
}

/** What a query finds in its first partitions. */
function weighedFirst(
  partitions: Partitions,
  { tables, order, products }: Routed,
  count: number,
  { ask, gap }: AskedEntries,
): Weighed {
  const routes = { order: order.subarray(0, count), products: products.subarray(0, count) };
  const weighed = partitions.weighEntries(tables, routes, ask, gap);
  return ended(weighed.search, copyOfHits(weighed.search.hits()), weighed);
}

function* inRounds(
  partitions: Partitions,
  some: readonly Routed[],
  asked: AskedEntries,
): Steps<Weighed[]> {
  const { probes } = asked;
  const all: Searching[] = [];
  for (const one of some) {
    all.push(begun(partitions, one, asked));
    yield undefined;
  }
  for (;;) {
    // A search that has not visited all partitions of a round has ended.
    const going = all.filter(({ visited, end }) => visited === end && end < probes);
    if (going.length === 0) break;
    for (const one of going) {
      [one.first, one.end] = [one.end, wholeEnd(one.cosines, GROWTH * one.end)];
    }
    yield* look(partitions, going);
    for (const one of going) {
      const { codes, visited } = one.search.replay(one.first, one.end, one.cosines);
      one.codes += codes;
      one.visited = visited;
    }
  }
  return all.map((one) => ended(one.search, one.search.hits(), one));
}

/** A search that has seen its first partitions, in its order. */
function begun(partitions: Partitions, one: Routed, asked: AskedEntries): Searching {
  const { order, products } = one;
  const { ask, gap } = asked;
  const search = new ReplayedSearch(ask, gap, order.length);
  const cosines = new Float32Array(order.length);
  for (let i = 0; i < order.length; i++) {
    cosines[i] = shortened(products[i], partitions.nearness);
    search.count(i, partitions.rowsOf(order[i]));
  }
  const end = firstPartitions(cosines, ask, (i) => partitions.rowsOf(order[i]));
  const { codes, visited, search: first } = weighedFirst(partitions, one, end, asked);
  const hits = first.hits();
  for (let i = 0; i < hits.count; i++) search.take(hits.codes[i], hits.weights[i]);
  return { ...one, cosines, search, first: 0, end, visited, codes };
}

/** Lets searches hold what they see in the partitions of a round. */
function* look(partitions: Partitions, some: readonly Searching[]): Steps<void> {
  const { ends, visits, places } = visitsOf(partitions, some);
  const tables = some.map((one) => one.tables);
  let seen = 0;
  // Made again after each step, since other searches use the same space in between.
  let rows: HeldRows | null = null;
  for (let p = 0, from = 0; p < partitions.count; from = ends[p++]) {
    if (ends[p] === from) continue;
    rows ??= residualsOf(partitions).parts.holding(residualKernel, tables);
    const own = visits.subarray(VISIT * from, VISIT * ends[p]);
    const first = from;
    for (const run of partitions.runsOf(p)) {
      rows.look(run, own, (visit, held, at, end) => {
        some[own[VISIT * visit]].search.hold(places[first + visit], held, at, end);
      });
      seen += (run.end - run.first) * (ends[p] - from);
    }
    if (seen < STEP_ROWS) continue;
    yield undefined;
    [rows, seen] = [null, 0];
  }
}

/**
 * The visits of a round by partition, those of partition p up to `ends[p]`, and for each the place
 * of its partition in the order of its search.
 */
function visitsOf(partitions: Partitions, some: readonly Searching[]) {
  const ends = new Uint32Array(partitions.count);
  let total = 0;
  for (const { order, first, end } of some) {
    for (let i = first; i < end; i++) ends[order[i]]++;
    total += end - first;
  }
  for (let p = 0, before = 0; p < ends.length; p++) {
    before += ends[p];
    ends[p] = before - ends[p];
  }
  const visits = new Uint32Array(VISIT * total);
  const floats = new Float32Array(visits.buffer);
  const places = new Uint32Array(total);
  for (const [query, { order, cosines, search, first, end }] of some.entries()) {
    const { limit } = search;
    for (let i = first; i < end; i++) {
      const at = ends[order[i]]++;
      visits[VISIT * at] = query;
      floats[VISIT * at + 1] = cosines[i];
      visits[VISIT * at + 2] = limit;
      places[at] = i;
    }
  }
  return { ends, visits, places };
}
