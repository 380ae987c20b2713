/**
 * The messages of an IPC file or stream, verified before the Arrow library parses them: every
 * offset, length and row count is bounded by the bytes that are there. What passes cannot make a
 * reader loop, or allocate more than the file justifies; whether values are right is not checked.
 */

const MAGIC = 'ARROW1';
const FIRST_MESSAGE = 8; // of a file, behind it and padding
/** Content per byte, by codec: 255 for LZ4; ZSTD's shortest run makes 128 KiB from 4 bytes. */
const MAX_RATIO = [255, 32_768];

const STRING = 1;
const KEY_VALUE: Table = { slots: { 0: STRING, 1: STRING } };
const PLAIN: Table = { slots: {} };
const ENCODING: Table = { slots: { 1: () => PLAIN } };
/** By number, the types whose tables have offsets: Timestamp (its zone), Union (its type ids). */
const TYPES: Record<number, Table> = {
  10: { slots: { 1: STRING } },
  14: { slots: { 1: 4 } },
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
    4: () => ENCODING,
    5: [() => FIELD],
    6: [() => KEY_VALUE],
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
  slots: { 1: [() => FIELD], 2: [() => KEY_VALUE], 3: 8 },
};
const RECORD_BATCH: Table = {
  slots: { 1: 16, 2: 16, 3: () => PLAIN, 4: 8 },
};
const DICTIONARY_BATCH: Table = { slots: { 1: () => RECORD_BATCH } };
const FOOTER: Table = {
  slots: { 1: () => SCHEMA, 2: 24, 3: 24, 4: [() => KEY_VALUE] },
};
const MESSAGE: Table = { slots: { 4: [() => KEY_VALUE] } };
const HEADERS: Record<number, Table> = { 1: SCHEMA, 2: DICTIONARY_BATCH, 3: RECORD_BATCH };

/** What a message is: the `header` of its metadata; 0 stands for the end of a stream. */
export const END = 0;
const SCHEMA_MESSAGE = 1;
export const DICTIONARY_MESSAGE = 2;
export const BATCH_MESSAGE = 3;

/** Most bytes of a batch that the library reads. */
const MAX_BODY_BYTES = 2 ** 31 - 1;
/** Most bytes of metadata, which is read before it can be checked. */
const MAX_METADATA_BYTES = 2 ** 28;

/** The metadata of a message, verified. */
export interface Head {
  /** 1 for a schema, 2 for a dictionary, 3 for a batch; 0 for the end of a stream. */
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
  readonly buffer: Flatbuffer;
  /** The address in `buffer` of the table of a batch, or of a dictionary's values. */
  readonly batch: number;
}

/** Bytes before the metadata of a message: 4 of 255, then the length. */
export const PREFIX_BYTES = 8;

/**
 * Bytes of the metadata of a message that begins with this prefix; 0 at the end mark of a stream,
 * and where there are no bytes. Messages of before 2019 have no bytes of 255, and are refused.
 */
export function metadataBytes(prefix: Uint8Array): number {
  if (prefix.length === 0) return 0;
  if (prefix.length < PREFIX_BYTES) throw new Error('cut short within a message');
  if (int32At(prefix) !== -1) throw new Error('damaged: bytes where a message should begin');
  const length = int32At(prefix.subarray(4));
  if (length >= 0 && length <= MAX_METADATA_BYTES) return length;
  throw new Error('cut short, or no Arrow data');
}

