/**
 * The messages of an IPC file or stream, verified before the Arrow library parses them: every
 * offset, length and row count is bounded by the bytes that are there. What passes cannot make a
 * reader loop, or allocate more than the file justifies; whether values are right is not checked.
 * The same walks read bytes in memory and bytes that are waited for.
 */

import { Flatbuffer, type Kind, type Table } from './flatbuffer';

const MAGIC = 'ARROW1';
export const FIRST_MESSAGE = 8; // of a file, behind it and padding
/** Content per byte, by codec: 255 for LZ4; ZSTD's shortest run makes 128 KiB from 4 bytes. */
const MAX_RATIO = [255, 32_768];

const STRING = { kind: 'string' } as const;
const table = (of: () => Table): Kind => ({ kind: 'table', of });
const tables = (of: () => Table): Kind => ({ kind: 'tables', of });
const structs = (bytes: number): Kind => ({ kind: 'structs', bytes });

const KEY_VALUE: Table = { slots: { 0: STRING, 1: STRING } };
const PLAIN: Table = { slots: {} };
const ENCODING: Table = { slots: { 1: table(() => PLAIN) } };
/** By number, the types whose tables have offsets: Timestamp (its zone), Union (its type ids). */
const TYPES: Record<number, Table> = {
  10: { slots: { 1: STRING } },
  14: { slots: { 1: structs(4) } },
};
/** LargeListView, the last type of the format as it is now. */
const LAST_TYPE = 26;
const STRUCT = 13;
const MAP = 17;
/** List, FixedSizeList, Map, LargeList. */
const LISTS = [12, 16, MAP, 21];
const FIELD: Table = {
  slots: {
    0: STRING,
    4: table(() => ENCODING),
    5: tables(() => FIELD),
    6: tables(() => KEY_VALUE),
  },
  union(buffer, at, depth) {
    const type = buffer.uint8(at, 2);
    const target = buffer.reference(at, 3);
    if (type < 1 || type > LAST_TYPE || target === 0) {
      throw new Error(`a column of no known type, ${type}`);
    }
    buffer.verify(target, TYPES[type] ?? PLAIN, depth);
    const children = buffer.tablesAt(at, 5);
    const entries = type === MAP && children.length === 1 ? children[0] : null;
    const isOfPairs = (one: number) =>
      buffer.uint8(one, 2) === STRUCT && buffer.tablesAt(one, 5).length === 2;
    if (
      (LISTS.includes(type) && children.length !== 1) ||
      (entries !== null && !isOfPairs(entries))
    ) {
      throw new Error('a list or map column without its elements');
    }
  },
};
const SCHEMA: Table = {
  slots: { 1: tables(() => FIELD), 2: tables(() => KEY_VALUE), 3: structs(8) },
};
const RECORD_BATCH: Table = {
  slots: { 1: structs(16), 2: structs(16), 3: table(() => PLAIN), 4: structs(8) },
};
const DICTIONARY_BATCH: Table = { slots: { 1: table(() => RECORD_BATCH) } };
const FOOTER: Table = {
  slots: { 1: table(() => SCHEMA), 2: structs(24), 3: structs(24), 4: tables(() => KEY_VALUE) },
};
const MESSAGE: Table = { slots: { 4: tables(() => KEY_VALUE) } };
const HEADERS: Record<number, Table> = { 1: SCHEMA, 2: DICTIONARY_BATCH, 3: RECORD_BATCH };

/** What a message is: the `header` of its metadata. */
export const SCHEMA_MESSAGE = 1;
export const DICTIONARY_MESSAGE = 2;
export const BATCH_MESSAGE = 3;

/** Most bytes of a batch that the library reads. */
const MAX_BODY_BYTES = 2 ** 31 - 1;
/** Most bytes of metadata, which is read before it can be checked. */
const MAX_METADATA_BYTES = 2 ** 28;

/**
 * Reads bytes in order: yields how many it needs next, and is given these, or fewer where the bytes
 * end. Callers have the bytes, or wait for them.
 */
export type Walk<T> = Generator<number, T, Uint8Array>;

/** The metadata of a message. */
interface Head {
  /** 1 for a schema, 2 for a dictionary, 3 for a batch. */
  readonly header: number;
  /** The length of the metadata, as it stands before it, and the metadata. */
  readonly parts: readonly Uint8Array[];
  readonly bodyBytes: number;
  /** Rows of a batch. */
  readonly rows: number;
  /** For a dictionary: its id, by which columns name it, and whether it adds to earlier values. */
  readonly dictionary: { readonly id: number; readonly isDelta: boolean } | null;
  /** For a schema. */
  readonly columns: Columns | null;
  /** True of messages with the newer prefix, which all have or none. */
  readonly isMarked: boolean;
  readonly buffer: Flatbuffer;
  /** The address in `buffer` of the table of a batch, or of a dictionary's values. */
  readonly batch: number;
}

