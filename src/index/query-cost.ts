/**
 * What a search reads of an index whose rows stay in files, while memory holds nothing of it. It is
 * computed from the counted rows, so an index in memory can report it before it is saved.
 */

import type { QueryCost } from './index-options';
import type { SearchParts } from './index-parts';
import type { Work } from './re-rank';

/** Bytes of each: a row, the scale of a residual code, the checksum of a vector, a link. */
const NUMBER_BYTES = 4;

/** The mean over searches; null for sparse vectors, whose sizes in bytes vary. */
export function meanCost(parts: SearchParts, searches: readonly Work[]): QueryCost | null {
  const { vectors, hasher, distinctCodes, partitions } = parts;
  if (vectors?.kind === 'sparse' || searches.length === 0) return null;
  const residual = partitions?.residualCodes?.parts.bytesPerRow ?? 0;
  const hasLinks = partitions?.entriesPerCode === 2;
  const rowBytes =
    NUMBER_BYTES * (1 + Number(residual > 0) + Number(vectors !== null) + Number(hasLinks)) +
    distinctCodes.bytesPerCode +
    residual;
  const vectorBytes = (hasher.dimensions ?? 0) * (vectors?.kind === 'float32' ? 4 : 1);
  const bytes = searches.reduce((sum, { codesCompared, candidates }) => {
    return sum + codesCompared * rowBytes + (vectors === null ? 0 : candidates * vectorBytes);
  }, 0);
  return { bytes: Math.round(bytes / searches.length), roundTrips: vectors === null ? 1 : 2 };
}
