/** Picks how a search by distance runs: by tables of bands, by the filter's rows, or by a scan. */

import type { Steps } from '../base/steps';
import { distance } from '../kernels/hamming/hamming.scalar';
import type { RowFilter } from './filter';
import {
  type RowsByDistance,
  type SlotCollector,
  scanSlots,
  slotCollector,
} from './hamming-search';
import type { Method } from './index-options';
import type { Work } from './rank-rows';
import type { IndexState } from './state';
import { fewRows } from './weighted-search';

export interface DistanceRequest {
  readonly k: number;
  readonly maxDistance: number;
  readonly method: Method;
  readonly filter: RowFilter | null;
}

interface Found {
  readonly rows: RowsByDistance;
  readonly method: 'scan' | 'bands';
  readonly why: string;
}

/** Whether queries are to be scanned for together. */
export function isScanned({ slots, bandPlan }: IndexState, request: DistanceRequest): boolean {
  if (request.method === 'auto') return !bandPlan.isWorth(slots, request);
  return request.method === 'scan';
}

/** The nearest rows to one code. */
export function* nearestByDistance(
  state: IndexState,
  code: Uint8Array,
  request: DistanceRequest,
  work: Work,
): Steps<Found> {
  const { slots, bandPlan } = state;
  const few = fewRows(slots, request.filter);
  if (few !== null && request.method !== 'bands') {
    const rows = ofRows(state, few, code, request);
    work.codesCompared += few.length;
    return { rows, method: 'scan', why: 'the filter leaves few rows' };
  }
  const isAsked = request.method === 'bands';
  const isWorth = isAsked || (request.method === 'auto' && bandPlan.isWorth(slots, request));
  if (isWorth) {
    const bands = yield* bandPlan.prepare(slots, request);
    if (state.slots !== slots) return yield* nearestByDistance(state, code, request, work);
    const collector = collectorOf(state, request);
    if (bands.count < slots.count) yield* scanSlots(state, [code], [collector], work, bands.count);
    const tried = bandPlan.search(bands, slots, code, collector, request, isAsked);
    work.codesCompared += tried.compared;
    if (tried.isComplete) {
      const why = isAsked ? 'as asked for' : 'tables are expected to be faster than a scan';
      return { rows: collector.result(), method: 'bands', why };
    }
  }
  const start = performance.now();
  const collector = collectorOf(state, request);
  yield* scanSlots(state, [code], [collector], work);
  const ms = performance.now() - start;
  bandPlan.noteScan(slots, ms, request, lastOf(collector, request), request.method === 'auto');
  const why = isWorth
    ? 'tables took too long'
    : request.method === 'scan'
      ? 'as asked for'
      : 'tables would not pay';
  return { rows: collector.result(), method: 'scan', why };
}

/** The nearest rows to each of many codes, by one scan for all. */
export function* allNearestByDistance(
  state: IndexState,
  codes: readonly Uint8Array[],
  request: DistanceRequest,
): Steps<RowsByDistance[]> {
  const collectors = codes.map(() => collectorOf(state, request));
  const start = performance.now();
  yield* scanSlots(state, codes, collectors, { codesCompared: 0, candidates: 0, probes: 0 });
  const ms = (performance.now() - start) / codes.length;
  for (const [i, collector] of collectors.entries()) {
    const isChosen = i === 0 && request.method === 'auto'; // one choice for all
    state.bandPlan.noteScan(collector.slots, ms, request, lastOf(collector, request), isChosen);
  }
  return collectors.map((collector) => collector.result());
}

function collectorOf(state: IndexState, request: DistanceRequest): SlotCollector {
  return slotCollector(state, request.k, request.maxDistance, request.filter);
}

/** How far a search had to go. */
function lastOf(collector: SlotCollector, { maxDistance }: DistanceRequest): number {
  return Math.min(collector.limit - 1, maxDistance);
}

function ofRows(
  state: IndexState,
  rows: readonly number[],
  code: Uint8Array,
  request: DistanceRequest,
): RowsByDistance {
  const { slots } = state;
  const collector = collectorOf(state, request);
  const seen = new Set<number>();
  for (const row of rows) {
    if (!slots.hasCode(row)) continue;
    const slot = slots.slotOf(row);
    if (!seen.has(slot)) collector.take(slot, distance(slots.codeAt(slot), code));
    seen.add(slot);
  }
  return collector.result();
}
