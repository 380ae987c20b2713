/**
 * The guard before the Arrow library: walks the flatbuffers of an IPC file or stream and bounds
 * every offset, length and row count by the bytes that are there. What passes cannot make a reader
 * loop or allocate beyond what the file justifies. Says nothing about whether the values are right.
 */

import { Flatbuffer, type Kind, type Table } from './flatbuffer';

const MAGIC = 'ARROW1';
/** LZ4 cannot exceed 255:1; ZSTD's shortest run-length block makes 128 KiB from 4 bytes. */
const MAX_RATIO = [255, 32_768];

const STRING = { kind: 'string' } as const;
const table = (of: () => Table): Kind => ({ kind: 'table', of });
const tables = (of: () => Table): Kind => ({ kind: 'tables', of });
const structs = (bytes: number): Kind => ({ kind: 'structs', bytes });

const KEY_VALUE: Table = { slots: { 0: STRING, 1: STRING } };
const PLAIN: Table = { slots: {} };
const ENCODING: Table = { slots: { 1: table(() => PLAIN) } };
/** Of the type tables only Union (its type ids) and Timestamp (its zone) hold an offset. */
const TYPES: Record<number, Table> = {
  10: { slots: { 1: STRING } },
  14: { slots: { 1: structs(4) } },
};
/** LargeListView, the last type of the format as it is now. */
const LAST_TYPE = 26;
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
    const children = [...buffer.tablesAt(at, 5)];
    const entries = type === MAP && children.length === 1 ? buffer.tablesAt(children[0], 5) : null;
    if ((LISTS.includes(type) && children.length !== 1) || (entries && [...entries].length !== 2)) {
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

/** Returns how many batches the bytes hold; throws an Error that says what is wrong. */
export function verifyArrow(bytes: Uint8Array): number {
  if (bytes.length === 0) throw new Error('empty, not an Arrow file or stream');
  return hasMagic(bytes, 0) ? verifyFile(bytes) : verifyStream(bytes);
}

function hasMagic(bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < MAGIC.length; i++) if (bytes[at + i] !== MAGIC.charCodeAt(i)) return false;
  return true;
}

/** Bytes of the magic and of the length before it, with which a file ends. */
export const TAIL_BYTES = 4 + MAGIC.length;

/** One message of a file, as the footer names it: 2 for a dictionary, 3 for a batch. */
export interface Block {
  readonly header: 2 | 3;
  readonly offset: number;
  readonly metadataBytes: number;
  readonly bodyBytes: number;
}

/** Bytes of the footer before the tail of a file of `fileBytes`. */
export function footerBytes(tail: Uint8Array, fileBytes: number): number {
  const end = fileBytes - TAIL_BYTES;
  if (end < 8 || tail.length < TAIL_BYTES || !hasMagic(tail, tail.length - MAGIC.length)) {
    throw new Error('cut short: an Arrow file ends with "ARROW1"');
  }
  const length = new DataView(tail.buffer, tail.byteOffset).getInt32(
    tail.length - TAIL_BYTES,
    true,
  );
  if (length <= 0 || length > end - 8) throw new Error(`a footer of ${length} bytes cannot be`);
  return length;
}

/** The content of a footer, verified. */
export interface Footer {
  /** The messages that it names, all of them before its own start. */
  readonly blocks: readonly Block[];
  readonly columns: Columns;
  /** Where its schema lies in its bytes, and the version of the format. */
  readonly schemaAt: number;
  readonly version: number;
}

/** Reads the bytes of a footer, which begins at `start` of its file. */
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
        offset >= 8 &&
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
      blocks.push({ header, offset, metadataBytes, bodyBytes });
    }
  }
  return { blocks, columns, schemaAt, version };
}

function verifyFile(bytes: Uint8Array): number {
  const tail = bytes.subarray(Math.max(0, bytes.length - TAIL_BYTES));
  const length = footerBytes(tail, bytes.length);
  const start = bytes.length - TAIL_BYTES - length;
  const { blocks, columns } = readFooter(bytes.subarray(start, start + length), start);
  for (const { header, offset } of blocks) {
    const message = readMessage(bytes, offset, start, columns);
    if (message === null) throw new Error(`the footer points to no message at ${offset}`);
    if (message.header !== header) throw new Error(`the footer mistakes the message at ${offset}`);
  }
  return blocks.filter(({ header }) => header === 3).length;
}

function verifyStream(bytes: Uint8Array): number {
  let batchCount = 0;
  let at = 0;
  let columns: Columns | null = null;
  for (let index = 0; at < bytes.length; index++) {
    const message = readMessage(bytes, at, bytes.length, columns);
    if (message === null) break;
    if ((index === 0) !== (message.header === 1)) {
      throw new Error(index === 0 ? 'no Arrow file or stream' : 'a second schema in the stream');
    }
    columns ??= message.columns;
    if (message.header === 3) batchCount++;
    at = message.end;
  }
  if (at === 0) throw new Error('no Arrow file or stream');
  return batchCount;
}

