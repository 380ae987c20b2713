/** Weighted Hamming distances in plain loops: what the kernel must equal. */

import { NO_ROW } from '../../../src/kernels/hits';
import type { eachWithin } from '../../../src/kernels/weighted';

export const scalarWithin: typeof eachWithin = (given, { first, end }, tables, limit, take) => {
  const { bytesPerCode, codes, rows } = given;
  for (let code = first; code < end; code++) {
    if (rows[code] === NO_ROW) continue;
    let weight = 0;
    let at = code * bytesPerCode;
    for (let group = 0; group < bytesPerCode * 32; group += 32, at++) {
      weight += tables[group + (codes[at] & 15)] + tables[group + 16 + (codes[at] >> 4)];
    }
    if (weight <= limit()) take(code, weight);
  }
};
