/**
 * Turns vectors into codes by random hyperplanes that are never stored (Charikar 2002; Manku, Jain
 * & Das Sarma 2007, section 3): a hash of each dimension gives a pattern of signs, with which the
 * dimension's value is added to `bits` float64 sums, and bit j is 1 when sum j is above zero.
 * Guarantee: the same vector and options give the same code on every engine, processor and kernel;
 * test/hashing/golden.json holds digests of codes.
 */

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
import type { Job, Task } from '../threads/job';
import { runJob } from '../threads/parallel';
import {
  checkMatrix,
  type DenseMatrix,
  isDenseMatrix,
  matrixOf,
  type SparseMatrix,
  type Vector,
  type VectorBatch,
} from '../vectors/vectors';
import {
  allZero,
  type HashSettings,
  type PatternFunction,
  PROJECTIONS,
  type Projection,
  type RowCodes,
  RowHasher,
  rowsOfMatrix,
} from './row-hasher';

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
  readonly #rows: RowHasher;

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
    const { bits, seed, projection, dimensions, zero } = this;
    this.#rows = new RowHasher({ bits, seed, projection, dimensions, zero, texts, pattern });
  }

  /** Options that make an equal hasher. */
  get options(): SimHasherOptions {
    const { projection, ...others } = this.#rows.settings;
    return { ...others, ...(others.pattern === undefined && { projection }) } as SimHasherOptions;
  }

  /** How codes are made, as files record it; undefined with `pattern`. */
  get origin(): CodeOrigin | undefined {
    const { projection, seed, dimensions, texts, pattern } = this.#rows.settings;
    if (pattern !== undefined) return undefined;
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
    return this.#rows.codeOf(vector);
  }

  /** The `bits` float64 sums whose signs are the code. */
  accumulate(vector: Vector): Float64Array {
    return this.#rows.sumsOf(vector);
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
   * The codes of a few sparse rows at once; messages call the first of them row `firstRow`.
   * @internal
   */
  hashRows(rows: SparseMatrix, firstRow: number): RowCodes {
    return this.#rows.codesOf(rows, rows.offsets.length - 1, firstRow);
  }

  /**
   * `hashAll` as a part of a longer call. Codes without null rows have no validity. Parts are views
   * of the batch, which therefore must not change until the work has ended.
   * @internal
   */
  async hashBatch(batch: VectorBatch, work: LongWork): Promise<Codes> {
    const hasher = this.#rows;
    const matrix = matrixOf(batch);
    const isDense = isDenseMatrix(matrix);
    const count = checkMatrix(matrix);
    if (isDense && count > 0) hasher.checkWidth(matrix.dimensions);
    // `Codes` does not copy `validity`: clearing its bits below makes rows of `codes` null.
    const validity = new Uint8Array(Math.ceil(count / 8)).fill(0xff);
    const codes = Codes.allocate(count, { bits: this.bits, validity, origin: this.origin });
    const ends = hasher.partEnds(matrix, count);
    let hasNulls = false;
    const job: Job<HashSettings, Part, RowCodes> = {
      task: HASHING,
      state: hasher.settings,
      count: ends.length,
      part(i) {
        const [first, end] = [ends[i - 1] ?? 0, ends[i]];
        const rows = rowsOfMatrix(matrix, first, end);
        return { matrix: rows, count: end - first, firstRow: first };
      },
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
}

/** Consecutive rows of a batch. */
interface Part {
  readonly matrix: DenseMatrix | SparseMatrix;
  readonly count: number;
  /** The row of the first one in the whole, for messages. */
  readonly firstRow: number;
}

/** The task that hashes one part; `worker.ts` lists it, so that worker threads can run it. */
export const HASHING: Task<HashSettings, Part, RowCodes> = {
  name: 'hashing',
  open(settings) {
    const hasher = new RowHasher(settings);
    return ({ matrix, count, firstRow }) => hasher.codesOf(matrix, count, firstRow);
  },
};
