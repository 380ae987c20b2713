/**
 * Reads Arrow files and streams of any size, batch by batch: memory holds one batch and the
 * dictionaries. Each message passes the same checks as bytes in memory do (messages.ts), and is
 * decoded after the schema and the dictionaries before it; the checksums of our own files are
 * compared as batches pass.
 */

import { makeData, type RecordBatch, type Schema } from 'apache-arrow';
import { concatenated } from '../../base/arrays';
import { checkBitmaps } from '../columns/chunk';
import { recordBatch } from '../columns/make';
import { type ColumnInfo, columnInfo } from '../columns/types';
import { RowBatch } from '../row-batch';
import { KEY, SealChecker } from '../sealed/seal';
import {
  BATCH_MESSAGE,
  type Columns,
  checkLeft,
  DICTIONARY_MESSAGE,
  FIRST_MESSAGE,
  footerStart,
  type Message,
  readFooter,
  SCHEMA_MESSAGE,
  type Span,
  TAIL_BYTES,
  type Walk,
  walkBlock,
  walkHead,
  walkMessage,
  walkStream,
  walkToBatch,
} from './messages';
import { asArrow, decoded } from './source';

/** A file of which any range can be read. */
export interface ByteFile {
  readonly byteCount: number;
  /** Fills `bytes` from `at` on; throws where the file ends before. */
  readInto(bytes: Uint8Array, at: number): Promise<void>;
}

/** Bytes that come one after another. */
export interface BytePipe {
  /** The next `count` bytes, fewer only at the end. */
  take(count: number): Promise<Uint8Array>;
  /** Bytes after those that were taken, where that is known. */
  readonly bytesLeft?: number | null;
}

/** A file or stream that was opened; its batches can be read once. */
interface ArrowRows {
  readonly columns: readonly ColumnInfo[];
  /** Rows of a file; null for a stream, which does not say how many it has. */
  readonly rowCount: number | null;
  /** The JSON in the schema of our own files, not parsed. */
  readonly header: string | undefined;
  /** Where the bodies of the batches lie in a file; empty for a stream. */
  readonly bodies: readonly Span[];
  /** The batches as they were written. */
  batches(): AsyncGenerator<RowBatch>;
}

/**
 * The messages that a batch needs before it: the schema, and the dictionaries up to here. A batch
 * is decoded as a stream of these and of itself.
 */
class Preamble {
  readonly schema: Schema;
  readonly header: string | undefined;
  #dictionaries: { id: number | undefined; bytes: Uint8Array }[] = [];
  readonly #seals: SealChecker;

  /** `message` are the bytes of the schema's message, `columns` what it says. */
  constructor(
    readonly message: readonly Uint8Array[],
    readonly columns: Columns,
    readonly file: string,
  ) {
    this.schema = decoded(message, 0).schema;
    this.#seals = new SealChecker(this.schema);
    this.header = this.schema.metadata.get(KEY);
  }

  /** Keeps a dictionary for later batches; unless it is a delta, it replaces the one before. */
  addDictionary({ dictionary, parts }: Message): void {
    if (!dictionary?.isDelta) {
      this.#dictionaries = this.#dictionaries.filter(({ id }) => id !== dictionary?.id);
    }
    this.#dictionaries.push({ id: dictionary?.id, bytes: concatenated(parts) });
  }

  /** Decodes the message of a batch; its bitmaps are checked. */
  batchOf({ parts }: Message): RecordBatch {
    const dictionaries = this.#dictionaries.map(({ bytes }) => bytes);
    const [batch] = decoded([...this.message, ...dictionaries, ...parts], 1).batches;
    for (const data of batch.data.children) checkBitmaps(data);
    return batch;
  }

