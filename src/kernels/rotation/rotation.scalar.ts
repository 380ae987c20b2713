/**
 * A random rotation of vectors of any width, and two bits of each coordinate of the result: the
 * contract, and the scalar kernel in plain loops. The rotation is rounds of hashed sign flips, each
 * followed by a fast Walsh-Hadamard transform of the first 2^n coordinates or of the last 2^n,
 * where 2^n is the largest power of two within the width, so that the two overlap. It keeps lengths
 * and angles, and spreads any vector evenly over its coordinates, so that two bits of each describe
 * it well.
 */

import { Arena } from '../memory';
import { walshHadamard } from '../sums/sums.scalar';
import { MAX_ENTRY } from '../weighted/weighted.scalar';
import { halves, hashDimension } from '../xxhash/xxhash.scalar';

/** Transforms, of the first and the last coordinates in turn: each result then depends on all. */
const TRANSFORMS = 8;

/**
 * Above FAR standard deviations a coordinate counts as far: the uniform quantizer of four levels
 * with the least squared error for a Gaussian (Max 1960). Levels are -3, -1, 1 and 3: twice the
 * sign of the first bit plus the sign of the second, so that both bits can use the same tables.
 */
export const FAR = 0.9957;
export const FAR_LEVEL = 3;

/** The sign that a bit of value 0 or 1 stands for. */
const SIGNS = [-1, 1];
const ENTRIES = 16;
/** Entries are computed as integers with this many fractional bits, before they are rounded. */
const FRACTION_BITS = 16;
const FRACTION = 2 ** FRACTION_BITS;

/** A rotation, with the memory in which it works: one vector at a time, in place. */
export class Rotation {
  readonly width: number;
  /** Coordinates of one transform: a power of two. */
  readonly size: number;
  /** The vector to rotate; callers write it, `rotate` replaces it by the rotated one. */
  readonly vector: Float64Array;
  /** `size` factors for each transform: +1 or -1, over the square root of `size`. */
  readonly flips: Float64Array;
  /** The first bit of each coordinate, then the second of each, written by `encode`. */
  readonly code: Uint8Array;
  /** A table of 16 integers for each four coordinates, written by `tables`. */
  readonly tables: Uint8Array;
  /** Two numbers that `tables` writes: the base, and the units of an entry that make 1. */
  readonly scales: Float64Array;

  /** All arrays lie in one memory, floats first, so that each is aligned. */
  constructor(width: number, seed: bigint) {
    let size = 1;
    while (2 * size <= width) size *= 2;
    this.width = width;
    this.size = size;
    const codeBytes = Math.ceil(width / 4);
    const flipCount = TRANSFORMS * size;
    const tableBytes = ENTRIES * Math.ceil(width / 4);
    const floats = width + flipCount + 2;
    const { buffer, byteOffset } = new Arena(8 * floats + tableBytes + codeBytes).bytes;
    this.vector = new Float64Array(buffer, byteOffset, width);
    this.flips = new Float64Array(buffer, byteOffset + 8 * width, flipCount);
    this.scales = new Float64Array(buffer, byteOffset + 8 * (floats - 2), 2);
    this.tables = new Uint8Array(buffer, byteOffset + 8 * floats, tableBytes);
    this.code = new Uint8Array(buffer, byteOffset + 8 * floats + tableBytes, codeBytes);
    const length = 1 / Math.sqrt(size);
    const { low, high } = halves(seed);
    for (let at = 0; at < flipCount; at++) {
      const [transform, i] = [Math.floor(at / size), at % size];
      const hash = hashDimension(i >>> 5, transform, low, high);
      this.flips[at] = (hash.low >>> (i & 31)) & 1 ? length : -length;
    }
  }
}

export interface RotationKernel {
  readonly name: string;

  /** Rotates `rotation.vector` in place. */
  rotate(rotation: Rotation): void;

  /**
   * Writes two bits of each coordinate of the vector to the rotation's code. All first bits come
   * first: 1 where a coordinate is above 0. A second bit is 1 in the upper half of its side: far
   * from 0 if the coordinate is above 0, near if not. Returns the scale by which the levels of
   * these bits must be multiplied so that their product with the vector is its squared length,
   * which makes products with queries unbiased; 0 where the vector is 0. The width must be a
   * multiple of 8.
   */
  encode(rotation: Rotation): number;

  /**
   * Writes tables for products of the vector with signs: for each four coordinates and each value
   * of four bits an integer of 0..MAX_ENTRY. The product with signs is the sum of the integers of
   * their bits, less `scales[0]`, divided by `scales[1]`, up to the rounding of the integers. Where
   * the vector is 0, `scales[1]` is 0. The width must be a multiple of 4.
   */
  tables(rotation: Rotation): void;
}

export const scalarRotation: RotationKernel = {
  name: 'scalar',

  rotate({ width, size, vector, flips }) {
    const last = width - size;
    for (let transform = 0; transform < TRANSFORMS; transform++) {
      if (transform % 2 === 1 && last === 0) continue;
      const start = transform % 2 === 0 ? 0 : last;
      for (let i = 0; i < size; i++) vector[start + i] *= flips[transform * size + i];
      walshHadamard(vector.subarray(start, start + size));
    }
  },

  encode({ vector, code }) {
    let [even, odd] = [0, 0]; // two sums of squares, as the WebAssembly kernel has two lanes
    for (let i = 0; i < vector.length; i += 2) {
      even += vector[i] * vector[i];
      odd += vector[i + 1] * vector[i + 1];
    }
    const squares = even + odd;
    const far = FAR * Math.sqrt(squares / vector.length);
    const second = vector.length / 8;
    code.fill(0);
    [even, odd] = [0, 0]; // two sums of the products with the levels
    for (let i = 0; i < vector.length; i += 2) {
      const [a, b] = [Math.abs(vector[i]), Math.abs(vector[i + 1])];
      even += a * (a > far ? FAR_LEVEL : 1);
      odd += b * (b > far ? FAR_LEVEL : 1);
      const [isAbove, isNextAbove] = [vector[i] > 0, vector[i + 1] > 0];
      const sides = Number(isAbove) | (isNextAbove ? 2 : 0);
      const halves = Number(isAbove === a > far) | (isNextAbove === b > far ? 2 : 0);
      code[i >> 3] |= sides << (i & 7);
      code[second + (i >> 3)] |= halves << (i & 7);
    }
    return even + odd > 0 ? squares / (even + odd) : 0;
  },

  tables({ vector, tables, scales }) {
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
