/**
 * The float64 sums of a vector, one for each bit of its code, and the bits taken from them: the
 * contract, and the scalar kernel in plain loops. Other kernels must give sums that are equal to
 * the bit. Each sum adds the entries in ascending order of dimension; only additions, sign flips
 * and (for Gaussians) one multiplication are applied to a float before its sign is taken.
 */

import { halves, hashDimension } from './xxhash';

/** How vectors are projected: the part of a hasher's options that kernels need. */
export interface Rule {
  /** 'given': patterns come with sparse rows. */
  readonly projection: 'signs' | 'gaussian' | 'hadamard' | 'given';
  readonly bits: number;
  readonly seed: bigint;
}

/** `count` vectors of `width` float values, one after another. */
export interface DenseRows {
  readonly count: number;
  readonly width: number;
  readonly values: Float32Array | Float64Array;
}

/**
 * `count` sparse vectors: row r has the entries `offsets[r]` to `offsets[r + 1] - 1`, dimensions
 * ascending and unique.
 */
export interface SparseRows {
  readonly count: number;
  readonly offsets: Uint32Array;
  readonly dimensions: Uint32Array | BigUint64Array;
  readonly values: Float64Array;
  /** For projection 'given': word w of entry i's pattern at [w * entries + i]. */
  readonly patterns?: BigUint64Array;
}

/** Flags of a row: some sum is NaN or infinite; all sums are zero. */
export const NOT_FINITE = 1;
export const ALL_ZERO = 2;

export interface SumsKernel {
  readonly name: string;
  /**
   * Writes the `bits` sums of the only row to the start of `sums`. 'given' takes sparse rows only,
   * 'hadamard' dense ones.
   */
  sumsInto(rule: Rule, rows: DenseRows | SparseRows, sums: Float64Array): void;
  /** Writes a code of ceil(bits / 8) bytes and a byte of flags for each row. */
  codesInto(rule: Rule, rows: DenseRows | SparseRows, codes: Uint8Array, flags: Uint8Array): void;
}

/**
 * Rounds of flips and transform. With three rounds, or with transforms of fewer than 128 values, a
 * plane has so few different coefficients that codes of vectors of few coordinates are biased. The
 * codes of (1, .9) and (1, -.9) should differ in .4665 of the bits; they differ in .447 at size 64
 * and .462 at size 128 with three rounds, and in .463 and .466 with four.
 */
export const HADAMARD_ROUNDS = 4;
const MIN_HADAMARD_SIZE = 128;

/** The size of the transform for vectors of `width` dimensions: a power of two, 128 or more. */
export function hadamardSize(width: number): number {
  let size = MIN_HADAMARD_SIZE;
  while (size < width) size *= 2;
  return size;
}

/** Value 0, and then the differences between neighbouring values, in units of 1/8192. */
const STEPS = [
  28, 57, 57, 57, 56, 57, 57, 57, 57, 57, 57, 57, 57, 57, 57, 58, 57, 57, 58, 58, 58, 58, 58, 58,
  58, 59, 58, 59, 59, 59, 59, 60, 60, 59, 61, 60, 60, 61, 61, 61, 62, 62, 62, 62, 63, 63, 63, 63,
  64, 65, 64, 65, 66, 65, 67, 66, 67, 68, 68, 68, 69, 70, 70, 71, 71, 72, 72, 73, 74, 74, 75, 76,
  77, 77, 79, 79, 80, 81, 82, 83, 84, 85, 87, 87, 89, 90, 92, 93, 94, 96, 98, 99, 102, 103, 105,
  108, 110, 112, 115, 118, 121, 124, 128, 131, 135, 140, 144, 149, 155, 161, 168, 176, 184, 194,
  204, 217, 231, 248, 268, 293, 322, 360, 410, 480, 582, 751, 1095, 2564,
];

/**
 * The 256 values that hashed Gaussians are made of: each byte of a 16-bit field of a hash selects a
 * value, and their sum is nearly Gaussian with variance 1. Value i is the mean of the i-th of 128
 * slices of equal probability of a half Gaussian with variance 1/2, and value 128 + i its negative.
 * Values are multiples of 1/8192, so that sums are exact. As an example, the codes of (1, .9) and
 * (1, -.9) are expected to differ in .46651 of the bits, with exact Gaussians in .46652.
 */
export const GAUSSIAN_TABLE: Float64Array = /* @__PURE__ */ gaussianTable();

function gaussianTable(): Float64Array {
  const table = new Float64Array(256);
  let value = 0;
  STEPS.forEach((step, i) => {
    value += step / 8192;
    table[i] = value;
    table[128 + i] = -value;
  });
  return table;
}

export const scalarSums: SumsKernel = {
  name: 'scalar',

  sumsInto(rule, rows, sums) {
    if ('width' in rows) denseSumsInto(rule, rows, 0, sums);
    else sparseSumsInto(rule, rows, 0, sums);
  },

  codesInto(rule, rows, codes, flags) {
    const sums = new Float64Array(rule.bits);
    for (let row = 0; row < rows.count; row++) {
      if ('width' in rows) denseSumsInto(rule, rows, row, sums);
      else sparseSumsInto(rule, rows, row, sums);
      flags[row] = signsInto(sums, codes, row);
    }
  },
};

