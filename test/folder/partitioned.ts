/** Whether partitions pay is a matter of time in a small index: here they are wanted. */

import type { OptimizeOptions, SimHashIndex } from '../../src/index';

const TRIES = 100;

export function partitioned(index: SimHashIndex, options: OptimizeOptions): SimHashIndex {
  for (let left = TRIES; left > 0; left--) {
    if (index.optimize(options).method === 'partitions') return index;
  }
  throw new Error(`in ${TRIES} tries partitions never were faster than a scan`);
}
