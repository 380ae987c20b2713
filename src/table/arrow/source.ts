/**
 * Arrow bytes or tables in, checked record batches out. Bytes are verified before the Arrow library
 * parses them, and what it throws or leaves out becomes a FormatError. A table may come from
 * another copy of the library, so nothing here asks `instanceof`.
 */

import {
  CompressionType,
  compressionRegistry,
  type RecordBatch,
  RecordBatchReader,
  type Schema,
  type Table,
} from 'apache-arrow';
import { asFormatError, wrongType } from '../../base/check';
import { quickSchema } from '../columns/make';
import { decodeLz4, decodeZstd } from '../compression';
import { verifyArrow } from './messages';

/** An Arrow IPC file or stream in memory, or a table of the apache-arrow package. */
export type ArrowSource = Uint8Array | ArrayBuffer | Table;

/** The record batches of a source, and their schema. */
export interface ArrowBatches {
  readonly schema: Schema;
  readonly batches: readonly RecordBatch[];
  /** Rows of all batches. */
  readonly count: number;
  /** True of a file or a stream, false of a table: a table may be a part of what a file had. */
  readonly isWhole: boolean;
}

/**
 * Opens a source; `file` names it in errors. Bytes are not copied, unless they begin off 8 bytes.
 */
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
  return asArrow(file, () => {
    const { schema, batches } = decoded(aligned, verifyArrow(aligned));
    return outline(schema, batches, true);
  });
}

/**
 * Decodes verified bytes: a whole file or stream, or the messages of a stream in parts. Throws
 * unless the library finds exactly `batchCount` batches, since it stops without an error where it
 * cannot read on.
 */
export function decoded(bytes: Uint8Array | readonly Uint8Array[], batchCount: number) {
  registerCodecs();
  const reader = RecordBatchReader.from(bytes as Uint8Array).open();
  const schema = quickSchema(reader.schema); // gone from the reader once it is at its end
  const batches: RecordBatch[] = [];
  if (batchCount > 0) for (const batch of reader) batches.push(batch);
  if (batches.length === batchCount) return { schema, batches };
  throw new Error(`${batchCount} batches expected, ${batches.length} could be read`);
}

function outline(schema: Schema, batches: readonly RecordBatch[], isWhole: boolean): ArrowBatches {
  const count = batches.reduce((sum, batch) => sum + batch.numRows, 0);
  return { schema, batches, count, isWhole };
}

/** Runs `read`; what it throws becomes a FormatError that names the file. */
export const asArrow = <T>(file: string | undefined, read: () => T): T =>
  asFormatError(file, read, 'cannot be read as Arrow');

/**
 * Registers decoders for LZ4 and ZSTD with the library, unless the program has registered its own.
 */
function registerCodecs(): void {
  for (const [type, decode] of [
    [CompressionType.LZ4_FRAME, decodeLz4],
    [CompressionType.ZSTD, decodeZstd],
  ] as const) {
    if (compressionRegistry.get(type)?.decode) continue;
    compressionRegistry.set(type, { decode: (frame) => decodeAsClaimed(frame, decode) });
  }
}

/** Decodes a buffer and compares its length with the one before it, which the library does not. */
function decodeAsClaimed(
  frame: Uint8Array,
  decode: (frame: Uint8Array, most: number) => Uint8Array,
): Uint8Array {
  const prefix = new DataView(frame.buffer, frame.byteOffset - 8, 8);
  const claimed = Number(prefix.getBigInt64(0, true));
  const bytes = decode(frame, claimed);
  if (bytes.length !== claimed) {
    throw new Error(`a buffer of ${bytes.length} bytes claims to be ${claimed}`);
  }
  return bytes;
}