/** A whole message; `parts` are all of its bytes. */
export type Message = Pick<Head, 'header' | 'parts' | 'dictionary' | 'columns' | 'isMarked'>;

/**
 * Reads and verifies the metadata of a message; null at a stream's end mark, and at the end of the
 * bytes unless the mark is expected.
 */
export function* walkHead({ expectEnd = false, isMarked = false } = {}): Walk<Head | null> {
  const parts = [yield 4];
  if (parts[0].length === 0 && expectEnd) {
    throw new Error('cut short: the stream ends without its end mark');
  }
  if (parts[0].length === 0) return null;
  let length = int32At(parts[0]);
  if (length === -1) {
    parts.push(yield 4); // the newer prefix: 4 bytes of 255, then the length
    length = int32At(parts[1]);
  }
  // Zeros that follow lost bytes look like the end mark of streams without the newer prefix.
  if (isMarked && parts.length === 1)
    throw new Error('damaged: bytes where a message should begin');
  if (length === 0) return null;
  const metadata = length < 0 || length > MAX_METADATA_BYTES ? null : yield length;
  if (metadata?.length !== length) throw new Error('cut short, or no Arrow data');
  const buffer = new Flatbuffer(metadata);
  const root = buffer.root();
  buffer.verify(root, MESSAGE);
  const header = buffer.uint8(root, 1);
  const content = buffer.reference(root, 2);
  const bodyBytes = buffer.int64Slot(root, 3);
  if (HEADERS[header] === undefined || content === 0) {
    throw new Error(`a message of unknown kind ${header}`);
  }
  buffer.verify(content, HEADERS[header]);
  const isDictionary = header === DICTIONARY_MESSAGE;
  const batch = isDictionary ? buffer.reference(content, 1) : content;
  if (batch === 0) throw new Error('a dictionary without values');
  if (bodyBytes < 0) throw new Error('cut short within a batch');
  return {
    ...{ header, bodyBytes, buffer, batch, parts: [...parts, metadata] },
    isMarked: parts.length === 2,
    rows: header === BATCH_MESSAGE ? buffer.int64Slot(batch, 0) : 0,
    dictionary: isDictionary
      ? { id: buffer.int64Slot(content, 0), isDelta: buffer.uint8(content, 2) !== 0 }
      : null,
    columns: header === SCHEMA_MESSAGE ? columnsOf(buffer, content) : null,
  };
}

function int32At(bytes: Uint8Array): number {
  if (bytes.length < 4) throw new Error('cut short within a message');
  return new DataView(bytes.buffer, bytes.byteOffset).getInt32(0, true);
}

/** Reads a message with its body; a batch must have the `columns` of the schema before it. */
export function* walkMessage(
  columns: Columns | null,
  end?: { readonly expectEnd: boolean; readonly isMarked: boolean },
): Walk<Message | null> {
  const head = yield* walkHead(end);
  if (head === null) return null;
  const { header, parts, bodyBytes, dictionary, isMarked } = head;
  if (bodyBytes > MAX_BODY_BYTES) {
    const held = `a batch of ${bodyBytes} bytes, at most ${MAX_BODY_BYTES} can be read`;
    throw new Error(`${held}; write it with fewer rows a batch`);
  }
  const body = yield bodyBytes;
  if (body.length < bodyBytes) throw new Error('cut short within a batch');
  if (header !== SCHEMA_MESSAGE) verifyBatch(head, body, columns);
  return { header, parts: [...parts, body], dictionary, columns: head.columns, isMarked };
}

/** Reads the next message of a stream after that of its `schema`, which is null at first. */
export function* walkStream(schema: Message | null, expectEnd = false): Walk<Message | null> {
  const isMarked = schema?.isMarked ?? false;
  const message = yield* walkMessage(schema?.columns ?? null, { expectEnd, isMarked });
  if (schema === null && message?.header !== SCHEMA_MESSAGE) {
    throw new Error('no Arrow file or stream');
  }
  if (schema !== null && message?.header === SCHEMA_MESSAGE) {
    throw new Error('a second schema in the stream');
  }
  return message;
}

/** Reads the message that the footer names at `block`; fails where it is another kind. */
export function* walkBlock<T extends { header: number }>(
  { offset, header }: Block,
  walk: Walk<T | null>,
): Walk<T> {
  const message = yield* walk;
  if (message === null) throw new Error(`the footer points to no message at ${offset}`);
  if (message.header !== header) throw new Error(`the footer mistakes the message at ${offset}`);
  return message;
}

