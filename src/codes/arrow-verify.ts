/**
 * The guard before the Arrow library: walks the flatbuffers of an IPC file or stream and bounds
 * every offset, length and row count by the bytes that are there. What passes cannot make a reader
 * loop or allocate beyond what the file justifies. Says nothing about whether the values are right.
 */

const MAGIC = 'ARROW1';
/** LZ4 cannot exceed 255:1; ZSTD's shortest run-length block makes 128 KiB from 4 bytes. */
const MAX_RATIO = [255, 32_768];
const MAX_DEPTH = 64;

type Table = { readonly [slot: number]: Kind };
type Kind =
  | { readonly kind: 'string' }
  | { readonly kind: 'table' | 'tables'; readonly of: () => Table }
  | { readonly kind: 'structs'; readonly bytes: number };

const STRING = { kind: 'string' } as const;
const table = (of: () => Table): Kind => ({ kind: 'table', of });
const tables = (of: () => Table): Kind => ({ kind: 'tables', of });
const structs = (bytes: number): Kind => ({ kind: 'structs', bytes });

// Only slots that hold offsets matter; scalars lie within their table, which is bounded as a whole.
const KEY_VALUE: Table = { 0: STRING, 1: STRING };
/**
 * Of the type tables only Union (slot 1: type ids) and Timestamp (slot 1: a zone) hold an offset.
 */
const UNION: Table = { 1: structs(4) };
const TIMESTAMP: Table = { 1: STRING };
const PLAIN: Table = {};
const ENCODING: Table = { 1: table(() => PLAIN) };
const FIELD: Table = {
  0: STRING,
  3: table(() => PLAIN),
  4: table(() => ENCODING),
  5: tables(() => FIELD),
  6: tables(() => KEY_VALUE),
};
const SCHEMA: Table = { 1: tables(() => FIELD), 2: tables(() => KEY_VALUE), 3: structs(8) };
const RECORD_BATCH: Table = {
  1: structs(16),
  2: structs(16),
  3: table(() => PLAIN),
  4: structs(8),
};
const DICTIONARY_BATCH: Table = { 1: table(() => RECORD_BATCH) };
const FOOTER: Table = {
  1: table(() => SCHEMA),
  2: structs(24),
  3: structs(24),
  4: tables(() => KEY_VALUE),
};
const MESSAGE: Table = { 4: tables(() => KEY_VALUE) };
const HEADERS: Record<number, Table> = { 1: SCHEMA, 2: DICTIONARY_BATCH, 3: RECORD_BATCH };

/** What an IPC file or stream consists of. */
export interface ArrowOutline {
  readonly isFile: boolean;
  readonly batchCount: number;
}

/** Throws an Error that says what is wrong, or tells the outline of sound bytes. */
export function verifyArrow(bytes: Uint8Array): ArrowOutline {
  if (bytes.length === 0) throw new Error('empty, not an Arrow file or stream');
  return hasMagic(bytes, 0) ? verifyFile(bytes) : verifyStream(bytes);
}

function hasMagic(bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < MAGIC.length; i++) if (bytes[at + i] !== MAGIC.charCodeAt(i)) return false;
  return true;
}

function verifyFile(bytes: Uint8Array): ArrowOutline {
  const end = bytes.length - MAGIC.length - 4;
  if (end < 8 || !hasMagic(bytes, bytes.length - MAGIC.length)) {
    throw new Error('cut short: an Arrow file ends with "ARROW1"');
  }
  const length = new DataView(bytes.buffer, bytes.byteOffset).getInt32(end, true);
  if (length <= 0 || length > end - 8) throw new Error(`a footer of ${length} bytes cannot be`);
  const footer = new Flatbuffer(bytes.subarray(end - length, end));
  const root = footer.root();
  footer.verify(root, FOOTER);
  if (footer.slot(root, 1) === 0) throw new Error('the footer has no schema');
  for (const slot of [2, 3]) {
    for (const block of footer.structsAt(root, slot, 24)) {
      const offset = footer.int64(block);
      const metadataBytes = footer.int32(block + 8);
      const bodyBytes = footer.int64(block + 16);
      const last = end - length;
      if (
        offset < 8 ||
        metadataBytes < 8 ||
        bodyBytes < 0 ||
        offset + metadataBytes + bodyBytes > last
      ) {
        throw new Error(
          `the footer points to ${bodyBytes} bytes at ${offset}, outside of the file`,
        );
      }
      const message = readMessage(bytes, offset, last);
      if (message === null) throw new Error(`the footer points to no message at ${offset}`);
      if (message.header !== slot) throw new Error(`the footer mistakes the message at ${offset}`);
    }
  }
  return { isFile: true, batchCount: [...footer.structsAt(root, 3, 24)].length };
}

function verifyStream(bytes: Uint8Array): ArrowOutline {
  let batchCount = 0;
  let at = 0;
  for (let index = 0; at < bytes.length; index++) {
    const message = readMessage(bytes, at, bytes.length);
    if (message === null) break;
    if ((index === 0) !== (message.header === 1)) {
      throw new Error(index === 0 ? 'no Arrow file or stream' : 'a second schema in the stream');
    }
    if (message.header === 3) batchCount++;
    at = message.end;
  }
  if (at === 0) throw new Error('no Arrow file or stream');
  return { isFile: false, batchCount };
}

