/**
 * Reads a column of codes: FixedSizeBinary, Binary, FixedSizeList<uint8>, or words of 64 bits,
 * which are integers or lists of integers, signed or not, with the first bits in the first word.
 * Codes are copied once, to memory where scans read them, and must all have one width.
 */

import { Type } from 'apache-arrow';
import { isValid, padded } from '../../base/arrays';
import { checkBits } from '../../base/check';
import {
  type BitOrder,
  bytesPerCode,
  type CodeOrigin,
  Codes,
  checkUnusedBits,
  reverseBits,
} from '../../codes/codes';
import {
  type Chunk,
  checkExpansion,
  type Ranges,
  rangesOf,
  refuseNullItems,
  rowsOf,
  validityOf,
} from './chunk';
import { joinedData } from './pick';

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
  const held = chunks.map(heldOf);
  const width = widthOf(held, name, given);
  const bits = given ?? 8 * width;
  if (bytesPerCode(bits) !== width) {
    throw new Error(`column "${name}" has ${width} bytes a code, ${bits} bits need another width`);
  }
  checkBits(bits);
  checkExpansion(chunks, width); // before memory is taken
  const validity = validityOf(chunks);
  const codes = Codes.allocate(rowsOf(chunks), { bits, validity, ...(origin && { origin }) });
  let row = 0;
  for (const chunk of held) {
    copyChunk(chunk, codes, row);
    const bytes = codes.bytes.subarray(row * width, (row + chunk.data.length) * width);
    if (bitOrder === 'msb') reverseBits(bytes);
    checkUnusedBits(bytes, bits, chunk.firstRow);
    row += chunk.data.length;
  }
  return codes;
}

/** The codes of a chunk: that of row r has the bytes `start(r)` to `end(r) - 1`. */
interface HeldCodes extends Chunk, Ranges {
  readonly bytes: Uint8Array;
  /** True of words of 64 bits: little-endian ones are the bytes of a code in their order. */
  readonly areWords: boolean;
  /** True where all rows have as many bytes, null ones too. */
  readonly areEven: boolean;
}

function heldOf({ data: given, firstRow }: Chunk): HeldCodes {
  const data = joinedData([given]); // views become bytes one after another
  const { typeId, stride, children, length } = data;
  const [child] = children;
  const { buffer, byteOffset, byteLength, BYTES_PER_ELEMENT: size } = (child ?? data).values;
  const isPlain = typeId === Type.Int || typeId === Type.FixedSizeBinary;
  const { start, end } = isPlain
    ? { start: (row: number) => row * stride, end: (row: number) => (row + 1) * stride }
    : rangesOf({ data, firstRow });
  for (let row = 0; child?.nullCount > 0 && row < length; row++) {
    const place = { start: start(row), end: end(row), row: firstRow + row, what: 'code' };
    if (data.getValid(row)) refuseNullItems(child, place);
  }
  if (length > 0 && size * end(length - 1) > byteLength) {
    throw new Error('the codes are shorter than their batch');
  }
  return {
    data,
    firstRow,
    bytes: new Uint8Array(buffer, byteOffset, byteLength),
    start: (row) => size * start(row),
    end: (row) => size * end(row),
    areWords: size === 8,
    areEven: isPlain || typeId === Type.FixedSizeList,
  };
}

/** Bytes of a code: given by the type, by `bits`, or by the first code that is not null. */
function widthOf(chunks: readonly HeldCodes[], name: string, bits: number | undefined): number {
  const [{ data, areWords, areEven }] = chunks;
  // An integer has room for 64 bits; `bits` may say that codes have fewer.
  if (data.typeId === Type.Int) return bytesPerCode(bits ?? 64);
  if (areEven && !areWords) return data.stride;
  if (bits !== undefined) return bytesPerCode(bits);
  for (const { data: own, start, end } of chunks) {
    for (let row = 0; row < own.length; row++) if (own.getValid(row)) return end(row) - start(row);
  }
  throw new Error(`column "${name}" has no code that shows its width, give "bits"`);
}

/**
 * Copies the codes of a chunk to row `first` and those after it; null rows become zeros. Fails for
 * codes of another width.
 */
function copyChunk(chunk: HeldCodes, codes: Codes, first: number): void {
  const { data, firstRow, bytes, start, end, areWords, areEven } = chunk;
  const width = codes.bytesPerCode;
  // Words are whole integers, whose bytes after the code must be 0.
  const held = areWords ? padded(width) : width;
  let isDense = held === width;
  const isRight = areEven && data.length > 0 && end(0) - start(0) === held;
  for (let row = 0; !isRight && row < data.length; row++) {
    const found = end(row) - start(row);
    if (found === held) continue;
    isDense = false;
    if (!data.getValid(row)) continue;
    throw new Error(`row ${firstRow + row}: expected a code of ${held} bytes, got ${found}`);
  }
  if (isDense && data.length > 0) {
    // Null rows of a file may have any bytes, so they are cleared.
    codes.bytes.set(bytes.subarray(start(0), end(data.length - 1)), first * width);
    for (let row = first; codes.validity !== null && row < first + data.length; row++) {
      if (!isValid(codes.validity, row)) codes.at(row).fill(0);
    }
    return;
  }
  for (let row = 0; row < data.length; row++) {
    if (!data.getValid(row)) continue;
    const code = bytes.subarray(start(row), end(row));
    if (code.subarray(width).some((byte) => byte !== 0)) {
      throw new Error(`row ${firstRow + row}: its integers have more bits than a code`);
    }
    codes.at(first + row).set(code.subarray(0, width));
  }
}
