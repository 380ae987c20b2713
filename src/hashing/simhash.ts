/**
 * Vectors to codes by random hyperplanes that are never stored (Charikar 2002; Manku, Jain & Das
 * Sarma 2007): the pattern of each dimension is derived from a hash, the vector's values are summed
 * into f accumulators by it, and bit j is 1 when sum j is above zero. The same vector and options
 * give the same code on every engine.
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
import { checkLongCall, LONG_CALL, type LongCall, runSteps, type Steps } from '../base/steps';
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
  isSparseMatrix,
  notAVector,
  packVectors,
  type SparseMatrix,
  type Vector,
  type VectorBatch,
} from '../vectors/vectors';
import { type PatternFunction, patternWords } from './patterns';

export const PROJECTIONS = ['signs', 'gaussian', 'hadamard', 'direct'] as const;
export type Projection = (typeof PROJECTIONS)[number];

export interface SimHasherOptions {
  /** Width of a code, 1 to 65,535. More bits, less error: `bitsFor` tells how many. */
  bits?: number;
  /** 0 to 2^64 - 1. Word w of a pattern hashes with seed + w, so take seeds far apart. */
  seed?: number | bigint;
  /** 'signs', 'gaussian', 'hadamard' (dense only) or 'direct' (a dimension is its own pattern). */
  projection?: Projection;
  /** Width of the vectors. Needed for 'hadamard'; elsewhere it refuses others. */
  dimensions?: number;
  /** An all-zero vector has no direction: 'error', or 'null' for a null code in `hashAll`. */
  zero?: 'error' | 'null';
  /** The caller's own patterns, in place of a projection. */
  pattern?: PatternFunction;
  /** Which twin of the kernels runs; all give equal codes. */
  kernel?: KernelName;
}

export const SIMHASHER_DEFAULTS = {
  bits: 64,
  seed: 0,
  projection: 'signs',
  zero: 'error',
  kernel: 'auto',
} as const;

const OPTIONS = ['bits', 'seed', 'projection', 'dimensions', 'zero', 'pattern', 'kernel'];
/** The transform of so many dimensions takes almost a gigabyte. */
const MAX_HADAMARD_DIMENSIONS = 2 ** 24;
/** Rows, and entries of sparse rows, between two reports of progress. */
const BLOCK_ROWS = 4096;
const BLOCK_ENTRIES = 65_536;
/** Words of patterns of dense rows between two reports. */
const BLOCK_WORK = 2 ** 19;

export class SimHasher {
  readonly bits: number;
  readonly seed: bigint;
  readonly projection: Projection;
  readonly dimensions: number | undefined;
  readonly zero: 'error' | 'null';
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

