/** Parts of a collection, one behind the other: codes, ids, vectors. */

import type { Codes, DenseMatrix, Ids, SparseMatrix } from '../../node';

/** Codes of one width; where there are none, none of `bits`. */
export async function joinCodes(
  parts: readonly Codes[],
  { bits }: { bits: number },
): Promise<Codes> {
  if (parts.length === 1) return parts[0];
  const { Codes } = await import('../../node');
  const [first] = parts;
  const count = parts.reduce((sum, part) => sum + part.count, 0);
  const hasNulls = parts.some((part) => part.validity !== null);
  const validity = hasNulls ? new Uint8Array(Math.ceil(count / 8)).fill(0xff) : null;
  const joined = Codes.allocate(count, {
    bits: first?.bits ?? bits,
    validity,
    ...(first?.origin && { origin: first.origin }),
  });
  let row = 0;
  for (const part of parts) {
    joined.bytes.set(part.bytes, row * joined.bytesPerCode);
    for (let i = 0; validity !== null && part.validity !== null && i < part.count; i++) {
      if (part.isNull(i)) validity[(row + i) >> 3] &= ~(1 << ((row + i) & 7));
    }
    row += part.count;
  }
  return joined;
}

/** Ids of one kind: strings, or integers of one type. */
export function joinIds(parts: readonly Ids[]): Ids {
  const [first = []] = parts;
  if (parts.length <= 1) return first;
  if (Array.isArray(first)) return (parts as readonly (readonly string[])[]).flat();
  const typed = parts as readonly Int32Array[];
  const count = typed.reduce((sum, part) => sum + part.length, 0);
  const joined = new (first.constructor as Int32ArrayConstructor)(count);
  let at = 0;
  for (const part of typed) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** Dense vectors of one width. */
export function joinVectors(parts: readonly DenseMatrix[]): DenseMatrix {
  const [{ dimensions }] = parts;
  const rowsOf = (part: DenseMatrix) => part.values.length / dimensions;
  const count = parts.reduce((sum, part) => sum + rowsOf(part), 0);
  const isWide = parts.some(({ values }) => values instanceof Float64Array);
  const values = isWide
    ? new Float64Array(count * dimensions)
    : new Float32Array(count * dimensions);
  const hasNulls = parts.some(({ validity }) => validity);
  const validity = hasNulls ? new Uint8Array(Math.ceil(count / 8)).fill(0xff) : null;
  let row = 0;
  for (const part of parts) {
    values.set(part.values, row * dimensions);
    for (let i = 0; validity !== null && part.validity && i < rowsOf(part); i++) {
      const isValid = (part.validity[i >> 3] >> (i & 7)) & 1;
      if (!isValid) validity[(row + i) >> 3] &= ~(1 << ((row + i) & 7));
    }
    row += rowsOf(part);
  }
  return { values, dimensions, validity };
}

/** Sparse vectors; a null row has no entries. */
export function joinSparse(parts: readonly SparseMatrix[]): SparseMatrix {
  const spans = parts.map(({ offsets }) => [offsets[0], offsets[offsets.length - 1]]);
  const total = spans.reduce((sum, [start, end]) => sum + end - start, 0);
  const indices = new BigUint64Array(total);
  const values = new Float64Array(total);
  const offsets = [0];
  let at = 0;
  parts.forEach((part, i) => {
    const [start, end] = spans[i];
    for (let row = 1; row < part.offsets.length; row++) {
      offsets.push(at + part.offsets[row] - start);
    }
    for (let from = start; from < end; from++, at++) {
      indices[at] = BigInt(part.indices[from]);
      values[at] = part.values[from];
    }
  });
  return { offsets, indices, values };
}
