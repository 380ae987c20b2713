/** Which rows are near: by options, or for texts by a default that is said, with its reason. */

import { cosineOf } from '../../hashing/angle';
import type { Call } from '../call';
import { NEAR_TEXT_SHARE } from '../near-options';
import type { Collection } from './collection';

export interface Nearness {
  readonly maxDistance?: number;
  readonly minCosine?: number;
}

/** Refuses wrong options before rows are read; only texts have a default. */
export function checkNearness(call: Call, isText: boolean): void {
  const maxDistance = call.integer('max-distance');
  const minCosine = call.number('min-cosine');
  if (maxDistance !== undefined && maxDistance < 0) {
    call.misuse(`--max-distance expected 0 or more, got ${maxDistance}`);
  }
  if (minCosine !== undefined && !(minCosine >= -1 && minCosine <= 1)) {
    call.misuse(`--min-cosine expected a number in -1..1, got ${minCosine}`);
  }
  if (maxDistance === undefined && minCosine === undefined && !isText) {
    call.misuse('give --max-distance N or --min-cosine C; halfspace calibrate helps to choose');
  }
}

export function nearnessOf(call: Call, { bits, hasVectors }: Collection): Nearness {
  const maxDistance = call.integer('max-distance');
  const minCosine = call.number('min-cosine');
  if (maxDistance !== undefined && maxDistance > bits) {
    call.misuse(`--max-distance expected at most the ${bits} bits of a code, got ${maxDistance}`);
  }
  if (minCosine !== undefined) {
    if (hasVectors) return { minCosine, ...(maxDistance !== undefined && { maxDistance }) };
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
