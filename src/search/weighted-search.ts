/**
 * Search by estimate: the lightest codes by the query's weights, among all slots or those of the
 * nearest partitions; and by cosine: the best of them scored by their kept vectors. With all slots,
 * the estimate's ranking misses nothing.
 */

import { weightedKernel } from '../kernels/kernels';
import type { WeightedCodes, WeightedSearch } from '../kernels/weighted.scalar';
import type { Steps } from '../long-call';
import type { RowFilter } from './filter';
import { keyOf, rowOf, Smallest, weightOf } from './smallest';
import type { IndexState, Query } from './state';
import { evenSums, type Weights, weightsOf } from './weights';

/** Slots between two steps: some milliseconds. */
const STEP_BYTES = 2 ** 25;
/** A filter given as rows is searched row by row when it allows less than this share of slots. */
const FEW = 1 / 16;

export interface WeightedRequest {
  readonly k: number;
  /** Slots to be ranked: k, or more for re-ranking. */
  readonly want: number;
  /** Partitions to visit; null for a scan. */
  readonly probes: number | null;
  readonly filter: RowFilter | null;
}

/** What a search did, for `explain`. */
export interface Work {
  codesCompared: number;
  candidates: number;
  probes: number;
}

/** Rows and the cosines that their weights estimate, lightest first. */
export interface Ranked {
  readonly rows: Uint32Array;
  readonly estimates: Float64Array;
}

/** The lightest slots' rows: for each slot at most k of them, in order of (weight, row). */
export function* lightest(
  state: IndexState,
  query: Query,
  request: WeightedRequest,
  work: Work,
): Steps<Ranked> {
  const weights = weightsOf(query.sums ?? evenSums(query.code, state.bits));
  const { filter } = request;
  const isFew = filter?.rows && filter.rows.length < FEW * state.slots.count;
  if (isFew) {
    const some = state.slots.gather(filter.rows);
    const best = new Smallest(request.want);
    hitsInto(best, state, some, weights, request, (search) => search.range(0, some.count));
    work.codesCompared += some.count;
    return rowsOf(state, best, weights, request);
  }
  if (request.probes === null) return yield* lightestOfAll(state, weights, request, work);
  return lightestOfPartitions(state, query, weights, request, work);
}

function* lightestOfAll(
  state: IndexState,
  weights: Weights,
  request: WeightedRequest,
  work: Work,
): Steps<Ranked> {
  const { slots } = state;
  const best = new Smallest(request.want);
  const step = Math.max(1024, Math.floor(STEP_BYTES / slots.bytesPerCode));
  for (let first = 0; first < slots.count; first += step) {
    const end = Math.min(slots.count, first + step);
    hitsInto(best, state, slots.memory, weights, request, (search) => search.range(first, end));
    if (end < slots.count) yield undefined;
  }
  work.codesCompared += slots.count;
  return rowsOf(state, best, weights, request);
}

/** Visits further partitions when those asked for hold fewer than k rows. */
function lightestOfPartitions(
  state: IndexState,
  query: Query,
  weights: Weights,
  request: WeightedRequest,
  work: Work,
): Ranked {
  const partitions = state.partitions as NonNullable<IndexState['partitions']>;
  const place = partitions.space.queryOf(
    query.sums ?? evenSums(query.code, state.bits),
    query.unit,
  );
  let probes = Math.min(request.probes as number, partitions.count);
  for (;;) {
    const nearest = partitions.nearest(place, probes);
    const best = new Smallest(request.want);
    let compared = 0;
    hitsInto(best, state, state.slots.memory, weights, request, (search) => {
      compared = 0;
      for (const partition of nearest) compared += partitions.visit(partition, search);
    });
    work.codesCompared += compared;
    work.probes = probes;
    const ranked = rowsOf(state, best, weights, request);
    if (ranked.rows.length >= request.k || probes === partitions.count) return ranked;
    probes = Math.min(2 * probes, partitions.count);
  }
}

/**
 * The wanted slots among those shown, each by its first row that the filter accepts. The kernel
 * knows no filter: it is asked for more until enough of its hits are accepted.
 */
