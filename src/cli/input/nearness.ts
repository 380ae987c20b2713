/** Which rows are near: by options, or for texts by a default that is said, with its reason. */

import { cosineOf } from '../../hashing/angle';
import type { Call } from '../call';
import type { Collection } from './collection';
import type { HashSource } from './hashing';

/**
 * Texts are nearly the same within this share of the bits: 40 of 256, a cosine of .88. In a trial
 * with passages of 20 to 300 words, some of them replaced, it found 98 of 100 of those with 2 %
 * replaced and 65 to 88 of those with 5 %; of the pairs that it found among 98,313 poems 99.9 %
 * were two editions of one.
 */
const NEAR_TEXT_SHARE = 5 / 32;

/** What rows must meet to be near; one of both at least. */
export interface Nearness {
  readonly maxDistance?: number | undefined;
  readonly minCosine?: number | undefined;
}

/**
 * Fails before rows are read where no option says what is near; only texts have a default. An index
 * folder has no source.
 */
export function checkNearness(call: Call, source: HashSource | null): void {
  if (!call.has('max-distance') && !call.has('min-cosine') && source?.kind !== 'text') {
    call.misuse('give --max-distance N or --min-cosine C; halfspace calibrate helps to choose');
  }
}

/**
 * What the options mean for codes of `bits`: a cosine is exact where the rows have vectors, else
 * the distance that estimates it. Says so, and what the default for texts is.
 */
export function nearnessOf(
  call: Call,
  { bits, hasVectors }: Pick<Collection, 'bits' | 'hasVectors'>,
): Nearness {
  const maxDistance = call.number('max-distance');
  const minCosine = call.number('min-cosine');
  if (maxDistance !== undefined && maxDistance > bits) {
    call.misuse(`--max-distance expected at most the ${bits} bits of a code, got ${maxDistance}`);
  }
  if (minCosine !== undefined) {
    if (hasVectors) return { minCosine, maxDistance };
    const within = Math.min(widestAt(minCosine, bits), maxDistance ?? bits);
    call.say(
      `cosine ${minCosine} or more is taken as within ${within} of ${bits} bits: an estimate, ` +
        'pairs at the edge fall on either side',
    );
    return { maxDistance: within };
  }
  if (maxDistance !== undefined) return { maxDistance };
  const usual = Math.round(NEAR_TEXT_SHARE * bits);
  const cosine = cosineOf(usual, bits).toFixed(2);
  call.say(
    `near is within ${usual} of ${bits} bits (cosine about ${cosine}): texts with 2 % of their ` +
      'words changed are nearly always within it, with 5 % mostly; --max-distance chooses another',
  );
  return { maxDistance: usual };
}

/** The largest distance whose estimate is a cosine of `least` or more. */
function widestAt(least: number, bits: number): number {
  let distance = 0;
  while (distance < bits && cosineOf(distance + 1, bits) >= least) distance++;
  return distance;
}
