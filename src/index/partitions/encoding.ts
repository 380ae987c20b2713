/**
 * Makes the residual codes of all distinct codes, in parts that threads share: each thread writes
 * those of its parts to the one memory.
 */

import type { Steps } from '../../base/steps';
import { inParallel } from '../../threads/parallel';
import type { DistinctCodes } from '../distinct/distinct-codes';
import type { DenseVectors } from '../vectors/dense-vectors';
import type { Origin, PartitionState, Partitions } from './partitions';

/** Residual codes of a part: some milliseconds. */
const PART_CODES = 2048;

export interface EncodingState {
  readonly dense: DenseVectors['state'];
  readonly bits: number;
  /** By which residuals are rotated. */
  readonly seed: bigint;
  readonly distinctCodes: DistinctCodes['state'];
  readonly partitions: PartitionState;
}

/** Numbers of distinct codes, `end` not included. */
export interface EncodedPart {
  readonly first: number;
  readonly end: number;
}

export function* encodeAll(
  partitions: Partitions,
  { dense, bits, hasher }: Origin,
  distinctCodes: DistinctCodes,
): Steps<void> {
  const total = partitions.starts[partitions.count];
  yield* inParallel<EncodingState, EncodedPart, null>({
    task: { name: 'encoding' },
    state: {
      ...{ dense: (dense as DenseVectors).state, bits, seed: hasher.seed },
      ...{ distinctCodes: distinctCodes.state, partitions: partitions.state },
    },
    sharesRows: true,
    count: Math.ceil(total / PART_CODES),
    part: (i) => ({ first: i * PART_CODES, end: Math.min(total, (i + 1) * PART_CODES) }),
    here: ({ first, end }) => partitions.encode(first, end),
    take: () => undefined,
  });
}
