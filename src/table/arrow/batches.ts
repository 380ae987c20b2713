/**
 * Arrow files and streams of any size, batch by batch: only one batch and the dictionaries are in
 * memory. Each message is read with the schema and the dictionaries before it as a small stream of
 * its own, so that it passes the same guard as bytes in memory do; the checksums of our own files
 * are compared as the batches pass.
 */

import type { RecordBatch, Schema } from 'apache-arrow';
import { FormatError } from '../../base/format-error';
import { checkBitmaps } from '../columns/chunk';
import { type ColumnInfo, columnInfo } from '../columns/info';
import { RowBatch } from '../row-batch';
import { checkSeal, KEY, openSealed } from '../sealed/seal';
import { asFormatError, openArrow } from './source';
import {
  type Block,
  footerBytes,
  type Head,
  readFooter,
  readHead,
  readPrefix,
  TAIL_BYTES,
} from './verify';

/** A file that is read here and there. */
export interface ByteFile {
  readonly byteCount: number;
  /** Fills `bytes` from `at` on; throws where the file ends before. */
  readInto(bytes: Uint8Array, at: number): Promise<void>;
}

/** Bytes one after another: as many as wanted, fewer only at the end. */
export interface BytePipe {
  take(count: number): Promise<Uint8Array>;
}

/** An opened file or stream; its batches are read once. */
export interface ArrowRows {
  readonly columns: readonly ColumnInfo[];
  /** Rows of a file; null for a stream, which does not say. */
  readonly rowCount: number | null;
  /** The JSON that our own files carry, as it stands. */
  readonly header: string | undefined;
  /** The batches as they were written. */
  batches(): AsyncGenerator<RowBatch>;
}

const SCHEMA = 1;
const DICTIONARY = 2;
const MARK_BYTES = 8;
/** The library does not read more in one batch. */
const MAX_BYTES = 2 ** 31 - 1;
/** A stream's metadata is read before it can be checked. */
const MAX_METADATA_BYTES = 2 ** 28;

/**
 * The messages before a batch that its columns need: the schema, and the dictionaries up to here. A
 * batch is decoded as a stream of these and itself, so that one guard and one decoder serve files,
 * streams and bytes in memory.
 */
class Preamble {
  readonly schema: Schema;
  readonly header: string | undefined;
  readonly #message: Uint8Array;
  #dictionaries: { head: Head; bytes: Uint8Array }[] = [];
  #row = 0;
  #index = 0;

  constructor(
    message: Uint8Array,
    readonly file: string,
  ) {
    this.#message = message;
    const opened = openArrow(markEnd(this.around(0)), file);
    asFormatError(file, () => openSealed({ ...opened, isWhole: false }));
    this.schema = opened.schema;
    this.header = opened.schema.metadata.get(KEY);
  }

  /** Bytes before a message. */
  get byteLength(): number {
    return this.#dictionaries.reduce((sum, one) => sum + one.bytes.length, this.#message.length);
  }

  /** A stream with room for a message of so many bytes, which lies at `byteLength`, and a mark. */
  around(byteLength: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.byteLength + byteLength + MARK_BYTES);
    let at = 0;
    for (const part of [this.#message, ...this.#dictionaries.map((one) => one.bytes)]) {
      bytes.set(part, at);
      at += part.length;
    }
    return bytes;
  }