/** Verifies the message at `at`; null at an end-of-stream mark. */
function readMessage(
  bytes: Uint8Array,
  at: number,
  last: number,
): { header: number; end: number } | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (at + 4 > last) throw new Error('cut short within a message');
  let start = at + 4;
  let length = view.getInt32(at, true);
  if (length === -1) {
    if (at + 8 > last) throw new Error('cut short within a message');
    length = view.getInt32(at + 4, true);
    start = at + 8;
  }
  if (length === 0) return null;
  if (length < 0 || start + length > last) throw new Error('cut short, or no Arrow data');
  const buffer = new Flatbuffer(bytes.subarray(start, start + length));
  const root = buffer.root();
  buffer.verify(root, MESSAGE);
  const header = buffer.uint8(root, 1);
  const headerTable = buffer.reference(root, 2);
  const bodyBytes = buffer.int64Slot(root, 3);
  if (HEADERS[header] === undefined || headerTable === 0) {
    throw new Error(`a message of unknown kind ${header}`);
  }
  buffer.verify(headerTable, HEADERS[header]);
  const body = start + length;
  if (bodyBytes < 0 || body + bodyBytes > last) throw new Error('cut short within a batch');
  if (header !== 1) {
    const batch = header === 3 ? headerTable : buffer.reference(headerTable, 1);
    if (batch === 0) throw new Error('a dictionary without values');
    verifyBatch(buffer, batch, bytes.subarray(body, body + bodyBytes));
  }
  return { header, end: body + bodyBytes };
}

/** Buffers lie within the body, and no column claims more rows than its bytes can hold. */
function verifyBatch(buffer: Flatbuffer, batch: number, body: Uint8Array): void {
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
  check(buffer.int64Slot(batch, 0), 'a batch');
  for (const at of buffer.structsAt(batch, 1, 16)) check(buffer.int64(at), 'a column');
}

/**
 * Bounds-checked reading of one flatbuffer. Addresses are offsets into its bytes; 0 means absent.
 */
class Flatbuffer {
  readonly #view: DataView;
  #tables = 0;

  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  root(): number {
    return this.#follow(0);
  }

  /** Checks a table and all that it refers to. */
  verify(at: number, spec: Table, depth = 0): void {
    // A table takes 4 bytes at least; more visits than that mean tables shared to explode.
    if (depth > MAX_DEPTH || ++this.#tables > this.#view.byteLength / 4) {
      throw new Error('metadata nested too deep');
    }
    const { size, vtable } = this.#vtable(at);
    if (at + size > this.#view.byteLength) throw beyond();
    for (let entry = vtable + 4; entry < vtable + this.#uint16(vtable); entry += 2) {
      if (this.#uint16(entry) >= size) throw beyond();
    }
    for (const [slot, kind] of Object.entries(spec)) {
      if (this.slot(at, Number(slot)) !== 0) this.#verifySlot(at, Number(slot), kind, depth);
    }
    // A field's type is a union whose tables differ; two kinds hold an offset.
    if (spec === FIELD && this.reference(at, 3) !== 0) {
      const type = this.uint8(at, 2);
      if (type === 10) this.verify(this.reference(at, 3), TIMESTAMP, depth + 1);
      if (type === 14) this.verify(this.reference(at, 3), UNION, depth + 1);
    }
  }

  #verifySlot(at: number, slot: number, kind: Kind, depth: number): void {
    const target = this.reference(at, slot);
    if (kind.kind === 'table') {
      this.verify(target, kind.of(), depth + 1);
      return;
    }
    const count = this.#uint32(target);
    const bytes = kind.kind === 'structs' ? kind.bytes : kind.kind === 'tables' ? 4 : 1;
    if (target + 4 + count * bytes > this.#view.byteLength) throw beyond();
    if (kind.kind !== 'tables') return;
    for (let i = 0; i < count; i++) {
      this.verify(this.#follow(target + 4 + 4 * i), kind.of(), depth + 1);
    }
  }

  /** Address of a slot's content, 0 where the table leaves it out. */
  slot(at: number, slot: number): number {
    const { vtable } = this.#vtable(at);
    const entry = 4 + 2 * slot;
    if (entry + 2 > this.#uint16(vtable)) return 0;
    const offset = this.#uint16(vtable + entry);
    return offset === 0 ? 0 : at + offset;
  }

  /** Address that a slot's offset refers to, 0 where the table leaves it out. */
  reference(at: number, slot: number): number {
    const content = this.slot(at, slot);
    return content === 0 ? 0 : this.#follow(content);
  }

  /** Addresses of a vector's structs. */
  *structsAt(at: number, slot: number, bytes: number): Generator<number> {
    const vector = this.reference(at, slot);
    const count = vector === 0 ? 0 : this.#uint32(vector);
    for (let i = 0; i < count; i++) yield vector + 4 + i * bytes;
  }

  uint8(at: number, slot: number): number {
    const content = this.slot(at, slot);
    return content === 0 ? 0 : this.#view.getUint8(content);
  }

  int64Slot(at: number, slot: number): number {
    const content = this.slot(at, slot);
    return content === 0 ? 0 : this.int64(content);
  }

  int32(at: number): number {
    return this.#view.getInt32(at, true);
  }

  int64(at: number): number {
    return Number(this.#view.getBigInt64(at, true));
  }

  #vtable(at: number): { vtable: number; size: number } {
    const vtable = at - this.#view.getInt32(at, true);
    const length = this.#uint16(vtable);
    const size = this.#uint16(vtable + 2);
    if (length < 4 || vtable + length > this.#view.byteLength || size < 4) throw beyond();
    return { vtable, size };
  }

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