/** Verifies the metadata of a message, which may be fewer bytes than its prefix says. */
export function headOf(prefix: Uint8Array, metadata: Uint8Array): Head {
  const length = metadataBytes(prefix);
  if (metadata.length < length) throw new Error('cut short, or no Arrow data');
  const buffer = new Flatbuffer(metadata);
  const parts = [prefix, metadata];
  const none = { parts, buffer, bodyBytes: 0, rows: 0, dictionary: null, columns: null };
  if (length === 0) return { ...none, header: END, batch: 0 };
  const root = buffer.root();
  buffer.verify(root, MESSAGE);
  const header = buffer.uint8(root, 1);
  const content = buffer.reference(root, 2);
  const bodyBytes = buffer.int64Slot(root, 3);
  if (HEADERS[header] === undefined || content === 0) {
    throw new Error(`a message of unknown kind ${header}`);
  }
  buffer.verify(content, HEADERS[header]);
  if (bodyBytes < 0) throw new Error('cut short within a batch');
  const own = { ...none, header, bodyBytes, batch: content };
  if (header === SCHEMA_MESSAGE) return { ...own, columns: columnsOf(buffer, content) };
  if (header === BATCH_MESSAGE) return { ...own, rows: buffer.int64Slot(content, 0) };
  const batch = buffer.reference(content, 1);
  if (batch === 0) throw new Error('a dictionary without values');
  const isDelta = buffer.uint8(content, 2) !== 0;
  return { ...own, batch, dictionary: { id: buffer.int64Slot(content, 0), isDelta } };
}

function int32At(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getInt32(0, true);
}

/** The message that begins at `at`, and where its body does. */
export function headAt(bytes: Uint8Array, at: number): Head & { body: number } {
  const start = at + PREFIX_BYTES;
  const prefix = bytes.subarray(at, start);
  const body = start + metadataBytes(prefix);
  return { ...headOf(prefix, bytes.subarray(start, body)), body };
}

/** Fails for a message that cannot follow those before it: their schema, null at first. */
export function checkOrder({ header }: Head, schema: Head | null): void {
  if (schema === null && header !== SCHEMA_MESSAGE) throw new Error('no Arrow file or stream');
  if (schema !== null && header === SCHEMA_MESSAGE)
    throw new Error('a second schema in the stream');
}

/** Fails for a body of more bytes than the library reads: it is checked before memory is taken. */
export function checkBodyBytes({ bodyBytes }: Head): void {
  if (bodyBytes <= MAX_BODY_BYTES) return;
  const held = `a batch of ${bodyBytes} bytes, at most ${MAX_BODY_BYTES} can be read`;
  throw new Error(`${held}; write it with fewer rows a batch`);
}

/** Fails unless the footer names a message of this kind. */
export function checkBlock(head: Head, { header, offset }: Block): void {
  if (head.header === END) throw new Error(`the footer points to no message at ${offset}`);
  if (head.header !== header) throw new Error(`the footer mistakes the message at ${offset}`);
}

/** Verifies a file or stream in memory; returns its number of batches, or throws what is wrong. */
export function verifyArrow(bytes: Uint8Array): number {
  if (bytes.length === 0) throw new Error('empty, not an Arrow file or stream');
  if (!hasMagic(bytes, 0)) return verifyStream(bytes);
  const start = footerStart(bytes.subarray(-TAIL_BYTES), bytes.length);
  const { blocks, columns } = readFooter(bytes.subarray(start, -TAIL_BYTES), start);
  const messages = bytes.subarray(0, start);
  for (const block of blocks) {
    const head = headAt(messages, block.offset);
    checkBlock(head, block);
    checkBody(head, messages.subarray(head.body), columns);
  }
  const batchCount = blocks.filter(({ header }) => header === BATCH_MESSAGE).length;
  if (batchCount === 0) checkNoBatch(messages);
  return batchCount;
}

function verifyStream(bytes: Uint8Array): number {
  let schema: Head | null = null;
  let batchCount = 0;
  for (let at = 0; ; ) {
    const head: Head & { body: number } = headAt(bytes, at);
    checkOrder(head, schema);
    if (head.header === END) {
      checkLeft(bytes.length - Math.min(bytes.length, head.body));
      return batchCount;
    }
    checkBody(head, bytes.subarray(head.body), schema?.columns ?? null);
    schema ??= head;
    if (head.header === BATCH_MESSAGE) batchCount++;
    at = head.body + head.bodyBytes;
  }
}

/** Fails for bytes after the end mark of a stream, which another stream or damage has put there. */
export function checkLeft(byteCount: number): void {
  if (byteCount > 0) throw new Error(`${byteCount} bytes after the end of the stream`);
}

