/** What the distance of two codes tells of vectors or sets, for searches on server and page. */

import { estimateAngle, estimateJaccard } from '../index';
import type { About, Hit } from './messages';

/** The similarity that a distance in bits estimates, and its interval of 95 %. */
export function estimateOf(
  { measure, bits }: Pick<About, 'measure' | 'bits'>,
  distance: number,
): Pick<Hit, 'similarity' | 'interval'> {
  if (measure === 'Jaccard similarity') {
    const { estimatedJaccard, jaccardInterval } = estimateJaccard(distance, bits);
    return { similarity: estimatedJaccard, interval: jaccardInterval };
  }
  const { estimatedCosine, cosineInterval } = estimateAngle(distance, bits);
  return { similarity: estimatedCosine, interval: cosineInterval };
}
