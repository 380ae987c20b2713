/**
 * Codes, dense and sparse vectors of Arrow bytes or tables, with the ids next to them, by the rules
 * of RowBatch. Checksums of files of this library are compared.
 */

import { RecordBatch } from 'apache-arrow';
import { concatenated } from '../base/arrays';
import { checkIds, checkOptions, checkText, type Ids, MAX_BITS, wrongType } from '../base/check';
import { type BitOrder, Codes } from '../codes/codes';
import type { DenseMatrix, SparseMatrix } from '../vectors/vectors';
import { type ArrowSource, asArrow, openArrow } from './arrow/source';
import { codesOf } from './columns/codes';
import type { ColumnInfo, Fit } from './columns/types';
import { RowBatch } from './row-batch';
import { codeOptions, openSealed } from './sealed/seal';
import { batchRanges, type ColumnSchema, writeTable } from './sealed/sealed-table';

interface FromArrowOptions {
  /** The column of the ids; a column "id" by default. */
  id?: string;
  /** Name of the file, for errors. */
  file?: string;
}

/** Where the codes are, and how they lie there. */
export interface CodesFromArrowOptions extends FromArrowOptions {
  /** The column of codes; by default "code", or the only one that fits. */
  column?: string;
  /** Bits of a code, where they are not 8 x its bytes. */
  bits?: number;
  /** Which bit of a byte the maker packs first. */
  bitOrder?: BitOrder;
}

/** Where the vectors are. */
export interface VectorsFromArrowOptions extends FromArrowOptions {
  /** The column of vectors; by default "vector" or "embedding", or the only one that fits. */
  column?: string;
}

/** Where the dimensions and the values are. */
export interface SparseFromArrowOptions extends VectorsFromArrowOptions {
  /** The list column of dimensions, in place of a Map `column`. */
  indices?: string;
  /** The list column of values, with `indices`. */
  values?: string;
}

/** Codes, and the id of each row where there is a column of ids. */
export interface CodesWithIds<I extends Ids | null = Ids | null> {
  readonly codes: Codes;
  readonly ids: I;
}

/** Dense vectors, and the id of each row where there is a column of ids. */
export interface VectorsWithIds<I extends Ids | null = Ids | null> {
  readonly vectors: DenseMatrix;
  readonly ids: I;
}

/** Sparse vectors, and the id of each row where there is a column of ids. */
export interface SparseWithIds<I extends Ids | null = Ids | null> {
  readonly vectors: SparseMatrix;
  readonly ids: I;
}

const COMMON = { column: checkText, id: checkText, file: checkText };

/**
 * The codes of an Arrow file, stream or table. Checksums of files of this library are compared. `I`
 * is the type of the ids where the caller knows it, such as `string[]`; it is not checked.
 *
 * @example
 * const made = await new SimHasher().hashAll([[1, 0], [0, 1]]);
 * const { codes, ids } = codesFromArrow<string[]>(codesToArrow(made, { ids: ['a', 'b'] }));
 * console.log(codes.count, ids); // 2 [ 'a', 'b' ]
 */
export function codesFromArrow<I extends Ids | null = Ids | null>(
  source: ArrowSource,
  options?: CodesFromArrowOptions,
): CodesWithIds<I> {
  const given = checkOptions(options, {
    ...COMMON,
    bits: { min: 1, max: MAX_BITS },
    bitOrder: ['lsb', 'msb'],
  });
  const { header, batches } = opened(source, given.file);
  const name = pickColumn(batches, CODES, given.column);
  const chunks = batches.map((batch) => batch.chunk(name));
  const codes = asArrow(given.file, () => codesOf(chunks, name, codeOptions(given, header)));
  return { codes, ids: idsOf(batches, given.id) as I };
}

/**
 * Dense vectors, all of one width. Values come as float32, or as float64 where the column's numbers
 * need it; they stay in the memory of the source where it has one batch of floats without nulls.
 * `I` as for `codesFromArrow`.
 *
 * @example
 * import { readFileSync } from 'node:fs';
 * const bytes = readFileSync('datasets/nouns/nouns.arrow');
 * const { vectors, ids } = vectorsFromArrow<string[]>(bytes, { id: 'word' });
 * console.log(vectors.dimensions, ids.length); // 100 17824
 */
export function vectorsFromArrow<I extends Ids | null = Ids | null>(
  source: ArrowSource,
  options?: VectorsFromArrowOptions,
): VectorsWithIds<I> {
  const given = checkOptions(options, COMMON);
  const { batches } = opened(source, given.file);
  const name = pickColumn(batches, VECTORS, given.column);
  return { vectors: joined(batches, [name]).vectors(name), ids: idsOf(batches, given.id) as I };
}

/**
 * Sparse vectors from a Map column, or from two list columns. `I` as for `codesFromArrow`.
 *
 * @example
 * const index = new SimHashIndex({ vectors: 'sparse' });
 * index.add({ indices: [3, 8], values: [1, 0.5] });
 * const columns = { indices: 'indices', values: 'weights' };
 * const { vectors } = sparseFromArrow(indexToArrow(index), columns);
 * console.log(vectors.values); // Float32Array(2) [ 1, 0.5 ]
 */
