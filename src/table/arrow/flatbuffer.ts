/**
 * Bounds-checked reading of flatbuffers: a walk over all tables that a spec knows, in which every
 * offset, vector and string must lie within the bytes. Addresses count from their start; 0 is none.
 */

const MAX_DEPTH = 64;

/** The slots of a table that hold offsets; scalars lie within their table, bounded as a whole. */
export interface Table {
  readonly slots: { readonly [slot: number]: Kind };
  /** Verifies a table whose kind is in another slot. */
  readonly union?: (buffer: Flatbuffer, at: number, depth: number) => void;
}

/** What a slot of a table refers to. */
export type Kind =
  | { readonly kind: 'string' }
  | { readonly kind: 'table' | 'tables'; readonly of: () => Table }
  | { readonly kind: 'structs'; readonly bytes: number };

/** Reads metadata of unknown origin: each access throws before it leaves the bytes. */
export class Flatbuffer {
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
    for (const [slot, kind] of Object.entries(spec.slots)) {
      if (this.slot(at, Number(slot)) !== 0) this.#verifySlot(at, Number(slot), kind, depth);
    }
    spec.union?.(this, at, depth + 1);
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

  /** Addresses of a vector's tables. */
  *tablesAt(at: number, slot: number): Generator<number> {
    for (const entry of this.structsAt(at, slot, 4)) yield this.#follow(entry);
  }

  uint8(at: number, slot: number): number {
    const content = this.slot(at, slot);
    return content === 0 ? 0 : this.#view.getUint8(content);
  }

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

  int64(at: number): number {
    return Number(this.#view.getBigInt64(at, true));
  }

  #vtable(at: number): { vtable: number; size: number } {
    const vtable = at - this.#view.getInt32(at, true);
    const length = this.#uint16(vtable);
    const size = this.#uint16(vtable + 2);
    if (length < 4 || length % 2 !== 0 || vtable + length > this.#view.byteLength || size < 4)
      throw beyond();
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
