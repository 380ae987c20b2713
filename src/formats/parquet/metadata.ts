/**
 * The footer of a Parquet file: its schema, and where the chunks of each column lie. Every length
 * and count is bounded by the bytes that are there, so what passes cannot make a reader loop, or
 * allocate more than the file justifies. Format: github.com/apache/parquet-format.
 */

import type { ByteFile } from '../../table/arrow/batches';
import type { ByteRange } from '../../table/arrow/messages';

/** Reads numbers and bytes one after another; throws where they end. */
export class Cursor {
  at = 0;

  constructor(readonly bytes: Uint8Array) {}

  get left(): number {
    return this.bytes.length - this.at;
  }

  byte(): number {
    if (this.at >= this.bytes.length) throw new Error('cut short within a number');
    return this.bytes[this.at++];
  }

  /** The next `count` bytes, a view. */
  take(count: number): Uint8Array {
    if (!(count >= 0 && count <= this.left)) {
      throw new Error(`${count} bytes expected, ${this.left} are left`);
    }
    this.at += count;
    return this.bytes.subarray(this.at - count, this.at);
  }

  /** Four bytes, the lowest first. */
  uint32(): number {
    const [a, b, c, d] = this.take(4);
    return (a | (b << 8) | (c << 16) | (d << 24)) >>> 0;
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

  /** A signed integer of 64 bits, whose lowest bit is the sign. */
  zigzag(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte <= 0x7f) return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n));
    }
    throw new Error('a number of more than 64 bits');
  }
}

/** Fields of a Thrift struct by number: numbers, booleans, bytes, lists and structs. */
export type Struct = ReadonlyMap<number, unknown>;

/** Limits for damaged files; those of real files are far below. */
const MAX_DEPTH = 64;
/** Most values of one struct, nested ones included: enough for 300,000 column chunks. */
const MAX_VALUES = 1 << 23;
const MAX_FOOTER_BYTES = 2 ** 26;
/** Row numbers have 32 bits. */
const MAX_ROWS = 2 ** 32;

/** The types of fields, as Thrift's compact protocol numbers them. */
const [STOP, TRUE, FALSE, BYTE, INT16, INT32, INT64, DOUBLE, BINARY, LIST] = Array(10).keys();
const STRUCT = 12;

/** Reads a struct, and moves the cursor after it. */
export function readStruct(cursor: Cursor): Struct {
  let left = MAX_VALUES;

  const struct = (depth: number): Struct => {
    const fields = new Map<number, unknown>();
    if (depth > MAX_DEPTH) throw new Error('metadata nested too deep');
    for (let id = 0; ; ) {
      const head = cursor.byte();
      const kind = head & 15;
      if (kind === STOP) return fields;
      // A field states how far its number is beyond the one before; 0 says that the number follows.
      id = head >> 4 === 0 ? integer() : id + (head >> 4);
      fields.set(id, value(kind, depth));
    }
  };
  const integer = () => {
    const bits = cursor.varint();
    return (bits >>> 1) ^ -(bits & 1);
  };
  const list = (depth: number): unknown[] => {
    const head = cursor.byte();
    const item = head & 15;
    const count = head >> 4 === 15 ? cursor.varint() : head >> 4;
    // An item takes a byte at least.
    if (count > cursor.left) throw new Error(`a list of ${count} items`);
    // Booleans in lists take a byte each; as fields they are the type itself.
    const own = item === TRUE || item === FALSE ? BYTE : item;
    return Array.from({ length: count }, () => value(own, depth));
  };
  const value = (kind: number, depth: number): unknown => {
    if (--left < 0) throw new Error(`metadata of more than ${MAX_VALUES} values`);
    if (kind === TRUE || kind === FALSE) return kind === TRUE;
    if (kind === BYTE) return cursor.byte();
    if (kind === INT16 || kind === INT32) return integer();
    if (kind === INT64) return Number(cursor.zigzag());
    if (kind === DOUBLE) return cursor.take(8);
    if (kind === BINARY) return cursor.take(cursor.varint());
    if (kind === LIST) return list(depth);
    if (kind === STRUCT) return struct(depth + 1);
    throw new Error(`metadata of an unknown kind, ${kind}`);
  };
  return struct(0);
}

/** An integer field, which must be there and within 0..`max`. */
export function integerOf(struct: Struct, id: number, what: string, max = 2 ** 31 - 1): number {
  const value = struct.get(id);
  if (Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= max) {
    return value as number;
  }
  throw new Error(`${what} cannot be ${typeof value === 'number' ? value : 'missing'}`);
}

/** A field that is a struct; of a union the only one that it has. */
export function structOf(struct: Struct, id: number, what: string): Struct {
  const found = struct.get(id);
  if (found instanceof Map) return found;
  throw new Error(`${what} is missing`);
}

function listOf(struct: Struct, id: number, what: string): Struct[] {
  const found = struct.get(id);
  if (Array.isArray(found) && found.every((item) => item instanceof Map)) return found;
  throw new Error(`${what} are missing`);
}

