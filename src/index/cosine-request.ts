/**
 * The settings that a search by cosine tries: one, as `optimize` chose it or the caller says, or,
 * where a recall is wanted for this query, several from cheap to dear, until the model of what a
 * search misses expects that it is reached.
 */

import type { FullSetting, Setting } from './candidates';
import { type Done, missingShare, signsOf } from './doubt';
import { type DoubtModel, type Rank, SEARCH_DEFAULTS } from './index-options';
import type { SearchParts } from './index-parts';
import { MARGIN } from './re-rank';
import { methodError, type Request } from './search-request';

/** A search by cosine as it runs: with its setting, and a k that kernels can count. */
export interface CosineRequest extends Pick<Request, 'k' | 'filter' | 'recall'>, FullSetting {
  readonly rank: 'estimate' | 'exact';
  /** The model of this setting; null where it was not measured or is not needed. */
  readonly doubt: DoubtModel | null;
  /** True of the last setting that is tried. */
  readonly isLast: boolean;
}

/** The settings that a search tries, cheapest first: one, but where a recall is wanted. */
export function cosineRequests(
  parts: SearchParts,
  request: Request,
  rank: 'estimate' | 'exact',
): CosineRequest[] {
  if (request.method === 'bands') throw methodError('scan', 'partitions', rank, request.method);
  const { report } = parts;
  // Kernels count in 32 bits, in which a larger k would be a small one.
  const k = Math.max(1, Math.min(request.k, parts.distinctCodes.rowCount));
  const margin = report?.margin ?? MARGIN;
  const { filter, recall, isExplained } = request;
  const isMeasured = report?.k === request.k && report.rank === rank && filter === null;
  const models = isMeasured ? report.doubt : [];
  const of = { method: request.method, k, rank };
  const requestBy = (
    { probes, want }: Setting,
    doubt: DoubtModel | null,
    isLast: boolean,
  ): CosineRequest => {
    return { k, filter, recall, rank, margin, probes, want, doubt, isLast };
  };
  if (recall !== null) {
    const last = models.length - 1;
    return models.map((doubt, i) => requestBy(settingOf(parts, of, doubt), doubt, i === last));
  }
  const setting = settingOf(parts, of, request);
  const { probes } = request;
  const isSame = (one: DoubtModel) =>
    one.probes === (setting.probes ?? 0) &&
    settingOf(parts, of, { probes, oversample: one.oversample }).want === setting.want;
  const doubt = (isExplained && models.find(isSame)) || null;
  return [requestBy(setting, doubt, true)];
}

/** How many of the k a search has probably missed; null without a model. */
export function missingOf(
  parts: SearchParts,
  { doubt, want, k, rank }: CosineRequest,
  done: Pick<Done, 'candidates' | 'best'>,
): number | null {
  if (doubt === null) return null;
  return k * missingShare(doubt.weights, signsOf(parts, { ...done, want, rank }));
}

/** True where a search need not go on with its next setting. */
export function isFound({ k, recall, isLast }: CosineRequest, missing: number | null): boolean {
  return isLast || recall === null || missing === null || missing <= (1 - recall) * k;
}

/** How to search: as `optimize` measured it, or as asked for. */
function settingOf(
  { report, partitions, distinctCodes }: SearchParts,
  { method, k, rank }: Pick<Request, 'method' | 'k'> & { readonly rank: Rank },
  asked: Pick<Request, 'oversample' | 'probes'>,
): Setting {
  const isPartitioned =
    partitions !== null && (method === 'partitions' || (method === 'auto' && report !== null));
  const measured = report?.method === (isPartitioned ? 'partitions' : 'scan') ? report : null;
  const times = asked.oversample ?? measured?.oversample ?? SEARCH_DEFAULTS.oversample;
  const want = Math.min(Math.ceil(times * k), Math.max(k, distinctCodes.rowCount));
  return {
    probes: isPartitioned ? (asked.probes ?? measured?.probes ?? SEARCH_DEFAULTS.probes) : null,
    want: rank === 'exact' ? want : k,
  };
}
