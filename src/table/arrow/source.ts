/**
 * Arrow bytes or tables in, checked record batches out. Bytes are verified before the Arrow library
 * parses them, and whatever it throws or leaves out becomes a FormatError. A table may come from
 * another copy of the library, so nothing here asks `instanceof`.
 */

import {
  CompressionType,
  compressionRegistry,
  type Data,
  type Field,
  type RecordBatch,
  RecordBatchReader,
  type Schema,
  type Table,
  Type,
} from 'apache-arrow';
import { wrongType } from '../../base/check';
import { FormatError } from '../../base/format-error';
import { decodeLz4 } from '../compression/lz4';
import { decodeZstd } from '../compression/zstd';
import { verifyArrow } from './verify';

/** An Arrow IPC file or stream in memory, or a table of the apache-arrow package. */
export type ArrowSource = Uint8Array | ArrayBuffer | Table;

export interface ArrowBatches {
  readonly schema: Schema;
  readonly batches: readonly RecordBatch[];
  /** Rows of all batches. */
  readonly count: number;
  /** True of a file or a stream, which has all batches as they were written. */
  readonly isWhole: boolean;
}

/** Opens a source; `file` names it in errors. */
export function openArrow(source: ArrowSource, file?: string): ArrowBatches {
  if (source instanceof ArrayBuffer) return fromBytes(new Uint8Array(source), file);
  if (source instanceof Uint8Array) return fromBytes(source, file);
  const isTable = Array.isArray((source as Table)?.batches) && 'schema' in source;
  if (!isTable) throw wrongType('source', 'Arrow bytes or an Arrow table', source);
  return outline(source.schema, source.batches, false);
}

function fromBytes(bytes: Uint8Array, file: string | undefined): ArrowBatches {
  // Typed arrays over the body need whole words; the writers align them to the start of the file.
  const aligned = bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes);
  return asFormatError(file, () => {
    const batchCount = verifyArrow(aligned);
    registerCodecs();
    const reader = RecordBatchReader.from(aligned).open();
    const { schema } = reader; // gone once the reader is at its end
    const batches: RecordBatch[] = [];
    if (batchCount > 0) for (const batch of reader) batches.push(batch);
    if (batches.length !== batchCount) {
      throw new Error(`${batchCount} batches expected, ${batches.length} could be read`);
    }
    return outline(schema, batches, true);
  });
}

function outline(schema: Schema, batches: readonly RecordBatch[], isWhole: boolean): ArrowBatches {
  const count = batches.reduce((sum, batch) => sum + batch.numRows, 0);
  return { schema, batches, count, isWhole };
}

/** Runs `read`; what it throws becomes a FormatError that names the file. */
export function asFormatError<T>(file: string | undefined, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof FormatError) throw cause;
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new FormatError(`cannot be read as Arrow: ${message}`, file, { cause });
  }
}

/** Bodies in LZ4 and ZSTD; a codec that the program registered itself is left. */
function registerCodecs(): void {
  for (const [type, decode] of [
    [CompressionType.LZ4_FRAME, decodeLz4],
    [CompressionType.ZSTD, decodeZstd],
  ] as const) {
    if (compressionRegistry.get(type)?.decode) continue;
    compressionRegistry.set(type, { decode: (frame) => decodeAsClaimed(frame, decode) });
  }
}

/** A compressed buffer's length stands in the 8 bytes before it; the library does not compare. */
function decodeAsClaimed(frame: Uint8Array, decode: (frame: Uint8Array) => Uint8Array): Uint8Array {
  const prefix = new DataView(frame.buffer, frame.byteOffset - 8, 8);
  const claimed = Number(prefix.getBigInt64(0, true));
  const bytes = decode(frame);
  if (bytes.length !== claimed) {
    throw new Error(`a buffer of ${bytes.length} bytes claims to be ${claimed}`);
  }
  return bytes;
}

/** One column of one batch, with the row at which the batch starts. */
export interface Chunk {
  readonly data: Data;
  readonly firstRow: number;
}

/** The chunks of a column that have rows; every batch has as many of them as it says. */
export function chunksOf(source: ArrowBatches, column: string): Chunk[] {
  const index = source.schema.fields.findIndex((field) => field.name === column);
  const chunks: Chunk[] = [];
  let firstRow = 0;
  for (const batch of source.batches) {
    const data = batch.data.children[index];
    if (data === undefined || data.length !== batch.numRows) {
      throw new Error(`column "${column}" is shorter than its batch`);
    }
    checkBitmaps(data);
    if (data.length > 0) chunks.push({ data, firstRow });
    firstRow += batch.numRows;
  }
  return chunks;
}

