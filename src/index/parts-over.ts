/** The parts of an index whose arrays are those of another thread. */

import { DistinctCodes } from './distinct/distinct-codes';
import { IdTable } from './id-table';
import { IndexParts } from './index-parts';
import { Partitions } from './partitions/partitions';
import { type IndexState, vectorsOver } from './shared-index';

export function partsOver(state: IndexState): IndexParts {
  const { mean, isForeign, report, vectors, partitions } = state;
  const parts = IndexParts.of({ hasher: state.hasher, vectors: 'none', mean }, new IdTable('row'));
  parts.distinctCodes = DistinctCodes.over(state.distinctCodes);
  parts.vectors = vectors && vectorsOver(vectors);
  parts.partitions = partitions && Partitions.over(parts, parts.distinctCodes, partitions);
  parts.isForeign = isForeign;
  parts.report = report;
  return parts;
}
