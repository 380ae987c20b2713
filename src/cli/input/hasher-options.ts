/**
 * From the options of a call to those of a hasher: the bits of a code, the seed, and the projection
 * of vectors or of sets.
 */

import { measureOf } from '../../codes/measure';
import type { Projection, SimHasherOptions } from '../../node';
import type { Call } from '../call';

/** Bits of a code. At a cosine of 0 its estimate has a standard error of .1, near 1 less. */
export const DEFAULT_BITS = 256;

/** Options with which texts are not taken as sets: for a measure, a distance or word weights. */
const OF_VECTORS = [
  ...['max-distance', 'min-cosine', 'measure', 'projection'],
  ...['tf-idf', 'frequencies', 'counting'],
];

/** True if texts are compared as sets, which is the default of verbs that look for near texts. */
export function isOfSets(call: Call): boolean {
  return !OF_VECTORS.some((name) => call.has(name));
}

/**
 * The projection by --projection; `minwise`, for sets, by --measure jaccard or --min-jaccard; else
 * that of dense or sparse vectors. Throws a misuse where these options contradict each other.
 */
function projectionOf(call: Call, isDense: boolean): Projection {
  const isOfSets = call.text('measure') === 'jaccard' || call.has('min-jaccard');
  const usual = isOfSets ? 'minwise' : isDense ? 'hadamard' : 'signs';
  const projection = (call.text('projection') ?? usual) as Projection;
  const measure = isOfSets ? 'jaccard' : call.text('measure');
  if (measure === undefined || measureOf(projection).name === measure) return projection;
  const option = call.has('min-jaccard') ? '--min-jaccard' : `--measure ${measure}`;
  return call.misuse(`${option} does not go with --projection ${projection}: leave one out`);
}

/**
 * Options of a hasher by those of the call; `dimensions` is undefined for sparse vectors. Seeds are
 * bigints, since they reach 2^64 - 1.
 */
export function hasherOptionsOf(call: Call, dimensions: number | undefined): SimHasherOptions {
  const projection = projectionOf(call, dimensions !== undefined);
  const seed = call.text('seed') ?? '0';
  if (!/^\d{1,20}$/.test(seed)) {
    call.misuse(`--seed expected an integer in 0..2^64 - 1, got "${seed}"`);
  }
  return {
    bits: call.number('bits') ?? (projection === 'direct' ? 64 : DEFAULT_BITS),
    ...{ seed: BigInt(seed), projection, dimensions },
  };
}
