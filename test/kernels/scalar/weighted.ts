/** Weighted Hamming distances in plain loops: what the kernel must equal. */

import { NO_ROW } from '../../../src/kernels/hits';
import type { weightedKernel } from '../../../src/kernels/weighted';
import { FallingLimit } from './falling-limit';

export const scalarWeighted: Pick<typeof weightedKernel, 'search'> = {
  search({ bytesPerCode, codes, rows }, { tables, maxWeight }, want) {
    const hits = new FallingLimit(maxWeight, want);
    return hits.search((code) => {
      if (rows[code] === NO_ROW) return;
      let weight = 0;
      let at = code * bytesPerCode;
      for (let group = 0; group < bytesPerCode * 32; group += 32, at++) {
        weight += tables[group + (codes[at] & 15)] + tables[group + 16 + (codes[at] >> 4)];
      }
      hits.take(code, weight);
    });
  },
};