function hitsInto(
  best: Smallest,
  state: IndexState,
  from: WeightedCodes,
  weights: Weights,
  { want, filter }: WeightedRequest,
  show: (search: WeightedSearch) => void,
): void {
  const kernel = weightedKernel(state.kernel);
  for (let ask = filter === null ? want : 4 * want; ; ask *= 8) {
    const search = kernel.search(from, weights, ask);
    show(search);
    const { codes, weights: found, count } = search.hits();
    const { limit } = search;
    const accepted: number[] = [];
    for (let i = 0; i < count; i++) {
      if (found[i] > limit) continue;
      const row = from.rows[codes[i]];
      if (filter === null) best.take(found[i], row);
      else accepted.push(found[i], row);
    }
    if (filter === null) return;
    const slots = new Smallest(want);
    let passing = 0;
    for (let i = 0; i < accepted.length; i += 2) {
      const row = firstAccepted(state, accepted[i + 1], filter);
      if (row === undefined) continue;
      slots.take(accepted[i], row);
      passing++;
    }
    if (passing < want && search.held >= ask) continue;
    for (const key of slots.result()) best.take(weightOf(key), rowOf(key));
    return;
  }
}

/** The first row of this row's slot that the filter accepts. */
function firstAccepted({ slots }: IndexState, row: number, filter: RowFilter): number | undefined {
  if (!slots.hasMore(slots.slotOf(row))) return filter.accepts(row) ? row : undefined;
  for (const other of slots.rowsOf(slots.slotOf(row))) if (filter.accepts(other)) return other;
  return undefined;
}

/** The slots' rows, at most k of each, in order; all of them candidates for re-ranking. */
function rowsOf(
  { slots }: IndexState,
  best: Smallest,
  weights: Weights,
  { k, want, filter }: WeightedRequest,
): Ranked {
  const keys = best.result();
  return ranked(slots.hasDuplicates ? expanded(keys) : keys, weights);

  /** With the further rows of each slot: k of each, and more while there are fewer than wanted. */
  function expanded(keys: Float64Array): Float64Array {
    const all: number[] = [];
    const spare: number[] = [];
    for (const key of keys) {
      let taken = 0;
      for (const row of slots.rowsOf(slots.slotOf(rowOf(key)))) {
        if (filter !== null && !filter.accepts(row)) continue;
        if (taken++ < k) all.push(keyOf(weightOf(key), row));
        else if (spare.length < want) spare.push(keyOf(weightOf(key), row));
        else break;
      }
    }
    return Float64Array.from(all.concat(spare.slice(0, Math.max(0, want - all.length)))).sort();
  }
}

function ranked(keys: Float64Array, weights: Weights): Ranked {
  const { length } = keys;
  const rows = new Uint32Array(length);
  const estimates = new Float64Array(length);
  for (let i = 0; i < length; i++) {
    rows[i] = rowOf(keys[i]);
    estimates[i] = weights.cosineOf(weightOf(keys[i]));
  }
  return { rows, estimates };
}

/** The k rows of the highest cosines, then row. */
export function bestByCosine(
  rows: Uint32Array,
  cosines: Float64Array,
  k: number,
): { rows: Uint32Array; cosines: Float64Array } {
  const order = new Uint32Array(Math.min(k, rows.length));
  let held = 0;
  for (let i = 0; i < rows.length; i++) {
    const isBetter = (other: number) =>
      cosines[i] > cosines[other] || (cosines[i] === cosines[other] && rows[i] < rows[other]);
    if (held === order.length && !isBetter(order[held - 1])) continue;
    let low = 0;
    let high = held;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBetter(order[middle])) high = middle;
      else low = middle + 1;
    }
    order.copyWithin(low + 1, low, held);
    order[low] = i;
    held = Math.min(held + 1, order.length);
  }
  return {
    rows: Uint32Array.from(order, (i) => rows[i]),
    cosines: Float64Array.from(order, (i) => cosines[i]),
  };
}
