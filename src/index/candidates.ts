/**
 * The candidates of a search by cosine. Every code gets a small integer weight, which is less the
 * likelier it is near, and the lightest are the candidates. Two functions weigh codes:
 * - estimates, for every index: each bit in which a code differs from the query's weighs |sum|, so
 *   that bits of which the query is sure count more. This estimates the angle better than the
 *   number of such bits, and needs no vectors. Weights are rounded once a query, so that every
 *   engine ranks alike; over all codes the ranking by estimate misses nothing.
 * - residual codes, for dense vectors in partitions.
 */

import type { Steps } from '../base/steps';
import { Smallest } from '../base/top-k';
import type { HitSearch, RowCodes } from '../kernels/hits';
import { ONE_WEIGHT } from '../kernels/residuals';
import { MAX_ENTRY, MAX_WEIGHT, type WeightTables, weightedKernel } from '../kernels/weighted';
import { fewRows } from './filter';
import type { Rank } from './index-options';
import type { Candidates, Query, SearchedPartitions, SearchParts } from './index-parts';
import type { Weighed } from './partitions/gaps';
import {
  type Estimates,
  rankedHits,
  rankedRows,
  takeLightest,
  type Wanted,
  type Work,
} from './re-rank';

/** How to search. */
export interface Setting {
  /** Partitions to visit; null for a scan. */
  readonly probes: number | null;
  /** Candidates to find. */
  readonly want: number;
}

type CandidateRequest = Wanted & Setting & { readonly rank: Rank };

/** Weighs the codes of up to `probes` nearest partitions; the search holds the `ask` lightest. */
type WeighPartitions = (probes: number, ask: number) => Steps<Weighed>;

/** A filter's rows up to so many are all re-ranked. */
const MAX_FEW_ROWS = 1024;
/** Bytes of codes between two steps: some milliseconds. */
const STEP_BYTES = 2 ** 25;

/**
 * Candidates for a search of this rank, likeliest first: at most k rows of each code. Their rows
 * are looked up when they are asked for. `ahead` is what was weighed in partitions before.
 */
export function* findCandidates(
  parts: SearchParts,
  query: Query,
  request: CandidateRequest,
  work: Work,
  ahead: Weighed | null = null,
): Steps<Candidates> {
  const few = fewRows(parts.distinctCodes, request.filter);
  if (few !== null) {
    const want = wantOfFew(request, few);
    return yield* ofFew(parts, query, few, { ...request, want }, work);
  }
  if (request.probes === null) return yield* ofAll(parts, query, request, work);
  return yield* ofPartitions(parts, query, request, work, ahead);
}

/** How many candidates of these few rows a search finds. */
export function wantOfFew(
  { rank, want }: Pick<CandidateRequest, 'rank' | 'want'>,
  few: readonly number[],
): number {
  return rank === 'exact' ? Math.max(want, Math.min(few.length, MAX_FEW_ROWS)) : want;
}

function* ofFew(
  parts: SearchParts,
  query: Query,
  rows: readonly number[],
  request: CandidateRequest,
  work: Work,
): Steps<Candidates> {
  const weights = weightsOf(sumsOf(parts, query));
  const some = parts.distinctCodes.gather(rows);
  const rowOfSome = some.rows.slice(0, some.count); // the filter may search in turn
  const rowOf = (code: number) => rowOfSome[code];
  const best = new Smallest(request.want);
  yield* takeLightest(best, parts, rowOf, request, function* (ask) {
    const codes = parts.distinctCodes.gather(rows);
    return weigh(codes, weights, ask, (search) => search.range(0, codes.count));
  });
  work.codesCompared += some.count;
  return rankedRows(parts, best, weights.cosineOf, request);
}

function* ofAll(
  parts: SearchParts,
  query: Query,
  request: CandidateRequest,
  work: Work,
): Steps<Candidates> {
  const { distinctCodes } = parts;
  const { bytesPerCode } = distinctCodes;
  const weights = weightsOf(sumsOf(parts, query));
  const best = new Smallest(request.want);
  const step = Math.max(1024, Math.floor(STEP_BYTES / bytesPerCode));
  for (let from = 0, to = 0; from < distinctCodes.count; from = to) {
    const { memory, first, end } = distinctCodes.partAt(from);
    to = Math.min(distinctCodes.count, from + step, end);
    const rowOf = (code: number) => memory.rows[code];
    yield* takeLightest(best, parts, rowOf, request, function* (ask) {
      return weigh(memory, weights, ask, (search) => search.range(from - first, to - first));
    });
    if (to < distinctCodes.count) yield undefined;
  }
  work.codesCompared += distinctCodes.count;
  return rankedRows(parts, best, weights.cosineOf, request);
}

