/**
 * Rows of an index in and out of an Arrow file: id, code, kept vector and partition of each; all
 * else as JSON in the schema. Sealed like a file of codes, which it also is. One file holds a whole
 * index, or some of its rows where the index is a folder.
 */

import {
  type Data,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float32,
  Int8,
  makeData,
  type RecordBatch,
  Schema,
  Uint32,
} from 'apache-arrow';
import { isValid } from '../../base/bitmap';
import { checkBits } from '../../base/check';
import { bytesPerCode, checkUnusedBits } from '../../codes/codes';
import { arrowBytes } from '../arrow/bytes';
import {
  type ArrowBatches,
  type ArrowSource,
  asFormatError,
  chunksOf,
  openArrow,
  validityOf,
} from '../arrow/source';
import { type Ids, idColumn, pickIds, readIds } from '../columns/ids';
import { FORMAT_VERSION, type Header, KEY, openSealed, sealedBatch } from './seal';
import { type SparseColumns, sparseFromColumns, sparseToColumns } from './sparse';

/** The schema's JSON: what `Header` says, and what the index adds. */
export type IndexHeader = Header & Readonly<Record<string, unknown>>;

/** Some rows of an index, column by column. */
export interface IndexRows {
  readonly count: number;
  /** Row numbers; null where they go up one by one from the first on. */
  readonly rows: Uint32Array | null;
  readonly ids: Ids | null;
  /** Codes one after another, and a bitmap of those that are there. */
  readonly codes: Uint8Array;
  readonly validity: Uint8Array | null;
  /** As many values a row as the index has dimensions. */
  readonly vectors: Float32Array | Int8Array | null;
  readonly scales: Float32Array | null;
  readonly sparse: SparseColumns | null;
  readonly partitions: Uint32Array | null;
  /**
   * The first row of the index with the same code, which may be in a file before; null where no row
   * has the code of another; undefined where nobody knows.
   */
  readonly firsts?: Uint32Array | null;
}

/** What a file holds: an index, or rows of one. */
export type IndexKind = 'index' | 'rows';

/** Rows to be written, in runs. */
export interface RowRuns {
  rowsOf(first: number, end: number): IndexRows;
  /** Where a run from `first` on ends: at most at `end`, and its rows fit a batch. */
  endOf(first: number, end: number): number;
}

/** Below 2 GiB whatever the width: a larger batch is lost by the Arrow library without a word. */
const BATCH_ROWS = 65_536;
const BATCH_BYTES = 2 ** 30;

/** The bytes of an Arrow IPC file; `rowsOf` gives live rows `first` to `end - 1`. */
export function indexToArrow(
  header: Omit<IndexHeader, 'version'> & { readonly bits: number },
  count: number,
  { rowsOf, endOf }: RowRuns,
): Uint8Array {
  const metadata = new Map([[KEY, JSON.stringify({ version: FORMAT_VERSION, ...header })]]);
  const dimensions = Number(header.dimensions ?? 1);
  const most = Math.max(1, Math.min(BATCH_ROWS, Math.floor(BATCH_BYTES / (4 * dimensions))));
  let schema: Schema | null = null;
  const batches: RecordBatch[] = [];
  let first = 0;
  do {
    const end = endOf(first, Math.min(count, first + most));
    const columns = columnsOf(rowsOf(first, end), header.bits, dimensions);
    schema ??= new Schema(
      columns.map(([field]) => field),
      metadata,
    );
    const children = columns.map(([, data]) => data);
    batches.push(sealedBatch(schema, children, first, end === count));
    first = end;
  } while (first < count);
  return arrowBytes('file', schema as Schema, batches);
}

function columnsOf(rows: IndexRows, bits: number, dimensions: number): [Field, Data][] {
  const { count: length, ids, vectors, scales, partitions, validity } = rows;
  const columns: [Field, Data][] = [];
  const add = (name: string, data: Data, isNullable = false) => {
    columns.push([new Field(name, data.type, isNullable), data]);
  };
  if (ids !== null) add('id', idColumn(ids).slice(0, length));
  if (rows.rows !== null) add('row', numbers(new Uint32(), rows.rows));
  const missing = validity === null ? 0 : countMissing(validity, length);
  const type = new FixedSizeBinary(bytesPerCode(bits));
  const nulls = missing > 0 ? { nullBitmap: validity as Uint8Array } : {};
  add('code', makeData({ type, length, nullCount: missing, data: rows.codes, ...nulls }), true);
  if (vectors !== null) {
    const element = vectors instanceof Int8Array ? new Int8() : new Float32();
    const type = new FixedSizeList(dimensions, new Field('item', element, false));
    const child = numbers(element, vectors);
    add('vector', makeData({ type: type as FixedSizeList, length, nullCount: 0, child }));
  }
  if (scales !== null) add('scale', numbers(new Float32(), scales));
  if (rows.sparse !== null) columns.push(...sparseToColumns(rows.sparse));
  if (partitions !== null) add('partition', numbers(new Uint32(), partitions));
  if (rows.firsts) add('first', numbers(new Uint32(), rows.firsts));
  return columns;
}

