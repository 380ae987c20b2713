/** The setting of a search by cosine: as `optimize` chose it, or as the caller says. */

import type { Setting } from './candidates';
import { SEARCH_DEFAULTS } from './index-options';
import type { SearchParts } from './index-parts';
import { methodError, type Request } from './search-request';

/** A search by cosine as it runs: with its setting, and a k that kernels can count. */
interface CosineRequest extends Pick<Request, 'k' | 'filter'>, Setting {
  readonly rank: 'estimate' | 'exact';
}

/** A search by cosine with its setting. */
export function cosineRequest(
  { report, partitions, distinctCodes }: SearchParts,
  request: Request,
  rank: 'estimate' | 'exact',
): CosineRequest {
  const { method, filter, oversample, probes } = request;
  if (method === 'bands') throw methodError('scan', 'partitions', rank, method);
  // Kernels count in 32 bits, in which a larger k would be a small one.
  const k = Math.max(1, Math.min(request.k, distinctCodes.rowCount));
  const isPartitioned =
    partitions !== null && (method === 'partitions' || (method === 'auto' && report !== null));
  const measured = report?.method === (isPartitioned ? 'partitions' : 'scan') ? report : null;
  const times = oversample ?? measured?.oversample ?? SEARCH_DEFAULTS.oversample;
  const want = Math.min(Math.ceil(times * k), Math.max(k, distinctCodes.rowCount));
  return {
    ...{ k, filter, rank },
    probes: isPartitioned ? (probes ?? measured?.probes ?? SEARCH_DEFAULTS.probes) : null,
    want: rank === 'exact' ? want : k,
  };
}