  /**
   * A decoded batch as rows; that of a sealed file is compared with its checksums and place first.
   */
  rowsOf(batch: RecordBatch, isLast: boolean): RowBatch {
    const { file } = this;
    const { row: firstRow } = this.#seals;
    asArrow(file, () => this.#seals.check(batch, isLast));
    return RowBatch.fromArrow(batch, { firstRow, file });
  }

  /** Fails for a sealed file without any batch. */
  checkEnd(): void {
    asArrow(this.file, () => this.#seals.checkEnd());
  }
}

/**
 * Makes a message with the schema of a footer. Files need not have such a message, and those of the
 * Arrow library have none. The message is a hand-made table with the footer after it; the table's
 * header points to the schema within the footer.
 */
function schemaOfFooter(footer: Uint8Array, schemaAt: number, version: number): Uint8Array {
  const prefixBytes = 8;
  const vtableAt = 8;
  const tableAt = 24;
  // Addresses within the message: of the vtable, of the table, and of the footer after them.
  const footerAt = 40;
  const message = new Uint8Array(prefixBytes + footerAt + footer.length);
  const bytes = message.subarray(prefixBytes);
  const view = new DataView(message.buffer, prefixBytes);
  message.fill(255, 0, 4);
  new DataView(message.buffer).setInt32(4, bytes.length, true);
  view.setUint32(0, tableAt, true);
  // Sizes of this vtable and of the table, and where the table has its version, kind and header.
  [12, 12, 8, 10, 4, 0].forEach((word, i) => {
    view.setUint16(vtableAt + 2 * i, word, true);
  });
  view.setInt32(tableAt, tableAt - vtableAt, true);
  view.setUint32(tableAt + 4, footerAt + schemaAt - (tableAt + 4), true);
  view.setInt16(tableAt + 8, version, true);
  view.setUint8(tableAt + 10, SCHEMA_MESSAGE);
  bytes.set(footer, footerAt);
  return message;
}

/** Runs a walk over bytes that `take` gives in order. */
async function run<T>(walk: Walk<T>, take: BytePipe['take']): Promise<T> {
  for (let step = walk.next(); ; ) {
    if (step.done) return step.value;
    step = walk.next(await take(step.value));
  }
}

/** A `take` that gives the bytes of a file from `at` on, up to `last`. */
function takeFrom(file: ByteFile, at: number, last: number): BytePipe['take'] {
  let from = at;
  return async (count) => {
    const bytes = new Uint8Array(Math.min(count, last - from));
    await file.readInto(bytes, from);
    from += bytes.length;
    return bytes;
  };
}

/**
 * Opens an Arrow file, which errors name by `name`. Reads the footer and the metadata of all
 * batches, but no body.
 */
export async function openArrowFile(file: ByteFile, name: string): Promise<ArrowRows> {
  const { byteCount } = file;
  const bodies: Span[] = [];
  let rowCount = 0;
  const { start, blocks, preamble } = await asArrow(name, async () => {
    const tail = await takeFrom(file, Math.max(0, byteCount - TAIL_BYTES), byteCount)(TAIL_BYTES);
    const start = footerStart(tail, byteCount);
    const footer = await takeFrom(file, start, byteCount - TAIL_BYTES)(byteCount);
    const { blocks, columns, schemaAt, version } = readFooter(footer, start);
    // Checks each message that the footer names, and notes where its body lies.
    for (const block of blocks) {
      const walk = walkBlock(block, walkHead());
      const { rows, parts, bodyBytes } = await run(walk, takeFrom(file, block.offset, start));
      const at = parts.reduce((sum, part) => sum + part.length, block.offset);
      if (block.header === BATCH_MESSAGE) bodies.push({ at, length: bodyBytes });
      rowCount += rows;
    }
    if (bodies.length === 0) await run(walkToBatch(), takeFrom(file, FIRST_MESSAGE, start));
    const message = schemaOfFooter(footer, schemaAt, version);
    return { start, blocks, preamble: new Preamble([message], columns, name) };
  });
  const batchCount = blocks.filter(({ header }) => header === BATCH_MESSAGE).length;

  async function* messages(): AsyncGenerator<Message> {
    for (const block of blocks) {
      const message = walkBlock(block, walkMessage(preamble.columns));
      yield await run(message, takeFrom(file, block.offset, start));
    }
  }
  return { ...rowsOf(preamble, messages(), { batchCount, rowCount }), bodies };
}

/** Opens an Arrow stream, which errors name; `expectEnd` refuses a stream without its end mark. */
export async function openArrowStream(
  pipe: BytePipe,
  name: string,
  { expectEnd = false }: { readonly expectEnd?: boolean } = {},
): Promise<ArrowRows> {
  const next = (schema: Message | null) =>
    run(walkStream(schema, expectEnd), (count) => pipe.take(count));
  const schema = (await asArrow(name, () => next(null))) as Message;
  const preamble = await asArrow(name, async () => {
    return new Preamble(schema.parts, schema.columns as Columns, name);
  });

  async function* messages(): AsyncGenerator<Message> {
    for (;;) {
      const message = await next(schema);
      if (message !== null) yield message;
      else return checkLeft(pipe.bytesLeft ?? 0);
    }
  }
  return rowsOf(preamble, messages(), { batchCount: null, rowCount: null });
}

/**
 * The rows of messages. A stream does not state how many batches and rows it has: both counts are
 * null.
 */
function rowsOf(
  preamble: Preamble,
  messages: AsyncGenerator<Message>,
  { batchCount, rowCount }: { batchCount: number | null; rowCount: number | null },
): ArrowRows {
  const { schema, header, file } = preamble;

  async function* batches(): AsyncGenerator<RowBatch> {
    let index = 0;
    let isEmpty = true;
    // The last batch of a sealed stream says that it is the last, so each is held until the next.
    let held: RecordBatch | null = null;
    for (;;) {
      const { value: message } = await asArrow(file, () => messages.next());
      if (message === undefined) break;
      if (message.header === DICTIONARY_MESSAGE) {
        preamble.addDictionary(message);
        continue;
      }
      const batch = asArrow(file, () => preamble.batchOf(message));
      isEmpty = false;
      if (batchCount !== null) yield preamble.rowsOf(batch, ++index === batchCount);
      else if (held !== null) yield preamble.rowsOf(held, false);
      held = batchCount === null ? batch : null;
    }
    if (held !== null) yield preamble.rowsOf(held, true);
    preamble.checkEnd();
    // Without batches, one batch without rows shows the columns.
    if (isEmpty) {
      const none = schema.fields.map(({ type }) => makeData({ type }));
      yield RowBatch.fromArrow(recordBatch(schema, none, 0), { file });
    }
  }
  return { columns: schema.fields.map(columnInfo), header, bodies: [], rowCount, batches };
}
