/**
 * An index in and out of one Arrow file: a row for each row of it, with id, code, kept vector and
 * partition; all else as JSON in the schema. Sealed like a file of codes, which it also is.
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
  Table,
  tableToIPC,
  Uint32,
} from 'apache-arrow';
import { checkBits } from '../check';
import { type Ids, idColumn, pickIds, readIds } from './arrow-ids';
import { FORMAT_VERSION, type Header, KEY, openSealed, sealedBatch } from './arrow-seal';
import {
  type ArrowBatches,
  type ArrowSource,
  asFormatError,
  chunksOf,
  openArrow,
  validityOf,
} from './arrow-source';
import { bytesPerCode, checkUnusedBits } from './codes';
import { isValid } from './vectors';

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
  readonly partitions: Uint32Array | null;
}

/** Below 2 GiB whatever the width: a larger batch is lost by the Arrow library without a word. */
const BATCH_ROWS = 65_536;
const BATCH_BYTES = 2 ** 30;

/** The bytes of an Arrow IPC file; `rowsOf` gives live rows `first` to `end - 1`. */
export function indexToArrow(
  header: Omit<IndexHeader, 'version'> & { readonly bits: number },
  count: number,
  rowsOf: (first: number, end: number) => IndexRows,
): Uint8Array {
  const metadata = new Map([[KEY, JSON.stringify({ version: FORMAT_VERSION, ...header })]]);
  const dimensions = Number(header.dimensions ?? 1);
  const most = Math.max(1, Math.min(BATCH_ROWS, Math.floor(BATCH_BYTES / (4 * dimensions))));
  let schema: Schema | null = null;
  const batches: RecordBatch[] = [];
  for (let first = 0; first === 0 || first < count; first += most) {
    const end = Math.min(count, first + most);
    const columns = columnsOf(rowsOf(first, end), header.bits, dimensions);
    schema ??= new Schema(
      columns.map(([field]) => field),
      metadata,
    );
    const children = columns.map(([, data]) => data);
    batches.push(sealedBatch(schema, children, first, end === count));
  }
  return tableToIPC(new Table(schema as Schema, batches), 'file');
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
  if (partitions !== null) add('partition', numbers(new Uint32(), partitions));
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

/** Opens an index; damage, and columns other than the header lets expect, are errors. */
export function indexFromArrow(source: ArrowSource, file: string | undefined): OpenedIndex {
  const opened = openArrow(source, file);
  return asFormatError(file, () => {
    const header = openSealed(opened) as IndexHeader | null;
    if (header?.kind !== 'index') throw new Error('it holds no index, its schema does not say so');
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
      partitions: valuesOf(one, 'partition', 'Uint32') as Uint32Array | null,
    };
    firstRow += count;
  }
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