  /** What to write beside codes so that others can be made to match; absent for own patterns. */
  get origin(): CodeOrigin | undefined {
    if (this.#pattern !== undefined) return undefined;
    const { projection, seed, dimensions } = this;
    return { projection, seed: seed.toString(), ...(dimensions !== undefined && { dimensions }) };
  }

  /** The code of one vector. An all-zero vector is an error. */
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

  /** The f float64 sums of one vector, whose signs are its code. */
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
   * values }`, or an array of vectors. Null rows, and all-zero ones with `zero: 'null'`, get null
   * codes.
   */
  hashAll(batch: VectorBatch, options?: LongCall): Codes {
    const given = checkOptions('options', options, LONG_CALL);
    return runSteps(this.hashInSteps(batch), checkLongCall(given));
  }

  /** The same, in steps. */
  *hashInSteps(batch: VectorBatch): Steps<Codes> {
    const matrix = this.#matrixOf(batch);
    const isDenseBatch = isDenseMatrix(matrix);
    const count = isDenseBatch ? checkDenseMatrix(matrix) : checkSparseMatrix(matrix);
    if (isDenseBatch && count > 0) this.#checkWidth(matrix.dimensions);
    const validity = new Uint8Array(Math.ceil(count / 8)).fill(0xff);
    const codes = Codes.allocate(count, { bits: this.bits, validity, origin: this.origin });
    let nullCount = 0;
    for (let first = 0; first < count; ) {
      const end = isDenseBatch
        ? Math.min(count, first + this.#rowsOfWidth(matrix.dimensions))
        : blockEnd(matrix.offsets, first, count, this.#blockEntries);
      const rows = isDenseBatch
        ? this.#rows(denseBlock(matrix, first, end))
        : this.#sparse(matrix, first, end);
      const flags = new Uint8Array(rows.count);
      const bytes = codes.bytes.subarray(first * this.bytesPerCode, end * this.bytesPerCode);
      if ('width' in rows) this.#kernel.denseCodesInto(this.#rule, rows, bytes, flags);
      else this.#kernel.sparseCodesInto(this.#rule, rows, bytes, flags);
      for (let i = 0; i < rows.count; i++) {
        const row = first + i;
        const isPresent = isValid(matrix.validity, row);
        if (isPresent && (flags[i] === 0 || this.#hasDirection(rows, i, row, flags[i]))) continue;
        codes.at(row).fill(0);
        validity[row >> 3] &= ~(1 << (row & 7));
        nullCount++;
      }
      first = end;
      yield [first, count];
    }
    return nullCount > 0 ? codes : codes.withoutValidity();
  }

  /** Entries of a block of sparse rows. Own patterns are written out, a word for each 64 bits. */
  get #blockEntries(): number {
    return this.#pattern === undefined ? BLOCK_ENTRIES : BLOCK_ENTRIES / Math.ceil(this.bits / 64);
  }

  /** Dense rows of a block: some milliseconds of work. */
  #rowsOfWidth(width: number): number {
    if (this.#pattern === undefined) {
      const words = this.projection === 'hadamard' ? 1 : Math.ceil(this.bits / 64);
      return Math.max(1, Math.min(BLOCK_ROWS, Math.floor(BLOCK_WORK / (width * words))));
    }
    return Math.max(1, Math.min(BLOCK_ROWS, Math.floor(this.#blockEntries / width)));
  }

  #matrixOf(batch: VectorBatch): DenseMatrix | SparseMatrix {
    if (isDenseMatrix(batch) || isSparseMatrix(batch)) return batch;
    if (!Array.isArray(batch)) {
      throw wrongType(
        'batch',
        '{ values, dimensions }, { offsets, indices, values } or an array of vectors',
        batch,
      );
    }
    if (batch.length > 0) return packVectors(batch as readonly Vector[]);
    return { offsets: [0], indices: [], values: [] };
  }

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

  #checkWidth(width: number): void {
    if (this.dimensions !== undefined && width !== this.dimensions) {
      throw new RangeError(`expected a vector of ${this.dimensions} dimensions, got ${width}`);
    }
    if (this.projection === 'direct') {
      throw new TypeError(`projection 'direct' takes sparse vectors: a dimension is its pattern`);
    }
  }

  /** Dense rows as they are, or as entries for the caller's own patterns. */
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

  /** The last dimension of a row is its largest. */
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

  /** Settles a flagged row: true when it has a code after all, false when it is null. */
  #hasDirection(rows: DenseRows | SparseRows, index: number, row: number, flags: number): boolean {
    if (flags & NOT_FINITE) throw notFinite(rows, index, row);
    if (flags & ALL_ZERO && entriesOf(rows, index).values.some((value) => value !== 0)) return true;
    if (this.zero === 'error') throw allZero(row);
    return false;
  }
}

function denseBlock(matrix: DenseMatrix, first: number, end: number): DenseRows {
  const { values, dimensions } = matrix;
  return {
    count: end - first,
    width: dimensions,
    values: values.subarray(first * dimensions, end * dimensions),
  };
}

/** As many whole rows as stay below a block's entries, one at least. */
function blockEnd(
  offsets: SparseMatrix['offsets'],
  first: number,
  count: number,
  entries: number,
): number {
  let end = first + 1;
  const most = offsets[first] + entries;
  while (end < count && end - first < BLOCK_ROWS && offsets[end + 1] <= most) end++;
  return end;
}

function entriesOf(rows: DenseRows | SparseRows, index: number) {
  const isDenseRow = 'width' in rows;
  const from = isDenseRow ? index * rows.width : rows.offsets[index];
  const to = isDenseRow ? from + rows.width : rows.offsets[index + 1];
  return { from, values: Array.from(rows.values.subarray(from, to)) };
}

/** In a loop of its own: `every` takes 30 ns a value. */
function areFinite(sums: Float64Array): boolean {
  for (let i = 0; i < sums.length; i++) if (!Number.isFinite(sums[i])) return false;
  return true;
}

/** Looks for the culprit: a bad value, or finite values whose sums are not. */
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