/** Fails where a file has a batch although its footer names none; `bytes` are those before it. */
export function checkNoBatch(bytes: Uint8Array): void {
  let head = headAt(bytes, FIRST_MESSAGE);
  while (head.header !== END) {
    if (head.header === BATCH_MESSAGE) {
      throw new Error('damaged: the footer names no batch, and the file has one');
    }
    head = headAt(bytes, head.body + head.bodyBytes);
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
export interface Block {
  readonly header: 2 | 3;
  readonly offset: number;
  readonly metadataBytes: number;
  readonly bodyBytes: number;
}

/**
 * Reads and verifies the bytes of a footer, which begins at `start` of its file: the messages that
 * it names, all of which end before it begins, the columns of its schema, and the address of the
 * list of dictionaries, 0 where there is none.
 */
export function readFooter(bytes: Uint8Array, start: number) {
  const footer = new Flatbuffer(bytes);
  const root = footer.root();
  footer.verify(root, FOOTER);
  if (footer.slot(root, 1) === 0) throw new Error('the footer has no schema');
  const columns = columnsOf(footer, footer.reference(root, 1));
  const seen = new Set<number>();
  const blocks: Block[] = [];
  let held = 0;
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
      held += metadataBytes + bodyBytes;
      if (held > start) throw new Error('the footer names messages that overlap');
      blocks.push({ header, offset, metadataBytes, bodyBytes });
    }
  }
  return { blocks, columns, dictionariesAt: footer.reference(root, 2) };
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
 * Verifies the body of a message, which `rest` begins with. Buffers must lie within it, columns
 * claim no more rows than bytes can hold, and all `columns` have as many rows as the batch: the
 * library would fill up shorter ones with nulls.
 */
export function checkBody(head: Head, rest: Uint8Array, columns: Columns | null): void {
  const { header, buffer, batch, bodyBytes } = head;
  checkBodyBytes(head);
  const body = rest.subarray(0, bodyBytes);
  if (body.length < bodyBytes) throw new Error('cut short within a batch');
  if (header === SCHEMA_MESSAGE) return;
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
  let viewed = 0;
  for (const at of buffer.structsAt(batch, 4, 8)) {
    const count = buffer.int64(at);
    viewed += count < 0 ? Number.POSITIVE_INFINITY : count;
  }
  if (viewed > buffers.length) throw new Error('views into more buffers than there are');
}

/** Bytes `at` to `at + length - 1` of a file. */
export interface ByteRange {
  readonly at: number;
  readonly length: number;
}

/**
 * The batch whose message begins at an address: its body, and the buffers of this in the order in
 * which Arrow lists them, column by column. Bytes of the body may be missing.
 */
export function batchAt(bytes: Uint8Array, at: number) {
  const { body, bodyBytes, rows, buffer, batch } = headAt(bytes, at);
  const buffers = buffer.structsAt(batch, 2, 16).map((own) => ({
    at: body + buffer.int64(own),
    length: buffer.int64(own + 8),
  }));
  return { rows, at: body, length: bodyBytes, buffers };
}

/**
 * Reads flatbuffers with all bounds checked. `verify` visits every table that a spec describes, and
 * each offset, vector and string must lie within the bytes. Addresses are bytes from the start; 0
 * means that something is missing.
 */

/** Tables within tables; the schemas of real files are far less deep. */
const MAX_DEPTH = 64;

/**
 * What the slots of a table refer to. Slots with scalars are not listed: they lie within the table,
 * whose size is checked as a whole.
 */
interface Table {
  readonly slots: { readonly [slot: number]: Kind };
  /** Verifies a table whose type is stated in another slot. */
  readonly union?: (buffer: Flatbuffer, at: number, depth: number) => void;
}

/**
 * What a slot refers to: a table, a vector of tables, or a vector of structs, by their bytes; a
 * string is one of single bytes.
 */
type Kind = (() => Table) | readonly [() => Table] | number;

/** Reads metadata of unknown origin: every access stays within the bytes, or throws. */
class Flatbuffer {
  readonly #view: DataView;
  #tables = 0;

  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** The address of the root table. */
  root(): number {
    return this.#follow(0);
  }

  /** Checks a table and all that it refers to; the other methods rely on it. */
  verify(at: number, spec: Table, depth = 0): void {
    // A table takes at least 4 bytes. More visits than that mean shared tables, whose visits could
    // grow exponentially.
    if (depth > MAX_DEPTH || ++this.#tables > this.#view.byteLength / 4) {
      throw new Error('metadata nested too deep');
    }
    const { size, vtable } = this.#vtable(at);
    if (at + size > this.#view.byteLength) throw beyond();
    for (let entry = vtable + 4; entry < vtable + this.#uint16(vtable); entry += 2) {
      if (this.#uint16(entry) >= size) throw beyond();
    }
    for (const [slot, kind] of Object.entries(spec.slots)) {
      if (this.slot(at, Number(slot)) !== 0) this.#verifySlot(at, Number(slot), kind, depth);
    }
    spec.union?.(this, at, depth + 1);
  }

  #verifySlot(at: number, slot: number, kind: Kind, depth: number): void {
    const target = this.reference(at, slot);
    if (typeof kind === 'function') {
      this.verify(target, kind(), depth + 1);
      return;
    }
    const count = this.#uint32(target);
    const bytes = typeof kind === 'number' ? kind : 4;
    if (target + 4 + count * bytes > this.#view.byteLength) throw beyond();
    if (typeof kind === 'number') return;
    for (let i = 0; i < count; i++) {
      this.verify(this.#follow(target + 4 + 4 * i), kind[0](), depth + 1);
    }
  }

  /** The address of a slot's content; 0 where the table does not have it. */
  slot(at: number, slot: number): number {
    const { vtable } = this.#vtable(at);
    const entry = 4 + 2 * slot;
    if (entry + 2 > this.#uint16(vtable)) return 0;
    const offset = this.#uint16(vtable + entry);
    return offset === 0 ? 0 : at + offset;
  }

  /** The address that the offset in a slot refers to; 0 where the table does not have it. */
  reference(at: number, slot: number): number {
    const content = this.slot(at, slot);
    return content === 0 ? 0 : this.#follow(content);
  }

  /** The addresses of the structs in a vector, each of `bytes` bytes. */
  structsAt(at: number, slot: number, bytes: number): number[] {
    const vector = this.reference(at, slot);
    const count = vector === 0 ? 0 : this.#uint32(vector);
    return Array.from({ length: count }, (_, i) => vector + 4 + i * bytes);
  }

  /** The addresses of the tables in a vector. */
  tablesAt(at: number, slot: number): number[] {
    return this.structsAt(at, slot, 4).map((entry) => this.#follow(entry));
  }

  /** A scalar in a slot; 0, its default, where the table does not have it. */
  uint8(at: number, slot: number): number {
    const content = this.slot(at, slot);
    return content === 0 ? 0 : this.#view.getUint8(content);
  }

  /** The same of 64 bits, as the nearest float64. */
  int64Slot(at: number, slot: number): number {
    const content = this.slot(at, slot);
    return content === 0 ? 0 : this.int64(content);
  }

  int16(at: number): number {
    return this.#view.getInt16(at, true);
  }

  int32(at: number): number {
    return this.#view.getInt32(at, true);
  }

  /** A number of 64 bits at an address, as the nearest float64. */
  int64(at: number): number {
    return Number(this.#view.getBigInt64(at, true));
  }

  /** Where a table's vtable is, and the size of the table; both are checked. */
  #vtable(at: number): { vtable: number; size: number } {
    const vtable = at - this.#view.getInt32(at, true);
    const length = this.#uint16(vtable);
    const size = this.#uint16(vtable + 2);
    if (length < 4 || length % 2 !== 0 || vtable + length > this.#view.byteLength || size < 4)
      throw beyond();
    return { vtable, size };
  }

  /** The address that the offset at `at` refers to. */
  #follow(at: number): number {
    return at + this.#uint32(at);
  }

  #uint16(at: number): number {
    return this.#view.getUint16(at, true);
  }

  #uint32(at: number): number {
    return this.#view.getUint32(at, true);
  }
}

function beyond(): Error {
  return new Error('the metadata points outside of itself');
}
