/**
 * Arrow bytes or tables in, checked record batches out. Bytes are verified before the Arrow library
 * parses them (messages.ts), and what it throws or leaves out becomes a FormatError. A table may
 * come from another copy of the library, so nothing here asks `instanceof`.
 *
 * Files and streams of any size are read batch by batch: memory holds one batch and the
 * dictionaries. Each message is decoded after the schema and the dictionaries before it; the
 * checksums of our own files are compared as batches pass.
 */

import {
  CompressionType,
  compressionRegistry,
  makeData,
  type RecordBatch,
  RecordBatchReader,
  type Schema,
  type Table,
} from 'apache-arrow';
import { concatenated } from '../../base/arrays';
import { asFormatError, wrongType } from '../../base/check';
import { checkBitmaps } from '../columns/chunk';
import { quickSchema, recordBatch } from '../columns/make';
import { decodeLz4, decodeZstd } from '../compression';
import { RowBatch } from '../row-batch';
import { type ArrowBatches, KEY, SealChecker } from '../sealed/seal';
import {
  BATCH_MESSAGE,
  type ByteRange,
  type Columns,
  checkBlock,
  checkBody,
  checkBodyBytes,
  checkLeft,
  checkNoBatch,
  checkOrder,
  DICTIONARY_MESSAGE,
  END,
  footerStart,
  type Head,
  headAt,
  headOf,
  metadataBytes,
  PREFIX_BYTES,
  readFooter,
  TAIL_BYTES,
  verifyArrow,
} from './messages';
import { schemaMessage } from './writer';

/** An Arrow IPC file or stream in memory, or a table of the apache-arrow package. */
export type ArrowSource = Uint8Array | ArrayBuffer | Table;

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
  return asArrow(file, () => {
    const whole = aligned(bytes);
    const { schema, batches } = decoded(whole, verifyArrow(whole));
    return outline(schema, batches, true);
  });
}

/**
 * The bytes, or a copy where they begin off 8 bytes: typed arrays over the body of a message need
 * whole words. Writers align them to the start of the file.
 */
const aligned = (bytes: Uint8Array) => (bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes));

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
 * They compare the length of a buffer with the one before it, which the library does not.
 */
function registerCodecs(): void {
  for (const [type, decode] of [
    [CompressionType.LZ4_FRAME, decodeLz4],
    [CompressionType.ZSTD, decodeZstd],
  ] as const) {
    if (compressionRegistry.get(type)?.decode) continue;
    const decodeAsClaimed = (frame: Uint8Array) => {
      const prefix = new DataView(frame.buffer, frame.byteOffset - 8, 8);
      const claimed = Number(prefix.getBigInt64(0, true));
      const bytes = decode(frame, claimed);
      if (bytes.length === claimed) return bytes;
      throw new Error(`a buffer of ${bytes.length} bytes claims to be ${claimed}`);
    };
    compressionRegistry.set(type, { decode: decodeAsClaimed });
  }
}

/** A file of which any ranges can be read. */
export interface ByteFile {
  readonly byteCount: number;
  /** Reads ranges, in the order given; throws where the file ends before one does. */
  read(ranges: readonly ByteRange[]): Promise<Uint8Array[]>;
}

/** Bytes that come one after another. */
export interface BytePipe {
  /** The next `count` bytes, fewer only at the end. */
  take(count: number): Promise<Uint8Array>;
  /** Bytes after those that were taken, where that is known. */
  readonly bytesLeft?: number | null;
}

/** How the messages of a file or a stream are read. */
interface Messages {
  /** The bytes of the schema's message. */
  readonly schema: readonly Uint8Array[];
  /** The next dictionary or batch, as `withBody` has it; null at the end. */
  readonly next: () => Promise<Head | null>;
  /** Batches and rows of a file; null for a stream, which does not say how many it has. */
  readonly batchCount: number | null;
  readonly rowCount: number | null;
}

/**
 * The rows of a file or stream: `empty`, a batch without rows, which has the columns; how many rows
 * there are, null for a stream; the JSON in the schema of our own files, not parsed; and a function
 * that sends the batches as they were written, once, each after the promise of the one before.
 */
function arrowRows({ next, batchCount, rowCount, ...messages }: Messages, file: string) {
  const { schema } = decoded(messages.schema, 0);
  const seals = new SealChecker(schema);
  const none = schema.fields.map(({ type }) => makeData({ type }));
  const empty = RowBatch.fromArrow(recordBatch(schema, none, 0), { file });
  let dictionaries: Head[] = [];

  /** Keeps a dictionary for later batches; unless it is a delta, it replaces the one before. */
  const addDictionary = (message: Head) => {
    const { dictionary } = message;
    const isOther = (one: Head) => dictionary?.isDelta || one.dictionary?.id !== dictionary?.id;
    const own = { ...message, parts: [concatenated(message.parts)] };
    dictionaries = [...dictionaries.filter(isOther), own];
  };
  /** Decodes the message of a batch as a stream of what it needs; its bitmaps are checked. */
  const batchOf = ({ parts }: Head) => {
    const needed = dictionaries.flatMap((one) => one.parts);
    const [batch] = decoded([...messages.schema, ...needed, ...parts], 1).batches;
    for (const data of batch.data.children) checkBitmaps(data);
    return batch;
  };
  /** A batch as rows; that of a sealed file is compared with its checksums and place first. */
  const rowsOf = (batch: RecordBatch, isLast: boolean) => {
    const { row: firstRow } = seals;
    asArrow(file, () => seals.check(batch, isLast));
    return RowBatch.fromArrow(batch, { firstRow, file });
  };

  const read = async (send: (batch: RowBatch) => Promise<void>) => {
    let sent = 0;
    // The last batch of a sealed stream says that it is the last, so each is held until the next.
    let held: RecordBatch | null = null;
    for (;;) {
      const message = await asArrow(file, next);
      if (message === null) break;
      if (message.header === DICTIONARY_MESSAGE) {
        addDictionary(message);
        continue;
      }
      let batch: RecordBatch | null = asArrow(file, () => batchOf(message));
      if (batchCount === null) [held, batch] = [batch, held];
      if (batch !== null) await send(rowsOf(batch, ++sent === batchCount));
    }
    if (held !== null) await send(rowsOf(held, true));
    else if (sent === 0) asArrow(file, () => seals.checkEnd());
  };
  return { empty, rowCount, header: schema.metadata.get(KEY), read };
}