/**
 * The field to read: the one asked for, else one called by a usual name, else the only one of a
 * fitting type. `what` says in messages what is looked for.
 */
export function pickField(
  { schema }: ArrowBatches,
  what: string,
  fits: (field: Field) => boolean,
  options: { column: string | undefined; usual: readonly string[]; option?: string },
): Field {
  const { column, usual, option = 'column' } = options;
  if (column !== undefined) {
    if (typeof column !== 'string') throw wrongType(option, 'a string', column);
    const field = schema.fields.find(({ name }) => name === column);
    if (field === undefined) {
      throw new RangeError(`no column "${column}", there are ${namesOf(schema.fields)}`);
    }
    if (!fits(field)) throw new TypeError(`column "${column}" of type ${field.type} is no ${what}`);
    return field;
  }
  const fitting = schema.fields.filter(fits);
  const named = fitting.find(({ name }) => usual.includes(name));
  if (named !== undefined) return named;
  if (fitting.length === 1) return fitting[0];
  const found = fitting.length === 0 ? `none of ${namesOf(schema.fields)}` : namesOf(fitting);
  throw new RangeError(`"${option}" must name the ${what}: ${found} would do`);
}

function namesOf(fields: readonly Field[]): string {
  return fields.map(({ name }) => `"${name}"`).join(', ') || 'no columns';
}

/** Where there are nulls, the bitmap covers all elements; nobody looks beyond it later. */
export function checkBitmaps(data: Data): void {
  // A column of type Null has no bitmap.
  const needed = data.nullCount > 0 && data.typeId !== Type.Null ? data.offset + data.length : 0;
  if ((data.nullBitmap?.length ?? 0) * 8 < needed) {
    throw new Error('a validity bitmap is shorter than its column');
  }
  for (const child of data.children ?? []) checkBitmaps(child);
}

/** Null rows take no memory in a file and a row's here: so much more may be asked for. */
const EXPANSION = 64;
const EXPANDED_BYTES = 1 << 22;

/** Refuses rows that would take far more memory than the column's bytes justify. */
export function checkExpansion(chunks: readonly Chunk[], count: number, bytesPerRow: number): void {
  const held = chunks.reduce((sum, { data }) => sum + data.byteLength, 0);
  if (count * bytesPerRow <= Math.max(EXPANDED_BYTES, EXPANSION * held)) return;
  throw new Error(`${count} rows of ${bytesPerRow} bytes cannot come from ${held}`);
}

/** Offsets of variable-length elements ascend and stay within `elements`. */
export function checkOffsets({ data, firstRow }: Chunk, elements: number): void {
  if (data.length === 0) return;
  const offsets = data.valueOffsets as unknown as Int32Array | BigInt64Array;
  if (offsets.length < data.length + 1) throw new Error('a column without offsets');
  let before = 0;
  for (let row = 0; row <= data.length; row++) {
    const offset = Number(offsets[row]);
    if (offset < before || offset > elements) {
      throw new Error(`row ${firstRow + row}: an element lies outside of its column's values`);
    }
    before = offset;
  }
}

/** Where the elements of each row of a list column lie in its child. */
export function rangesOf(chunk: Chunk): {
  start(row: number): number;
  end(row: number): number;
} {
  const { data, firstRow } = chunk;
  const { typeId, stride, valueOffsets, length } = data;
  const childLength = data.children[0]?.length ?? 0;
  if (typeId === Type.FixedSizeList) {
    if (length * stride > childLength) throw new Error(`row ${firstRow}: a list without values`);
    return { start: (row) => row * stride, end: (row) => (row + 1) * stride };
  }
  checkOffsets(chunk, childLength);
  const offsets = valueOffsets as unknown as Int32Array | BigInt64Array;
  return { start: (row) => Number(offsets[row]), end: (row) => Number(offsets[row + 1]) };
}

/** A validity bitmap over all chunks, or null when every row is present. */
export function validityOf(chunks: readonly Chunk[], count: number): Uint8Array | null {
  if (chunks.every(({ data }) => data.nullCount === 0)) return null;
  const validity = new Uint8Array(Math.ceil(count / 8));
  for (const { data, firstRow } of chunks) {
    for (let i = 0, row = firstRow; i < data.length; i++, row++) {
      if (data.getValid(i)) validity[row >> 3] |= 1 << (row & 7);
    }
  }
  return validity;
}
