// Cosines of sparse rows in plain loops, without codes: the truth that codes are measured against.

/** Every pair of rows at a cosine of at least `least`, above 0, as `[a, b]`, a < b. */
export function pairsByCosine({ offsets, indices, values }, least) {
  const count = offsets.length - 1;
  const lengths = Float64Array.from({ length: count }, (_, row) => lengthOf(values, offsets, row));
  const rowsWith = new Map();
  const found = [];
  for (let row = 0; row < count; row++) {
    const dots = new Map();
    for (let i = offsets[row]; i < offsets[row + 1]; i++) {
      const earlier = rowsWith.get(indices[i]) ?? [];
      for (const { other, value } of earlier) {
        dots.set(other, (dots.get(other) ?? 0) + value * values[i]);
      }
      earlier.push({ other: row, value: values[i] });
      rowsWith.set(indices[i], earlier);
    }
    for (const [other, dot] of dots) {
      if (dot >= least * lengths[row] * lengths[other]) found.push([other, row]);
    }
  }
  return found;
}

/** The cosine of two rows. */
export function cosineOfRows({ offsets, indices, values }, a, b) {
  const ofA = new Map();
  for (let i = offsets[a]; i < offsets[a + 1]; i++) ofA.set(indices[i], values[i]);
  let dot = 0;
  for (let i = offsets[b]; i < offsets[b + 1]; i++) dot += values[i] * (ofA.get(indices[i]) ?? 0);
  return dot / (lengthOf(values, offsets, a) * lengthOf(values, offsets, b));
}

function lengthOf(values, offsets, row) {
  let squares = 0;
  for (let i = offsets[row]; i < offsets[row + 1]; i++) squares += values[i] * values[i];
  return Math.sqrt(squares);
}
