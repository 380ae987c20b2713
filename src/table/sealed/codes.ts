/**
 * Codes in and out of Arrow. Out: a column `code` of FixedSizeBinary, an optional column `id`, in
 * batches, sealed. In: our own files, and codes of other makers as FixedSizeBinary, Binary,
 * FixedSizeList<uint8> or 64-bit fingerprints.
 */

import {
  type Data,
  Field,
  FixedSizeBinary,
  makeData,
  type RecordBatch,
  Schema,
  Table,
  Type,
  Vector,
} from 'apache-arrow';
import { isValid } from '../../base/bitmap';
import { checkBits, checkOneOf, checkOptions, MAX_BITS, wrongType } from '../../base/check';
import { checkIds, type Ids } from '../../base/ids';
import {
  type BitOrder,
  bytesPerCode,
  type CodeOrigin,
  Codes,
  checkUnusedBits,
  reverseBits,
} from '../../codes/codes';
import { arrowBytes } from '../arrow/bytes';
import {
  type ArrowBatches,
  type ArrowSource,
  asFormatError,
  type Chunk,
  checkExpansion,
  checkOffsets,
  chunksOf,
  openArrow,
  pickField,
  rangesOf,
  validityOf,
} from '../arrow/source';
import { idColumn, pickIds, readIds } from '../columns/ids';
import { FORMAT_VERSION, type Header, KEY, openSealed, sealedBatch } from './seal';

export interface CodesFromArrowOptions {
  /** The codes' column; a column "code", or the only one that could be, by default. */
  column?: string;
  /** Width of a code, where it is not 8 x its bytes. */
  bits?: number;
  /** 'msb' where the maker packs the highest bit of a byte first. */
  bitOrder?: BitOrder;
  /** The ids' column; a column "id" by default. */
  id?: string;
  /** The file's name, for errors. */
  file?: string;
}

export interface CodesWithIds<I extends Ids | null = Ids | null> {
  readonly codes: Codes;
  readonly ids: I;
}

const READ_OPTIONS = ['column', 'bits', 'bitOrder', 'id', 'file'];

/** Below 2 GiB whatever the width: a larger batch is lost by the Arrow library without a word. */
const BATCH_ROWS = 65_536;

/**
 * The codes of an Arrow file, stream or table, copied once to where scans read them.
 * `I` is the type of the ids where the caller knows it, such as `string[]`; it is not checked.
 */
export function codesFromArrow<I extends Ids | null = Ids | null>(
  source: ArrowSource,
  options?: CodesFromArrowOptions,
): CodesWithIds<I> {
  const given = checkOptions('options', options, READ_OPTIONS);
  if (given.bits !== undefined) checkBits(given.bits);
  const bitOrder = checkOneOf('bitOrder', given.bitOrder ?? 'lsb', ['lsb', 'msb']);
  const { file } = given;
  const opened = openArrow(source, file);
  const header = asFormatError(file, () => openSealed(opened));
  const name = pickCodes(opened, given.column);
  const id = pickIds(opened, given.id);
  return asFormatError(file, () => {
    const chunks = chunksOf(opened, name);
    const validity = validityOf(chunks, opened.count);
    const width = widthOf(opened, name, chunks, given.bits ?? header?.bits);
    const bits = given.bits ?? header?.bits ?? 8 * width;
    if (bytesPerCode(bits) !== width) {
      throw new Error(
        `column "${name}" has ${width} bytes a code, ${bits} bits need another width`,
      );
    }
    checkBits(bits);
    for (const chunk of chunks) checkWidths(chunk, width);
    checkExpansion(chunks, opened.count, width);
    const origin = header?.projection === undefined ? {} : { origin: originOf(header) };
    const codes = Codes.allocate(opened.count, { bits, validity, ...origin });
    for (const chunk of chunks) copyChunk(chunk, codes, bitOrder);
    return { codes, ids: readIds(opened, id) as I };
  });
}

function originOf({ projection, seed, dimensions }: Header): CodeOrigin {
  const origin = { projection: String(projection), seed: String(seed) };
  return dimensions === undefined ? origin : { ...origin, dimensions };
}

const BINARY: readonly number[] = [Type.Binary, Type.LargeBinary, Type.BinaryView];

function isCodeField({ type }: Field): boolean {
  if (type.typeId === Type.FixedSizeList) return isUnsigned(type.children?.[0]?.type, 8);
  return type.typeId === Type.FixedSizeBinary || BINARY.includes(type.typeId);
}

function isUnsigned(type: Field['type'] | undefined, bitWidth: number): boolean {
  return type?.typeId === Type.Int && !type.isSigned && type.bitWidth === bitWidth;
}

/** 64-bit integers may be fingerprints, but only where they are asked for or named so. */
function pickCodes(source: ArrowBatches, column: string | undefined): string {
  const isWord = (field: Field) => isUnsigned(field.type, 64);
  const hasWord = source.schema.fields.some((field) => field.name === 'code' && isWord(field));
  const fits = (field: Field) =>
    isCodeField(field) || ((column !== undefined || hasWord) && isWord(field));
  return pickField(source, 'column of codes', fits, { column, usual: ['code'] }).name;
}

