/**
 * Tables with declared columns as sealed Arrow files: one writer and one reader for all files that
 * this library writes. A table declares its columns as data. What is read has exactly these columns
 * and types and passed its checksums; it is not copied.
 */

import { type Data, Field, type RecordBatch, Schema } from 'apache-arrow';
import { concatenated, padded } from '../../base/arrays';
import { checkOneOf, type Ids } from '../../base/check';
import { checksum } from '../../kernels/xxhash';
import { type ArrowSource, asArrow, openArrow } from '../arrow/batches';
import { PREFIX_BYTES } from '../arrow/messages';
import { ArrowEncoder } from '../arrow/writer';
import { type Chunk, checkBitmaps, rangesOf, validityOf } from '../columns/chunk';
import {
  bytesData,
  type Column,
  listData,
  numberData,
  plainData,
  vectorData,
} from '../columns/make';
import { type NumberArray, type NumberKind, numberType } from '../columns/types';
import { idsOf } from '../columns/values';
import { type ArrowBatches, type Header, headerText, KEY, openSealed } from './seal';

/**
 * The type of a column: one number for each row; `ids`, integers or texts; `bytes` of one width; a
 * `vector` of `width` numbers (null: of any width); a `list` of any number of numbers.
 */
type SealedType =
  | NumberKind
  | 'ids'
  | { readonly bytes: number }
  | { readonly vector: NumberKind; readonly width: number | null }
  | { readonly list: NumberKind };

/** A column of a table. */
export interface ColumnSchema {
  readonly name: string;
  readonly type: SealedType;
  /** True where a table may lack the column. */
  readonly isOptional?: boolean;
  /** True where rows may be null, which only columns of bytes allow. */
  readonly isNullable?: boolean;
}

/** Lists of numbers: those of row r lie at `offsets[r]` to `offsets[r + 1] - 1` of `items`. */
export interface Lists {
  readonly offsets: Int32Array;
  readonly items: NumberArray;
}

/**
 * Bytes of one width for each row, and a bitmap of the rows that are not null; null where all are.
 */
export interface Rows {
  readonly bytes: Uint8Array;
  readonly validity: Uint8Array | null;
}

/** The values of a column, as its type has them. */
type ColumnValues = NumberArray | Ids | Lists | Rows;

/**
 * The values of columns by their names, for some rows; an optional column may be null or missing.
 */
export type TableRows = Readonly<Record<string, ColumnValues | null | undefined>>;

/** Rows to be written as one batch. */
export interface TableBatch {
  readonly count: number;
  readonly rows: TableRows;
}

/** What the schema of a file states, besides its version. */
type TableHeader = Readonly<Record<string, unknown>>;

/**
 * Rows of a batch, unless they are wide. Batches must stay far below 2 GiB, since the Arrow library
 * loses a larger one without an error.
 */
export const BATCH_ROWS = 65_536;

/** Where batches of at most `rows` rows begin and end; one empty batch where there are no rows. */
export function batchRanges(count: number, rows = BATCH_ROWS): [number, number][] {
  const batches = Math.max(1, Math.ceil(count / rows));
  return Array.from({ length: batches }, (_, i) => [i * rows, Math.min(count, (i + 1) * rows)]);
}

/**
 * The columns of a batch. Only ids that are texts are copied; numbers keep the type of their array.
 */
export function columnsOf(columns: readonly ColumnSchema[], { count, rows }: TableBatch): Column[] {
  return columns.flatMap(({ name, type, isOptional, isNullable = false }) => {
    const values = rows[name] ?? null;
    if (values === null && isOptional) return [];
    if (values === null) throw new Error(`column "${name}" has no values`);
    const data = dataOf(type, values, count);
    return [{ field: new Field(name, data.type, isNullable), data }];
  });
}

function dataOf(type: SealedType, values: ColumnValues, length: number): Data {
  if (typeof type === 'string') {
    const isOfTexts = type === 'ids' && !ArrayBuffer.isView(values);
    return isOfTexts ? plainData('text', values as string[]) : numberData(values as NumberArray);
  }
  if ('bytes' in type) {
    const { bytes, validity } = values as Rows;
    return bytesData(bytes, { width: type.bytes, length, validity });
  }
  if ('vector' in type) {
    return vectorData(values as NumberArray, { width: type.width ?? 1, length, isNullable: false });
  }
  const { offsets, items } = values as Lists;
  return listData(numberData(items), offsets.subarray(0, length + 1), undefined, false);
}

/** The encoder of a sealed file with these columns. */
function encoderOf(columns: readonly Column[], header: TableHeader): ArrowEncoder {
  const fields = columns.map(({ field }) => field);
  return new ArrowEncoder('file', new Schema(fields, new Map([[KEY, headerText(header)]])));
}

