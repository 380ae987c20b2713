/**
 * Codes of equal width, one after another in one run of bytes. Bit j of a code is bit j % 8 of byte
 * j >> 3, lowest first (the order of Arrow and FAISS); unused high bits of the last byte are 0.
 * Collections of 64 KiB or more live in a WebAssembly memory, where a scan reads them in place.
 */

import { checkValidity, isValid } from '../base/arrays';
import {
  checkBits,
  checkInteger,
  checkOptions,
  MAX_BITS,
  wrongType,
  wrongValue,
} from '../base/check';
import { distance } from '../kernels/hamming';
import { allocateCodes } from '../kernels/memory';

/**
 * Which bit of a byte comes first: 'lsb' the lowest, as here; 'msb' the highest, as numpy.packbits.
 */
export type BitOrder = 'lsb' | 'msb';

/** How codes were made, as far as it is known; written into files. */
export interface CodeOrigin {
  readonly projection: string;
  /** Decimal, since 64-bit seeds do not fit a JSON number. */
  readonly seed: string;
  readonly dimensions?: number;
  /** How a `TextHasher` turned texts into the vectors, in words: `words, counts raw`. */
  readonly texts?: string;
}

/**
 * Throws a RangeError, which begins with `what`, if both origins say how texts were read and say
 * different things: such codes are not comparable. An origin that says nothing matches any.
 */
export function checkSameTexts(
  what: string,
  ours: CodeOrigin | undefined,
  theirs: CodeOrigin | undefined,
): void {
  const [one, other] = [ours?.texts, theirs?.texts];
  if (one === undefined || other === undefined || one === other) return;
  throw new RangeError(
    `${what}: expected codes of texts that were read by: ${one}; got those read by: ${other}`,
  );
}

/**
 * Throws a RangeError, which names the argument, if both origins are known and codes of these have
 * no distance that means anything.
 */
export function checkSameOrigin(
  name: string,
  ours: CodeOrigin | undefined,
  theirs: CodeOrigin | undefined,
): void {
  if (ours && theirs && (ours.projection !== theirs.projection || ours.seed !== theirs.seed)) {
    const made = ({ projection, seed }: CodeOrigin) => `codes by '${projection}', seed ${seed}`;
    throw new RangeError(`"${name}" expected ${made(ours)}, got ${made(theirs)}`);
  }
  checkSameTexts(`"${name}"`, ours, theirs);
}

export interface CodesOptions {
  /** Width of a code. */
  bits: number;
  /**
   * Which bit of a byte comes first: the lowest or the highest.
   * @default 'lsb'
   */
  bitOrder?: BitOrder;
  /** A bitmap: bit r is 0 where row r is null. */
  validity?: Uint8Array | null;
  /** How the codes were made, where that is known. */
  origin?: CodeOrigin;
}

const ALLOCATE = { bits: { min: 1, max: MAX_BITS }, validity: null, origin: null } as const;
const OPTIONS = { ...ALLOCATE, bitOrder: ['lsb', 'msb'] } as const;

/** Bytes of a code: `bits / 8`, rounded up. */
export function bytesPerCode(bits: number): number {
  return Math.ceil(bits / 8);
}

/**
 * Codes of one width, one after another in one block of memory. A row without a code is null.
 *
 * @example
 * const codes = Codes.from(new Uint8Array([0b0011, 0b0111]), { bits: 8 });
 * console.log(codes.count, codes.distance(0, 1)); // 2 1
 */
export class Codes {
  /** Width of a code. */
  readonly bits: number;
  /** Rows, null ones included. */
  readonly count: number;
  /** Bytes of a code: `bits / 8`, rounded up. */
  readonly bytesPerCode: number;
  readonly #bytes: Uint8Array;
  /** Bit r is 0 when row r is null; `null` when every row has a code. */
  readonly validity: Uint8Array | null;
  /** How the codes were made, where that is known. */
  readonly origin: CodeOrigin | undefined;

  private constructor(bytes: Uint8Array, count: number, options: CodesOptions) {
    this.bits = options.bits;
    this.count = count;
    this.bytesPerCode = bytesPerCode(options.bits);
    this.#bytes = bytes;
    this.validity = options.validity ?? null;
    this.origin = options.origin;
  }