/** Runs walks over bytes in memory from `at` on, before `last`; `at` moves on with them. */
export class Cursor {
  constructor(
    readonly bytes: Uint8Array,
    public at: number,
    readonly last = bytes.length,
  ) {}

  run<T>(walk: Walk<T>): T {
    for (let step = walk.next(); ; ) {
      if (step.done) return step.value;
      const end = Math.min(this.last, this.at + step.value);
      step = walk.next(this.bytes.subarray(this.at, end));
      this.at = end;
    }
  }
}

/** Verifies a file or stream in memory; returns its number of batches, or throws what is wrong. */
export function verifyArrow(bytes: Uint8Array): number {
  if (bytes.length === 0) throw new Error('empty, not an Arrow file or stream');
  let batchCount = 0;
  if (hasMagic(bytes, 0)) {
    const start = footerStart(bytes.subarray(-TAIL_BYTES), bytes.length);
    const { blocks, columns } = readFooter(bytes.subarray(start, -TAIL_BYTES), start);
    for (const block of blocks) {
      new Cursor(bytes, block.offset, start).run(walkBlock(block, walkMessage(columns)));
      if (block.header === BATCH_MESSAGE) batchCount++;
    }
    if (batchCount === 0) new Cursor(bytes, FIRST_MESSAGE, start).run(walkToBatch());
    return batchCount;
  }
  const cursor = new Cursor(bytes, 0);
  let schema: Message | null = null;
  for (;;) {
    const message: Message | null = cursor.run(walkStream(schema));
    if (message === null) {
      checkLeft(bytes.length - cursor.at);
      return batchCount;
    }
    schema ??= message;
    if (message.header === BATCH_MESSAGE) batchCount++;
  }
}

/** Fails for bytes after the end mark of a stream, which another stream or damage has put there. */
export function checkLeft(byteCount: number): void {
  if (byteCount > 0) throw new Error(`${byteCount} bytes after the end of the stream`);
}

/** Reads a file whose footer names no batch; fails where there is one all the same. */
export function* walkToBatch(): Walk<void> {
  for (let head = yield* walkHead(); head !== null; head = yield* walkHead()) {
    if (head.header === BATCH_MESSAGE) {
      throw new Error('damaged: the footer names no batch, and the file has one');
    }
    yield head.bodyBytes;
  }
}

function hasMagic(bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < MAGIC.length; i++) if (bytes[at + i] !== MAGIC.charCodeAt(i)) return false;
  return true;
}

/** Bytes at the end of a file: the length of the footer, then the magic. */
export const TAIL_BYTES = 4 + MAGIC.length;

/** Where the footer of a file of `byteCount` bytes begins; `tail` are its last TAIL_BYTES. */
export function footerStart(tail: Uint8Array, byteCount: number): number {
  const end = byteCount - TAIL_BYTES;
  if (end < 8 || tail.length < TAIL_BYTES || !hasMagic(tail, 4)) {
    throw new Error('cut short: an Arrow file ends with "ARROW1"');
  }
  const length = int32At(tail);
  if (length <= 0 || length > end - 8) throw new Error(`a footer of ${length} bytes cannot be`);
  return end - length;
}

/** A message of a file, as the footer names it: 2 for a dictionary, 3 for a batch. */
interface Block {
  readonly header: 2 | 3;
  readonly offset: number;
  readonly metadataBytes: number;
}

/** The content of a footer, verified. */
interface Footer {
  /** The messages that it names, all of which end before it begins. */
  readonly blocks: readonly Block[];
  readonly columns: Columns;
  /** The address of the schema in the footer's bytes, and the version of the format. */
  readonly schemaAt: number;
  readonly version: number;
}

/** Reads and verifies the bytes of a footer, which begins at `start` of its file. */
export function readFooter(bytes: Uint8Array, start: number): Footer {
  const footer = new Flatbuffer(bytes);
  const root = footer.root();
  footer.verify(root, FOOTER);
  if (footer.slot(root, 1) === 0) throw new Error('the footer has no schema');
  const schemaAt = footer.reference(root, 1);
  const columns = columnsOf(footer, schemaAt);
  const versionAt = footer.slot(root, 0);
  const version = versionAt === 0 ? 0 : footer.int16(versionAt);
  const seen = new Set<number>();
  const blocks: Block[] = [];
  for (const header of [2, 3] as const) {
    for (const block of footer.structsAt(root, header, 24)) {
      const offset = footer.int64(block);
      const metadataBytes = footer.int32(block + 8);
      const bodyBytes = footer.int64(block + 16);
      const isInside =
        offset >= FIRST_MESSAGE &&
        metadataBytes >= 8 &&
        bodyBytes >= 0 &&
        offset + metadataBytes + bodyBytes <= start;
      if (!isInside) {
        throw new Error(
          `the footer points to ${bodyBytes} bytes at ${offset}, outside of the file`,
        );
      }
      if (seen.has(offset)) throw new Error(`the footer names the message at ${offset} twice`);
      seen.add(offset);
      blocks.push({ header, offset, metadataBytes });
    }
  }
  return { blocks, columns, schemaAt, version };
}