/** Bytes of a code: fixed by the type, or by `bits`, or by the first code that is there. */
function widthOf(
  { schema }: ArrowBatches,
  name: string,
  chunks: readonly Chunk[],
  bits: number | undefined,
): number {
  const { type } = schema.fields.find((field) => field.name === name) as Field;
  if (type.typeId === Type.FixedSizeBinary) return type.byteWidth;
  if (type.typeId === Type.FixedSizeList) return type.listSize;
  if (type.typeId === Type.Int) return 8;
  if (bits !== undefined) return bytesPerCode(bits);
  for (const { data } of chunks) {
    const values = new Vector([data]);
    for (let row = 0; row < data.length; row++) {
      const code: Uint8Array | null = values.get(row);
      if (code !== null) return code.length;
    }
  }
  throw new Error(`column "${name}" has no code to tell its width, give "bits"`);
}

/** Copies one chunk to its rows; null rows stay zero. */
function copyChunk({ data, firstRow }: Chunk, codes: Codes, bitOrder: BitOrder): void {
  const width = codes.bytesPerCode;
  if (8 * width > MAX_BITS + 7) throw new Error(`codes of ${width} bytes are too wide`);
  const target = codes.bytes.subarray(firstRow * width, (firstRow + data.length) * width);
  if (BINARY.includes(data.typeId)) {
    const values = new Vector([data]);
    for (let row = 0; row < data.length; row++) {
      const code: Uint8Array | null = values.get(row);
      if (code !== null) target.set(code, row * width);
    }
  } else {
    target.set(fixedBytes(data, firstRow, target.length));
    for (let row = 0; row < data.length && codes.validity !== null; row++) {
      if (!isValid(codes.validity, firstRow + row)) codes.at(firstRow + row).fill(0);
    }
  }
  if (bitOrder === 'msb') reverseBits(target);
  checkUnusedBits(target, codes.bits, firstRow);
}

/** All codes of a chunk are there and of the width, before memory is taken for them. */
function checkWidths(chunk: Chunk, width: number): void {
  const { data, firstRow } = chunk;
  if (!BINARY.includes(data.typeId)) {
    fixedBytes(data, firstRow, data.length * width);
    return;
  }
  if (data.valueOffsets) checkOffsets(chunk, data.values.length);
  const values = new Vector([data]);
  for (let row = 0; row < data.length; row++) {
    const code: Uint8Array | null = values.get(row);
    if (code === null || code.length === width) continue;
    throw new Error(`row ${firstRow + row}: expected a code of ${width} bytes, got ${code.length}`);
  }
}

/** The bytes of codes of a fixed width, where they lie. */
function fixedBytes(data: Data, firstRow: number, byteLength: number): Uint8Array {
  if (data.typeId === Type.FixedSizeList) {
    rangesOf({ data, firstRow });
    refuseNullBytes(data, firstRow);
  }
  const values = data.typeId === Type.FixedSizeList ? data.children[0].values : data.values;
  const { buffer, byteOffset, byteLength: there } = values as Uint8Array;
  if (there < byteLength) throw new Error('the codes are shorter than their batch');
  return new Uint8Array(buffer, byteOffset, byteLength);
}

function refuseNullBytes(data: Data, firstRow: number): void {
  const [child] = data.children;
  if (child.nullCount === 0) return;
  for (let row = 0; row < data.length; row++) {
    for (let i = row * data.stride; data.getValid(row) && i < (row + 1) * data.stride; i++) {
      if (!child.getValid(i)) throw new Error(`row ${firstRow + row}: a null within the code`);
    }
  }
}

export interface CodesToArrowOptions {
  /** One id a row: strings or integers. */
  ids?: Ids | readonly number[];
}

/** The bytes of an Arrow IPC file. */
export function codesToArrow(codes: Codes, options?: CodesToArrowOptions): Uint8Array {
  const { schema, batches } = codesToTable(codes, options);
  return arrowBytes('file', schema, batches);
}

/** A table of `id` (when given) and `code`, over the codes' own memory. */
export function codesToTable(codes: Codes, options?: CodesToArrowOptions): Table {
  const { ids } = checkOptions('options', options, ['ids']);
  if (!(codes instanceof Codes)) throw wrongType('codes', 'Codes', codes);
  const id = ids === undefined ? null : idColumn(checkIds(ids, codes.count));
  const { projection, seed, dimensions } = codes.origin ?? {};
  const header: Header = {
    ...{ version: FORMAT_VERSION, bits: codes.bits },
    ...(projection !== undefined && { projection, seed, dimensions }),
  };
  const fields = [
    ...(id === null ? [] : [new Field('id', id.type, false)]),
    new Field('code', new FixedSizeBinary(codes.bytesPerCode), codes.validity !== null),
  ];
  const schema = new Schema(fields, new Map([[KEY, JSON.stringify(header)]]));
  const batches: RecordBatch[] = [];
  for (let first = 0; first === 0 || first < codes.count; first += BATCH_ROWS) {
    const end = Math.min(codes.count, first + BATCH_ROWS);
    const code = codeData(codes, first, end);
    const columns = id === null ? [code] : [id.slice(first, end), code];
    batches.push(sealedBatch(schema, columns, first, end === codes.count));
  }
  return new Table(schema, batches);
}

/** Rows `first` to `end - 1`; a batch starts at a whole byte of the bitmap. */
function codeData(codes: Codes, first: number, end: number): Data {
  const width = codes.bytesPerCode;
  const bitmap = codes.validity?.subarray(first / 8, Math.ceil(end / 8));
  let nullCount = 0;
  for (let row = first; bitmap && row < end; row++) nullCount += Number(codes.isNull(row));
  return makeData({
    type: new FixedSizeBinary(width),
    length: end - first,
    nullCount,
    ...(nullCount > 0 && { nullBitmap: bitmap as Uint8Array }),
    data: codes.bytes.subarray(first * width, end * width),
  });
}
