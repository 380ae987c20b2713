/**
 * What the distance of two codes estimates: the cosine of the vectors, or the Jaccard similarity of
 * the sets.
 */

import { estimateAngle, estimateJaccard } from '../index';
import type { About } from './messages';

interface Estimate {
  readonly similarity: number;
  /** Holds the exact similarity with a probability of 95 %. */
  readonly interval: readonly [low: number, high: number];
}

/** The similarity that a distance in bits estimates, for codes of `bits` bits. */
export function estimateOf(measure: About['measure'], distance: number, bits: number): Estimate {
  if (measure === 'Jaccard similarity') {
    const { estimatedJaccard, jaccardInterval } = estimateJaccard(distance, bits);
    return { similarity: estimatedJaccard, interval: jaccardInterval };
  }
  const { estimatedCosine, cosineInterval } = estimateAngle(distance, bits);
  return { similarity: estimatedCosine, interval: cosineInterval };
}
