/**
 * Vectors to codes by random hyperplanes that are never stored (Charikar 2002; Manku, Jain & Das
 * Sarma 2007, section 3): the pattern of each dimension is derived from a hash, the vector's values
 * are summed into `bits` float64 accumulators with its signs, and bit j is 1 when sum j is above
 * zero. Guarantee: the same vector and options give the same code on every engine, processor and
 * kernel; test/hashing/golden.json holds digests of them.
 */

import { isValid } from '../base/bitmap';
import {
  checkBits,
  checkInteger,
  checkOneOf,
  checkOptions,
  checkSeed,
  wrongType,
  wrongValue,
} from '../base/check';
import {
  checkLongCall,
  LONG_CALL,
  type LongCall,
  runSteps,
  runStepsAsync,
  type Steps,
} from '../base/steps';
import { bytesPerCode, type CodeOrigin, Codes } from '../codes/codes';
import { type KernelName, resolveKernel, sumsKernel } from '../kernels/kernels';
import {
  ALL_ZERO,
  type DenseRows,
  NOT_FINITE,
  type Rule,
  type SparseRows,
  type SumsKernel,
} from '../kernels/sums/sums.scalar';
import { badValue, canonicalRows, wideDimensions } from '../vectors/sparse-rows';
import {
  checkDenseMatrix,
  checkEntries,
  checkNumbers,
  checkSparseMatrix,
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
import { type PatternFunction, patternWords } from './patterns';

export const PROJECTIONS = ['signs', 'gaussian', 'hadamard', 'direct'] as const;
export type Projection = (typeof PROJECTIONS)[number];

export interface SimHasherOptions {
  /** Width of a code, 1 to 65,535. More bits mean less error: `bitsFor` computes how many. */
  bits?: number;
  /**
   * An integer from 0 to 2^64 - 1. Word w of a pattern hashes with seed + w, so seeds that are to
   * give independent codes must differ by more than the words of a code.
   */
  seed?: number | bigint;
  /**
   * How the planes are made: 'signs' (±1), 'gaussian', 'hadamard' (dense vectors only, fastest) or
   * 'direct' (sparse vectors only: the 64 bits of a dimension are its pattern).
   */
  projection?: Projection;
  /** Width of the vectors: needed for 'hadamard' and flat batches; other widths are refused. */
  dimensions?: number;
  /** What an all-zero vector, which has no direction, becomes: an error, or a null code. */
  zero?: 'error' | 'null';
  /** Patterns of the caller's own, in place of a projection. */
  pattern?: PatternFunction;
  /** Forces a kernel; all give equal codes. */
  kernel?: KernelName;
}

/** The options that a hasher has where none are given. */
export const SIMHASHER_DEFAULTS = {
  bits: 64,
  seed: 0,
  projection: 'signs',
  zero: 'error',
  kernel: 'auto',
} as const;

const OPTIONS = ['bits', 'seed', 'projection', 'dimensions', 'zero', 'pattern', 'kernel'];
/** The kernel of 'hadamard' takes 48 bytes a dimension: 805 MB here. */
const MAX_HADAMARD_DIMENSIONS = 2 ** 24;
/** Limits of a step, each some milliseconds of work: rows, entries of sparse rows, and pattern
 * words (one for each 64 bits of each value) of dense rows. */
const STEP_ROWS = 4096;
const STEP_ENTRIES = 65_536;
const STEP_WORDS = 2 ** 19;

/**
 * Turns vectors into codes. Immutable, so one hasher serves any number of callers.
 *
 * @example
 * const hasher = new SimHasher({ bits: 256, dimensions: 3, projection: 'hadamard' });
 * const codes = hasher.hashAll([[0.2, 0.9, 0.1], [0.3, 0.8, 0.1], [0.9, 0.1, 0.4]]);
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
  readonly #pattern: PatternFunction | undefined;
  readonly #kernel: SumsKernel;
  readonly #rule: Rule;

  constructor(options?: SimHasherOptions) {
    const given = { ...SIMHASHER_DEFAULTS, ...checkOptions('options', options, OPTIONS) };
    this.bits = checkBits(given.bits);
    this.seed = checkSeed(given.seed);
    this.projection = checkOneOf('projection', given.projection, PROJECTIONS);
    this.zero = checkOneOf('zero', given.zero, ['error', 'null']);
    this.bytesPerCode = bytesPerCode(this.bits);
    this.#kernel = sumsKernel(resolveKernel(given.kernel));
    if (given.dimensions !== undefined) {
      this.dimensions = checkInteger('dimensions', given.dimensions, 1, Number.MAX_SAFE_INTEGER);
    }
    if (given.pattern !== undefined) {
      if (typeof given.pattern !== 'function') {
        throw wrongType('pattern', 'a function', given.pattern);
      }
      if (options?.projection !== undefined) {
        throw new TypeError('"pattern" takes the place of "projection", give one of them');
      }
      this.#pattern = given.pattern;
    }
    if (this.projection === 'direct' && this.bits > 64) {
      throw wrongValue('bits', `at most 64 for projection 'direct'`, this.bits);
    }
    if (this.projection === 'hadamard') {
      checkInteger('dimensions', given.dimensions, 1, MAX_HADAMARD_DIMENSIONS);
    }
    const isGiven = this.#pattern !== undefined || this.projection === 'direct';
    this.#rule = {
      projection: isGiven ? 'given' : (this.projection as 'signs' | 'gaussian' | 'hadamard'),
      bits: this.bits,
      seed: this.seed,
    };
  }

  /** What a file of codes records so that matching codes can be made; undefined with `pattern`. */
  get origin(): CodeOrigin | undefined {
    if (this.#pattern !== undefined) return undefined;
    const { projection, seed, dimensions } = this;
    return { projection, seed: seed.toString(), ...(dimensions !== undefined && { dimensions }) };
  }

  /** The code of one vector, `bytesPerCode` bytes. An all-zero vector is a RangeError. */
  hash(vector: Vector): Uint8Array {
    const code = new Uint8Array(this.bytesPerCode);
    if (!this.hashInto(vector, code)) throw allZero(0);
    return code;
  }

  /**
   * Writes the code of one vector to the start of `out`. Returns false, with zeros written, for an
   * all-zero vector when `zero` is 'null'.
   */
  hashInto(vector: Vector, out: Uint8Array): boolean {
    if (!(out instanceof Uint8Array)) throw wrongType('out', 'a Uint8Array', out);
    if (out.length < this.bytesPerCode) {
      throw wrongValue('out', `at least ${this.bytesPerCode} bytes`, out.length);
    }
    const code = out.length === this.bytesPerCode ? out : out.subarray(0, this.bytesPerCode);
    const made = new Uint8Array(this.bytesPerCode);
    const flags = new Uint8Array(1);
    const rows = this.#oneRow(vector);
    if ('width' in rows) this.#kernel.denseCodesInto(this.#rule, rows, made, flags);
    else this.#kernel.sparseCodesInto(this.#rule, rows, made, flags);
    const hasCode = flags[0] === 0 || this.#hasDirection(rows, 0, 0, flags[0]);
    code.set(hasCode ? made : new Uint8Array(this.bytesPerCode));
    return hasCode;
  }

  /** The `bits` float64 sums of one vector, whose signs are its code. */
  accumulate(vector: Vector): Float64Array {
    const sums = new Float64Array(this.bits);
    const rows = this.#oneRow(vector);
    if ('width' in rows) this.#kernel.denseSumsInto(this.#rule, rows, 0, sums);
    else this.#kernel.sparseSumsInto(this.#rule, rows, 0, sums);
    if (!areFinite(sums)) throw notFinite(rows, 0, 0);
    return sums;
  }

  /**
   * The codes of a batch: a dense matrix `{ values, dimensions }`, sparse rows `{ offsets, indices,
   * values }`, an array of vectors, or a flat Float32Array or Float64Array when the hasher was made
   * with `dimensions`. Null rows, and all-zero ones with `zero: 'null'`, get null codes.
   */
  hashAll(batch: VectorBatch, options?: LongCall): Codes {
    const given = checkOptions('options', options, LONG_CALL);
    return runSteps(this.hashInSteps(batch), checkLongCall(given));
  }

  /** `hashAll` in short steps, between which the event loop runs. The batch must not change. */
  async hashAllAsync(batch: VectorBatch, options?: LongCall): Promise<Codes> {
    const given = checkOptions('options', options, LONG_CALL);
    return runStepsAsync(this.hashInSteps(batch), checkLongCall(given));
  }

  /**
   * The work of `hashAll` in steps. A part of a longer work passes the row that its first row is
   * there, by which errors and progress count, and the rows of the whole.
   * @internal
   */
  *hashInSteps(batch: VectorBatch, firstRow = 0, total?: number): Steps<Codes> {
    const matrix = matrixOf(batch, this.dimensions);
    const isDenseBatch = isDenseMatrix(matrix);
    const count = isDenseBatch ? checkDenseMatrix(matrix) : checkSparseMatrix(matrix);
    if (isDenseBatch && count > 0) this.#checkWidth(matrix.dimensions);
    const validity = new Uint8Array(Math.ceil(count / 8)).fill(0xff);
    const codes = Codes.allocate(count, { bits: this.bits, validity, origin: this.origin });
    let nullCount = 0;
    for (let first = 0; first < count; ) {
      const end = isDenseBatch
        ? Math.min(count, first + this.#rowsOfWidth(matrix.dimensions))
        : stepEnd(matrix.offsets, first, count, this.#stepEntries);
      const rows = isDenseBatch
        ? this.#rows(denseStep(matrix, first, end))
        : this.#sparse(matrix, first, end);
      const flags = new Uint8Array(rows.count);
      const bytes = codes.bytes.subarray(first * this.bytesPerCode, end * this.bytesPerCode);
      if ('width' in rows) this.#kernel.denseCodesInto(this.#rule, rows, bytes, flags);
      else this.#kernel.sparseCodesInto(this.#rule, rows, bytes, flags);
      for (let i = 0; i < rows.count; i++) {
        const row = first + i;
        const isPresent = isValid(matrix.validity, row);
        const number = firstRow + row;
        if (isPresent && (flags[i] === 0 || this.#hasDirection(rows, i, number, flags[i])))
          continue;
        codes.at(row).fill(0);
        validity[row >> 3] &= ~(1 << (row & 7));
        nullCount++;
      }
      first = end;
      yield [firstRow + first, total ?? firstRow + count];
    }
    return nullCount > 0 ? codes : codes.withoutValidity();
  }

  /** Entries of a step. The caller's patterns are copied, so wide ones leave room for fewer. */
  get #stepEntries(): number {
    return this.#pattern === undefined ? STEP_ENTRIES : STEP_ENTRIES / Math.ceil(this.bits / 64);
  }

  /** Dense rows of a step. */
  #rowsOfWidth(width: number): number {
    if (this.#pattern === undefined) {
      const words = this.projection === 'hadamard' ? 1 : Math.ceil(this.bits / 64);
      return Math.max(1, Math.min(STEP_ROWS, Math.floor(STEP_WORDS / (width * words))));
    }
    return Math.max(1, Math.min(STEP_ROWS, Math.floor(this.#stepEntries / width)));
  }

  /** A vector of the caller's as one row, its shape checked. */
  #oneRow(vector: Vector): DenseRows | SparseRows {
    if (isSparse(vector)) {
      checkEntries('', vector.indices, vector.values);
      return this.#sparse({ ...vector, offsets: [0, vector.indices.length] }, 0, 1);
    }
    if (!isDense(vector)) throw notAVector('vector', vector);
    this.#checkWidth(vector.length);
    if (Array.isArray(vector)) checkNumbers(vector, null);
    return this.#rows({
      count: 1,
      width: vector.length,
      values: Array.isArray(vector) ? Float64Array.from(vector) : (vector as Float64Array),
    });
  }

  /** Throws unless dense vectors of this width can be hashed. */
  #checkWidth(width: number): void {
    if (this.dimensions !== undefined && width !== this.dimensions) {
      throw new RangeError(`expected a vector of ${this.dimensions} dimensions, got ${width}`);
    }
    if (this.projection === 'direct') {
      throw new TypeError(`projection 'direct' takes sparse vectors: a dimension is its pattern`);
    }
  }

  /** Dense rows for the kernel: unchanged, or as sparse ones with the caller's patterns. */
  #rows(rows: DenseRows): DenseRows | SparseRows {
    if (this.#pattern === undefined) return rows;
    const { count, width, values } = rows;
    const entries = count * width;
    const sparse = {
      count,
      offsets: Uint32Array.from({ length: count + 1 }, (_, row) => row * width),
      dimensions: BigUint64Array.from({ length: entries }, (_, i) => BigInt(i % width)),
      values: Float64Array.from(values),
    };
    return { ...sparse, patterns: patternWords(this.#pattern, sparse.dimensions, this.bits) };
  }

  /** Rows `first` to `end - 1`, dimensions ascending and unique, with patterns where given. */
  #sparse(matrix: SparseMatrix, first: number, end: number): SparseRows {
    if (this.projection === 'hadamard') {
      throw new TypeError(`projection 'hadamard' takes dense vectors; 'signs' takes both`);
    }
    const rows = canonicalRows(matrix, first, end);
    if (this.dimensions !== undefined) this.#checkDimensions(rows, first);
    const isGiven = this.#pattern !== undefined || this.projection === 'direct';
    if (!isGiven) return rows;
    const dimensions = wideDimensions(rows.dimensions);
    const patterns =
      this.#pattern === undefined ? dimensions : patternWords(this.#pattern, dimensions, this.bits);
    return { ...rows, patterns };
  }

  /** Throws unless all dimensions are below `dimensions`; the last of a row is its largest. */
  #checkDimensions(rows: SparseRows, first: number): void {
    const limit = this.dimensions as number;
    for (let row = 0; row < rows.count; row++) {
      const end = rows.offsets[row + 1];
      if (end === rows.offsets[row] || rows.dimensions[end - 1] < limit) continue;
      throw new RangeError(
        `row ${first + row}: expected dimensions below ${limit}, got ${rows.dimensions[end - 1]}`,
      );
    }
  }

  /**
   * Whether a row that the kernel flagged has a code. Throws for a value that is not finite, and
   * for an all-zero row unless `zero` is 'null'. Values that cancel out in every sum have a code.
   */
  #hasDirection(rows: DenseRows | SparseRows, index: number, row: number, flags: number): boolean {
    if (flags & NOT_FINITE) throw notFinite(rows, index, row);
    if (flags & ALL_ZERO && entriesOf(rows, index).values.some((value) => value !== 0)) return true;
    if (this.zero === 'error') throw allZero(row);
    return false;
  }
}

function denseStep(matrix: DenseMatrix, first: number, end: number): DenseRows {
  const { values, dimensions } = matrix;
  return {
    count: end - first,
    width: dimensions,
    values: values.subarray(first * dimensions, end * dimensions),
  };
}

/** The end of a step that begins at row `first`: at least one row, however many entries it has. */
function stepEnd(
  offsets: SparseMatrix['offsets'],
  first: number,
  count: number,
  entries: number,
): number {
  let end = first + 1;
  const most = offsets[first] + entries;
  while (end < count && end - first < STEP_ROWS && offsets[end + 1] <= most) end++;
  return end;
}

/** A row's values as a plain array, and where they begin; only for messages and rare rows. */
function entriesOf(rows: DenseRows | SparseRows, index: number) {
  const isDenseRow = 'width' in rows;
  const from = isDenseRow ? index * rows.width : rows.offsets[index];
  const to = isDenseRow ? from + rows.width : rows.offsets[index + 1];
  return { from, values: Array.from(rows.values.subarray(from, to)) };
}

/** A plain loop: `every` takes 30 ns a value. */
function areFinite(sums: Float64Array): boolean {
  for (let i = 0; i < sums.length; i++) if (!Number.isFinite(sums[i])) return false;
  return true;
}

/** The error of a row whose sums are not finite: a bad value, or finite ones that overflow. */
function notFinite(rows: DenseRows | SparseRows, index: number, row: number): RangeError {
  const { from, values } = entriesOf(rows, index);
  const at = values.findIndex((value) => !Number.isFinite(value));
  if (at < 0) return new RangeError(`row ${row}: the values are too large, their sums overflow`);
  return badValue(row, 'width' in rows ? at : rows.dimensions[from + at], values[at]);
}

function allZero(row: number): RangeError {
  return new RangeError(
    `row ${row}: an all-zero vector has no direction (hashAll makes its code null by zero: 'null')`,
  );
}
