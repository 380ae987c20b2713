// Sparse vectors as one batch, as the library takes them.

export function matrixOf(vectors) {
  const offsets = new Uint32Array(vectors.length + 1);
  vectors.forEach(({ values }, row) => {
    offsets[row + 1] = offsets[row] + values.length;
  });
  const indices = new BigUint64Array(offsets.at(-1));
  const values = new Float64Array(offsets.at(-1));
  vectors.forEach((vector, row) => {
    indices.set(vector.indices, offsets[row]);
    values.set(vector.values, offsets[row]);
  });
  return { offsets, indices, values };
}
