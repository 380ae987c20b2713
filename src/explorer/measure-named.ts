/** The measures of distances by the names that answers and sentences have for them. */

import { COSINE, JACCARD, type Measure } from '../codes/measure';
import type { About } from './messages';

export function measureNamed(name: About['measure']): Measure {
  return name === 'cosine' ? COSINE : JACCARD;
}