function denseSumsInto(rule: Rule, rows: DenseRows, row: number, sums: Float64Array): void {
  const { width, values } = rows;
  const vector = values.subarray(row * width, (row + 1) * width);
  if (rule.projection === 'hadamard') {
    addHadamard(rule, vector, sums);
    return;
  }
  sums.fill(0, 0, rule.bits);
  for (let dimension = 0; dimension < width; dimension++) {
    addEntry(rule, BigInt(dimension), vector[dimension], sums);
  }
}

function sparseSumsInto(rule: Rule, rows: SparseRows, row: number, sums: Float64Array): void {
  const { offsets, dimensions, values, patterns } = rows;
  sums.fill(0, 0, rule.bits);
  for (let i = offsets[row]; i < offsets[row + 1]; i++) {
    if (patterns === undefined) {
      addEntry(rule, BigInt(dimensions[i]), values[i], sums);
    } else {
      addGiven(patterns, i, dimensions.length, values[i], rule.bits, sums);
    }
  }
}

/** Adds one entry by its hashed pattern: word w of the pattern hashes with seed + w. */
function addEntry(rule: Rule, dimension: bigint, value: number, sums: Float64Array): void {
  const isGaussian = rule.projection === 'gaussian';
  const step = isGaussian ? 4 : 64; // sums for which one hash word suffices
  for (let first = 0; first < rule.bits; first += step) {
    const hash = halves(hashDimension(dimension, rule.seed + BigInt(first / step)));
    const count = Math.min(step, rule.bits - first);
    if (isGaussian) addGaussians(hash.low, hash.high, value, sums, first, count);
    else addSigned(hash.low, hash.high, value, sums, first, count);
  }
}

/** Adds one entry by the caller's pattern. */
function addGiven(
  patterns: BigUint64Array,
  entry: number,
  entries: number,
  value: number,
  bits: number,
  sums: Float64Array,
): void {
  for (let first = 0; first < bits; first += 64) {
    const { low, high } = halves(patterns[(first / 64) * entries + entry]);
    addSigned(low, high, value, sums, first, Math.min(64, bits - first));
  }
}

/** Adds +value where the pattern's bit is 1 and -value where it is 0. */
function addSigned(
  low: number,
  high: number,
  value: number,
  sums: Float64Array,
  first: number,
  count: number,
): void {
  for (let j = 0; j < count; j++) {
    const bit = ((j < 32 ? low : high) >>> (j & 31)) & 1;
    sums[first + j] += bit === 1 ? value : -value;
  }
}

/** Adds the value times the Gaussian of each of four 16-bit fields of a hash. */
function addGaussians(
  low: number,
  high: number,
  value: number,
  sums: Float64Array,
  first: number,
  count: number,
): void {
  for (let j = 0; j < count; j++) {
    const field = ((j < 2 ? low : high) >>> (16 * (j & 1))) & 0xffff;
    sums[first + j] += value * (GAUSSIAN_TABLE[field & 255] + GAUSSIAN_TABLE[field >>> 8]);
  }
}

/** Sets all sums: rounds of hashed flips and a Walsh-Hadamard transform for each `size` bits. */
function addHadamard(rule: Rule, vector: Float32Array | Float64Array, sums: Float64Array): void {
  const size = hadamardSize(vector.length);
  const mixed = new Float64Array(size);
  for (let first = 0, block = 0; first < rule.bits; first += size, block++) {
    mixed.fill(0);
    mixed.set(vector);
    for (let round = 0; round < HADAMARD_ROUNDS; round++) {
      flip(mixed, rule.seed + BigInt(HADAMARD_ROUNDS * block + round));
      walshHadamard(mixed);
    }
    sums.set(mixed.subarray(0, Math.min(size, rule.bits - first)), first);
  }
}

/** Negates element i where bit i % 64 of the hash of i / 64 is 0. */
function flip(mixed: Float64Array, seed: bigint): void {
  for (let i = 0; i < mixed.length; i += 64) {
    const { low, high } = halves(hashDimension(BigInt(i / 64), seed));
    for (let j = 0; j < 64; j++) {
      if ((((j < 32 ? low : high) >>> (j & 31)) & 1) === 0) mixed[i + j] = -mixed[i + j];
    }
  }
}

/** The Walsh-Hadamard transform of a power of two of values, in place, not normalized. */
function walshHadamard(mixed: Float64Array): void {
  for (let span = 1; span < mixed.length; span *= 2) {
    for (let i = 0; i < mixed.length; i++) {
      if ((i & span) !== 0) continue;
      const a = mixed[i];
      const b = mixed[i + span];
      mixed[i] = a + b;
      mixed[i + span] = a - b;
    }
  }
}

/** Writes the code of `row`, whose bit j is 1 where sum j is above zero; returns its flags. */
export function signsInto(sums: Float64Array, codes: Uint8Array, row: number): number {
  const bytesPerCode = Math.ceil(sums.length / 8);
  const code = codes.subarray(row * bytesPerCode, (row + 1) * bytesPerCode).fill(0);
  let flags = ALL_ZERO;
  for (let j = 0; j < sums.length; j++) {
    if (sums[j] > 0) code[j >> 3] |= 1 << (j & 7);
    if (!Number.isFinite(sums[j])) flags |= NOT_FINITE;
    if (sums[j] !== 0) flags &= ~ALL_ZERO;
  }
  return flags;
}
