/**
 * Dot products of rows with one query: the contract, and the scalar kernel in plain loops. Products
 * and sums are float64. Element i is added to partial sum i % 8 in ascending order, and the result
 * is ((p0 + p2) + (p4 + p6)) + ((p1 + p3) + (p5 + p7)), so that every kernel gives equal bits.
 */

export type RowValues = Float32Array | Float64Array | Int8Array;

export interface DotsKernel {
  readonly name: string;

  /**
   * Writes the products of rows `first` to `first + count - 1`, each `query.length` values wide, to
   * `out[0]..out[count - 1]`.
   */
  dotsInto(
    values: RowValues,
    first: number,
    count: number,
    query: Float64Array,
    out: Float64Array,
  ): void;

  /** Writes the products of the listed rows to `out[0]..out[rows.length - 1]`. */
  dotsOfRows(values: RowValues, rows: Uint32Array, query: Float64Array, out: Float64Array): void;
}

/** The partial sums of the current product; shared by all calls. */
const parts = /* @__PURE__ */ new Float64Array(8);

function dot(values: RowValues, row: number, query: Float64Array): number {
  const width = query.length;
  const at = row * width;
  parts.fill(0);
  for (let i = 0; i < width; i++) parts[i & 7] += values[at + i] * query[i];
  const [p0, p1, p2, p3, p4, p5, p6, p7] = parts;
  return p0 + p2 + (p4 + p6) + (p1 + p3 + (p5 + p7));
}

export const scalarDots: DotsKernel = {
  name: 'scalar',

  dotsInto(values, first, count, query, out) {
    for (let i = 0; i < count; i++) out[i] = dot(values, first + i, query);
  },

  dotsOfRows(values, rows, query, out) {
    for (let i = 0; i < rows.length; i++) out[i] = dot(values, rows[i], query);
  },
};
