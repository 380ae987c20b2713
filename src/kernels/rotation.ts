/**
 * A random rotation of vectors, and two bits of each coordinate of the result. The rotation is
 * rounds of hashed sign flips, each followed by a fast Walsh-Hadamard transform of the first 2^n
 * coordinates or of the last 2^n, where 2^n is the largest power of two within the width, so that
 * the two overlap. It keeps lengths and angles, and spreads any vector evenly over its coordinates,
 * so that two bits of each describe it well. All is float32, each operation in a stated order.
 */

import { Arena, homeOf, SCAN_BYTES, Stage } from './memory';
import type { RowsOfLengths } from './products';
import type { SearchKernels } from './search.generated';
import { searchKernels } from './search-kernels';
import { MAX_ENTRY } from './weighted';
import { halves, hashDimension } from './xxhash';

/** Transforms, of the first and the last coordinates in turn: each result then depends on all. */
const TRANSFORMS = 8;

/**
 * Above FAR standard deviations a coordinate counts as far: the uniform quantizer of four levels
 * with the least squared error for a Gaussian (Max 1960). Levels are -3, -1, 1 and 3: twice the
 * sign of the first bit plus the sign of the second, so that both bits can use the same tables.
 */
export const FAR = 0.9957;
export const FAR_LEVEL = 3;

/** Entries of a table: the values of four bits. */
const ENTRIES = 16;

/** A rotation, with the memory in which it works: one vector at a time, in place. */
export class Rotation {
  readonly width: number;
  /** Coordinates of one transform: a power of two. */
  readonly size: number;
  /** The vector to rotate; callers write it, `rotate` replaces it by the rotated one. */
  readonly vector: Float32Array;
  /** `size` factors for each transform: +1 or -1, over the square root of `size`. */
  readonly flips: Float32Array;
  /** A table of 16 integers for each four coordinates, written by `makeTables`. */
  readonly tables: Uint8Array;
  /** Two numbers that `makeTables` writes: the base, and the units of an entry that make 1. */
  readonly scales: Float64Array;
  /** Rotated centroids, with which `encodeRows` compares rows; callers write them. */
  readonly centroids: Float32Array;
  readonly #kernels: SearchKernels;

  /**
   * All arrays lie in one memory, floats first, so that each is aligned. The width is a multiple of
   * 8.
   */
  constructor(width: number, seed: bigint, centroids = 0) {
    let size = 1;
    while (2 * size <= width) size *= 2;
    this.width = width;
    this.size = size;
    const flipCount = TRANSFORMS * size;
    const tableBytes = ENTRIES * Math.ceil(width / 4);
    const floats = width * (1 + centroids) + flipCount;
    const tablesAt = 16 + 4 * floats;
    const { buffer, byteOffset } = new Arena(tablesAt + tableBytes).bytes;
    this.scales = new Float64Array(buffer, byteOffset, 2);
    const all = new Float32Array(buffer, byteOffset + 16, floats);
    this.vector = all.subarray(0, width);
    this.flips = all.subarray(width, width + flipCount);
    this.centroids = all.subarray(width + flipCount);
    this.tables = new Uint8Array(buffer, byteOffset + tablesAt, tableBytes);
    this.#kernels = searchKernels(homeOf(all));
    const length = 1 / Math.sqrt(size);
    for (let at = 0, bits = 0; at < flipCount; at++, bits >>>= 1) {
      const [transform, i] = [Math.floor(at / size), at % size];
      const dimension = (BigInt(transform) << 32n) | BigInt(i >>> 5);
      if (i % 32 === 0) bits = halves(hashDimension(dimension, seed)).low;
      this.flips[at] = bits & 1 ? length : -length;
    }
  }
  /** Rotates `vector` in place. */
  rotate(): void {
    const { width, size, vector, flips } = this;
    const transforms = flips.length / size;
    this.#kernels.rotate(vector.byteOffset, width, size, flips.byteOffset, transforms);
  }

  /**
   * The residual codes and scales of rows in partitions, `partitions.length / lengths.length` of
   * each row: of its values over its length, rotated, less a centroid of the rotation. A code has
   * two bits of each coordinate. All first bits come first: 1 where a coordinate is above 0. A
   * second bit is 1 in the upper half of its side: far from 0 if the coordinate is above 0, near if
   * not. By the scale the levels of these bits are multiplied so that their product with the
   * difference is its squared length, which makes products with queries unbiased; it is 0 where
   * there is no difference. Those of a row without a length are 0.
   */
  encodeRows(
    { values, lengths, dimensions }: RowsOfLengths,
    partitions: Uint32Array,
  ): { codes: Uint8Array; scales: Float32Array } {
    const { width, size, flips, centroids } = this;
    const codes = new Uint8Array((partitions.length * width) / 4);
    const scales = new Float32Array(partitions.length);
    const memory = homeOf(flips);
    const each = partitions.length / lengths.length;
    const bytesOfRow = values.BYTES_PER_ELEMENT * dimensions + 8 + each * (8 + width / 4);
    const most = Math.floor((SCAN_BYTES - 8 * width - 64) / bytesOfRow);
    for (let first = 0; first < lengths.length; first += most) {
      const end = Math.min(lengths.length, first + most);
      const stage = new Stage(memory);
      const vector = stage.space(8 * width);
      const own = values.subarray(first * dimensions, end * dimensions);
      const rows = [values.BYTES_PER_ELEMENT, stage.add(own), end - first, dimensions] as const;
      const lengthsAt = stage.add(lengths.subarray(first, end));
      const partitionsAt = stage.add(partitions.subarray(each * first, each * end));
      const near = [partitionsAt, each, centroids.byteOffset] as const;
      const rotation = [vector, width, size, flips.byteOffset, flips.length / size] as const;
      const someCodes = codes.subarray((each * first * width) / 4, (each * end * width) / 4);
      const someScales = scales.subarray(each * first, each * end);
      const out = [stage.add(someCodes), stage.add(someScales)] as const; // zeros
      this.#kernels.encodeRows(...rows, lengthsAt, ...near, ...rotation, FAR, FAR_LEVEL, ...out);
      someCodes.set(memory.bytes.subarray(out[0], out[0] + someCodes.length));
      someScales.set(new Float32Array(memory.bytes.buffer, out[1], someScales.length));
    }
    return { codes, scales };
  }

  /**
   * Writes tables for products of the vector with signs: for each four coordinates and each value
   * of four bits an integer of 0..MAX_ENTRY. The product with signs is the sum of the integers of
   * their bits, less `scales[0]`, divided by `scales[1]`, up to the rounding of the integers. Where
   * the vector is 0, `scales[1]` is 0.
   */
  makeTables(): void {
    const out = [this.tables.byteOffset, this.scales.byteOffset] as const;
    this.#kernels.residualTablesInto(this.vector.byteOffset, this.width, MAX_ENTRY, ...out);
  }
}
