/**
 * Hashes rows whose shape is checked: `SimHasher` runs it for single vectors, and every thread runs
 * it for its parts of a batch. It is made from plain settings that can be sent to another thread,
 * and equal settings give equal codes. It turns what a kernel flags (NaN, infinities, all-zero
 * rows) into null codes or errors that name the row.
 */

import { bitsOf, isValid } from '../base/arrays';
import { describe } from '../base/check';
import { bytesPerCode } from '../codes/codes';
import { sumsKernel } from '../kernels/kernels';
import { type SetMemory, setMemory } from '../kernels/sets';
import { ALL_ZERO, type DenseRows, NOT_FINITE, type Rule, type SparseRows } from '../kernels/sums';
import { badValue, canonicalRows, wideDimensions } from '../vectors/sparse-rows';
import {
  checkEntries,
  checkNumbers,
  type DenseMatrix,
  isDense,
  isDenseMatrix,
  isSparse,
  notAVector,
  type SparseMatrix,
  type Vector,
} from '../vectors/vectors';

export const PROJECTIONS = ['signs', 'gaussian', 'hadamard', 'direct', 'minwise'] as const;
export type Projection = (typeof PROJECTIONS)[number];

/**
 * The caller's own patterns: returns the bits of a dimension as ceil(bits / 8) bytes, lowest bit
 * first, which are copied. A dimension is a number below 2^53 and a bigint from there on.
 */
export type PatternFunction = (dimension: number | bigint) => Uint8Array;

/** The checked options of a hasher, see `SimHasherOptions`. */
export interface HashSettings {
  readonly bits: number;
  readonly seed: bigint;
  readonly projection: Projection;
  readonly dimensions?: number | undefined;
  readonly zero: 'error' | 'null';
  readonly pattern?: PatternFunction | undefined;
  readonly texts?: string | undefined;
}

/** Codes of some rows, one after another; where row i has none, `isNull[i]` is 1 and its code 0. */
export interface RowCodes {
  readonly bytes: Uint8Array;
  readonly isNull: Uint8Array;
}

/**
 * Limits of a part of a batch, each some milliseconds of work: rows, entries of sparse rows, and
 * pattern words (one for each 64 bits of each value) of dense rows.
 */
const PART_ROWS = 4096;
const PART_ENTRIES = 65_536;
const PART_WORDS = 2 ** 19;

/**
 * Hashes rows. Holds no state between calls, so that equal settings
 * make equal codes wherever they run.
 */
export class RowHasher {
  readonly settings: HashSettings;
  readonly #kernel = sumsKernel();
  /** 'direct' and the caller's patterns are projection 'given': patterns come with the rows. */
  readonly #rule: Rule;

  constructor(settings: HashSettings) {
    this.settings = settings;
    const { bits, seed, projection, pattern } = settings;
    const isGiven = pattern !== undefined || projection === 'direct';
    this.#rule = { projection: isGiven ? 'given' : projection, bits, seed } as Rule;
  }

  /**
   * The codes of a matrix of `count` rows; errors call its first row `firstRow`. Throws a
   * RangeError for a row that is not finite, and for an all-zero row unless `zero` is 'null'.
   */
  codesOf(matrix: DenseMatrix | SparseMatrix, count: number, firstRow: number): RowCodes {
    const width = bytesPerCode(this.settings.bits);
    const bytes = new Uint8Array(count * width);
    const flags = new Uint8Array(count);
    const isNull = new Uint8Array(count);
    const rows = isDenseMatrix(matrix)
      ? this.#dense({ count, width: matrix.dimensions, values: matrix.values })
      : this.#sparse(matrix, count, firstRow);
    const isOfSets = this.settings.projection === 'minwise';
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
    const width = bytesPerCode(this.settings.bits);
    for (let row = 0; row < rows.count; row++) {
      const memory = setMemory();
      flags[row] = readMembers(rows, row, memory);
      const code = codes.subarray(row * width, (row + 1) * width);
      memory.codeInto(this.settings, code);
    }
  }

  /** The code of one vector, as that of a matrix of one row. */
  codeOf(vector: Vector): RowCodes {
    return this.codesOf(this.#matrixOf(vector), 1, 0);
  }

  /** The sums of one vector, whose signs are its code, in a new array. 'minwise' has none. */
  sumsOf(vector: Vector): Float64Array {
    if (this.settings.projection === 'minwise') {
      throw new TypeError(`projection 'minwise' has no sums: its bits are of the members of a set`);
    }
    const sums = new Float64Array(this.settings.bits);
    const matrix = this.#matrixOf(vector);
    const rows = isDenseMatrix(matrix)
      ? this.#dense({ count: 1, width: matrix.dimensions, values: matrix.values })
      : this.#sparse(matrix, 1, 0);
    this.#kernel.sumsInto(this.#rule, rows, sums);
    if (!areFinite(sums)) throw notFinite(rows, 0, 0);
    return sums;
  }

  /** Throws unless dense vectors of this width can be hashed. */
  checkWidth(width: number): void {
    const { dimensions, projection } = this.settings;
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
  partEnds(matrix: DenseMatrix | SparseMatrix, count: number): number[] {
    const { pattern, bits, projection } = this.settings;
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
    this.checkWidth(vector.length);
    if (Array.isArray(vector)) checkNumbers(vector, null);
    const values = Array.isArray(vector) ? Float64Array.from(vector) : (vector as Float64Array);
    return { values, dimensions: vector.length };
  }

  /** Dense rows for the kernel: unchanged, or with the caller's patterns as sparse rows. */
  #dense(rows: DenseRows): DenseRows | SparseRows {
    const { pattern, bits } = this.settings;
    if (pattern === undefined) return rows;
    const { count, width, values } = rows;
    const entries = count * width;
    const sparse = {
      count,
      offsets: Uint32Array.from({ length: count + 1 }, (_, row) => row * width),
      dimensions: BigUint64Array.from({ length: entries }, (_, i) => BigInt(i % width)),
      values: Float64Array.from(values),
    };
    return { ...sparse, patterns: patternWords(pattern, sparse.dimensions, bits) };
  }

  /** Sparse rows for the kernel: dimensions ascending and unique, and with patterns if given. */
  #sparse(matrix: SparseMatrix, count: number, firstRow: number): SparseRows {
    const { pattern, bits, projection } = this.settings;
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
    const limit = this.settings.dimensions;
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
    if (flags & ALL_ZERO && entriesOf(rows, index).values.some((value) => value !== 0)) return true;
    if (this.settings.zero === 'error') throw allZero(row);
    return false;
  }
}