  /** All codes, `count * bytesPerCode` bytes. Not a copy; of a null row they are 0. */
  get bytes(): Uint8Array {
    if (this.#bytes.length > 0 || this.count === 0) return this.#bytes;
    throw new TypeError('the memory of these codes was given away');
  }

  /** `count` codes of zeros, for the caller to fill. `validity` is not copied. */
  static allocate(count: number, options: Omit<CodesOptions, 'bitOrder'>): Codes {
    const given = checkOptions(options, ALLOCATE);
    const bits = checkBits(given.bits);
    checkInteger('count', count, 0, Number.MAX_SAFE_INTEGER);
    checkValidity(given.validity, count);
    if (given.origin !== undefined && typeof given.origin !== 'object') {
      throw wrongType('origin', 'an object', given.origin);
    }
    let bytes: Uint8Array;
    try {
      bytes = allocateCodes(count * bytesPerCode(bits));
    } catch {
      throw wrongValue('count', `codes of ${bits} bits that fit one array`, count);
    }
    return new Codes(bytes, count, given);
  }

  /** Copies codes made elsewhere. Bits beyond `bits` must be 0; null rows become 0. */
  static from(bytes: Uint8Array, options: CodesOptions): Codes {
    const { bitOrder, ...given } = checkOptions(options, OPTIONS);
    const bits = checkBits(given.bits);
    if (!(bytes instanceof Uint8Array)) throw wrongType('bytes', 'a Uint8Array', bytes);
    const width = bytesPerCode(bits);
    const count = bytes.length / width;
    if (!Number.isInteger(count)) {
      throw wrongValue('bytes', `a multiple of ${width} bytes for ${bits} bits`, bytes.length);
    }
    checkValidity(given.validity, count);
    // Not by `slice`, which shares the memory of a Buffer of Node.
    const validity = given.validity ? new Uint8Array(given.validity) : null;
    const codes = Codes.allocate(count, { ...given, validity });
    if (count > 0) codes.bytes.set(bytes); // bytes whose memory was given away cannot be read
    if (bitOrder === 'msb') reverseBits(codes.bytes);
    for (let row = 0; validity && row < count; row++) if (codes.isNull(row)) codes.at(row).fill(0);
    checkUnusedBits(codes.bytes, bits, 0);
    return codes;
  }

  /**
   * Copies collections of one width into one. A single collection is returned itself; `options`
   * describe the result of an empty `parts`.
   */
  static join(parts: readonly Codes[], options: Pick<CodesOptions, 'bits' | 'origin'>): Codes {
    if (!Array.isArray(parts)) throw wrongType('parts', 'an array of Codes', parts);
    const given = checkOptions(options, { bits: ALLOCATE.bits, origin: null });
    for (const [i, part] of parts.entries()) {
      if (!(part instanceof Codes)) throw wrongType(`parts[${i}]`, 'Codes', part);
      if (part.bits !== parts[0].bits) {
        throw wrongValue(`parts[${i}]`, `codes of ${parts[0].bits} bits`, part.bits);
      }
      checkSameTexts('"parts"', parts[0].origin, part.origin);
    }
    if (parts.length === 1) return parts[0];
    if (parts.length === 0) return Codes.allocate(0, given);
    const count = parts.reduce((sum, part) => sum + part.count, 0);
    const hasNulls = parts.some((part) => part.validity !== null);
    const validity = hasNulls ? new Uint8Array(Math.ceil(count / 8)).fill(0xff) : null;
    const { bits, origin } = parts[0];
    const joined = Codes.allocate(count, { bits, validity, ...(origin && { origin }) });
    let row = 0;
    for (const part of parts) {
      joined.bytes.set(part.bytes, row * joined.bytesPerCode);
      for (let i = 0; validity !== null && part.validity !== null && i < part.count; i++) {
        if (part.isNull(i)) validity[(row + i) >> 3] &= ~(1 << ((row + i) & 7));
      }
      row += part.count;
    }
    return joined;
  }

  /** The same bytes, with codes of zeros in place of nulls. Nothing is copied. @internal */
  withoutValidity(): Codes {
    return new Codes(this.bytes, this.count, {
      bits: this.bits,
      ...(this.origin && { origin: this.origin }),
    });
  }

  /** A view of the code of a row. */
  at(row: number): Uint8Array {
    checkInteger('row', row, 0, this.count - 1);
    return this.bytes.subarray(row * this.bytesPerCode, (row + 1) * this.bytesPerCode);
  }

  /** True where a row has no code. */
  isNull(row: number): boolean {
    checkInteger('row', row, 0, this.count - 1);
    return !isValid(this.validity, row);
  }

  /** Number of bits in which two rows differ. Throws if one of them is null. */
  distance(rowA: number, rowB: number): number {
    const codes = [this.at(rowA), this.at(rowB)];
    for (const row of [rowA, rowB]) {
      if (this.isNull(row)) throw wrongValue('row', 'a row with a code', `${row}, which is null`);
    }
    return distance(codes[0], codes[1]);
  }
}

/**
 * Number of bits in which two codes of equal length differ.
 *
 * @example
 * console.log(hammingDistance(new Uint8Array([0b0111]), new Uint8Array([0b0001]))); // 2
 */
export function hammingDistance(a: Uint8Array, b: Uint8Array): number {
  if (!(a instanceof Uint8Array)) throw wrongType('a', 'a Uint8Array', a);
  if (!(b instanceof Uint8Array)) throw wrongType('b', 'a Uint8Array', b);
  if (a.length !== b.length) throw wrongValue('b', `${a.length} bytes`, b.length);
  return distance(a, b);
}

/** Reverses the bits of every byte, in place: converts between the bit orders 'lsb' and 'msb'. */
export function reverseBits(bytes: Uint8Array): void {
  for (let i = 0; i < bytes.length; i++) {
    let byte = bytes[i];
    byte = ((byte & 0x0f) << 4) | (byte >> 4);
    byte = ((byte & 0x33) << 2) | ((byte >> 2) & 0x33);
    bytes[i] = ((byte & 0x55) << 1) | ((byte >> 1) & 0x55);
  }
}

/** Throws for a code with a bit set beyond `bits`, which would count in its distances. */
export function checkUnusedBits(bytes: Uint8Array, bits: number, firstRow: number): void {
  const used = bits % 8;
  if (used === 0) return;
  const width = bytesPerCode(bits);
  for (let at = width - 1; at < bytes.length; at += width) {
    if (bytes[at] >> used === 0) continue;
    const row = firstRow + Math.floor(at / width);
    throw new RangeError(
      `row ${row}: a code of ${bits} bits has bits set beyond them; is "bits" or "bitOrder" wrong?`,
    );
  }
}
