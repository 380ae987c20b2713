/**
 * Codes, dense and sparse vectors of Arrow bytes or tables, with the ids next to them, by the
 * readers and rules of RowBatch. Vectors of several batches are joined first.
 */

import { type Field, RecordBatch } from 'apache-arrow';
import { checkDeclared } from '../base/arguments';
import { concatenated } from '../base/arrays';
import { MAX_BITS, noColumn } from '../base/check';
import type { Ids } from '../base/ids';
import type { BitOrder, Codes } from '../codes/codes';
import type { DenseMatrix, SparseMatrix } from '../vectors/vectors';
import { type ArrowBatches, type ArrowSource, asArrow, openArrow } from './arrow/source';
import type { Chunk } from './columns/chunk';
import { codesOf } from './columns/codes';
import { chunkOf, joinedColumn } from './columns/pick';
import { type ColumnInfo, columnInfo, type Fit } from './columns/types';
import { idsOf } from './columns/values';
import { denseOf, sparseOf } from './columns/vectors';
import { codeOptions, openSealed } from './sealed/seal';

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

const COMMON = { column: 'text', id: 'text', file: 'text' } as const;

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
  const given = checkDeclared(options, {
    ...COMMON,
    bits: { min: 1, max: MAX_BITS },
    bitOrder: ['lsb', 'msb'],
  });
  const opened = openArrow(source, given.file);
  const header = asArrow(given.file, () => openSealed(opened));
  const columns = columnsOf(opened);
  const name = pickColumn(columns, CODES, given.column);
  const ids = pickIds(columns, given.id);
  return asArrow(given.file, () => ({
    codes: codesOf(chunksOf(opened, name), name, codeOptions(given, header)),
    ids: idsFrom(opened, ids) as I,
  }));
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
  const given = checkDeclared(options, COMMON);
  const opened = openArrow(source, given.file);
  const columns = columnsOf(opened);
  const name = pickColumn(columns, VECTORS, given.column);
  const ids = pickIds(columns, given.id);
  return asArrow(given.file, () => ({
    vectors: denseOf(joined(opened, name)),
    ids: idsFrom(opened, ids) as I,
  }));
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
  const given = checkDeclared(options, { indices: 'text', values: 'text', ...COMMON });
  if ((given.indices === undefined) !== (given.values === undefined)) {
    throw new TypeError('"indices" and "values" go together, or a Map "column" in their place');
  }
  const opened = openArrow(source, given.file);
  const columns = columnsOf(opened);
  const [indices, values] =
    given.indices === undefined
      ? [pickColumn(columns, MAP, given.column)]
      : [pickColumn(columns, INDICES, given.indices), pickColumn(columns, VALUES, given.values)];
  const ids = pickIds(columns, given.id);
  return asArrow(given.file, () => {
    const keys = joined(opened, indices);
    const weights = values === undefined ? keys : joined(opened, values);
    return { vectors: sparseOf(keys, weights), ids: idsFrom(opened, ids) as I };
  });
}

/** The columns of a source. */
const columnsOf = ({ schema }: ArrowBatches) => schema.fields.map(columnInfo);

/** A column batch by batch; of a source without batches, one batch without rows. */
function chunksOf({ schema, batches }: ArrowBatches, name: string): Chunk[] {
  const at = schema.fields.findIndex((field) => field.name === name);
  let firstRow = 0;
  return (batches.length === 0 ? [new RecordBatch(schema, undefined)] : batches).map((batch) => {
    const place = { count: batch.numRows, firstRow };
    firstRow += batch.numRows;
    return chunkOf(schema.fields[at], batch.data.children[at], place);
  });
}

/** A column of all batches; lists with 32-bit offsets then have at most 2^31 - 1 values in all. */
function joined(source: ArrowBatches, name: string): Chunk {
  const parts = chunksOf(source, name);
  if (parts.length === 1) return parts[0];
  const field = source.schema.fields.find((one) => one.name === name) as Field;
  return { data: joinedColumn(parts.map(({ data }) => ({ field, data }))).data, firstRow: 0 };
}

function idsFrom(source: ArrowBatches, name: string | null): Ids | null {
  if (name === null) return null;
  const parts = chunksOf(source, name).map(idsOf);
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
const IDS: Wanted = { fit: 'id', what: 'id column of integers or strings', option: 'id' };

/**
 * The column of that name; else the one with a usual name; else the only likely one. Else throws.
 */
function pickColumn(
  columns: readonly ColumnInfo[],
  { fit, what, option = 'column', usual = [], isLikely = () => true }: Wanted,
  name: string | undefined,
): string {
  if (name !== undefined) {
    const column = columns.find((one) => one.name === name);
    if (column === undefined) throw noColumn(name, namesOf(columns));
    if (column.fits.includes(fit)) return name;
    throw new TypeError(`column "${name}" of type ${column.type} is no ${what}`);
  }
  const fitting = columns.filter(({ fits }) => fits.includes(fit));
  const named = fitting.find((column) => usual.includes(column.name));
  const likely = named === undefined ? fitting.filter(isLikely) : [named];
  if (likely.length === 1) return likely[0].name;
  const listed = namesOf(likely.length > 0 ? likely : columns).map((one) => `"${one}"`);
  const names = listed.join(', ') || 'no columns';
  const found = likely.length === 0 ? `none of ${names}` : names;
  throw new RangeError(`"${option}" must name the ${what}: ${found} would do`);
}

const namesOf = (columns: readonly ColumnInfo[]) => columns.map(({ name }) => name);

/** The column of ids by name, or one called "id" that can be one; else null. */
function pickIds(columns: readonly ColumnInfo[], name: string | undefined): string | null {
  const isUsual = columns.some((column) => column.name === 'id' && column.fits.includes('id'));
  return name === undefined && !isUsual ? null : pickColumn(columns, IDS, name ?? 'id');
}
