/**
 * Reads Thrift's compact protocol with every length checked: hyparquet takes lengths on trust, and
 * numbers of any length. What passes here, hyparquet reads as the same values, in time and memory
 * that the bytes justify.
 */

/** Fields by number. Lists and integers of 64 bits are null: only their bytes are checked. */
export type Struct = ReadonlyMap<number, unknown>;

const MAX_DEPTH = 64;
/** Most values of one struct, nested ones included: enough for 300,000 column chunks. */
const MAX_VALUES = 1 << 23;
/** The types of fields, as the protocol numbers them. */
const KINDS = {
  ...{ stop: 0, true: 1, false: 2, byte: 3, int16: 4, int32: 5, int64: 6 },
  ...{ double: 7, binary: 8, list: 9, struct: 12 },
};

/** Reads numbers and bytes one after another; throws where they end. */
export class Cursor {
  constructor(
    readonly bytes: Uint8Array,
    public at = 0,
  ) {}

  byte(): number {
    if (this.at >= this.bytes.length) throw new Error('cut short within a number');
    return this.bytes[this.at++];
  }

  /** The next `count` bytes, a view. */
  take(count: number): Uint8Array {
    if (!(count >= 0 && count <= this.bytes.length - this.at)) {
      throw new Error(`${count} bytes expected, ${this.bytes.length - this.at} are left`);
    }
    this.at += count;
    return this.bytes.subarray(this.at - count, this.at);
  }

  /** An unsigned integer of 32 bits, in five bytes at most. */
  varint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte > 0x7f) continue;
      if (value < 2 ** 32) return value;
      break;
    }
    throw new Error('a number of more than 32 bits');
  }

  /** A signed integer of 64 bits, as the nearest float64. */
  zigzag(): number {
    let value = 0;
    // Zigzag has the sign in the lowest bit. It is read from the bytes, since float64 may round it
    // away.
    const sign = (this.bytes[this.at] ?? 0) & 1;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte <= 0x7f) return sign === 0 ? value / 2 : -(value + 1) / 2;
    }
    throw new Error('a number of more than 64 bits');
  }
}

/** Reads a struct, and moves the cursor after it. With 'check' its fields are not returned. */
export function readStruct(cursor: Cursor, use?: 'check'): Struct {
  let left = MAX_VALUES;

  const struct = (depth: number): Struct => {
    const fields = new Map<number, unknown>();
    if (depth > MAX_DEPTH) throw new Error('metadata nested too deep');
    for (let id = 0; ; ) {
      const head = cursor.byte();
      const kind = head & 15;
      if (kind === KINDS.stop) return fields;
      // A field states how far its number is beyond the one before; 0 says that the number follows.
      id = head >> 4 === 0 ? integer() : id + (head >> 4);
      const found = value(kind, depth);
      if (use !== 'check') fields.set(id, found);
    }
  };
  /** A signed integer of 32 bits: zigzag, so that small negative ones are short too. */
  const integer = () => {
    const bits = cursor.varint();
    return (bits >>> 1) ^ -(bits & 1);
  };
  const value = (kind: number, depth: number): unknown => {
    if (--left < 0) throw new Error(`metadata of more than ${MAX_VALUES} values`);
    switch (kind) {
      case KINDS.true:
      case KINDS.false:
        return kind === KINDS.true;
      case KINDS.byte:
        return cursor.byte();
      case KINDS.int16:
      case KINDS.int32:
        return integer();
      case KINDS.int64: // those of 64 bits are not needed, and none is taken for one of 32
        cursor.zigzag();
        return null;
      case KINDS.double:
        return cursor.take(8);
      case KINDS.binary:
        return cursor.take(cursor.varint());
      case KINDS.list: {
        const head = cursor.byte();
        const item = head & 15;
        const count = head >> 4 === 15 ? cursor.varint() : head >> 4;
        // An item takes a byte at least.
        if (count > cursor.bytes.length - cursor.at) throw new Error(`a list of ${count} items`);
        // Booleans in lists take a byte each; as fields they are the type itself.
        const own = item === KINDS.true || item === KINDS.false ? KINDS.byte : item;
        for (let i = 0; i < count; i++) value(own, depth);
        return null;
      }
      case KINDS.struct:
        return struct(depth + 1);
      default:
        throw new Error(`metadata of an unknown kind, ${kind}`);
    }
  };
  return struct(0);
}

/** An integer field of 32 bits, which must be there and within 0..`most`. */
export function integerOf(struct: Struct, id: number, what: string, most = 2 ** 31 - 1): number {
  const value = struct.get(id);
  if (typeof value === 'number' && value >= 0 && value <= most) return value;
  throw new Error(`${what} cannot be ${value ?? 'missing'}`);
}
