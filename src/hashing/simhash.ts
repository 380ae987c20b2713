/**
 * Turns vectors into codes by random hyperplanes that are never stored (Charikar 2002; Manku, Jain
 * & Das Sarma 2007, section 3): a hash of each dimension gives a pattern of signs, with which the
 * dimension's value is added to `bits` float64 sums, and bit j is 1 when sum j is above zero.
 * Guarantee: the same vector and options give the same code on every engine, processor and kernel;
 * test/hashing/golden.json holds digests of codes.
 */

import { isValid } from '../base/arrays';
import {
  checkInteger,
  checkOptions,
  checkSeed,
  checkText,
  MAX_BITS,
  wrongType,
  wrongValue,
} from '../base/check';
import { type LongCall, LongWork } from '../base/long-work';
import { bytesPerCode, type CodeOrigin, Codes } from '../codes/codes';
import { sumsKernel } from '../kernels/kernels';
import { setMemory } from '../kernels/sets';
import { ALL_ZERO, type DenseRows, NOT_FINITE, type Rule, type SparseRows } from '../kernels/sums';
import type { Job, Task } from '../threads/job';
import { runJob } from '../threads/parallel';
import { canonicalRows, wideDimensions } from '../vectors/sparse-rows';
import {
  checkEntries,
  checkMatrix,
  checkNumbers,
  type DenseMatrix,
  isDense,
  isDenseMatrix,
  isSparse,
  matrixOf,
  notAVector,
  type SparseMatrix,
  type Vector,
  type VectorBatch,
} from '../vectors/vectors';
import {
  allZero,
  areFinite,
  notFinite,
  type PatternFunction,
  PROJECTIONS,
  type Projection,
  patternWords,
  type RowCodes,
  readMembers,
  rowsOfMatrix,
  valuesOf,
} from './rows';

export { PROJECTIONS, type Projection };

export interface SimHasherOptions {
  /** Width of a code, 1 to 65,535. More bits mean less error: `bitsFor` computes how many. */
  bits?: number;
  /**
   * An integer from 0 to 2^64 - 1. Word w of a pattern hashes with seed + w, so two seeds give
   * independent codes only if they differ by more than the number of words of a code.
   */
  seed?: number | bigint;
  /**
   * How planes are made: 'signs' (±1), 'gaussian', 'hadamard' (dense vectors only, fastest) or
   * 'direct' (sparse ones: a dimension is its pattern). 'minwise' has no planes: distances estimate
   * the Jaccard similarity of sets, a set being the dimensions of a sparse vector; the values do
   * not count, unless they are 0.
   */
  projection?: Projection;
  /** Width of the vectors; needed for 'hadamard'. Other widths are refused. */
  dimensions?: number;
  /** What an all-zero vector becomes: an error, or a null code. */
  zero?: 'error' | 'null';
  /** The caller's own patterns, in place of a projection. */
  pattern?: PatternFunction;
  /**
   * The `origin.texts` of the `TextHasher` that made the vectors. It is recorded with the codes,
   * and comparing them with codes of texts that were read otherwise is refused.
   */
  texts?: string;
}

/** The options that a hasher uses where none are given. */
export const SIMHASHER_DEFAULTS = {
  bits: 64,
  seed: 0,
  projection: 'signs',
  zero: 'error',
} as const;

/** What the options of a hasher may be. */
export const HASHER_OPTIONS = {
  bits: { min: 1, max: MAX_BITS },
  seed: null,
  projection: PROJECTIONS,
  dimensions: { min: 1 },
  zero: ['error', 'null'],
  pattern: null,
  texts: checkText,
} as const;

/** The kernel of 'hadamard' takes 48 bytes a dimension: 805 MB for this many. */
const MAX_HADAMARD_DIMENSIONS = 2 ** 24;

/**
 * Limits of a part of a batch, each some milliseconds of work: rows, entries of sparse rows, and
 * pattern words (one for each 64 bits of each value) of dense rows.
 */
const PART_ROWS = 4096;
const PART_ENTRIES = 65_536;
const PART_WORDS = 2 ** 19;

/**
 * Turns vectors into codes. A hasher is immutable, so any number of callers can share it.
 *
 * @example
 * const hasher = new SimHasher({ bits: 256, dimensions: 3, projection: 'hadamard' });
 * const codes = await hasher.hashAll([[0.2, 0.9, 0.1], [0.3, 0.8, 0.1], [0.9, 0.1, 0.4]]);
 * console.log(codes.count, codes.distance(0, 1), codes.distance(0, 2)); // 3 11 98
 */
