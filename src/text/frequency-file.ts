/**
 * Converts a table of document frequencies to the bytes of an Arrow file, and back. This file is
 * separate from the class, so that a bundle that only hashes texts does not contain apache-arrow.
 */

import { checkOptions, wrongType } from '../base/check';
import { type ArrowSource, asArrow } from '../table/arrow/source';
import { readFrequencies, writeFrequencies } from '../table/sealed/frequencies';
import { FrequencyTable } from './frequency-table';

/** The table as the bytes of an Arrow file, words by ascending hash. */
export function frequenciesToArrow(table: FrequencyTable): Uint8Array {
  if (!(table instanceof FrequencyTable)) throw wrongType('table', 'a FrequencyTable', table);
  return writeFrequencies(table.entries());
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
  const { file } = checkOptions('options', options, ['file']);
  const entries = readFrequencies(source, file);
  return asArrow(file, () => FrequencyTable.of(entries));
}
