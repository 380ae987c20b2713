/** Residual codes of some distinct codes, as threads make them in the memory of the partitions. */

import type { Task } from '../../threads/job';
import { DistinctCodes } from '../distinct/distinct-codes';
import { DenseVectors } from '../vectors/dense-vectors';
import type { EncodedPart, EncodingState } from './encoding';
import { type PartitionState, Partitions } from './partitions';

export const ENCODING: Task<EncodingState<PartitionState>, EncodedPart, null> = {
  name: 'encoding',
  open({ dense, bits, seed, distinctCodes, partitions }) {
    const vectors = DenseVectors.over(dense);
    const origin = { dense: vectors, bits, hasher: { seed } };
    const codes = DistinctCodes.over(distinctCodes);
    const own = Partitions.over(origin, codes, partitions);
    return ({ first, end }) => own.encode(first, end);
  },
};
