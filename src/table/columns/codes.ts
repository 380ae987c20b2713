/**
 * Codes of a column: FixedSizeBinary, Binary, FixedSizeList<uint8> or 64-bit fingerprints. They are
 * copied once, to memory where scans read them, after all of them were found to have one width.
 */

import { type Data, Type } from 'apache-arrow';
import { isValid } from '../../base/bitmap';
import { checkBits, MAX_BITS } from '../../base/check';
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

/** How codes lie in a column, where the column does not say. */
export interface ReadCodesOptions {
  /** Bits of a code, where they are not 8 x its bytes. */
  readonly bits: number | undefined;
  /** 'msb' where the maker packs the highest bit of a byte first. */
  readonly bitOrder: BitOrder | undefined;
  /** How the codes were made, where their file says so. */
  readonly origin?: CodeOrigin;
}

/** The codes of column `name`; null rows are zeros. */
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
  for (const chunk of chunks) checkWidths(chunk, width);
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

/** Bytes of a code: fixed by the type, or by `bits`, or by the first code that is there. */
function widthOf(chunks: readonly Chunk[], name: string, bits: number | undefined): number {
  const [{ data: first }] = chunks;
  if (first.typeId === Type.Int) return 8;
  if (!isBinaryType(first.typeId)) return first.stride;
  if (bits !== undefined) return bytesPerCode(bits);
  for (const { data, firstRow } of chunks) {
    const bytes = bytesReader(data, firstRow);
    for (let row = 0; row < data.length; row++) if (data.getValid(row)) return bytes(row).length;
  }
  throw new Error(`column "${name}" has no code that shows its width, give "bits"`);
}

/** All codes of a chunk are there and of the width. */
function checkWidths({ data, firstRow }: Chunk, width: number): void {
  if (8 * width > MAX_BITS + 7) throw new Error(`codes of ${width} bytes are too wide`);
  if (!isBinaryType(data.typeId)) {
    fixedBytes({ data, firstRow }, data.length * width);
    return;
  }
  const bytes = bytesReader(data, firstRow);
  for (let row = 0; row < data.length; row++) {
    const found = data.getValid(row) ? bytes(row).length : width;
    if (found === width) continue;
    throw new Error(`row ${firstRow + row}: expected a code of ${width} bytes, got ${found}`);
  }
}

/** Copies the codes of a chunk to row `first` of the codes and behind; null rows stay zero. */
function copyChunk(chunk: Chunk, codes: Codes, first: number): void {
  const { data, firstRow } = chunk;
  const width = codes.bytesPerCode;
  if (isBinaryType(data.typeId)) {
    const bytes = bytesReader(data, firstRow);
    for (let row = 0; row < data.length; row++) {
      if (data.getValid(row)) codes.bytes.set(bytes(row), (first + row) * width);
    }
    return;
  }
  codes.bytes.set(fixedBytes(chunk, data.length * width), first * width);
  for (let row = first; codes.validity !== null && row < first + data.length; row++) {
    if (!isValid(codes.validity, row)) codes.at(row).fill(0);
  }
}

/** The bytes of codes of a fixed width, where they lie. */
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
