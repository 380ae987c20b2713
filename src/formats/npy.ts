/**
 * Reads NumPy's .npy files as a stream: each row is a vector, in the column "vector". Elements must
 * be little-endian and in C order, as NumPy saves them unless it is asked for others. Format:
 * numpy.lib.format, versions 1 to 3.
 */

import { FormatError } from '../base/check';
import { float16 } from '../table/columns/values';
import { RowBatch } from '../table/row-batch';
import type { ByteSource } from './byte-source';
import { BATCH_BYTES } from './records';
import { checkColumns, type FormatRows, type ReadOptions } from './row-reader';

/** What a file states before its elements. */
interface Header {
  /** Kind and bytes of an element, such as "f4". */
  readonly type: keyof typeof ELEMENTS;
  readonly count: number;
  readonly dimensions: number;
}

const MAGIC_BYTES = 8;
/** Most bytes of a header; NumPy itself refuses longer ones. */
const MAX_HEADER_BYTES = 1 << 20;

type Numbers = Float32Array | Float64Array;

/** Arrays for elements, by kind and bytes; f2 are the bits of half-precision numbers. */
const ELEMENTS = {
  f2: Uint16Array,
  f4: Float32Array,
  f8: Float64Array,
  i1: Int8Array,
  i2: Int16Array,
  i4: Int32Array,
  i8: BigInt64Array,
  u1: Uint8Array,
  u2: Uint16Array,
  u4: Uint32Array,
  u8: BigUint64Array,
};

/** Reads rows of a .npy file; one axis gives vectors of one value. */
export async function npyRows(source: ByteSource, options: ReadOptions): Promise<FormatRows> {
  const { name } = source;
  checkColumns(options.columns ?? [], ['vector']);
  const { type, count, dimensions } = await readHeader(source);
  const rowBytes = Number(type[1]) * dimensions;
  const cut = () => new FormatError(`cut short: ${count} rows of ${rowBytes} bytes expected`, name);
  if (source.bytesLeft !== null && source.bytesLeft < count * rowBytes) throw cut();
  // Fewer rows a batch where vectors are wide.
  const step = Math.max(
    1,
    Math.min(options.batchRows, Math.floor(BATCH_BYTES / Math.max(1, rowBytes))),
  );

  const batchOf = (bytes: Uint8Array, firstRow: number) => {
    const vector = { values: numbersOf(bytes, type), dimensions };
    return RowBatch.of({ vector }, { firstRow, file: name });
  };

  const read: FormatRows['read'] = async (send) => {
    for (let first = 0; first < count; first += step) {
      const rows = Math.min(step, count - first);
      const bytes = await source.take(rows * rowBytes);
      if (bytes.length < rows * rowBytes) throw cut();
      await send(batchOf(bytes, first));
    }
  };
  return { empty: batchOf(new Uint8Array(), 0), rowCount: count, read };
}

/**
 * The elements as floats. float32 and float64 stay where they lie; others become the narrower of
 * the two that holds them exactly (64-bit integers: the nearest float64).
 */
function numbersOf(bytes: Uint8Array, type: Header['type']): Numbers {
  const width = Number(type[1]);
  // Copied where the source's bytes begin off 8 bytes.
  const own = bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes);
  const elements = new ELEMENTS[type](
    own.buffer as ArrayBuffer,
    own.byteOffset,
    own.length / width,
  );
  if (elements instanceof Float32Array || elements instanceof Float64Array) return elements;
  const Values = width > 2 ? Float64Array : Float32Array;
  const values = new Values(elements.length);
  const turn = type === 'f2' ? float16 : Number;
  for (let i = 0; i < values.length; i++) values[i] = turn(elements[i] as number);
  return values;
}

/** Reads the magic, the version and the header. */
async function readHeader(source: ByteSource): Promise<Header> {
  const take = async (count: number) => {
    const bytes = Buffer.from(await source.take(count));
    if (bytes.length === count) return bytes;
    throw new FormatError('no .npy file that can be read: cut short', source.name);
  };
  const magic = await take(MAGIC_BYTES);
  // Version 1 has a length of two bytes.
  const sizeBytes = magic[6] === 1 ? 2 : 4;
  const length = (await take(sizeBytes)).readUIntLE(0, sizeBytes);
  const isKnown = magic.toString('latin1', 0, 6) === '\x93NUMPY' && magic[6] >= 1 && magic[6] <= 3;
  const text = (await take(isKnown && length <= MAX_HEADER_BYTES ? length : 0)).toString('latin1');
  const header = parseHeader(text);
  if (header !== null) return header;
  throw new FormatError(
    `no .npy file of vectors, ${text.trim().slice(0, 200) || 'its header is damaged'}; save by ` +
      "numpy.ascontiguousarray(array).astype('<f4'), with one or two axes",
    source.name,
  );
}

/**
 * Parses the header: a Python dictionary with three keys, as NumPy writes it; null for what is not
 * read.
 */
function parseHeader(text: string): Header | null {
  const [, byteOrder, type] = /'descr':\s*'([<>|=])(\w+)'/.exec(text) ?? [];
  const shape = /'shape':\s*\((\d+),(?:\s*(\d+),?)?\s*\)/.exec(text);
  if (!Object.hasOwn(ELEMENTS, type ?? '') || shape === null) return null;
  const [count, dimensions] = [Number(shape[1]), Number(shape[2] ?? 1)];
  // With one axis, or vectors of one value, both orders are the same.
  const isInOrder = dimensions === 1 || /'fortran_order':\s*False/.test(text);
  const isLittle = byteOrder !== '>' || type[1] === '1';
  const isPossible = dimensions >= 1 && Number.isSafeInteger(count * dimensions * 8);
  if (!isInOrder || !isLittle || !isPossible) return null;
  return { type: type as Header['type'], count, dimensions };
}
