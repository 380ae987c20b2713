/**
 * Makes an index fast at a wanted recall, and says what it measured: partitions by k-means, then
 * the cheapest number of partitions to visit and of rows to re-rank that finds enough of the true
 * neighbours of held-out rows. Half of these choose, the other half measure. Works on a copy: an
 * index whose optimizing is cancelled is as it was.
 */

import { drawn } from '../base/draw';
import { alea } from '../base/random';
import type { Steps } from '../base/steps';
import { wilson } from '../hashing/angle';
import { trainCentroids } from '../k-means/run';
import type { Setting } from './candidates';
import type { DistinctCodes } from './distinct/distinct-codes';
import type { RecallReport } from './index-options';
import type { CodeOrder, IndexParts } from './index-parts';
import { groupedByPartition, nearestCentroids, Partitions, spaceOf } from './partitions/partitions';
import { queryOfRow } from './query';
import { foundBy, foundByProbes, foundWith, type HeldOut, surelyEnough, toBeFound } from './recall';
import { trueNeighbors } from './truth';

export interface Wanted {
  readonly recall: number;
  readonly k: number;
  readonly queries: number;
  readonly partitions: number | undefined;
  readonly seed: string;
}

/** A scan of fewer distinct codes takes no longer than to find their partitions. */
const MIN_CODES = 4096;
const MAX_PARTITIONS = 8192;
/**
 * Partitions per square root of the distinct codes: with fewer, partitions are large; with more,
 * finding the nearest centroids takes long.
 */
const PARTITIONS_PER_ROOT = 3.5;
/** Rows that train a centroid, and what share of them each round looks at. */
const SAMPLE_PER_CENTROID = 64;
const ROUNDS = [1 / 8, 1 / 8, 1 / 4, 1 / 4, 1 / 2, 1];
/** Rows, and queries, between two steps. */
const STEP_ROWS = 4096;
const STEP_QUERIES = 64;
/** Most rows re-ranked for each of k: candidates by codes, and by residual codes. */
const MAX_OVERSAMPLE = 128;
const MAX_OVERSAMPLE_OF_RESIDUALS = 64;
/** Step between numbers of probes that are tried. */
const PROBE_RATIO = 2 ** (1 / 8);
/** Numbers of probes that are tried beyond the least that finds enough, and queries to time by. */
const MORE_PROBES = 5;
const MAX_TIMED = 250;

/** Optimizes the index and returns what was measured. */
export function* optimize(parts: IndexParts, wanted: Wanted): Steps<RecallReport> {
  const random = alea(wanted.seed);
  const grouped = yield* inPartitions(parts, wanted, random);
  const trial = parts.withOrder(grouped);
  const rows = yield* drawn(
    trial.distinctCodes.rowsWithCodes(),
    2 * Math.ceil(wanted.queries / 2),
    random,
  );
  const neighbors = yield* trueNeighbors(trial, rows, wanted.k);
  const heldOut: HeldOut[] = [];
  for (const [i, row] of rows.entries()) {
    heldOut.push({ row, query: queryOfRow(trial, row), neighbors: neighbors[i] });
    if (i % STEP_QUERIES === 0) yield undefined;
  }
  const half = Math.ceil(heldOut.length / 2);
  const choice = yield* chosen(trial, heldOut.slice(0, half), wanted);
  const measuredBy = heldOut.length > 1 ? heldOut.slice(half) : heldOut;
  const report = yield* measured(trial, measuredBy, wanted, choice);
  const partitions = report.method === 'scan' ? null : trial.partitions;
  parts.setOrder({ distinctCodes: trial.distinctCodes, partitions });
  parts.report = report;
  return report;
}

/** Groups the distinct codes into partitions when there are enough of them. */
function* inPartitions(parts: IndexParts, wanted: Wanted, random: () => number): Steps<CodeOrder> {
  const { distinctCodes } = parts;
  const used = nonEmpty(distinctCodes);
  const usual = usualPartitions(used.length);
  const count = Math.min(wanted.partitions ?? usual, used.length);
  if (wanted.partitions === undefined && used.length < MIN_CODES) {
    return { distinctCodes: yield* distinctCodes.rearranged(used), partitions: null };
  }
  const space = spaceOf(parts, distinctCodes);
  const drawnCodes = yield* drawn(used, Math.max(SAMPLE_PER_CENTROID * count, 2 ** 14), random);
  const sample = new Int16Array(drawnCodes.length * space.width);
  for (let i = 0; i < drawnCodes.length; i++) {
    space.vectorInto(drawnCodes[i], sample, i * space.width);
    if (i % STEP_ROWS === STEP_ROWS - 1) yield undefined;
  }
  const centroids = yield* trainCentroids(sample, space.width, {
    ...{ count, seed: wanted.seed, rounds: ROUNDS },
    ...(parts.kernel !== undefined && { kernel: parts.kernel }),
  });
  const nearest = yield* nearestCentroids(space, centroids, distinctCodes, parts.kernel);
  const grouped = yield* groupedByPartition(distinctCodes, nearest, count);
  yield undefined;
  const grouping = { centroids, starts: grouped.starts };
  const partitions = yield* Partitions.of(parts, grouped.distinctCodes, grouping);
  return { distinctCodes: grouped.distinctCodes, partitions };
}

