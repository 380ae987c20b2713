/**
 * How the options of a call make codes: bits, seed, and the projection of vectors or of sets.
 */

import { measureOf } from '../../codes/measure';
import type { Projection, SimHasherOptions } from '../../node';
import type { Call } from '../call';

/** Width of a code: an estimated cosine has a standard error of .1 at 0, less near 1. */
export const DEFAULT_BITS = 256;

/** Options by which a user chooses vectors rather than sets, or how near they must be. */
const OF_VECTORS = [
  ...['max-distance', 'min-cosine', 'measure', 'projection'],
  ...['tf-idf', 'frequencies', 'counting', 'keywords'],
];

/** Whether texts are compared as sets: where no option asks for something else. */
export function isOfSets(call: Call): boolean {
  return !OF_VECTORS.some((name) => call.has(name));
}

/** By --projection, or by --measure jaccard and --min-jaccard, which need codes of sets. */
function projectionOf(call: Call): string | undefined {
  const projection = call.text('projection');
  const isOfSets = call.text('measure') === 'jaccard' || call.has('min-jaccard');
  const measure = isOfSets ? 'jaccard' : call.text('measure');
  if (projection === undefined) return isOfSets ? 'minwise' : undefined;
  if (measure === undefined || measureOf(projection).name === measure) return projection;
  const option = call.has('min-jaccard') ? '--min-jaccard' : `--measure ${measure}`;
  return call.misuse(`${option} does not go with --projection ${projection}: leave one out`);
}

/** The options of a hasher, by those of the call; `dimensions` is undefined of sparse vectors. */
export function hasherOptionsOf(call: Call, dimensions: number | undefined): SimHasherOptions {
  const projection = projectionOf(call) ?? (dimensions === undefined ? 'signs' : 'hadamard');
  const seed = call.text('seed') ?? '0';
  if (!/^\d{1,20}$/.test(seed)) {
    call.misuse(`--seed expected an integer in 0..2^64 - 1, got "${seed}"`);
  }
  return {
    bits: call.number('bits') ?? (projection === 'direct' ? 64 : DEFAULT_BITS),
    seed: BigInt(seed),
    projection: projection as Projection,
    dimensions,
  };
}