/** The bytes of a whole table of one batch at least; all have the same columns. */
export function writeTable(
  columns: readonly ColumnSchema[],
  header: TableHeader,
  batches: Iterable<TableBatch>,
): Uint8Array {
  let encoder: ArrowEncoder | null = null;
  const parts: Uint8Array[] = [];
  for (const batch of batches) {
    const own = columnsOf(columns, batch);
    encoder ??= encoderOf(own, header);
    const data = own.map((column) => column.data);
    parts.push(...encoder.add(data, batch.count));
  }
  return concatenated([...parts, ...(encoder?.finish() ?? [])]);
}

/** Where the body of a record batch is in its file. */
export interface Body {
  readonly at: number;
  readonly length: number;
  readonly checksum: bigint;
}

/**
 * Writes a table batch by batch, and notes where the body of each batch lies, so that it can be
 * read by its range alone. All returned bytes, in order, are the file.
 */
export class TableWriter {
  /** Bodies of the batches that were returned so far. */
  readonly bodies: Body[] = [];
  #encoder: ArrowEncoder | null = null;
  /** Bytes returned so far. */
  #at = 0;

  constructor(
    readonly columns: readonly ColumnSchema[],
    readonly header: TableHeader,
  ) {}

  /**
   * Adds a batch, which must not change until the next call; returns the bytes that are complete
   * now.
   */
  add(batch: TableBatch): Uint8Array[] {
    const columns = columnsOf(this.columns, batch);
    const data = columns.map((column) => column.data);
    if (this.#encoder !== null) return this.#message(this.#encoder.add(data, batch.count));
    this.#encoder = encoderOf(columns, this.header);
    const first = concatenated(this.#encoder.add(data, batch.count)); // all before the first batch
    this.#at = first.length;
    return [first];
  }

  /** The last bytes of the file, which must have a batch. */
  end(): Uint8Array[] {
    const last = this.#message(this.#encoder?.endBatches() ?? []);
    return [...last, ...(this.#encoder?.finish() ?? [])];
  }

  /** The message of a batch that was encoded; notes where its body lies. */
  #message(encoded: readonly Uint8Array[]): Uint8Array[] {
    const message = concatenated(encoded);
    if (message.length === 0) return [];
    const { buffer, byteOffset } = message;
    const head = PREFIX_BYTES + new DataView(buffer, byteOffset).getInt32(4, true);
    const body = message.subarray(head);
    this.bodies.push({ at: this.#at + head, length: body.length, checksum: checksum(body) });
    this.#at += message.length;
    return [message];
  }
}

/** A table that was opened and whose checksums were compared. */
interface OpenedTable extends ArrowBatches {
  readonly header: Header & TableHeader;
}

/** Opens a table; a FormatError where its header does not state this kind. */
export function openTable(
  source: ArrowSource,
  file: string | undefined,
  { kind }: { kind: string },
): OpenedTable {
  const opened = openArrow(source, file);
  return asArrow(file, () => {
    const header = openSealed(opened) as OpenedTable['header'] | null;
    if (header?.kind === kind) return { ...opened, header };
    throw new Error(`it holds no ${kind}, its schema does not say so`);
  });
}

/**
 * The declared columns of a batch, as views of its memory; null for an optional column that is
 * missing. Throws for another type, for forbidden nulls, and for values that end before the batch.
 */
export function readRows(
  batch: RecordBatch,
  columns: readonly ColumnSchema[],
  firstRow: number,
): TableRows {
  const { fields } = batch.schema;
  const rows: Record<string, ColumnValues | null> = {};
  for (const column of columns) {
    const { name } = column;
    const at = fields.findIndex((field) => field.name === name);
    if (at < 0 && !column.isOptional) throw new Error(`there is no column "${name}"`);
    const data = batch.data.children[at];
    rows[name] = at < 0 ? null : valuesOf(column, { data, firstRow }, batch.numRows);
  }
  return rows;
}

/** The values of one column, whose type and length are checked. */
function valuesOf(column: ColumnSchema, chunk: Chunk, count: number): ColumnValues {
  const { name, type, isNullable = false } = column;
  const { data } = chunk;
  if (data.length !== count) throw new Error(`column "${name}" is shorter than its batch`);
  checkBitmaps(data);
  if (type === 'ids') return idsOf(chunk);
  if (String(data.type) !== nameOf(type, data.stride)) {
    throw new Error(`column "${name}" is of type ${data.type}, expected ${nameOf(type)}`);
  }
  const [child] = data.children;
  if ((data.nullCount > 0 && !isNullable) || child?.nullCount > 0) {
    throw new Error(`column "${name}" has nulls`);
  }
  const values = (first: number, length: number): NumberArray => {
    const all = (child ?? data).values as NumberArray;
    if (all.length >= first + length) return all.subarray(first, first + length);
    throw new Error(`column "${name}" is shorter than its batch`);
  };
  if (typeof type === 'object' && 'list' in type) {
    const { start, end } = rangesOf(chunk);
    const first = count === 0 ? 0 : start(0);
    const offsets = new Int32Array(count + 1);
    // Offsets of a slice may begin beyond 0; those returned always begin at 0.
    for (let row = 0; row < count; row++) offsets[row + 1] = end(row) - first;
    return { offsets, items: values(first, offsets[count]) };
  }
  if (typeof type === 'string') return values(0, count);
  const found = values(0, count * data.stride);
  return 'bytes' in type ? { bytes: found as Uint8Array, validity: validityOf([chunk]) } : found;
}

/**
 * The type as Arrow writes it; `width` stands for the width of vectors that a table leaves open.
 */
function nameOf(type: Exclude<SealedType, 'ids'>, width: number | string = 'n'): string {
  const name = (kind: NumberKind) => String(numberType(kind).type);
  if (typeof type === 'string') return name(type);
  if ('bytes' in type) return `FixedSizeBinary[${type.bytes}]`;
  if ('list' in type) return `List<${name(type.list)}>`;
  return `FixedSizeList[${type.width ?? width}]<${name(type.vector)}>`;
}

/** The numbers of a column, of all batches in one array; of one batch a view. */
export function readNumbers(table: OpenedTable, column: ColumnSchema): NumberArray {
  const parts = table.batches.map((batch) => readRows(batch, [column], 0)[column.name]);
  if (parts.length === 1) return parts[0] as NumberArray;
  const { type } = column;
  const kind = typeof type === 'object' && 'vector' in type ? type.vector : type;
  const none = new (numberType(kind as NumberKind).Values)(0);
  return concatenated<NumberArray>([none, ...(parts as NumberArray[])]);
}

/** By the name that Arrow has for it, the type of the integers of ids. */
const ID_KINDS = { Int32: 'int32', Uint32: 'uint32', Int64: 'int64', Uint64: 'uint64' } as const;
const ID_TYPES = ['Utf8', 'Int32', 'Uint32', 'Int64', 'Uint64'] as const;

/** The values of the columns of a body by their names. */
type BodyRows = Readonly<Record<string, NumberArray | Lists | BlockIds | undefined>>;

type View<T> = (new (
  buffer: ArrayBufferLike,
  at: number,
  length: number,
) => T) & {
  readonly BYTES_PER_ELEMENT: number;
};

/**
 * The first columns of a body, which must begin on 8 bytes of its memory, of `count` rows. `id` is
 * the type of ids, as Arrow calls it; one that ids cannot have throws.
 */
export function readBody(
  columns: readonly ColumnSchema[],
  body: Uint8Array,
  count: number,
  id: string | null = null,
): BodyRows {
  let at = 0;
  const take = <T>(Kind: View<T>, length: number): T => {
    const bytes = length * Kind.BYTES_PER_ELEMENT;
    if (at + bytes > body.length) throw new Error('damaged: a block is too short');
    const view = new Kind(body.buffer, body.byteOffset + at, length);
    at = padded(at + bytes);
    return view;
  };
  const numbers = (kind: Parameters<typeof numberType>[0], length: number) =>
    take(numberType(kind).Values as unknown as View<NumberArray>, length);
  const rows: Record<string, NumberArray | Lists | BlockIds> = {};
  for (const { name, type } of columns) {
    if (type === 'ids') {
      const kind = checkOneOf('id', id as (typeof ID_TYPES)[number], ID_TYPES);
      if (kind === 'Utf8') {
        const offsets = checkedOffsets(take(Int32Array, count + 1));
        rows[name] = new TextIds(offsets, take(Uint8Array, offsets[count]));
      } else rows[name] = numbers(ID_KINDS[kind], count);
    } else if (typeof type === 'string') rows[name] = numbers(type, count);
    else if ('bytes' in type) rows[name] = take(Uint8Array, count * type.bytes);
    else if ('vector' in type) rows[name] = numbers(type.vector, count * (type.width ?? 1));
    else {
      const offsets = checkedOffsets(take(Int32Array, count + 1));
      rows[name] = { offsets, items: numbers(type.list, offsets[count]) };
    }
  }
  return rows;
}

/** Where the elements of each row begin and end: numbers that ascend from 0. */
function checkedOffsets(offsets: Int32Array): Int32Array {
  for (let i = 1; i < offsets.length; i++) {
    if (offsets[i - 1] > offsets[i]) throw new Error('damaged: offsets of a block do not ascend');
  }
  if (offsets[0] !== 0) throw new Error('damaged: offsets of a block begin beyond 0');
  return offsets;
}

type IntegerIds = Exclude<Ids, readonly string[]>;

/** The ids of a block, in views of its body; `slice()` is a copy, so that the body can be freed. */
export type BlockIds = IntegerIds | TextIds;

const decoder = /* @__PURE__ */ new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Texts, which are decoded when they are read. */
class TextIds {
  constructor(
    readonly offsets: Int32Array,
    readonly bytes: Uint8Array,
  ) {}

  at(place: number): string {
    return decoder.decode(this.bytes.subarray(this.offsets[place], this.offsets[place + 1]));
  }

  slice(): TextIds {
    return new TextIds(this.offsets.slice(), this.bytes.slice());
  }
}