/** The power of two nearest to a multiple of the root of the distinct codes. */
function usualPartitions(distinctCodes: number): number {
  const wanted = PARTITIONS_PER_ROOT * Math.sqrt(distinctCodes);
  let count = 1;
  while (count < MAX_PARTITIONS && count * Math.SQRT2 < wanted) count *= 2;
  return count;
}

function nonEmpty(distinctCodes: DistinctCodes): Uint32Array {
  const used = new Uint32Array(distinctCodes.count);
  let count = 0;
  for (let distinct = 0; distinct < distinctCodes.count; distinct++)
    if (!distinctCodes.isEmpty(distinct)) used[count++] = distinct;
  return used.slice(0, count);
}

interface Choice extends Setting {
  readonly recall: number;
  readonly isEnough: boolean;
  /** Milliseconds a query. */
  readonly ms: number;
}

/** The fastest setting that surely finds enough, or the one that finds most. */
function* chosen(parts: IndexParts, heldOut: HeldOut[], wanted: Wanted): Steps<Choice> {
  const total = toBeFound(heldOut);
  const enough = total === 0 ? 0 : surelyEnough(wanted.recall, total);
  const { partitions } = parts;
  let fastest: Choice | null = null;
  let best: Choice | null = null;
  function* attempt(probes: number | null): Steps<boolean> {
    const choice = yield* tried(parts, heldOut, wanted.k, probes, enough);
    if (best === null || choice.recall > best.recall) best = choice;
    const { isEnough } = choice;
    if (isEnough && (fastest === null || choice.ms < fastest.ms)) fastest = choice;
    return isEnough;
  }
  const count = partitions?.count ?? 0;
  // Candidates lose some of what the partitions hold, and with more partitions fewer will do.
  const reached = yield* foundByProbes(parts, heldOut);
  let probes = reached.findIndex((found) => found >= enough);
  for (let further = 0; count > 0 && further < MORE_PROBES && probes <= count; ) {
    if (yield* attempt(Math.max(1, probes))) further++;
    if (probes === count) break;
    probes = Math.min(count, Math.ceil(Math.max(1, probes) * PROBE_RATIO));
  }
  if (2 * ((fastest as Choice | null)?.probes ?? count) >= count) yield* attempt(null);
  return (fastest ?? best) as unknown as Choice;
}

/** With as few candidates as find enough, or as many as may be. */
function* tried(
  parts: IndexParts,
  heldOut: readonly HeldOut[],
  k: number,
  probes: number | null,
  enough: number,
): Steps<Choice> {
  const { distinctCodes, partitions } = parts;
  const isByResidual = probes !== null && partitions?.residualCodes;
  const times = isByResidual ? MAX_OVERSAMPLE_OF_RESIDUALS : MAX_OVERSAMPLE;
  const most = parts.vectors !== null ? Math.min(times * k, distinctCodes.rowCount) : k;
  const found = yield* foundBy(parts, heldOut, k, { probes, want: most });
  const place = found.findIndex((count) => count >= enough);
  const want = place < 0 ? most : k * Math.max(1, Math.ceil(place / k));
  const recall = found[Math.min(want, most)] / Math.max(1, toBeFound(heldOut));
  const { ms } = yield* foundWith(parts, heldOut.slice(0, MAX_TIMED), k, { probes, want });
  return { probes, want, recall, isEnough: place >= 0, ms };
}

/** Recall and speed of a setting, with more probes or candidates while it finds too few. */
function* measured(
  parts: IndexParts,
  heldOut: readonly HeldOut[],
  wanted: Wanted,
  choice: Choice,
): Steps<RecallReport> {
  const { k } = wanted;
  const total = toBeFound(heldOut);
  const rank = parts.vectors !== null ? 'exact' : 'estimate';
  let { probes, want } = choice;
  for (let isRetry = false; ; isRetry = true) {
    const { found, ms } = yield* foundWith(parts, heldOut, k, { probes, want });
    const recall = total === 0 ? 1 : found / total;
    const count = parts.partitions?.count ?? 0;
    if (
      recall < wanted.recall &&
      probes !== null &&
      probes < count &&
      choice.recall >= wanted.recall
    ) {
      probes = Math.min(count, Math.ceil(probes * PROBE_RATIO));
      if (!isRetry) want = Math.ceil(want * PROBE_RATIO);
      continue;
    }
    return {
      wanted: wanted.recall,
      reached: recall >= wanted.recall,
      recall,
      interval: total === 0 ? [0, 1] : wilson(found, total),
      k,
      rank,
      truth: rank === 'exact' ? 'cosine' : 'distance',
      queries: heldOut.length,
      queriesPerSecond: ms === 0 ? 0 : 1000 / ms,
      method: probes === null ? 'scan' : 'partitions',
      partitions: probes === null ? 0 : count,
      probes: probes ?? 0,
      oversample: Math.ceil(want / k),
      rows: parts.distinctCodes.liveCount,
      rowsAdded: 0,
      rowsRemoved: 0,
    };
  }
}
