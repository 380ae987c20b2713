/** What a distance says of two rows: their cosine, or the Jaccard similarity of their sets. */

import { estimateAngle, estimateJaccard } from '../index';
import type { About } from './messages';

interface Estimate {
  readonly similarity: number;
  /** 95 %. */
  readonly interval: readonly [low: number, high: number];
}

export function estimateOf(measure: About['measure'], distance: number, bits: number): Estimate {
  if (measure === 'Jaccard similarity') {
    const { estimatedJaccard, jaccardInterval } = estimateJaccard(distance, bits);
    return { similarity: estimatedJaccard, interval: jaccardInterval };
  }
  const { estimatedCosine, cosineInterval } = estimateAngle(distance, bits);
  return { similarity: estimatedCosine, interval: cosineInterval };
}
