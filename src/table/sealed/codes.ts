/**
 * Codes out to Arrow: a column `code` of FixedSizeBinary, an optional column `id`, in sealed
 * batches. from-arrow.ts reads them, and codes of other makers.
 */

import { checkOptions, wrongType } from '../../base/check';
import { checkIds, type Ids } from '../../base/ids';
import { Codes } from '../../codes/codes';
import { batchRanges, type ColumnSchema, writeTable } from './sealed-table';

/** What a file has besides the codes. */
export interface CodesToArrowOptions {
  /** One id a row: strings or integers. */
  ids?: Ids | readonly number[];
}

/** Codes as the bytes of an Arrow file, which any Arrow reader opens. */
export function codesToArrow(codes: Codes, options?: CodesToArrowOptions): Uint8Array {
  const given = checkOptions('options', options, ['ids']);
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
