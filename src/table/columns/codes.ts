/**
 * Reads a column of codes: FixedSizeBinary, Binary, FixedSizeList<uint8>, or integers of 64 bits,
 * whose lowest bit is the first. Codes are copied once, to memory where scans read them, and must
 * all have one width.
 */

import { Type } from 'apache-arrow';
import { checkBits } from '../../base/check';
import {
  type BitOrder,
  bytesPerCode,
  type CodeOrigin,
  Codes,
  checkUnusedBits,
  reverseBits,
} from '../../codes/codes';
import type { Header } from '../sealed/seal';
import { type Chunk, checkExpansion, rangesOf, refuseNullItems, validityOf } from './chunk';
import { joinedData } from './pick';

/**
 * The codes of column `name`, copied; null rows are zeros. The header of a file of this library
 * says how they were made, and where `given` does not their bits. Fails for different widths.
 */
export function codesOf(
  chunks: readonly Chunk[],
  name: string,
  given: { bits?: number | undefined; bitOrder?: BitOrder | undefined },
  header: Header | null,
): Codes {
  const parts = chunks.map(heldOf);
  const wanted = given.bits ?? header?.bits;
  const [{ isEven, rowBytes }] = parts;
  const own = isEven ? rowBytes : firstWidth(parts);
  const width = wanted === undefined ? own : bytesPerCode(wanted);
  if (width === null) {
    throw new Error(`column "${name}" has no code that shows its width, give "bits"`);
  }
  const bits = checkBits(wanted ?? 8 * width);
  if (isEven && own !== width) {
    throw new Error(`column "${name}" has ${own} bytes a code, ${bits} bits need another width`);
  }
  for (const chunk of chunks) checkExpansion(chunk, width); // before memory is taken
  const count = chunks.reduce((sum, { data }) => sum + data.length, 0);
  const validity = validityOf(chunks);
  const codes = Codes.allocate(count, { bits, validity, origin: originIn(header) });
  let row = 0;
  for (const part of parts) {
    const out = codes.bytes.subarray(row * width, (row + part.data.length) * width);
    copyInto(out, part, width);
    if (given.bitOrder === 'msb') reverseBits(out);
    checkUnusedBits(out, bits, part.firstRow);
    row += part.data.length;
  }
  return codes;
}

/** How the codes of a file were made; undefined where its header does not say. */
function originIn(header: Header | null): CodeOrigin | undefined {
  const { projection, seed, dimensions, texts } = header ?? {};
  if (projection === undefined) return undefined;
  return {
    projection: String(projection),
    seed: String(seed),
    ...(dimensions !== undefined && { dimensions }),
    ...(texts !== undefined && { texts: String(texts) }),
  };
}

/** Copies the codes of a chunk; null rows are zeros. Fails for a row of another width. */
function copyInto(
  out: Uint8Array,
  { data, firstRow, bytes, start, end, isEven }: Held,
  width: number,
): void {
  const { length } = data;
  let isDense = true;
  for (let row = 0; !isEven && row < length; row++) {
    const found = end(row) - start(row);
    if (found === width) continue;
    isDense = false;
    if (!data.getValid(row)) continue;
    throw new Error(`row ${firstRow + row}: expected a code of ${width} bytes, got ${found}`);
  }
  if (isDense && length > 0) out.set(bytes.subarray(start(0), end(length - 1)));
  for (let row = 0; row < length && !(isDense && data.nullCount === 0); row++) {
    // Null rows of a file may have any bytes.
    if (!data.getValid(row)) out.fill(0, row * width, (row + 1) * width);
    else if (!isDense) out.set(bytes.subarray(start(row), end(row)), row * width);
  }
}

type Held = ReturnType<typeof heldOf>;

/** Where the bytes of each code are: that of row r has the bytes `start(r)` to `end(r) - 1`. */
function heldOf({ data: given, firstRow }: Chunk) {
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
    start: (row: number) => size * start(row),
    end: (row: number) => size * end(row),
    /** True where all rows have as many bytes, null ones too. */
    isEven: isPlain || typeId === Type.FixedSizeList,
    rowBytes: size * stride,
  };
}

/** Bytes of the first row that is not null; null where none is. */
function firstWidth(parts: readonly Held[]): number | null {
  for (const { data, start, end } of parts) {
    for (let row = 0; row < data.length; row++) {
      if (data.getValid(row)) return end(row) - start(row);
    }
  }
  return null;
}
