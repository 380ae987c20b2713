/**
 * Rows and codes of Arrow bytes or tables, by the rules of RowBatch, and codes as Arrow bytes.
 * Checksums of files of this library are compared.
 */

import { RecordBatch } from 'apache-arrow';
import { checkIds, checkOptions, checkText, type Ids, MAX_BITS, wrongType } from '../base/check';
import { type BitOrder, Codes } from '../codes/codes';
import { type ArrowSource, asArrow, openArrow } from './arrow/batches';
import { codesOf } from './columns/codes';
import type { ColumnInfo } from './columns/types';
import { RowBatch } from './row-batch';
import { openSealed } from './sealed/seal';
import { batchRanges, type ColumnSchema, writeTable } from './sealed/sealed-table';

/** How rows are read. */
export interface RowsFromArrowOptions {
  /** Name of the file, for errors. */
  file?: string;
}

/**
 * The rows of an Arrow file, stream or table as one batch, which gives vectors, sparse rows, texts
 * and ids by the names of their columns. A source of one batch is not copied.
 *
 * @example
 * import { readFileSync } from 'node:fs';
 * const rows = rowsFromArrow(readFileSync('datasets/nouns/nouns.arrow'));
 * console.log(rows.vectors('vector').dimensions, rows.ids('word').length); // 100 17824
 */
export function rowsFromArrow(source: ArrowSource, options?: RowsFromArrowOptions): RowBatch {
  const { file } = checkOptions(options, { file: checkText });
  const { batches } = opened(source, file);
  return asArrow(file, () => RowBatch.join(batches));
}

/** The batches of a source, one without rows where there is none; and the header of our files. */
function opened(source: ArrowSource, file: string | undefined) {
  const arrow = openArrow(source, file);
  const header = asArrow(file, () => openSealed(arrow));
  const all = arrow.batches.length > 0 ? arrow.batches : [new RecordBatch(arrow.schema, undefined)];
  let firstRow = 0;
  const batches = all.map((one) => {
    const batch = RowBatch.fromArrow(one, { firstRow, ...(file !== undefined && { file }) });
    firstRow += batch.count;
    return batch;
  });
  return { header, batches };
}

/** Where the codes are, and how they lie there. */
export interface CodesFromArrowOptions {
  /**
   * The column of codes.
   * @default 'code'
   */
  column?: string;
  /** The column of the ids; a column "id" by default. */
  id?: string;
  /** Name of the file, for errors. */
  file?: string;
  /** Bits of a code, where they are not 8 x its bytes. */
  bits?: number;
  /** Which bit of a byte the maker packs first. */
  bitOrder?: BitOrder;
}

/** Codes, and the id of each row where there is a column of ids. */
export interface CodesWithIds<I extends Ids | null = Ids | null> {
  readonly codes: Codes;
  readonly ids: I;
}

/**
 * The codes of an Arrow file, stream or table. `I` is the type of the ids where the caller knows
 * it, such as `string[]`; it is not checked.
 *
 * @example
 * const made = await new SimHasher().hashAll([[1, 0], [0, 1]]);
 * const { codes, ids } = codesFromArrow<string[]>(codesToArrow(made, { ids: ['a', 'b'] }));
 * console.log(codes.count, ids); // 2 [ 'a', 'b' ]
 */
export function codesFromArrow<I extends Ids | null = Ids | null>(
  source: ArrowSource,
  options?: CodesFromArrowOptions,
): CodesWithIds<I> {
  const given = checkOptions(options, {
    ...{ column: checkText, id: checkText, file: checkText },
    ...{ bits: { min: 1, max: MAX_BITS }, bitOrder: ['lsb', 'msb'] },
  });
  const { column = 'code', file } = given;
  const { header, batches } = opened(source, file);
  // By batches, so that the codes are in memory once.
  const chunks = batches.map((batch) => batch.chunk(column, 'code', 'code'));
  const codes = asArrow(file, () => codesOf(chunks, column, given, header));
  const isUsual = ({ name, fits }: ColumnInfo) => name === 'id' && fits.includes('id');
  const id = given.id ?? batches[0].columns.find(isUsual)?.name;
  if (id === undefined) return { codes, ids: null as I };
  batches[0].column(id); // throws where there is none
  const own = asArrow(file, () => RowBatch.join(batches.map((batch) => batch.only([id]))));
  return { codes, ids: own.ids<NonNullable<I>>(id) };
}

/** What a file has besides the codes. */
export interface CodesToArrowOptions {
  /** One id a row: strings or integers. */
  ids?: Ids | readonly number[];
}

/** Codes as the bytes of an Arrow file, which any Arrow reader opens. */
export function codesToArrow(codes: Codes, options?: CodesToArrowOptions): Uint8Array {
  const given = checkOptions(options, { ids: null });
  if (!(codes instanceof Codes)) throw wrongType('codes', 'Codes', codes);
  const ids = given.ids === undefined ? null : checkIds(given.ids, codes.count);
  const { bits, bytesPerCode: width, bytes, validity } = codes;
  const { projection, seed, dimensions, texts } = codes.origin ?? {};
  const header = { bits, ...(projection !== undefined && { projection, seed, dimensions, texts }) };
  const columns: ColumnSchema[] = [
    { name: 'id', type: 'ids', isOptional: true },
    { name: 'code', type: { bytes: width }, isNullable: validity !== null },
  ];
  const batches = batchRanges(codes.count).map(([first, end]) => {
    const code = {
      bytes: bytes.subarray(first * width, end * width),
      // Batches have a multiple of 8 rows, so each starts at a whole byte of the bitmap.
      validity: validity?.subarray(first / 8, Math.ceil(end / 8)) ?? null,
    };
    return { count: end - first, rows: { id: ids?.slice(first, end), code } };
  });
  return writeTable(columns, header, batches);
}