export class SimHasher {
  /** Width of a code. */
  readonly bits: number;
  /** The seed of the hyperplanes. */
  readonly seed: bigint;
  /** How the hyperplanes are made. */
  readonly projection: Projection;
  /** Width of the vectors, if it is fixed. */
  readonly dimensions: number | undefined;
  /** What an all-zero vector becomes: an error, or a null code. */
  readonly zero: 'error' | 'null';
  /** Bytes of a code: `bits / 8`, rounded up. */
  readonly bytesPerCode: number;
  readonly #texts: string | undefined;
  readonly #pattern: PatternFunction | undefined;
  readonly #kernel = sumsKernel();
  /** 'direct' and the caller's patterns are projection 'given': patterns come with the rows. */
  readonly #rule: Rule;

  constructor(options?: SimHasherOptions) {
    const given = { ...SIMHASHER_DEFAULTS, ...checkOptions(options, HASHER_OPTIONS) };
    this.bits = given.bits;
    this.seed = checkSeed(given.seed);
    this.projection = given.projection;
    this.zero = given.zero;
    this.bytesPerCode = bytesPerCode(this.bits);
    this.dimensions = given.dimensions;
    const { texts, pattern } = given;
    if (pattern !== undefined && typeof pattern !== 'function') {
      throw wrongType('pattern', 'a function', pattern);
    }
    if (pattern !== undefined && options?.projection !== undefined) {
      throw new TypeError('"pattern" takes the place of "projection", give one of them');
    }
    if (this.projection === 'direct' && this.bits > 64) {
      throw wrongValue('bits', `at most 64 for projection 'direct'`, this.bits);
    }
    if (this.projection === 'hadamard') {
      checkInteger('dimensions', given.dimensions, 1, MAX_HADAMARD_DIMENSIONS);
    }
    this.#texts = texts;
    this.#pattern = pattern;
    const { bits, seed, projection } = this;
    const isGiven = pattern !== undefined || projection === 'direct';
    this.#rule = { projection: isGiven ? 'given' : projection, bits, seed } as Rule;
  }