export function sparseFromArrow<I extends Ids | null = Ids | null>(
  source: ArrowSource,
  options?: SparseFromArrowOptions,
): SparseWithIds<I> {
  const given = checkOptions(options, { indices: checkText, values: checkText, ...COMMON });
  if ((given.indices === undefined) !== (given.values === undefined)) {
    throw new TypeError('"indices" and "values" go together, or a Map "column" in their place');
  }
  const { batches } = opened(source, given.file);
  const names =
    given.indices === undefined
      ? [pickColumn(batches, MAP, given.column)]
      : [pickColumn(batches, INDICES, given.indices), pickColumn(batches, VALUES, given.values)];
  const vectors = joined(batches, names).sparse(names[0], names[1]);
  return { vectors, ids: idsOf(batches, given.id) as I };
}

/** The batches of a source, one without rows where there is none; and the header of our files. */
function opened(source: ArrowSource, file: string | undefined) {
  const arrow = openArrow(source, file);
  const header = asArrow(file, () => openSealed(arrow));
  const all = arrow.batches.length > 0 ? arrow.batches : [new RecordBatch(arrow.schema, undefined)];
  let firstRow = 0;
  const batches = all.map((one) => {
    const batch = RowBatch.fromArrow(one, { firstRow, ...(file !== undefined && { file }) });
    firstRow += batch.count;
    return batch;
  });
  return { header, batches };
}

/** These columns of all batches; lists with 32-bit offsets then have at most 2^31 - 1 values. */
function joined(batches: readonly RowBatch[], names: readonly string[]): RowBatch {
  return RowBatch.join(batches.map((batch) => batch.only(names)));
}

/** The ids by the name of their column, or of one called "id" that can be one; else null. */
function idsOf(batches: readonly RowBatch[], name: string | undefined): Ids | null {
  const [{ columns }] = batches;
  const isUsual = columns.some((column) => column.name === 'id' && column.fits.includes('id'));
  if (name === undefined && !isUsual) return null;
  const parts = batches.map((batch) => batch.ids(name ?? 'id'));
  if (parts.length === 1) return parts[0];
  return Array.isArray(parts[0]) ? (parts.flat() as string[]) : concatenated(parts as Int32Array[]);
}

/** What a column is wanted for, and which one is taken when the caller names none. */
interface Wanted {
  readonly fit: Fit;
  /** Names it in messages. */
  readonly what: string;
  /** The option that names the column. */
  readonly option?: string;
  /** Names of columns that are taken when the caller names none. */
  readonly usual?: readonly string[];
  /** False for columns that fit but are seldom meant: they are taken only by name. */
  readonly isLikely?: (column: ColumnInfo) => boolean;
}

/** 64-bit integers may be codes, and are mostly ids. */
const CODES: Wanted = {
  fit: 'code',
  what: 'column of codes',
  usual: ['code'],
  isLikely: ({ fits }) => !fits.includes('id'),
};
const USUAL = ['vector', 'embedding'];
/** Lists of wide integers may be vectors, and are mostly tokens or other numbers of things. */
const VECTORS: Wanted = {
  fit: 'vector',
  what: 'column of dense vectors',
  usual: USUAL,
  isLikely: ({ type }) => /<(Float\d+|U?int8)>$/i.test(type),
};
const MAP: Wanted = { fit: 'map', what: 'Map of integers to floats', usual: USUAL };
const INDICES: Wanted = { fit: 'indices', what: 'column of integer lists', option: 'indices' };
const VALUES: Wanted = { fit: 'values', what: 'column of float lists', option: 'values' };

/**
 * The column of that name; else the one with a usual name; else the only likely one. Else throws.
 */
function pickColumn(
  [batch]: readonly RowBatch[],
  { fit, what, option = 'column', usual = [], isLikely = () => true }: Wanted,
  name: string | undefined,
): string {
  if (name !== undefined) {
    batch.chunk(name, fit, what);
    return name;
  }
  const fitting = batch.columns.filter(({ fits }) => fits.includes(fit));
  const named = fitting.find((column) => usual.includes(column.name));
  const likely = named === undefined ? fitting.filter(isLikely) : [named];
  if (likely.length === 1) return likely[0].name;
  const listed = (likely.length > 0 ? likely : batch.columns).map((one) => `"${one.name}"`);
  const names = listed.join(', ') || 'no columns';
  const found = likely.length === 0 ? `none of ${names}` : names;
  throw new RangeError(`"${option}" must name the ${what}: ${found} would do`);
}

/** What a file has besides the codes. */
export interface CodesToArrowOptions {
  /** One id a row: strings or integers. */
  ids?: Ids | readonly number[];
}

/** Codes as the bytes of an Arrow file, which any Arrow reader opens. */
export function codesToArrow(codes: Codes, options?: CodesToArrowOptions): Uint8Array {
  const given = checkOptions(options, { ids: null });
  if (!(codes instanceof Codes)) throw wrongType('codes', 'Codes', codes);
  const ids = given.ids === undefined ? null : checkIds(given.ids, codes.count);
  const { bits, bytesPerCode: width, bytes, validity } = codes;
  const { projection, seed, dimensions, texts } = codes.origin ?? {};
  const header = { bits, ...(projection !== undefined && { projection, seed, dimensions, texts }) };
  const columns: ColumnSchema[] = [
    { name: 'id', type: 'ids', isOptional: true },
    { name: 'code', type: { bytes: width }, isNullable: validity !== null },
  ];
  const batches = batchRanges(codes.count).map(([first, end]) => {
    const code = {
      bytes: bytes.subarray(first * width, end * width),
      // Batches have a multiple of 8 rows, so each starts at a whole byte of the bitmap.
      validity: validity?.subarray(first / 8, Math.ceil(end / 8)) ?? null,
    };
    return { count: end - first, rows: { id: ids?.slice(first, end), code } };
  });
  return writeTable(columns, header, batches);
}
