/**
 * Converts a table of document frequencies to the bytes of an Arrow file, and back. This file is
 * separate from the class, so that a bundle that only hashes texts does not contain apache-arrow.
 */

import { checkInteger, checkOptions, checkText, wrongType } from '../base/check';
import { type ArrowSource, asArrow } from '../table/arrow/batches';
import {
  batchRanges,
  type ColumnSchema,
  openTable,
  readNumbers,
  writeTable,
} from '../table/sealed/sealed-table';
import { FrequencyTable } from './frequency-table';

/** Hashes of the words, ascending; and for each word, in how many documents it occurs. */
const DIMENSION: ColumnSchema = { name: 'dimension', type: 'uint64' };
const DOCUMENTS: ColumnSchema = { name: 'documents', type: 'uint32' };

/** The table as the bytes of an Arrow file, words by ascending hash. */
export function frequenciesToArrow(table: FrequencyTable): Uint8Array {
  if (!(table instanceof FrequencyTable)) throw wrongType('table', 'a FrequencyTable', table);
  const { dimensions, counts, tokens, documents } = table.entries();
  const batches = batchRanges(counts.length).map(([first, end]) => ({
    count: end - first,
    rows: {
      dimension: dimensions.subarray(first, end),
      documents: counts.subarray(first, end),
    },
  }));
  const header = { kind: 'frequencies', tokens, documents };
  return writeTable([DIMENSION, DOCUMENTS], header, batches);
}

/**
 * Reads a table that `frequenciesToArrow` wrote. Damaged bytes throw a FormatError with the name
 * `file`.
 *
 * @example
 * const table = new TextHasher().fit(['green tea', 'black tea']);
 * console.log(frequenciesFromArrow(frequenciesToArrow(table)).documents); // 2
 */
export function frequenciesFromArrow(
  source: ArrowSource,
  options?: { file?: string },
): FrequencyTable {
  const { file } = checkOptions(options, { file: checkText });
  const opened = openTable(source, file, { kind: 'frequencies' });
  return asArrow(file, () => {
    const { tokens, documents } = opened.header;
    if (typeof tokens !== 'string') {
      throw new Error('damaged: it does not say by which tokens it was made');
    }
    return FrequencyTable.of({
      tokens,
      documents: checkInteger('documents', documents, 0, Number.MAX_SAFE_INTEGER),
      dimensions: readNumbers(opened, DIMENSION) as BigUint64Array,
      counts: readNumbers(opened, DOCUMENTS) as Uint32Array,
    });
  });
}
