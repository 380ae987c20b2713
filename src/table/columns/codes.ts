/**
 * Reads a column of codes: FixedSizeBinary, Binary, FixedSizeList<uint8>, or words of 64 bits,
 * which are integers or lists of integers, signed or not, with the first bits in the first word.
 * Codes are copied once, to memory where scans read them, and must all have one width.
 */

import { type Data, type Field, Type } from 'apache-arrow';
import { padded } from '../../base/arrays';
import { isValid } from '../../base/bitmap';
import { checkBits } from '../../base/check';
import {
  type BitOrder,
  bytesPerCode,
  type CodeOrigin,
  Codes,
  checkUnusedBits,
  reverseBits,
} from '../../codes/codes';
import { type Chunk, checkExpansion, rangesOf, refuseNullItems, rowsOf, validityOf } from './chunk';
import { isBinaryType } from './types';
import { bytesReader } from './values';

/** What is needed to read codes, and the column does not state. */
export interface ReadCodesOptions {
  /** Bits of a code, where they are not 8 x its bytes. */
  readonly bits: number | undefined;
  /** Which bit of a byte the maker packs first. */
  readonly bitOrder: BitOrder | undefined;
  /** How the codes were made, where their file says so. */
  readonly origin?: CodeOrigin;
}

/** The codes of column `name`, copied; null rows are zeros. Fails for codes of different widths. */
export function codesOf(
  chunks: readonly Chunk[],
  name: string,
  { bits: given, bitOrder = 'lsb', origin }: ReadCodesOptions,
): Codes {
  const width = widthOf(chunks, name, given);
  const bits = given ?? 8 * width;
  if (bytesPerCode(bits) !== width) {
    throw new Error(`column "${name}" has ${width} bytes a code, ${bits} bits need another width`);
  }
  checkBits(bits);
  checkExpansion(chunks, width); // before memory is taken
  const validity = validityOf(chunks);
  const codes = Codes.allocate(rowsOf(chunks), { bits, validity, ...(origin && { origin }) });
  let row = 0;
  for (const chunk of chunks) {
    copyChunk(chunk, codes, row);
    const bytes = codes.bytes.subarray(row * width, (row + chunk.data.length) * width);
    if (bitOrder === 'msb') reverseBits(bytes);
    checkUnusedBits(bytes, bits, chunk.firstRow);
    row += chunk.data.length;
  }
  return codes;
}

/** Bytes of a code: given by the type, by `bits`, or by the first code that is not null. */
function widthOf(chunks: readonly Chunk[], name: string, bits: number | undefined): number {
  const [{ data: first }] = chunks;
  const isVariable = isBinaryType(first.typeId) || isWordList(first);
  // An integer has room for 64 bits; `bits` may say that codes have fewer.
  if (first.typeId === Type.Int) return bytesPerCode(bits ?? 64);
  if (!isVariable) return first.stride;
  if (bits !== undefined) return bytesPerCode(bits);
  for (const { data, firstRow } of chunks) {
    const bytes = readerOf({ data, firstRow });
    for (let row = 0; row < data.length; row++) if (data.getValid(row)) return bytes(row).length;
  }
  throw new Error(`column "${name}" has no code that shows its width, give "bits"`);
}

/** Whether codes lie one after another in memory, `width` bytes each. */
function isOfWidth(data: Data, width: number): boolean {
  if (data.typeId === Type.Int) return width === 8;
  return !isBinaryType(data.typeId) && !isWordList(data);
}

/** True of lists of 64-bit integers. */
function isWordList({ children }: Data): boolean {
  const type: Field['type'] | undefined = children[0]?.type;
  return type?.typeId === Type.Int && type.bitWidth === 64;
}

/** True of codes that are 64-bit integers, or lists of them. */
function hasWords(data: Data): boolean {
  return data.typeId === Type.Int || isWordList(data);
}

/** A function that gives the bytes of a row that is not null, a view. */
function readerOf(chunk: Chunk): (row: number) => Uint8Array {
  const { data, firstRow } = chunk;
  if (!hasWords(data)) return bytesReader(data, firstRow);
  const isList = isWordList(data);
  const { values } = isList ? data.children[0] : data;
  // Little-endian words are the bytes of a code in their order.
  const { buffer, byteOffset, byteLength } = values as BigInt64Array;
  const all = new Uint8Array(buffer, byteOffset, byteLength);
  const { start, end } = isList
    ? rangesOf(chunk)
    : { start: (row: number) => row, end: (row: number) => row + 1 };
  return (row) => {
    const place = { start: start(row), end: end(row), row: firstRow + row, what: 'code' };
    if (isList) refuseNullItems(data.children[0], place);
    return all.subarray(8 * place.start, 8 * place.end);
  };
}

/**
 * Copies the codes of a chunk to row `first` and those after it; null rows become zeros. Fails for
 * codes of another width.
 */
function copyChunk(chunk: Chunk, codes: Codes, first: number): void {
  const { data, firstRow } = chunk;
  const width = codes.bytesPerCode;
  if (isOfWidth(data, width)) {
    // Null rows of a file may have any bytes, so they are cleared.
    codes.bytes.set(fixedBytes(chunk, data.length * width), first * width);
    for (let row = first; codes.validity !== null && row < first + data.length; row++) {
      if (!isValid(codes.validity, row)) codes.at(row).fill(0);
    }
    return;
  }
  // Words are whole integers, whose bytes after the code must be 0.
  const held = hasWords(data) ? padded(width) : width;
  const bytes = readerOf(chunk);
  for (let row = 0; row < data.length; row++) {
    if (!data.getValid(row)) continue;
    const code = bytes(row);
    if (code.length !== held) {
      throw new Error(
        `row ${firstRow + row}: expected a code of ${held} bytes, got ${code.length}`,
      );
    }
    if (code.subarray(width).some((byte) => byte !== 0)) {
      throw new Error(`row ${firstRow + row}: its integers have more bits than a code`);
    }
    codes.at(first + row).set(code.subarray(0, width));
  }
}

/** The bytes of all codes of a fixed width, a view. */
function fixedBytes({ data, firstRow }: Chunk, byteLength: number): Uint8Array {
  let { values }: Data = data;
  if (data.typeId === Type.FixedSizeList) {
    const { start, end } = rangesOf({ data, firstRow });
    const [child] = data.children;
    for (let row = 0; child.nullCount > 0 && row < data.length; row++) {
      const place = { start: start(row), end: end(row), row: firstRow + row, what: 'code' };
      if (data.getValid(row)) refuseNullItems(child, place);
    }
    values = child.values;
  }
  const { buffer, byteOffset, byteLength: held } = values as Uint8Array;
  if (held < byteLength) throw new Error('the codes are shorter than their batch');
  return new Uint8Array(buffer, byteOffset, byteLength);
}