const text = (value: unknown) =>
  value instanceof Uint8Array ? Buffer.from(value).toString() : undefined;

/** Physical types, by number. */
const TYPES = [
  'BOOLEAN',
  'INT32',
  'INT64',
  'INT96',
  'FLOAT',
  'DOUBLE',
  'BYTE_ARRAY',
  'FIXED_LEN_BYTE_ARRAY',
];

const NO_TYPE = 'none';
const typeOf = (type: unknown) => TYPES[Number(type ?? -1)] ?? NO_TYPE;

/** What the values of a leaf mean, in the words of today's annotation. */
const MEANINGS: Readonly<Record<number, string>> = {
  1: 'STRING',
  2: 'MAP',
  3: 'LIST',
  4: 'STRING',
  5: 'DECIMAL',
  6: 'DATE',
  7: 'TIME',
  8: 'TIMESTAMP',
  10: 'INTEGER',
  12: 'JSON',
  14: 'UUID',
  15: 'FLOAT16',
};
/** The same by the numbers of the annotation of old writers. */
const OLD_MEANINGS: Readonly<Record<number, string>> = {
  0: 'STRING',
  1: 'MAP',
  2: 'MAP',
  3: 'LIST',
  4: 'STRING',
  5: 'DECIMAL',
  6: 'DATE',
  7: 'TIME',
  8: 'TIME',
  9: 'TIMESTAMP',
  10: 'TIMESTAMP',
  19: 'JSON',
  11: 'UNSIGNED',
  12: 'UNSIGNED',
  13: 'UNSIGNED',
  14: 'UNSIGNED',
};

/** A column: an element of the schema that has values, in groups of elements or in none. */
export interface Leaf {
  /** The names of its groups and its own, with points between, but not those of lists and maps. */
  readonly name: string;
  /** All names on the way to it. */
  readonly path: readonly string[];
  /** Levels of a value that is there: how many optional or repeated, and how many repeated ones. */
  readonly maxDefinition: number;
  readonly maxRepetition: number;
  /** The definition level of an item of a list, null or not; 0 outside of lists. */
  readonly itemLevel: number;
  /** What the values mean; undefined for what their physical type says. */
  readonly meaning: string | undefined;
  /** The physical type, and bytes of a value in types of fixed length. */
  readonly type: string;
  readonly typeLength: number;
  /** Decimals after the point, of decimals and of the seconds of a time. */
  readonly digits: number;
}

/** The values of a leaf in one row group, and where they lie in the file. */
export interface Chunk extends ByteRange {
  readonly codec: number;
  /** How many values there are, nulls and empty lists included. */
  readonly values: number;
}

/** Rows that are stored together. */
interface RowGroup {
  readonly rows: number;
  /** One for each leaf, in their order. */
  readonly chunks: readonly Chunk[];
}

const TAIL_BYTES = 8;
/** Bytes at the end of a file that most footers fit into. */
const GUESSED_BYTES = 2 ** 16;

/** Reads and checks the footer. */
export async function readFooter(file: ByteFile) {
  const end = file.byteCount - TAIL_BYTES;
  if (end < 4) throw new Error('cut short');
  const guess = Math.max(0, file.byteCount - GUESSED_BYTES);
  const [last] = await file.read([{ at: guess, length: file.byteCount - guess }]);
  const tail = last.subarray(-TAIL_BYTES);
  if (Buffer.from(tail).toString('latin1', 4) !== 'PAR1') {
    throw new Error('cut short: a Parquet file ends with "PAR1"');
  }
  const length = new Cursor(tail).uint32();
  if (length > Math.min(MAX_FOOTER_BYTES, end - 4)) {
    throw new Error(`a footer of ${length} bytes cannot be`);
  }
  const [bytes] =
    end - length < guess
      ? await file.read([{ at: end - length, length }])
      : [last.subarray(end - length - guess, end - guess)];
  const footer = readStruct(new Cursor(bytes));
  const leaves = leavesOf(listOf(footer, 2, 'columns'));
  const groups = listOf(footer, 4, 'row groups').map((group): RowGroup => {
    const rows = integerOf(group, 3, 'rows of a group', MAX_ROWS);
    const chunks = listOf(group, 1, 'chunks of a row group');
    if (chunks.length !== leaves.length) {
      throw new Error(`${chunks.length} chunks of ${leaves.length} columns`);
    }
    return { rows, chunks: chunks.map((one, i) => chunkOf(one, leaves[i], rows, end - length)) };
  });
  const rowCount = groups.reduce((sum, { rows }) => sum + rows, 0);
  // Without columns nothing in the file justifies rows.
  if (rowCount > (leaves.length > 0 ? MAX_ROWS : 0)) throw new Error(`${rowCount} rows cannot be`);
  return { leaves, groups, rowCount };
}

/** The groups around an element. */
interface Around extends Pick<Leaf, 'path' | 'maxDefinition' | 'maxRepetition' | 'itemLevel'> {
  readonly names: readonly string[];
  /** How many levels of elements below have names of a list or map, not of columns. */
  readonly unnamed: number;
}

