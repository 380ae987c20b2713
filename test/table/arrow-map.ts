/**
 * Where things lie in the bytes of an Arrow IPC file or stream, for tests that change them in place.
 * Written from the format's specification; knows nothing of the code under test. All addresses are
 * absolute; the bytes must be sound.
 */

/** A flatbuffers table; its slots are numbered as in Arrow's .fbs files. */
export class FlatTable {
  readonly at: number;
  readonly #view: DataView;

  constructor(view: DataView, at: number) {
    this.#view = view;
    this.at = at;
  }

  get vtable(): number {
    return this.at - this.#view.getInt32(this.at, true);
  }

  /** Address of a slot's content, or null where the table leaves it out. */
  slot(slot: number): number | null {
    const entry = 4 + 2 * slot;
    if (entry >= this.#view.getUint16(this.vtable, true)) return null;
    const offset = this.#view.getUint16(this.vtable + entry, true);
    return offset === 0 ? null : this.at + offset;
  }

  /** Address of a slot's content, which must be there. */
  must(slot: number): number {
    const at = this.slot(slot);
    if (at === null) throw new Error(`the table has no slot ${slot}`);
    return at;
  }

  table(slot: number): FlatTable {
    const at = this.must(slot);
    return new FlatTable(this.#view, at + this.#view.getUint32(at, true));
  }

  /** Address of a vector's or string's count; the elements follow 4 bytes on. */
  vector(slot: number): number {
    const at = this.must(slot);
    return at + this.#view.getUint32(at, true);
  }

  count(slot: number): number {
    return this.slot(slot) === null ? 0 : this.#view.getUint32(this.vector(slot), true);
  }

  /** Addresses of a vector's structs. */
  structs(slot: number, bytes: number): number[] {
    return Array.from({ length: this.count(slot) }, (_, i) => this.vector(slot) + 4 + i * bytes);
  }

  /** The tables that a vector refers to. */
  tables(slot: number): FlatTable[] {
    return this.structs(slot, 4).map(
      (at) => new FlatTable(this.#view, at + this.#view.getUint32(at, true)),
    );
  }
}

/** Slots by their names in Schema.fbs, Message.fbs and File.fbs. */
export const SLOTS = {
  footer: { schema: 1, dictionaries: 2, recordBatches: 3 },
  message: { header: 2, bodyLength: 3, customMetadata: 4 },
  schema: { endianness: 0, fields: 1, customMetadata: 2 },
  field: { name: 0, type: 3, dictionary: 4, children: 5, customMetadata: 6 },
  batch: { length: 0, nodes: 1, buffers: 2, compression: 3, variadicBufferCounts: 4 },
} as const;

export interface MessageMap {
  /** Where its prefix starts, and its body; where the next one may start. */
  readonly start: number;
  readonly body: number;
  readonly end: number;
  readonly root: FlatTable;
  /** The Schema, DictionaryBatch or RecordBatch. */
  readonly header: FlatTable;
  readonly kind: 'schema' | 'dictionary' | 'batch';
}

export interface FileMap {
  /** Where the footer's length is written. */
  readonly footerLength: number;
  readonly footer: FlatTable;
  /** Addresses of the footer's blocks for record batches: int64 offset, int32 metadata, int64 body. */
  readonly blocks: number[];
  readonly batches: MessageMap[];
  /** The schema's message; apache-arrow writes none, and Polars leaves its length out. */
  readonly schema: MessageMap | null;
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

export function mapFile(bytes: Uint8Array): FileMap {
  const view = viewOf(bytes);
  const footerLength = bytes.length - 10;
  const start = footerLength - view.getInt32(footerLength, true);
  const footer = new FlatTable(view, start + view.getUint32(start, true));
  const blocks = footer.structs(SLOTS.footer.recordBatches, 24);
  const batches = blocks.map((at) => mapMessage(view, Number(view.getBigInt64(at, true))));
  const isMessage = view.getInt32(8, true) === -1 && view.getInt32(12, true) > 0;
  const first = isMessage ? mapMessage(view, 8) : null;
  const schema = first?.kind === 'schema' ? first : null;
  return { footerLength, footer, blocks, batches, schema };
}

/** Messages until the mark that ends a stream, which not every writer sets. */
export function mapStream(bytes: Uint8Array): MessageMap[] {
  const view = viewOf(bytes);
  const messages: MessageMap[] = [];
  for (let start = 0; start < bytes.length; start = messages[messages.length - 1].end) {
    if (view.getInt32(start + 4, true) === 0) break;
    messages.push(mapMessage(view, start));
  }
  return messages;
}

function mapMessage(view: DataView, start: number): MessageMap {
  const metadata = view.getInt32(start, true) === -1 ? start + 8 : start + 4;
  const root = new FlatTable(view, metadata + view.getUint32(metadata, true));
  const kind = (['schema', 'dictionary', 'batch'] as const)[view.getUint8(root.must(1)) - 1];
  const bodyLength = root.slot(SLOTS.message.bodyLength);
  const body = metadata + view.getInt32(metadata - 4, true);
  const end = body + (bodyLength === null ? 0 : Number(view.getBigInt64(bodyLength, true)));
  return { start, body, end, root, header: root.table(SLOTS.message.header), kind };
}
