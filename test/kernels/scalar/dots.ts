/** Dot products in plain loops: what the kernel must equal to the bit. */

import type { dotsInto, RowValues } from '../../../src/kernels/dots';

/** The partial sums of the current product; shared by all calls. */
const parts = new Float64Array(8);

function dot(values: RowValues, row: number, query: Float64Array): number {
  const width = query.length;
  const at = row * width;
  parts.fill(0);
  for (let i = 0; i < width; i++) parts[i & 7] += values[at + i] * query[i];
  const [p0, p1, p2, p3, p4, p5, p6, p7] = parts;
  return p0 + p2 + (p4 + p6) + (p1 + p3 + (p5 + p7));
}

export const scalarDotsInto: typeof dotsInto = (values, list, query, out) => {
  const count = list?.length ?? values.length / query.length;
  for (let i = 0; i < count; i++) out[i] = dot(values, list === null ? i : list[i], query);
};