  /** Keeps a dictionary for the batches that follow; unless it is a delta it replaces the old. */
  addDictionary(head: Head, bytes: Uint8Array): void {
    const { dictionary } = head;
    if (!dictionary?.isDelta) {
      this.#dictionaries = this.#dictionaries.filter(
        (one) => one.head.dictionary?.id !== dictionary?.id,
      );
    }
    this.#dictionaries.push({ head, bytes });
  }

  /** The batch of a stream that was made by `around`. */
  batchOf(stream: Uint8Array): RecordBatch {
    const opened = openArrow(stream, this.file);
    return asFormatError(this.file, () => {
      const [batch] = opened.batches;
      if (opened.batches.length !== 1) throw new Error('a message that is no batch');
      for (const data of batch.data.children) checkBitmaps(data);
      return batch;
    });
  }

  /** Wraps a batch; that of a sealed file is compared with its checksums and its place first. */
  rowsOf(batch: RecordBatch, isLast: boolean): RowBatch {
    if (this.header !== undefined || batch.metadata.has(KEY)) {
      asFormatError(this.file, () => {
        if (this.header === undefined) {
          throw new Error(`damaged: the schema has lost its "${KEY}" metadata`);
        }
        checkSeal(batch, batch.schema, { index: this.#index, row: this.#row, isLast });
      });
    }
    const rows = RowBatch.fromArrow(batch, { firstRow: this.#row, file: this.file });
    this.#row += batch.numRows;
    this.#index++;
    return rows;
  }

  /** A sealed file has at least one batch, even without rows: none means that it was cut. */
  checkEnd(): void {
    if (this.header === undefined || this.#index > 0) return;
    asFormatError(this.file, () => {
      throw new Error('damaged or cut short: it has no batch');
    });
  }
}

/**
 * The metadata of a schema's message around a footer, whose schema it points to: the library writes
 * no such message into files, and other writers need not either.
 */
function schemaOfFooter(footer: Uint8Array, schemaAt: number, version: number): Uint8Array {
  const vtableAt = 8;
  const tableAt = 24;
  const footerAt = 40;
  const bytes = new Uint8Array(footerAt + footer.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, tableAt, true);
  // Sizes of this vtable and of the table, and where the table has its version, kind and header.
  [12, 12, 8, 10, 4, 0].forEach((word, i) => {
    view.setUint16(vtableAt + 2 * i, word, true);
  });
  view.setInt32(tableAt, tableAt - vtableAt, true);
  view.setUint32(tableAt + 4, footerAt + schemaAt - (tableAt + 4), true);
  view.setInt16(tableAt + 8, version, true);
  view.setUint8(tableAt + 10, SCHEMA);
  bytes.set(footer, footerAt);
  return bytes;
}

/** A schema's message as the format has it now, its length a multiple of 8. */
function schemaMessage(metadata: Uint8Array): Uint8Array {
  const length = Math.ceil(metadata.length / 8) * 8;
  const bytes = new Uint8Array(8 + length);
  bytes.fill(255, 0, 4);
  new DataView(bytes.buffer).setInt32(4, length, true);
  bytes.set(metadata, 8);
  return bytes;
}

/** Fails with a FormatError, whatever the cause. */
async function asFormatErrors<T>(file: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    return asFormatError(file, () => {
      throw cause;
    });
  }
}

/** Opens an Arrow file; errors name it by `name`. */
export async function openArrowFile(file: ByteFile, name: string): Promise<ArrowRows> {
  const { preamble, blocks, rowCount } = await asFormatErrors(name, () => outlineOf(file, name));
  const batchCount = blocks.filter(({ header }) => header !== DICTIONARY).length;

  async function* batches(): AsyncGenerator<RowBatch> {
    let index = 0;
    for (const block of blocks) {
      const length = block.metadataBytes + block.bodyBytes;
      const bytes = preamble.around(checkBytes(length, name));
      const message = bytes.subarray(preamble.byteLength);
      const head = await asFormatErrors(name, async () => {
        await file.readInto(message.subarray(0, length), block.offset);
        return headAt(message, block);
      });
      // The message may end before its block does.
      const end = bytes.length - message.length + head.byteLength + MARK_BYTES;
      const stream = markEnd(bytes.subarray(0, end));
      if (block.header === DICTIONARY) {
        preamble.addDictionary(head, stream.slice(preamble.byteLength, -MARK_BYTES));
      } else yield preamble.rowsOf(preamble.batchOf(stream), ++index === batchCount);
    }
    preamble.checkEnd();
  }
  return { ...toldBy(preamble), rowCount, batches };
}

/** Footer, schema and row count of a file. The metadata of each batch is read, not its body. */
async function outlineOf(file: ByteFile, name: string) {
  const { byteCount } = file;
  const read = async (at: number, length: number) => {
    const bytes = new Uint8Array(length);
    await file.readInto(bytes, at);
    return bytes;
  };
  const tailBytes = Math.min(TAIL_BYTES, byteCount);
  const length = footerBytes(await read(byteCount - tailBytes, tailBytes), byteCount);
  const start = byteCount - TAIL_BYTES - length;
  const footer = await read(start, length);
  const { blocks, schemaAt, version } = readFooter(footer, start);
  let rowCount = 0;
  for (const block of blocks) {
    rowCount += headAt(await read(block.offset, block.metadataBytes), block).rows;
  }
  const metadata = schemaOfFooter(footer, schemaAt, version);
  return { preamble: new Preamble(schemaMessage(metadata), name), blocks, rowCount };
}

/** The head of a block's message, and its length: the footer and the message must agree. */
function headAt(message: Uint8Array, block: Block): Head & { byteLength: number } {
  const { metadataBytes, prefixBytes } = readPrefix(message, 0, block.metadataBytes);
  const body = prefixBytes + metadataBytes;
  if (metadataBytes <= 0 || body > block.metadataBytes) {
    throw new Error(`the footer points to no message at ${block.offset}`);
  }
  const head = readHead(message.subarray(prefixBytes, body));
  if (head.header !== block.header) {
    throw new Error(`the footer mistakes the message at ${block.offset}`);
  }
  if (head.bodyBytes < 0 || body + head.bodyBytes > block.metadataBytes + block.bodyBytes) {
    throw new Error('cut short within a batch');
  }
  return { ...head, byteLength: body + head.bodyBytes };
}

/** Opens an Arrow stream; errors name it by `name`. */
export async function openArrowStream(pipe: BytePipe, name: string): Promise<ArrowRows> {
  const first = await asFormatErrors(name, () => nextMessage(pipe, name));
  const preamble = asFormatError(name, () => {
    if (first?.head.header !== SCHEMA) throw new Error('no Arrow file or stream');
    return new Preamble(schemaMessage(first.metadata), name);
  });

  async function* batches(): AsyncGenerator<RowBatch> {
    // In a sealed stream the last batch says that it is the last, so each is held until the next.
    let before: RecordBatch | null = null;
    for (;;) {
      const message = await asFormatErrors(name, () => nextMessage(pipe, name));
      if (message === null) break;
      const { head, parts, byteLength } = message;
      if (head.header === SCHEMA) {
        throw new FormatError('cannot be read as Arrow: a second schema in the stream', name);
      }
      const bytes = preamble.around(byteLength);
      let at = preamble.byteLength;
      for (const part of parts) {
        bytes.set(part, at);
        at += part.length;
      }
      if (head.header === DICTIONARY) {
        preamble.addDictionary(head, bytes.slice(preamble.byteLength, -MARK_BYTES));
        continue;
      }
      const batch = preamble.batchOf(markEnd(bytes));
      if (before !== null) yield preamble.rowsOf(before, false);
      before = batch;
    }
    if (before !== null) yield preamble.rowsOf(before, true);
    preamble.checkEnd();
  }
  return { ...toldBy(preamble), rowCount: null, batches };
}

interface Message {
  readonly head: Head;
  readonly metadata: Uint8Array;
  /** Prefix, metadata and body. */
  readonly parts: readonly Uint8Array[];
  readonly byteLength: number;
}

/** The next message of a stream, or null at its end. */
async function nextMessage(pipe: BytePipe, name: string): Promise<Message | null> {
  let prefix = await pipe.take(4);
  if (prefix.length === 0) return null;
  if (prefix.length === 4 && prefix.every((byte) => byte === 255)) {
    prefix = Uint8Array.of(...prefix, ...(await pipe.take(4)));
  }
  const { metadataBytes } = readPrefix(prefix, 0, prefix.length);
  if (metadataBytes === 0) return null;
  if (metadataBytes < 0 || metadataBytes > MAX_METADATA_BYTES) {
    throw new Error('cut short, or no Arrow data');
  }
  const metadata = await pipe.take(metadataBytes);
  if (metadata.length < metadataBytes) throw new Error('cut short, or no Arrow data');
  const head = readHead(metadata);
  if (head.bodyBytes < 0) throw new Error('cut short within a batch');
  const body = await pipe.take(checkBytes(head.bodyBytes, name));
  if (body.length < head.bodyBytes) throw new Error('cut short within a batch');
  const byteLength = prefix.length + metadataBytes + head.bodyBytes;
  return { head, metadata, parts: [prefix, metadata, body], byteLength };
}

function checkBytes(length: number, name: string): number {
  if (length <= MAX_BYTES) return length;
  const held = `a batch of ${length} bytes, at most ${MAX_BYTES} can be read`;
  throw new FormatError(`${held}; write it with fewer rows a batch`, name);
}

/** Ends a stream's bytes by its mark. */
function markEnd(bytes: Uint8Array): Uint8Array {
  const middle = bytes.length - MARK_BYTES / 2;
  bytes.fill(255, bytes.length - MARK_BYTES, middle).fill(0, middle);
  return bytes;
}

function toldBy({ schema, header }: Preamble): Pick<ArrowRows, 'columns' | 'header'> {
  return { columns: schema.fields.map(columnInfo), header };
}