/**
 * Where the columns of a schema are in the list of a batch's nodes: Arrow lists a node for each
 * column and for each child, parents before their children.
 */
export interface Columns {
  /** The node of each column; those of its children follow it. */
  readonly nodes: readonly number[];
  readonly nodeCount: number;
}

function columnsOf(buffer: Flatbuffer, schema: number): Columns {
  const endianness = buffer.slot(schema, 0);
  if (endianness !== 0 && buffer.int16(endianness) !== 0) {
    throw new Error('big-endian values are not supported');
  }
  const nodes: number[] = [];
  let nodeCount = 0;
  const count = (field: number) => {
    nodeCount++;
    if (buffer.slot(field, 4) !== 0) return; // of a dictionary the batch holds indices only
    for (const child of buffer.tablesAt(field, 5)) count(child);
  };
  for (const field of buffer.tablesAt(schema, 1)) {
    nodes.push(nodeCount);
    count(field);
  }
  return { nodes, nodeCount };
}

/**
 * Buffers must lie within the body, columns claim no more rows than bytes can hold, and all columns
 * have as many rows as the batch: the library would fill up shorter ones with nulls.
 */
function verifyBatch(
  { header, buffer, batch }: Head,
  body: Uint8Array,
  columns: Columns | null,
): void {
  const compression = buffer.reference(batch, 3);
  const codec = compression === 0 ? -1 : buffer.uint8(compression, 0);
  if (codec > 1) throw new Error(`a body compressed by an unknown codec, ${codec}`);
  const view = new DataView(body.buffer, body.byteOffset, body.length);
  let held = 0;
  const buffers = buffer.structsAt(batch, 2, 16);
  for (const at of buffers) {
    const offset = buffer.int64(at);
    const length = buffer.int64(at + 8);
    if (offset < 0 || length < 0 || offset + length > body.length) {
      throw new Error(`a buffer of ${length} bytes at ${offset} in a body of ${body.length}`);
    }
    if (codec < 0 || length === 0) {
      held += length;
      continue;
    }
    if (length < 8) throw new Error('a compressed buffer without its length');
    const claimed = Number(view.getBigInt64(offset, true));
    if (claimed < -1 || claimed > length * MAX_RATIO[codec]) {
      throw new Error(`${length} compressed bytes claim to be ${claimed}`);
    }
    held += claimed === -1 ? length - 8 : claimed;
  }
  const check = (count: number, what: string) => {
    if (count < 0 || count > 8 * held) {
      throw new Error(`${what} of ${count} rows in ${held} bytes cannot be`);
    }
  };
  const rows = buffer.int64Slot(batch, 0);
  check(rows, 'a batch');
  const nodes = buffer.structsAt(batch, 1, 16);
  for (const at of nodes) check(buffer.int64(at), 'a column');
  if (columns !== null && header === BATCH_MESSAGE) {
    const isShort = columns.nodes.some((node) => buffer.int64(nodes[node] ?? 0) !== rows);
    if (nodes.length !== columns.nodeCount || isShort) {
      throw new Error(`a batch of ${rows} rows whose columns have not as many`);
    }
  }
  let viewBuffers = 0;
  for (const at of buffer.structsAt(batch, 4, 8)) {
    const count = buffer.int64(at);
    viewBuffers += count < 0 ? Number.POSITIVE_INFINITY : count;
  }
  if (viewBuffers > buffers.length) throw new Error('views into more buffers than there are');
}

/** Bytes `at` to `at + length - 1` of a file. */
export interface Span {
  readonly at: number;
  readonly length: number;
}

/**
 * The bodies of the batches of a file that is known to be sound, and the buffers of each in the
 * order in which Arrow lists them: column by column. Bytes of bodies may be missing.
 */
export function bodiesOf(file: Uint8Array): (Span & { readonly buffers: readonly Span[] })[] {
  const start = footerStart(file.subarray(-TAIL_BYTES), file.length);
  const { blocks } = readFooter(file.subarray(start, -TAIL_BYTES), start);
  return blocks.map((block) => {
    const cursor = new Cursor(file, block.offset, start);
    const { bodyBytes, buffer, batch } = cursor.run(walkBlock(block, walkHead()));
    const buffers = buffer.structsAt(batch, 2, 16).map((own) => ({
      at: cursor.at + buffer.int64(own),
      length: buffer.int64(own + 8),
    }));
    return { at: cursor.at, length: bodyBytes, buffers };
  });
}