/** The leaves of a schema, which lists parents before their children. */
function leavesOf(schema: readonly Struct[]): Leaf[] {
  const leaves: Leaf[] = [];
  const known = new Set<string>();
  let at = 0;
  const visit = ({ path: above, names: shown, unnamed, ...around }: Around): void => {
    const element = schema[at++];
    const own = text(element?.get(4));
    if (own === undefined) throw new Error('a schema that is cut short');
    if (above.length > MAX_DEPTH) throw new Error('a schema nested too deep');
    // 0 for an element that is always there, 1 for an optional one, 2 for any number of them.
    const kind = integerOf(element, 3, 'a repetition', 2);
    const count = element.has(5) ? integerOf(element, 5, 'parts of a column') : 0;
    const maxDefinition = around.maxDefinition + Math.min(kind, 1);
    const maxRepetition = around.maxRepetition + Number(kind === 2);
    const itemLevel = kind === 2 ? maxDefinition : around.itemLevel;
    const path = [...above, own];
    const names = unnamed > 0 ? shown : [...shown, own];
    const { meaning, digits } = meaningOf(element);
    if (count > 0) {
      // A list has a repeated element, which has the item; of old writers it may have its parts.
      const isOfItem = unnamed === 2 && count === 1;
      const below = meaning === 'LIST' ? 2 : Number(meaning === 'MAP' || isOfItem);
      const inner = { path, names, maxDefinition, maxRepetition, itemLevel, unnamed: below };
      for (let i = 0; i < count; i++) visit(inner);
      return;
    }
    const name = names.join('.');
    if (known.has(name)) throw new Error(`two columns are called "${name}"`);
    known.add(name);
    const type = typeOf(element.get(1));
    const typeLength = element.has(2) ? integerOf(element, 2, 'bytes of a value') : 0;
    const levels = { maxDefinition, maxRepetition, itemLevel };
    leaves.push({ name, path, ...levels, meaning, digits, type, typeLength });
  };
  const root = schema[at++] ?? new Map();
  const count = root.has(5) ? integerOf(root, 5, 'columns') : 0;
  const none = {
    path: [],
    names: [],
    maxDefinition: 0,
    maxRepetition: 0,
    itemLevel: 0,
    unnamed: 0,
  };
  for (let i = 0; i < count; i++) visit(none);
  return leaves;
}

/** What the values of an element mean, by its new annotation or its old one. */
function meaningOf(element: Struct): Pick<Leaf, 'meaning' | 'digits'> {
  const logical = element.get(10);
  const [[kind, details]] = logical instanceof Map && logical.size > 0 ? logical : [[0, null]];
  const old = Number(element.get(6) ?? -1);
  let meaning = MEANINGS[kind] ?? OLD_MEANINGS[old];
  if (!(details instanceof Map)) {
    const isTime = meaning === 'TIME' || meaning === 'TIMESTAMP';
    // Of each the annotation of milliseconds has an odd number, that of microseconds the next one.
    const digits = isTime ? (old % 2 === 1 ? 3 : 6) : Number(element.get(7) ?? 0);
    return { meaning, digits };
  }
  if (meaning === 'INTEGER') meaning = details.get(2) === false ? 'UNSIGNED' : meaning;
  if (meaning === 'TIMESTAMP' && details.get(1) === true) meaning = 'INSTANT';
  const [unit] = details.get(2) instanceof Map ? details.get(2).keys() : [1];
  return { meaning, digits: meaning === 'DECIMAL' ? Number(details.get(1) ?? 0) : 3 * unit };
}

/** A chunk, checked; it must end before the footer, which begins at `end`. */
function chunkOf(chunk: Struct, leaf: Leaf, rows: number, end: number): Chunk {
  const path = JSON.stringify(leaf.path);
  const meta = structOf(chunk, 3, `a chunk of ${path}`);
  const own = meta.get(3);
  if (!Array.isArray(own) || JSON.stringify(own.map(text)) !== path) {
    throw new Error(`a chunk of ${path} is missing`);
  }
  const type = typeOf(meta.get(1));
  if (type === NO_TYPE || type !== leaf.type) {
    throw new Error(`${path} is of type ${leaf.type}, its chunk of ${type}`);
  }
  // A chunk begins with its dictionary, where it has one.
  const at = integerOf(meta, meta.get(11) ? 11 : 9, 'a place', end);
  const length = integerOf(meta, 7, 'bytes of a chunk', end - at);
  const values = integerOf(meta, 5, 'values of a chunk', Number.MAX_SAFE_INTEGER);
  // Outside of lists a row has one value; in a list one or more, since an empty one counts.
  if (leaf.maxRepetition === 0 ? values !== rows : values < rows) {
    throw new Error(`${values} values of ${path} in ${rows} rows`);
  }
  return { codec: integerOf(meta, 4, 'a codec'), values, at, length };
}
