/**
 * Inputs that no honest maker makes: bytes changed where formats are tender (lengths, offsets, ends,
 * words of the grammar), and values that a caller of JavaScript can pass. All of them follow from the
 * draws, so the number of an input makes it again.
 */

import type { Draws } from '../reference/random';

/** Numbers at the edges of the types in which formats hold lengths and places. */
const EDGES = [
  ...[0n, 1n, 2n, 3n, 7n, 8n, 255n, 256n, 0x7fffn, 0xffffn, 0x10000n, 0xfffffn],
  ...[0x7fffffffn, 0x80000000n, 0xfffffffen, 0xffffffffn, 0x100000000n],
  ...[2n ** 53n - 1n, 2n ** 53n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n, 2n ** 64n - 8n],
];

/** `seed` with one to six changes; parts of `others` and `words` may be put in. */
export function mutated(
  draws: Draws,
  seed: Uint8Array,
  others: readonly Uint8Array[],
  words: readonly string[] = [],
): Uint8Array {
  let bytes: Uint8Array = Uint8Array.from(seed);
  do bytes = changed(draws, bytes, others, words);
  while (draws.integer(5) < 2);
  return bytes;
}

const MAX_BYTES = 1 << 16;

function changed(
  draws: Draws,
  bytes: Uint8Array,
  others: readonly Uint8Array[],
  words: readonly string[],
): Uint8Array {
  const at = draws.integer(bytes.length + 1);
  const end = Math.min(bytes.length, at + 1 + draws.integer(draws.pick([2, 8, 64, 1024])));
  const between = (middle: Uint8Array, from = end) =>
    joined([bytes.subarray(0, at), middle, bytes.subarray(from)]).subarray(0, MAX_BYTES);
  switch (draws.integer(words.length > 0 ? 12 : 10)) {
    case 0:
    case 1:
      if (at < bytes.length) bytes[at] ^= 1 << draws.integer(8);
      return bytes;
    case 2:
      if (at < bytes.length) bytes[at] = draws.pick([0, 1, 0x7f, 0x80, 0xff, draws.integer(256)]);
      return bytes;
    case 3:
    case 4:
      return atEdge(draws, bytes);
    case 5:
      return bytes.slice(0, at); // cut short
    case 6:
      return between(new Uint8Array()); // a range is gone
    case 7:
      return between(bytes.subarray(at, end), at); // a range is there twice
    case 8:
      return between(draws.bytes(draws.integer(9)), draws.pick([at, end]));
    case 9: {
      if (others.length === 0) return bytes;
      const other = draws.pick(others);
      return between(other.subarray(draws.integer(other.length + 1)), bytes.length);
    }
    default:
      return between(new TextEncoder().encode(draws.pick(words)), draws.pick([at, end]));
  }
}

/** A number of 1, 2, 4 or 8 bytes, of which formats are full, becomes one of the edges or a near one. */
function atEdge(draws: Draws, bytes: Uint8Array): Uint8Array {
  const width = draws.pick([1, 2, 4, 4, 4, 8, 8]);
  const places = Math.floor(bytes.length / width);
  if (places === 0) return bytes;
  const at = width * draws.integer(places);
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, width);
  const now = BigInt.asUintN(
    64,
    width === 8 ? view.getBigUint64(0, true) : BigInt(view.getUint8(0)),
  );
  const value = draws.pick([draws.pick(EDGES), draws.pick(EDGES), now + 1n, now - 1n, now << 8n]);
  const isLittle = draws.integer(8) > 0;
  for (let i = 0; i < width; i++) {
    view.setUint8(isLittle ? i : width - 1 - i, Number(BigInt.asUintN(8, value >> BigInt(8 * i))));
  }
  return bytes;
}

export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** The same bytes in pieces of any length, as a stream has them. */
export async function* inPieces(draws: Draws, bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  const most = draws.pick([1, 3, 17, 200]);
  const least = Math.ceil(bytes.length / 500); // lest a large input comes byte by byte
  for (let at = 0; at < bytes.length; ) {
    const end = at + least + draws.integer(most);
    yield bytes.slice(at, end);
    at = end;
  }
}

/** What a getter or a trap of ours throws: a caller's own error, which must come back as it is. */
export class Thrown extends Error {}

function thrown(): never {
  throw new Thrown('thrown by the caller');
}

/** Numbers that break sums, squares, integers or comparisons. */
export const NUMBERS = [
  ...[
    0,
    -0,
    1,
    -1,
    0.5,
    2,
    3,
    7,
    64,
    255,
    65_535,
    65_536,
    2 ** 31,
    2 ** 32,
    2 ** 32 + 1,
    -(2 ** 31),
  ],
  ...[2 ** 53, 2 ** 64, 1e-310, 5e-324, 1e-160, 1e155, 1e200, 1e308, -1e308, 3.4e38, 1e39, 1e-46],
  ...[Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.MAX_SAFE_INTEGER],
];

/** Texts that parsers, tables and printers stumble over. */
export const TEXTS = [
  ...['', ' ', 'a', '0', '-1', '1e999', 'NaN', 'null', 'true', '__proto__', 'constructor'],
  ...['toString', 'hasOwnProperty', '\u0000', '\u0000int:5', '\ufeff', '\ud800', '\udc00x', 'é'],
  ...[
    'e\u0301',
    '東京',
    '👩‍👩‍👧',
    '"',
    '""',
    "'",
    ',',
    ';',
    '\t',
    '|',
    '\n',
    '\r\n',
    '\\',
    '\u001b[31m',
  ],
  ...['=1+1', '../x', 'x'.repeat(300), '\u2028', 'İ', 'ß', '\u00ad', '-', '1_000', '0x10', '٣'],
];