/** The metadata of a message. */
export interface Head {
  /** 1 for a schema, 2 for a dictionary, 3 for a batch. */
  readonly header: number;
  readonly bodyBytes: number;
  /** Rows of a batch. */
  readonly rows: number;
  /** Of a dictionary: the name that columns call it by, and whether it adds to what was there. */
  readonly dictionary: { readonly id: number; readonly isDelta: boolean } | null;
  /** Of a schema. */
  readonly columns: Columns | null;
}

/**
 * Bytes of the metadata behind the prefix at `at`, which is 4 or 8 bytes long. No bytes mark the
 * end of a stream.
 */
export function readPrefix(
  bytes: Uint8Array,
  at: number,
  last: number,
): { metadataBytes: number; prefixBytes: 4 | 8 } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (at + 4 > last) throw new Error('cut short within a message');
  const word = view.getInt32(at, true);
  if (word !== -1) return { metadataBytes: word, prefixBytes: 4 };
  if (at + 8 > last) throw new Error('cut short within a message');
  return { metadataBytes: view.getInt32(at + 4, true), prefixBytes: 8 };
}

/** Verifies the metadata of one message, but not what it says of its body. */
export function readHead(metadata: Uint8Array): Head {
  return headOf(new Flatbuffer(metadata)).head;
}

function headOf(buffer: Flatbuffer): { head: Head; batch: number } {
  const root = buffer.root();
  buffer.verify(root, MESSAGE);
  const header = buffer.uint8(root, 1);
  const headerTable = buffer.reference(root, 2);
  const bodyBytes = buffer.int64Slot(root, 3);
  if (HEADERS[header] === undefined || headerTable === 0) {
    throw new Error(`a message of unknown kind ${header}`);
  }
  buffer.verify(headerTable, HEADERS[header]);
  const batch = header === 2 ? buffer.reference(headerTable, 1) : headerTable;
  if (batch === 0) throw new Error('a dictionary without values');
  const head = {
    ...{ header, bodyBytes },
    rows: header === 3 ? buffer.int64Slot(batch, 0) : 0,
    dictionary:
      header === 2
        ? { id: buffer.int64Slot(headerTable, 0), isDelta: buffer.uint8(headerTable, 2) !== 0 }
        : null,
    columns: header === 1 ? columnsOf(buffer, headerTable) : null,
  };
  return { head, batch };
}

/** Verifies the message at `at`; null at an end-of-stream mark. */
function readMessage(
  bytes: Uint8Array,
  at: number,
  last: number,
  columns: Columns | null,
): { header: number; end: number; columns: Columns | null } | null {
  const { metadataBytes, prefixBytes } = readPrefix(bytes, at, last);
  if (metadataBytes === 0) return null;
  const body = at + prefixBytes + metadataBytes;
  if (metadataBytes < 0 || body > last) throw new Error('cut short, or no Arrow data');
  const buffer = new Flatbuffer(bytes.subarray(at + prefixBytes, body));
  const { head, batch } = headOf(buffer);
  const { header, bodyBytes } = head;
  const end = body + bodyBytes;
  if (bodyBytes < 0 || end > last) throw new Error('cut short within a batch');
  if (header !== 1)
    verifyBatch(buffer, batch, bytes.subarray(body, end), header === 3 ? columns : null);
  return { header, end, columns: head.columns };
}

/**
 * How the columns of a schema lie in the list of a batch's nodes: Arrow lists the node of each
 * column and of each child, in the order of a walk from parents to children.
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
 * Buffers lie within the body, no column claims more rows than its bytes can hold, and all columns
 * have as many rows as the batch: shorter ones would be filled up with nulls.
 */
function verifyBatch(
  buffer: Flatbuffer,
  batch: number,
  body: Uint8Array,
  columns: Columns | null,
): void {
  const compression = buffer.reference(batch, 3);
  const codec = compression === 0 ? -1 : buffer.uint8(compression, 0);
  if (codec > 1) throw new Error(`a body compressed by an unknown codec, ${codec}`);
  const view = new DataView(body.buffer, body.byteOffset, body.length);
  let held = 0;
  for (const at of buffer.structsAt(batch, 2, 16)) {
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
  const nodes = [...buffer.structsAt(batch, 1, 16)];
  for (const at of nodes) check(buffer.int64(at), 'a column');
  if (columns !== null) {
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
  if (viewBuffers > [...buffer.structsAt(batch, 2, 16)].length) {
    throw new Error('views into more buffers than there are');
  }
}
