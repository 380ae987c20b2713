/**
 * Search by estimate: the lightest codes by the query's weights, among all distinct codes or those
 * of the nearest partitions. With all distinct codes, the estimate's ranking misses nothing.
 */

import type { Steps } from '../base/steps';
import { Smallest } from '../base/top-k';
import type { HitSearch, RowCodes } from '../kernels/hits/hits';
import { weightedKernel } from '../kernels/kernels';
import type { DistinctCodes } from './distinct/distinct-codes';
import type { RowFilter } from './filter';
import type { IndexParts, Query } from './index-parts';
import { type Ranked, rankedRows, takeLightest, type Wanted, type Work } from './rank-rows';
import { evenSums, type Weights, weightsOf } from './weights';

/** Bytes of codes between two steps: some milliseconds. */
const STEP_BYTES = 2 ** 25;
/** A filter given as rows is searched row by row if it allows less than this share of the codes. */
const FEW = 1 / 16;

export interface WeightedRequest extends Wanted {
  /** Partitions to visit; null for a scan. */
  readonly probes: number | null;
}

/** The rows of the lightest distinct codes: at most k of each, in order of (weight, row). */
export function* lightest(
  parts: IndexParts,
  query: Query,
  request: WeightedRequest,
  work: Work,
): Steps<Ranked> {
  const weights = queryWeights(parts, query);
  const few = fewRows(parts.distinctCodes, request.filter);
  if (few !== null) {
    const some = parts.distinctCodes.gather(few);
    const best = new Smallest(request.want);
    weigh(best, parts, some, weights, request, (search) => search.range(0, some.count));
    work.codesCompared += some.count;
    return rankedRows(parts, best, weights.cosineOf, request);
  }
  if (request.probes === null) return yield* lightestOfAll(parts, weights, request, work);
  return lightestOfPartitions(parts, query, weights, request, work);
}

/** The rows that a filter leaves, when they are so few that they are looked at one by one. */
export function fewRows(
  distinctCodes: DistinctCodes,
  filter: RowFilter | null,
): readonly number[] | null {
  return filter?.rows && filter.rows.length < FEW * distinctCodes.count ? filter.rows : null;
}

function queryWeights({ bits }: IndexParts, { sums, code }: Query): Weights {
  return weightsOf(sums ?? evenSums(code, bits));
}

function* lightestOfAll(
  parts: IndexParts,
  weights: Weights,
  request: WeightedRequest,
  work: Work,
): Steps<Ranked> {
  const { distinctCodes } = parts;
  const best = new Smallest(request.want);
  const step = Math.max(1024, Math.floor(STEP_BYTES / distinctCodes.bytesPerCode));
  for (let first = 0; first < distinctCodes.count; first += step) {
    const end = Math.min(distinctCodes.count, first + step);
    weigh(best, parts, distinctCodes.memory, weights, request, (search) =>
      search.range(first, end),
    );
    if (end < distinctCodes.count) yield undefined;
  }
  work.codesCompared += distinctCodes.count;
  return rankedRows(parts, best, weights.cosineOf, request);
}

/** Visits further partitions when those asked for hold fewer than k rows. */
function lightestOfPartitions(
  parts: IndexParts,
  query: Query,
  weights: Weights,
  request: WeightedRequest,
  work: Work,
): Ranked {
  const partitions = parts.partitions as NonNullable<IndexParts['partitions']>;
  const sums = query.sums ?? evenSums(query.code, parts.bits);
  const place = partitions.space.queryOf(sums, query.unit);
  let probes = Math.min(request.probes as number, partitions.count);
  for (;;) {
    const best = new Smallest(request.want);
    let compared = 0;
    weigh(best, parts, parts.distinctCodes.memory, weights, request, (search) => {
      compared = partitions.visit(partitions.nearest(place, probes).order, search);
    });
    work.codesCompared += compared;
    work.probes = probes;
    const ranked = rankedRows(parts, best, weights.cosineOf, request);
    if (ranked.rows.length >= request.k || probes === partitions.count) return ranked;
    probes = Math.min(2 * probes, partitions.count);
  }
}

function weigh(
  best: Smallest,
  parts: IndexParts,
  from: RowCodes,
  weights: Weights,
  request: Wanted,
  show: (search: HitSearch) => void,
): void {
  const kernel = weightedKernel(parts.kernel);
  takeLightest(best, parts, from.rows, request, (ask) => {
    const search = kernel.search(from, weights, ask);
    show(search);
    return search;
  });
}
