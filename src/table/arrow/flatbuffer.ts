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
export interface Table {
  readonly slots: { readonly [slot: number]: Kind };
  /** Verifies a table whose type is stated in another slot. */
  readonly union?: (buffer: Flatbuffer, at: number, depth: number) => void;
}

/**
 * What a slot refers to: a string, a table, a vector of tables, or a vector of structs of `bytes`.
 */
export type Kind =
  | { readonly kind: 'string' }
  | { readonly kind: 'table' | 'tables'; readonly of: () => Table }
  | { readonly kind: 'structs'; readonly bytes: number };

/** Reads metadata of unknown origin: every access stays within the bytes, or throws. */
export class Flatbuffer {
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