  /** Options that make an equal hasher. */
  get options(): SimHasherOptions {
    const { bits, seed, projection, dimensions, zero } = this;
    const [texts, pattern] = [this.#texts, this.#pattern];
    return {
      bits,
      seed,
      zero,
      ...(dimensions !== undefined && { dimensions }),
      ...(texts !== undefined && { texts }),
      ...(pattern === undefined ? { projection } : { pattern }),
    };
  }

  /** How codes are made, as files record it; undefined with `pattern`. */
  get origin(): CodeOrigin | undefined {
    const { projection, seed, dimensions } = this;
    const texts = this.#texts;
    if (this.#pattern !== undefined) return undefined;
    return {
      projection,
      seed: seed.toString(),
      ...(dimensions !== undefined && { dimensions }),
      ...(texts !== undefined && { texts }),
    };
  }

  /** The code of a vector, a new array. Throws for an all-zero vector. */
  hash(vector: Vector): Uint8Array {
    const { bytes, isNull } = this.codeOf(vector);
    if (isNull[0] === 1) throw allZero(0);
    return bytes;
  }

  /**
   * The code of a vector. Throws for an all-zero one unless `zero` is 'null'.
   * @internal
   */
  codeOf(vector: Vector): RowCodes {
    return this.codesOf(this.#matrixOf(vector), 1, 0);
  }

  /** The `bits` float64 sums whose signs are the code, in a new array. 'minwise' has none. */
  accumulate(vector: Vector): Float64Array {
    if (this.projection === 'minwise') {
      throw new TypeError(`projection 'minwise' has no sums: its bits are of the members of a set`);
    }
    const sums = new Float64Array(this.bits);
    const matrix = this.#matrixOf(vector);
    const rows = isDenseMatrix(matrix)
      ? this.#dense({ count: 1, width: matrix.dimensions, values: matrix.values })
      : this.#sparse(matrix, 1, 0);
    this.#kernel.sumsInto(this.#rule, rows, sums);
    if (!areFinite(sums)) throw notFinite(rows, 0, 0);
    return sums;
  }

  /**
   * The codes of a matrix `{ values, dimensions }`, of sparse rows `{ offsets, indices, values }`
   * or of an array of vectors. Null rows, and all-zero ones with `zero: 'null'`, get null codes.
   * The batch must not change until the promise resolves.
   */
  async hashAll(batch: VectorBatch, options?: LongCall): Promise<Codes> {
    return this.hashBatch(batch, LongWork.of(options));
  }

  /**
   * `hashAll` as a part of a longer call. Codes without null rows have no validity. Parts are views
   * of the batch, which therefore must not change until the work has ended.
   * @internal
   */
  async hashBatch(batch: VectorBatch, work: LongWork): Promise<Codes> {
    const matrix = matrixOf(batch, this.dimensions);
    const isDense = isDenseMatrix(matrix);
    const count = checkMatrix(matrix);
    if (isDense && count > 0) this.#checkWidth(matrix.dimensions);
    // `Codes` does not copy `validity`: clearing its bits below makes rows of `codes` null.
    const validity = new Uint8Array(Math.ceil(count / 8)).fill(0xff);
    const codes = Codes.allocate(count, { bits: this.bits, validity, origin: this.origin });
    const ends = this.#partEnds(matrix, count);
    let hasNulls = false;
    const job: Job<SimHasherOptions, Part, RowCodes> = {
      task: HASHING,
      state: this.options,
      count: ends.length,
      part(i) {
        const [first, end] = [ends[i - 1] ?? 0, ends[i]];
        const rows = rowsOfMatrix(matrix, first, end);
        return { matrix: rows, count: end - first, firstRow: first };
      },
      here: (part) => this.codesOf(part.matrix, part.count, part.firstRow),
      take({ bytes, isNull }, i) {
        const first = ends[i - 1] ?? 0;
        codes.bytes.set(bytes, first * codes.bytesPerCode);
        for (let row = first; row < ends[i]; row++) {
          if (isNull[row - first] === 0) continue;
          validity[row >> 3] &= ~(1 << (row & 7));
          hasNulls = true;
        }
        return [ends[i], count];
      },
    };
    await runJob(job, work);
    return hasNulls ? codes : codes.withoutValidity();
  }

  /**
   * The codes of a matrix of `count` rows; errors call its first row `firstRow`. Throws a
   * RangeError for a row that is not finite, and for an all-zero row unless `zero` is 'null'.
   * @internal
   */
  codesOf(matrix: DenseMatrix | SparseMatrix, count: number, firstRow: number): RowCodes {
    const width = this.bytesPerCode;
    const bytes = new Uint8Array(count * width);
    const flags = new Uint8Array(count);
    const isNull = new Uint8Array(count);
    const rows = isDenseMatrix(matrix)
      ? this.#dense({ count, width: matrix.dimensions, values: matrix.values })
      : this.#sparse(matrix, count, firstRow);
    const isOfSets = this.projection === 'minwise';
    if (isOfSets) this.#setCodesInto(rows as SparseRows, bytes, flags);
    else this.#kernel.codesInto(this.#rule, rows, bytes, flags);
    for (let i = 0; i < count; i++) {
      const isPresent = isValid(matrix.validity, i);
      const row = firstRow + i;
      if (isPresent && (flags[i] === 0 || this.#hasDirection(rows, i, row, flags[i]))) continue;
      bytes.fill(0, i * width, (i + 1) * width);
      isNull[i] = 1;
    }
    return { bytes, isNull };
  }

  /** Codes by 'minwise': the set of a row is its dimensions whose value is not zero. */
  #setCodesInto(rows: SparseRows, codes: Uint8Array, flags: Uint8Array): void {
    const width = this.bytesPerCode;
    for (let row = 0; row < rows.count; row++) {
      const memory = setMemory();
      flags[row] = readMembers(rows, row, memory);
      const code = codes.subarray(row * width, (row + 1) * width);
      memory.codeInto(this, code);
    }
  }

  /** Throws unless dense vectors of this width can be hashed. */
  #checkWidth(width: number): void {
    const { dimensions, projection } = this;
    if (dimensions !== undefined && width !== dimensions) {
      throw new RangeError(`expected a vector of ${dimensions} dimensions, got ${width}`);
    }
    if (projection === 'direct') {
      throw new TypeError(`projection 'direct' takes sparse vectors: a dimension is its pattern`);
    }
    if (projection === 'minwise') {
      throw new TypeError(`projection 'minwise' takes sparse vectors: the dimensions are a set`);
    }
  }

  /** The row at which each part of a batch ends, ascending, by the limits above. */
  #partEnds(matrix: DenseMatrix | SparseMatrix, count: number): number[] {
    const { bits, projection } = this;
    const pattern = this.#pattern;
    // The caller's patterns are copied, so a part of wide ones has fewer entries.
    const words = Math.ceil(bits / 64);
    const entries = pattern === undefined ? PART_ENTRIES : PART_ENTRIES / words;
    const ends: number[] = [];
    if (!isDenseMatrix(matrix)) {
      for (let end = 0; end < count; ends.push(end)) {
        end = sparseEnd(matrix.offsets, end, count, entries);
      }
      return ends;
    }
    const perRow = matrix.dimensions * (projection === 'hadamard' ? 1 : words);
    const most = pattern === undefined ? PART_WORDS / perRow : entries / matrix.dimensions;
    const rows = Math.max(1, Math.min(PART_ROWS, Math.floor(most)));
    for (let end = 0; end < count; ends.push(end)) end = Math.min(count, end + rows);
    return ends;
  }

  /** Checks the shape of a caller's vector; returns it as a matrix of one row, copied if needed. */
  #matrixOf(vector: Vector): DenseMatrix | SparseMatrix {
    if (isSparse(vector)) {
      checkEntries('', vector.indices, vector.values);
      return { ...vector, offsets: [0, vector.indices.length] };
    }
    if (!isDense(vector)) throw notAVector('vector', vector);
    this.#checkWidth(vector.length);
    if (Array.isArray(vector)) checkNumbers(vector, null);
    const values = Array.isArray(vector) ? Float64Array.from(vector) : (vector as Float64Array);
    return { values, dimensions: vector.length };
  }

  /** Dense rows for the kernel: unchanged, or with the caller's patterns as sparse rows. */
  #dense(rows: DenseRows): DenseRows | SparseRows {
    const pattern = this.#pattern;
    if (pattern === undefined) return rows;
    const { count, width, values } = rows;
    const entries = count * width;
    const sparse = {
      count,
      offsets: Uint32Array.from({ length: count + 1 }, (_, row) => row * width),
      dimensions: BigUint64Array.from({ length: entries }, (_, i) => BigInt(i % width)),
      values: Float64Array.from(values),
    };
    return { ...sparse, patterns: patternWords(pattern, sparse.dimensions, this.bits) };
  }