/**
 * The schema in the bytes of a footer, as the message of a stream. Files need not have such a
 * message, and those of the Arrow library have none. The footer then names no dictionaries, which
 * the library would read.
 */
function schemaOfFooter(footer: Uint8Array, dictionariesAt: number): Uint8Array {
  if (dictionariesAt > 0) footer.fill(0, dictionariesAt, dictionariesAt + 4);
  const magic = new TextEncoder().encode('ARROW1');
  const length = new Uint8Array(Int32Array.of(footer.length).buffer);
  const padding = new Uint8Array(2);
  return schemaMessage(decoded(concatenated([magic, padding, footer, length, magic]), 0).schema);
}

/** Reads and verifies the next metadata. */
async function headFrom(pipe: BytePipe): Promise<Head> {
  const prefix = await pipe.take(PREFIX_BYTES);
  return headOf(prefix, await pipe.take(metadataBytes(prefix)));
}

/** A message whose last part is its body, which `rest` begins with, verified. */
function withBody(head: Head, rest: Uint8Array, columns: Columns | null): Head {
  checkBody(head, rest, columns);
  return { ...head, parts: [...head.parts, aligned(rest.subarray(0, head.bodyBytes))] };
}

/** The message that `bytes` begin with, with its body. */
export function messageAt(bytes: Uint8Array, columns: Columns): Head {
  const head = headAt(bytes, 0);
  return withBody(head, bytes.subarray(head.body), columns);
}

/** Bytes at the end of a file that most footers fit into. */
const FOOTER_BYTES = 2 ** 15;

/** The footer of an Arrow file, where it begins, and its schema as a message. */
export async function outlineOf(file: ByteFile) {
  const { byteCount } = file;
  const guess = Math.max(0, byteCount - FOOTER_BYTES);
  const [last] = await file.read([{ at: guess, length: byteCount - guess }]);
  const start = footerStart(last.subarray(-TAIL_BYTES), byteCount);
  const [tail] =
    start < guess
      ? await file.read([{ at: start, length: byteCount - start }])
      : [last.subarray(start - guess)];
  const footer = tail.subarray(0, -TAIL_BYTES);
  const said = readFooter(footer, start);
  return { ...said, start, schema: schemaOfFooter(footer.slice(), said.dictionariesAt) };
}

/** Blocks whose metadata is read at once. */
const HEADS = 1024;
/** Bytes of a file whose footer names no batch that are searched for one. */
const MAX_EMPTY_BYTES = 2 ** 26;

/**
 * Opens an Arrow file, which errors name by `name`. Reads the footer and the metadata of all
 * batches, but no body.
 */
export async function openArrowFile(file: ByteFile, name: string) {
  return asArrow(name, async () => {
    const { blocks, columns, start, schema } = await outlineOf(file);
    let [batchCount, rowCount] = [0, 0];
    // Checks each message that the footer names.
    for (let first = 0; first < blocks.length; first += HEADS) {
      const some = blocks.slice(first, first + HEADS);
      const heads = some.map(({ offset: at, metadataBytes: length }) => ({ at, length }));
      for (const [i, bytes] of (await file.read(heads)).entries()) {
        const head = headAt(bytes, 0);
        checkBlock(head, some[i]);
        checkBodyBytes(head);
        if (some[i].header === BATCH_MESSAGE) batchCount++;
        rowCount += head.rows;
      }
    }
    if (batchCount === 0) {
      const [bytes] = await file.read([{ at: 0, length: Math.min(start, MAX_EMPTY_BYTES) }]);
      checkNoBatch(bytes);
    }
    let index = 0;
    const next = async () => {
      if (index === blocks.length) return null;
      const { offset: at, metadataBytes, bodyBytes } = blocks[index++];
      const [bytes] = await file.read([{ at, length: metadataBytes + bodyBytes }]);
      return messageAt(bytes, columns);
    };
    return arrowRows({ schema: [schema], next, batchCount, rowCount }, name);
  });
}

/**
 * Opens an Arrow stream, which errors name. With `needsEnd` one without its end mark is refused: it
 * comes from a program that has died.
 */
export async function openArrowStream(pipe: BytePipe, name: string, needsEnd: boolean) {
  return asArrow(name, async () => {
    const first = await headFrom(pipe);
    checkOrder(first, null);
    const message = async (head: Head, columns: Columns | null) => {
      checkBodyBytes(head);
      return withBody(head, await pipe.take(head.bodyBytes), columns);
    };
    const schema = await message(first, null);
    const next = async () => {
      const head = await headFrom(pipe);
      checkOrder(head, first);
      if (head.header !== END) return message(head, first.columns);
      if (needsEnd && head.parts[0].length === 0) {
        throw new Error('cut short: the stream ends without its end mark');
      }
      checkLeft(pipe.bytesLeft ?? 0);
      return null;
    };
    const unknown = { batchCount: null, rowCount: null };
    return arrowRows({ schema: schema.parts, next, ...unknown }, name);
  });
}