function numbers(type: Uint32 | Float32 | Int8, data: Uint32Array | Float32Array | Int8Array) {
  return makeData({ type: type as Float32, length: data.length, nullCount: 0, data }) as Data;
}

function countMissing(validity: Uint8Array, count: number): number {
  let missing = 0;
  for (let row = 0; row < count; row++) missing += Number(!isValid(validity, row));
  return missing;
}

export interface OpenedIndex {
  readonly header: IndexHeader;
  readonly count: number;
  /** The rows, batch by batch. */
  batches(): Generator<IndexRows>;
}

export interface IndexFromArrowOptions {
  readonly kind?: IndexKind;
  /** True when the bytes are known to be those that were written. */
  readonly isSound?: boolean;
}

/** Opens an index; damage, and columns other than the header lets expect, are errors. */
export function indexFromArrow(
  source: ArrowSource,
  file: string | undefined,
  { kind = 'index', isSound = false }: IndexFromArrowOptions = {},
): OpenedIndex {
  const opened = openArrow(source, file);
  return asFormatError(file, () => {
    // Of a part of a file, as a table may be, no checksums are computed.
    const header = openSealed(isSound ? { ...opened, isWhole: false } : opened) as IndexHeader;
    if (header?.kind !== kind) throw new Error(`it holds no ${kind}, its schema does not say so`);
    return { header, count: opened.count, batches: () => rowsOfBatches(opened, header) };
  });
}

function* rowsOfBatches(opened: ArrowBatches, header: IndexHeader): Generator<IndexRows> {
  const width = bytesPerCode(checkBits(header.bits));
  const dimensions = Number(header.dimensions ?? 1);
  const element = header.keep === 'int8' ? 'Int8' : 'Float32';
  let firstRow = 0;
  for (const batch of opened.batches) {
    const { numRows: count } = batch;
    const one = { schema: opened.schema, batches: [batch], count, isWhole: true };
    const codes = valuesOf(one, 'code', `FixedSizeBinary[${width}]`, width, true) as Uint8Array;
    if (codes === null) throw new Error('there is no column "code"');
    checkUnusedBits(codes, header.bits, firstRow);
    const list = `FixedSizeList[${dimensions}]<${element}>`;
    yield {
      ...{ count, codes, validity: validityOf(chunksOf(one, 'code'), count) },
      rows: valuesOf(one, 'row', 'Uint32') as Uint32Array | null,
      ids: readIds(one, pickIds(one, undefined)),
      vectors: valuesOf(one, 'vector', list, dimensions) as Float32Array | Int8Array | null,
      scales: valuesOf(one, 'scale', 'Float32') as Float32Array | null,
      sparse: header.keep === 'sparse' ? sparseFromColumns(one, firstRow) : null,
      partitions: valuesOf(one, 'partition', 'Uint32') as Uint32Array | null,
      ...firstsOf(header, valuesOf(one, 'first', 'Uint32') as Uint32Array | null),
    };
    firstRow += count;
  }
}

/** Which rows share a code, where the header says that it is told. */
function firstsOf({ equals }: IndexHeader, column: Uint32Array | null): Partial<IndexRows> {
  if (equals === undefined) return {};
  if (equals !== 'none' && equals !== 'first') throw new Error(`"equals" cannot be ${equals}`);
  if ((column === null) !== (equals === 'none')) {
    throw new Error('the header and the column "first" do not agree');
  }
  return { firsts: column };
}

/** A column's values where they lie, `stride` a row; null where there is no such column. */
function valuesOf(
  source: ArrowBatches,
  name: string,
  type: string,
  stride = 1,
  mayBeNull = false,
): ArrayLike<number> | null {
  const field = source.schema.fields.find((each) => each.name === name);
  if (field === undefined) return null;
  if (String(field.type) !== type) {
    throw new Error(`column "${name}" is of type ${field.type}, expected ${type}`);
  }
  const [chunk] = chunksOf(source, name);
  if (chunk === undefined) return new Uint8Array();
  const data: Data = chunk.data.children[0] ?? chunk.data;
  const hasNulls = chunk.data.nullCount > 0 || data.nullCount > 0;
  if (hasNulls && !mayBeNull) throw new Error(`column "${name}" has nulls`);
  const values = data.values as Uint8Array;
  if (values.length < source.count * stride) {
    throw new Error(`column "${name}" is shorter than its batch`);
  }
  return values.subarray(0, source.count * stride);
}