/** Adds a row's dimensions whose value is not zero to a set; returns the flags of the row. */
function readMembers(rows: SparseRows, row: number, memory: SetMemory): number {
  const { dimensions, values } = rows;
  const [from, to] = [rows.offsets[row], rows.offsets[row + 1]];
  memory.reserve(to - from);
  const isWide = dimensions instanceof BigUint64Array;
  // 64-bit dimensions are read as 32-bit halves, low before high: no BigInt is made.
  const words = isWide
    ? new Uint32Array(dimensions.buffer, dimensions.byteOffset, 2 * dimensions.length)
    : dimensions;
  let areFinite = true;
  for (let i = from; i < to; i++) {
    if (values[i] === 0) continue;
    areFinite &&= Number.isFinite(values[i]);
    memory.addMember(isWide ? words[2 * i] : words[i], isWide ? words[2 * i + 1] : 0);
  }
  return (areFinite ? 0 : NOT_FINITE) | (memory.memberCount === 0 ? ALL_ZERO : 0);
}

/** Rows `first` to `end - 1` of a matrix as a matrix: views of typed arrays, copies of others. */
export function rowsOfMatrix(
  matrix: DenseMatrix | SparseMatrix,
  first: number,
  end: number,
): DenseMatrix | SparseMatrix {
  const validity = bitsOf(matrix.validity, first, end);
  if (isDenseMatrix(matrix)) {
    const { values, dimensions } = matrix;
    return { dimensions, validity, values: values.subarray(first * dimensions, end * dimensions) };
  }
  const { offsets, indices, values } = matrix;
  const [from, to] = [offsets[first], offsets[end]];
  return {
    validity,
    offsets: Uint32Array.from({ length: end - first + 1 }, (_, i) => offsets[first + i] - from),
    indices: cut(indices, from, to),
    values: cut(values, from, to),
  };
}

function cut<T extends { slice(from: number, to: number): unknown }>(
  list: T,
  from: number,
  to: number,
): T {
  if (ArrayBuffer.isView(list)) return (list as unknown as Uint8Array).subarray(from, to) as never;
  return list.slice(from, to) as T;
}

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

/** Copies a row's values, and says where they begin. Slow: only for messages and flagged rows. */
function entriesOf(rows: DenseRows | SparseRows, index: number) {
  const isDenseRow = 'width' in rows;
  const from = isDenseRow ? index * rows.width : rows.offsets[index];
  const to = isDenseRow ? from + rows.width : rows.offsets[index + 1];
  return { from, values: Array.from(rows.values.subarray(from, to)) };
}

/** True where all sums are finite. A plain loop, since `every` takes 30 ns a value. */
function areFinite(sums: Float64Array): boolean {
  for (let i = 0; i < sums.length; i++) if (!Number.isFinite(sums[i])) return false;
  return true;
}

/** The error for a row whose sums are not finite: it names the first bad value, or an overflow. */
function notFinite(rows: DenseRows | SparseRows, index: number, row: number): RangeError {
  const { from, values } = entriesOf(rows, index);
  const at = values.findIndex((value) => !Number.isFinite(value));
  if (at < 0) return new RangeError(`row ${row}: the values are too large, their sums overflow`);
  return badValue(row, 'width' in rows ? at : rows.dimensions[from + at], values[at]);
}

/** The error for a row without a direction. */
export function allZero(row: number): RangeError {
  return new RangeError(
    `row ${row}: an all-zero vector has no direction (hashAll makes its code null by zero: 'null')`,
  );
}

/**
 * Calls `pattern` for each dimension, in order, and packs its bits into 64-bit words: word w of
 * entry i is at [w * entries + i].
 */
function patternWords(
  pattern: PatternFunction,
  dimensions: BigUint64Array,
  bits: number,
): BigUint64Array {
  const words = Math.ceil(bits / 64);
  const entries = dimensions.length;
  const out = new BigUint64Array(words * entries);
  const padded = new BigUint64Array(words);
  const paddedBytes = new Uint8Array(padded.buffer);
  for (let i = 0; i < entries; i++) {
    const dimension = dimensions[i];
    const isSafe = dimension <= BigInt(Number.MAX_SAFE_INTEGER);
    const bytes: unknown = pattern(isSafe ? Number(dimension) : dimension);
    if (!(bytes instanceof Uint8Array)) {
      throw new TypeError(`"pattern" expected to return a Uint8Array, got ${describe(bytes)}`);
    }
    if (bytes.length !== bytesPerCode(bits)) {
      throw new RangeError(
        `"pattern" expected to return ${bytesPerCode(bits)} bytes, ` +
          `got ${bytes.length} for dimension ${dimension}`,
      );
    }
    paddedBytes.set(bytes);
    for (let word = 0; word < words; word++) out[word * entries + i] = padded[word];
  }
  return out;
}