/** Visits further partitions when those asked for hold fewer than k rows. */
function* ofPartitions(
  parts: SearchParts,
  query: Query,
  request: CandidateRequest,
  work: Work,
  ahead: Weighed | null,
): Steps<Candidates> {
  const partitions = parts.partitions as SearchedPartitions;
  const { unit } = query;
  const isDense = request.rank === 'exact' && unit instanceof Float64Array;
  const isByResidual = isDense && partitions.residualCodes !== null;
  const weighing = isByResidual
    ? byResiduals(partitions, unit)
    : byEstimates(parts, partitions, query);
  let probes = Math.min(request.probes as number, partitions.count);
  for (let known = ahead; ; known = null) {
    let compared = 0;
    const found = yield* rankedHits(parts, request, weighing, function* (ask) {
      const weighed = known ?? (yield* weighing.weighPartitions(probes, ask));
      const { search, codes, visited } = weighed;
      compared = codes;
      work.probes = visited;
      return search;
    });
    work.codesCompared += compared;
    if (found.count >= request.k || probes === partitions.count) return found;
    probes = Math.min(2 * probes, partitions.count);
  }
}

interface Weighing extends Estimates {
  readonly weighPartitions: WeighPartitions;
}

function byEstimates(parts: SearchParts, partitions: SearchedPartitions, query: Query): Weighing {
  const sums = sumsOf(parts, query);
  const weights = weightsOf(sums);
  const point = partitions.space.queryOf(sums, query.unit);
  const unit = query.unit instanceof Float64Array ? query.unit : null;
  const weighPartitions: WeighPartitions = (probes, ask) =>
    partitions.weighCodes({ point, unit }, probes, weights, ask);
  // Equal estimates are ranked by row, also if all candidates are re-ranked.
  const { cosineOf } = weights;
  return { weighPartitions, cosineOf, mayTakeTies: false };
}

function byResiduals(partitions: SearchedPartitions, unit: Float64Array): Weighing {
  const point = partitions.space.queryOf([], unit);
  const weighPartitions: WeighPartitions = (probes, ask) =>
    partitions.weighResiduals({ point, unit }, probes, ask);
  const cosineOf = (weight: number) => 1 - weight / ONE_WEIGHT;
  return { weighPartitions, cosineOf, mayTakeTies: true };
}

function weigh(
  from: RowCodes,
  weights: Weights,
  ask: number,
  show: (search: HitSearch) => void,
): HitSearch {
  const search = weightedKernel.search(from, weights, ask);
  show(search);
  return search;
}

/** The accumulators of a query; of a code alone those that weigh each bit alike. */
export function sumsOf({ bits }: SearchParts, { sums, code }: Query): Float64Array {
  return sums ?? evenSums(code, bits);
}

interface Weights extends WeightTables {
  /** The cosine that a code's weight estimates: 1 for the query's own code. */
  cosineOf(weight: number): number;
}

const BITS_A_TABLE = 4;
const TABLE = 1 << BITS_A_TABLE;

/** Tables of a query: of its accumulators, one a bit. */
export function weightsOf(sums: Float64Array): Weights {
  const bits = sums.length;
  const groups = Math.ceil(bits / BITS_A_TABLE);
  const tables = new Uint8Array(Math.ceil(bits / 64) * 16 * TABLE);
  let heaviest = 0;
  let total = 0;
  for (let group = 0; group < groups; group++) {
    let weight = 0;
    for (let bit = BITS_A_TABLE * group; bit < bits && bit < BITS_A_TABLE * (group + 1); bit++) {
      weight += Math.abs(sums[bit]);
    }
    heaviest = Math.max(heaviest, weight);
    total += weight;
  }
  const mostEntry = Math.min(MAX_ENTRY, Math.floor(MAX_WEIGHT / groups));
  const scale = heaviest > 0 ? mostEntry / heaviest : 0;
  let most = 0;
  for (let group = 0; group < groups; group++) {
    most += tableInto(sums, BITS_A_TABLE * group, scale, tables, TABLE * group);
  }
  const share = total > 0 ? 2 / (total * scale) : 0;
  return { tables, maxWeight: most, cosineOf: (weight) => Math.max(-1, 1 - weight * share) };
}

const sumsOfValues = new Float64Array(TABLE);

/** The weights of all values of four bits; returns the largest. */
function tableInto(
  sums: Float64Array,
  firstBit: number,
  scale: number,
  tables: Uint8Array,
  at: number,
): number {
  const weights = sumsOfValues;
  weights[0] = 0;
  for (let i = 0, step = 1; i < BITS_A_TABLE; i++, step *= 2) {
    const sum = firstBit + i < sums.length ? sums[firstBit + i] : 0;
    const isSet = sum > 0;
    for (let value = 0; value < step; value++) {
      weights[step + value] = isSet ? weights[value] : weights[value] - sum;
      if (isSet) weights[value] += sum;
    }
  }
  let most = 0;
  for (let value = 0; value < TABLE; value++) {
    const entry = (weights[value] * scale + 0.5) | 0;
    tables[at + value] = entry;
    if (entry > most) most = entry;
  }
  return most;
}

/** Accumulators that weigh every bit alike: by them, a code is ranked by its distance. */
export function evenSums(code: Uint8Array, bits: number): Float64Array {
  return Float64Array.from(
    { length: bits },
    (_, bit) => ((code[bit >> 3] >> (bit & 7)) & 1) * 2 - 1,
  );
}
