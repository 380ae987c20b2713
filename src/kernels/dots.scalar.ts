/**
 * Dot products of rows with one query in plain loops: the reference twin. Products and sums are
 * float64. Element i goes to partial sum i % 4, in ascending order, and the result is
 * (p0 + p2) + (p1 + p3): the twins agree to the bit.
 */

export interface DotsKernel {
  readonly name: string;
  /** rows `first` to `first + count - 1`, each `query.length` wide, to `out[0]..out[count - 1]`. */
  dotsInto(
    values: Float32Array | Float64Array,
    first: number,
    count: number,
    query: Float64Array,
    out: Float64Array,
  ): void;
}

export const scalarDots: DotsKernel = {
  name: 'scalar',

  dotsInto(values, first, count, query, out) {
    const width = query.length;
    const parts = new Float64Array(4);
    for (let row = 0; row < count; row++) {
      const at = (first + row) * width;
      parts.fill(0);
      for (let i = 0; i < width; i++) parts[i & 3] += values[at + i] * query[i];
      out[row] = parts[0] + parts[2] + (parts[1] + parts[3]);
    }
  },
};