  /** Sparse rows for the kernel: dimensions ascending and unique, and with patterns if given. */
  #sparse(matrix: SparseMatrix, count: number, firstRow: number): SparseRows {
    const { bits, projection } = this;
    const pattern = this.#pattern;
    if (projection === 'hadamard') {
      throw new TypeError(`projection 'hadamard' takes dense vectors; 'signs' takes both`);
    }
    const rows = canonicalRows(matrix, 0, count, firstRow);
    this.#checkDimensions(rows, firstRow);
    if (pattern === undefined && projection !== 'direct') return rows;
    const dimensions = wideDimensions(rows.dimensions);
    const patterns = pattern === undefined ? dimensions : patternWords(pattern, dimensions, bits);
    return { ...rows, patterns };
  }

  /**
   * Throws unless all dimensions are below the option `dimensions`; the last of a row is largest.
   */
  #checkDimensions(rows: SparseRows, firstRow: number): void {
    const limit = this.dimensions;
    for (let row = 0; limit !== undefined && row < rows.count; row++) {
      const end = rows.offsets[row + 1];
      const last = rows.dimensions[end - 1];
      if (end === rows.offsets[row] || last < limit) continue;
      const where = `row ${firstRow + row}`;
      throw new RangeError(`${where}: expected dimensions below ${limit}, got ${last}`);
    }
  }

  /**
   * True where a row that the kernel flagged has a code: one whose values are not all zero, but
   * cancel out in every sum. Throws for a value that is not finite, and for an all-zero row unless
   * `zero` is 'null'.
   */
  #hasDirection(rows: DenseRows | SparseRows, index: number, row: number, flags: number): boolean {
    if (flags & NOT_FINITE) throw notFinite(rows, index, row);
    if (flags & ALL_ZERO && valuesOf(rows, index).some((value) => value !== 0)) return true;
    if (this.zero === 'error') throw allZero(row);
    return false;
  }
}

/** Consecutive rows of a batch. */
interface Part {
  readonly matrix: DenseMatrix | SparseMatrix;
  readonly count: number;
  /** The row of the first one in the whole, for messages. */
  readonly firstRow: number;
}

/** The task that hashes one part; `worker.ts` lists it, so that worker threads can run it. */
export const HASHING: Task<SimHasherOptions, Part, RowCodes> = {
  name: 'hashing',
  open(options) {
    const hasher = new SimHasher(options);
    return ({ matrix, count, firstRow }) => hasher.codesOf(matrix, count, firstRow);
  },
};

/** The end of a part that begins at row `first`: at least one row, however many entries it has. */
function sparseEnd(
  offsets: SparseMatrix['offsets'],
  first: number,
  count: number,
  entries: number,
): number {
  let end = first + 1;
  const most = offsets[first] + entries;
  while (end < count && end - first < PART_ROWS && offsets[end + 1] <= most) end++;
  return end;
}
