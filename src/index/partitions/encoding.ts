/**
 * Makes the residual codes of all distinct codes, in parts that threads share: each thread writes
 * those of its parts to the one memory.
 */

import type { Steps } from '../../base/steps';
import { inParallel } from '../../threads/parallel';
import type { DistinctCodes } from '../distinct/distinct-codes';
import type { DenseVectors } from '../vectors/dense-vectors';

/** Residual codes of a part: some milliseconds. */
const PART_CODES = 2048;

/** Partitions whose residual codes are made; `state` is what threads make them again from. */
interface Encoded<P> {
  readonly count: number;
  readonly starts: Uint32Array;
  readonly state: P;
  /** Makes those of distinct codes `first` to `end - 1`. */
  encode(first: number, end: number): null;
}

export interface EncodingState<P> {
  readonly dense: DenseVectors['state'];
  readonly bits: number;
  /** By which residuals are rotated. */
  readonly seed: bigint;
  readonly distinctCodes: DistinctCodes['state'];
  readonly partitions: P;
}

/** Numbers of distinct codes, `end` not included. */
export interface EncodedPart {
  readonly first: number;
  readonly end: number;
}

export function* encodeAll<P>(
  partitions: Encoded<P>,
  origin: Omit<EncodingState<P>, 'partitions'>,
): Steps<void> {
  const total = partitions.starts[partitions.count];
  yield* inParallel<EncodingState<P>, EncodedPart, null>({
    task: { name: 'encoding' },
    state: { ...origin, partitions: partitions.state },
    sharesRows: true,
    count: Math.ceil(total / PART_CODES),
    part: (i) => ({ first: i * PART_CODES, end: Math.min(total, (i + 1) * PART_CODES) }),
    here: ({ first, end }) => partitions.encode(first, end),
    take: () => undefined,
  });
}