const FLOATS = [Float32Array, Float64Array] as const;
const ARRAYS = [
  ...[Uint8Array, Int8Array, Uint16Array, Int16Array, Uint32Array, Int32Array, ...FLOATS],
  ...[Uint8ClampedArray, BigUint64Array, BigInt64Array],
] as const;

/** A typed array of any kind over memory of any kind: shared, detached, resizable, at an odd place. */
export function hostileArray(draws: Draws): ArrayBufferView {
  const Kind = draws.pick(ARRAYS);
  const width = Kind.BYTES_PER_ELEMENT;
  const length = draws.pick([0, 1, 2, 3, 4, 8, 33]);
  const offset = width * draws.integer(3);
  const byteLength = offset + length * width;
  const filled = (buffer: ArrayBufferLike) => {
    new Uint8Array(buffer).set(draws.bytes(buffer.byteLength));
    return new Kind(buffer as ArrayBuffer, offset, length);
  };
  switch (draws.integer(5)) {
    case 0:
      return filled(new SharedArrayBuffer(byteLength));
    case 1: {
      const array = filled(new ArrayBuffer(byteLength));
      structuredClone(array.buffer, { transfer: [array.buffer as ArrayBuffer] });
      return array;
    }
    case 2: {
      const Resizable = ArrayBuffer as unknown as new (n: number, o: object) => ArrayBuffer;
      const buffer = new Resizable(byteLength, { maxByteLength: byteLength + 64 });
      const array = new Kind(buffer, offset); // its length follows the buffer
      const sizes = [0, offset, byteLength, byteLength + 64];
      (buffer as unknown as { resize(n: number): void }).resize(draws.pick(sizes));
      return array;
    }
    case 3:
      return new DataView(draws.bytes(length).buffer);
    default:
      return filled(new ArrayBuffer(byteLength));
  }
}

/** Any value that a caller can pass, of the wrong type more often than not. */
export function hostileValue(draws: Draws, depth = 0): unknown {
  const more = () => (depth > 2 ? 0 : hostileValue(draws, depth + 1));
  switch (draws.integer(depth > 2 ? 8 : 17)) {
    case 0:
      return undefined;
    case 1:
      return null;
    case 2:
    case 3:
      return draws.pick(NUMBERS);
    case 4:
      return draws.pick(TEXTS);
    case 5:
      return draws.pick([0n, -1n, 1n, 2n ** 64n, 2n ** 64n - 1n, -(2n ** 63n), 2n ** 4096n]);
    case 6:
      return draws.pick([true, false, Symbol('symbol'), () => 1, thrown, class {}, /x/]);
    case 7:
    case 8:
      return hostileArray(draws);
    case 9:
      return Array.from({ length: draws.integer(4) }, more);
    case 10:
      // biome-ignore lint/suspicious/noSparseArray: holes are what callers can pass
      return draws.pick([[, 1], new Array(3), [[]], [null], Object.assign([1, 2], { length: 5 })]);
    case 11:
      return { [draws.pick(TEXTS)]: more(), values: more() };
    case 12:
      return Object.create(null);
    case 13:
      return {
        get length() {
          return thrown();
        },
        get values() {
          return thrown();
        },
      };
    case 14:
      return new Proxy(draws.pick([{}, [], () => 1]) as object, { get: thrown, has: thrown });
    case 15:
      return draws.pick([new Map(), new Set([1]), new Date(Number.NaN), Promise.resolve(1)]);
    default:
      return { length: draws.pick([-1, 2 ** 32, 2 ** 53, Number.NaN, '3', 1.5]), 0: more() };
  }
}

/** The same arguments with something in them replaced, added or taken away; they are not changed. */
export function hostileArguments(draws: Draws, given: readonly unknown[]): unknown[] {
  const all = [...given];
  const at = draws.integer(all.length + 1);
  if (at === all.length) return [...all, hostileValue(draws)];
  all[at] = replaced(draws, all[at]);
  return all;
}

function replaced(draws: Draws, value: unknown): unknown {
  if (draws.integer(3) === 0) return hostileValue(draws);
  if (Array.isArray(value) && value.length > 0) {
    const copy = [...value];
    const at = draws.integer(copy.length);
    copy[at] = replaced(draws, copy[at]);
    return copy;
  }
  if (value instanceof Float32Array || value instanceof Float64Array) {
    const copy = value.slice();
    if (copy.length > 0) copy[draws.integer(copy.length)] = draws.pick(NUMBERS);
    return copy;
  }
  const isPlain = typeof value === 'object' && value?.constructor === Object;
  if (!isPlain) return hostileValue(draws);
  const keys = Object.keys(value as object);
  const key = keys.length === 0 || draws.integer(8) === 0 ? draws.pick(TEXTS) : draws.pick(keys);
  const before = (value as Record<string, unknown>)[key];
  if (draws.integer(10) === 0)
    return Object.defineProperty({ ...value }, key, { get: thrown, enumerable: true });
  return { ...value, [key]: replaced(draws, before) };
}
