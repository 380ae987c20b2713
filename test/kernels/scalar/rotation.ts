/** Rotations and their two bits in plain loops: what the kernel must equal to the bit. */

import type { RowsOfLengths } from '../../../src/kernels/products';
import { FAR, FAR_LEVEL, type Rotation } from '../../../src/kernels/rotation';
import { MAX_ENTRY } from '../../../src/kernels/weighted';

const { fround } = Math;
/** Transforms, of the first and the last coordinates in turn. */
const TRANSFORMS = 8;
/** The sign that a bit of value 0 or 1 stands for. */
const SIGNS = [-1, 1];
const ENTRIES = 16;
/** Entries are computed as integers with this many fractional bits, before they are rounded. */
const FRACTION_BITS = 16;
const FRACTION = 2 ** FRACTION_BITS;

/** The sum of numbers in float32, as the four lanes of the WebAssembly kernel add them. */
function sumOf(values: Float32Array): number {
  const lanes = new Float32Array(4);
  values.forEach((value, i) => {
    lanes[i % 4] += value;
  });
  return fround(fround(lanes[0] + lanes[2]) + fround(lanes[1] + lanes[3]));
}

/** The two bits of each coordinate of a vector to `code`; returns the scale. */
export function encode(vector: Float32Array, code: Uint8Array): number {
  const squares = sumOf(vector.map((x) => x * x));
  const far = fround(fround(FAR) * fround(Math.sqrt(fround(squares / vector.length))));
  const second = vector.length / 8;
  code.fill(0);
  const products = vector.map((x) => Math.abs(x) * (Math.abs(x) > far ? FAR_LEVEL : 1));
  vector.forEach((x, i) => {
    const isAbove = x > 0;
    code[i >> 3] |= Number(isAbove) << (i & 7);
    code[second + (i >> 3)] |= Number(isAbove === Math.abs(x) > far) << (i & 7);
  });
  const product = sumOf(products);
  return product > 0 ? fround(squares / product) : 0;
}

/** A fast Walsh-Hadamard transform, each addition in float32. */
function transformed(vector: Float32Array): void {
  for (let span = 1; span < vector.length; span *= 2) {
    for (let i = 0; i < vector.length; i++) {
      if (i & span) continue;
      const [a, b] = [vector[i], vector[i + span]];
      vector[i] = a + b;
      vector[i + span] = a - b;
    }
  }
}

export const scalarRotation = {
  rotate({ width, size, vector, flips }: Rotation): void {
    const last = width - size;
    for (let transform = 0; transform < TRANSFORMS; transform++) {
      if (transform % 2 === 1 && last === 0) continue;
      const start = transform % 2 === 0 ? 0 : last;
      for (let i = 0; i < size; i++) vector[start + i] *= flips[transform * size + i];
      transformed(vector.subarray(start, start + size));
    }
  },

  encodeRows(
    rotation: Rotation,
    { values, lengths, dimensions }: RowsOfLengths,
    partitions: Uint32Array,
  ) {
    const { vector, centroids, width } = rotation;
    const code = new Uint8Array(width / 4);
    const each = partitions.length / lengths.length;
    const codes = new Uint8Array(partitions.length * code.length);
    const scales = new Float32Array(partitions.length);
    for (const [i, p] of partitions.entries()) {
      const row = Math.floor(i / each);
      if (!(lengths[row] > 0)) continue;
      vector.fill(0);
      for (let d = 0; d < dimensions; d++)
        vector[d] = values[row * dimensions + d] * (1 / lengths[row]);
      scalarRotation.rotate(rotation);
      for (let d = 0; d < width; d++) vector[d] -= centroids[p * width + d];
      scales[i] = encode(vector, code);
      codes.set(code, i * code.length);
    }
    return { codes, scales };
  },

  makeTables({ vector, tables, scales }: Rotation): void {
    const sizeOf = (i: number) => Math.abs(vector[i]) + Math.abs(vector[i + 1]);
    let most = 0;
    let total = 0;
    for (let i = 0; i < vector.length; i += 4) {
      const size = sizeOf(i) + sizeOf(i + 2);
      most = Math.max(most, size);
      total += size;
    }
    // The product of four coordinates with signs is in -most..most, which 0..MAX_ENTRY must cover.
    const entriesPerUnit = most > 0 ? MAX_ENTRY / (2 * most) : 0;
    const unit = entriesPerUnit * FRACTION;
    for (let i = 0; i < vector.length; i += 4) {
      // Added to each product so that none is negative, with a half for rounding.
      const least = (sizeOf(i) + sizeOf(i + 2)) * unit + FRACTION / 2;
      const product = (at: number, bits: number) =>
        vector[at] * unit * SIGNS[bits & 1] + vector[at + 1] * unit * SIGNS[bits >> 1];
      for (let bits = 0; bits < ENTRIES; bits++) {
        const low = (product(i, bits & 3) + least) | 0;
        const high = product(i + 2, bits >> 2) | 0;
        tables[4 * i + bits] = (low + high) >> FRACTION_BITS;
      }
    }
    scales[0] = total * entriesPerUnit;
    scales[1] = entriesPerUnit;
  },
};
