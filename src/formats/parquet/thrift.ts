/**
 * Thrift's compact protocol with every length checked: hyparquet takes lengths on trust, and a
 * number of any length. What passes here it reads as the same values, in time and memory that the
 * bytes justify.
 */

/** Fields by their number. Of lists and integers of 64 bits only the bytes are checked: null. */
export type Struct = ReadonlyMap<number, unknown>;

const MAX_DEPTH = 64;
/** Values of one struct, those within included: those of 300,000 chunks of columns. */
const MAX_VALUES = 1 << 23;
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

  take(count: number): Uint8Array {
    if (!(count >= 0 && count <= this.bytes.length - this.at)) {
      throw new Error(`${count} bytes expected, ${this.bytes.length - this.at} are left`);
    }
    this.at += count;
    return this.bytes.subarray(this.at - count, this.at);
  }

  /** An integer of 32 bits without a sign: five bytes at most. */
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

  /** An integer of 64 bits, as the nearest float64. */
  zigzag(): number {
    let value = 0;
    const sign = (this.bytes[this.at] ?? 0) & 1;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte <= 0x7f) return sign === 0 ? value / 2 : -(value + 1) / 2;
    }
    throw new Error('a number of more than 64 bits');
  }
}

/** Reads a struct; `cursor` is behind it then. With 'check' its fields are not held. */
export function readStruct(cursor: Cursor, use?: 'check'): Struct {
  let left = MAX_VALUES;

  const struct = (depth: number): Struct => {
    const fields = new Map<number, unknown>();
    if (depth > MAX_DEPTH) throw new Error('metadata nested too deep');
    for (let id = 0; ; ) {
      const head = cursor.byte();
      const kind = head & 15;
      if (kind === KINDS.stop) return fields;
      id = head >> 4 === 0 ? integer() : id + (head >> 4);
      const found = value(kind, depth);
      if (use !== 'check') fields.set(id, found);
    }
  };
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
        if (count > cursor.bytes.length - cursor.at) throw new Error(`a list of ${count} items`);
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

/** An integer of 32 bits that must be there, in 0..`most`. */
export function integerOf(struct: Struct, id: number, what: string, most = 2 ** 31 - 1): number {
  const value = struct.get(id);
  if (typeof value === 'number' && value >= 0 && value <= most) return value;
  throw new Error(`${what} cannot be ${value ?? 'missing'}`);
}
