/** Document frequencies as a sealed table: a row a word, and what was counted in the header. */

import { checkInteger } from '../../base/check';
import { type ArrowSource, asFormatError } from '../arrow/source';
import { batchRanges, type ColumnSchema, openTable, readNumbers, writeTable } from './sealed-table';

/** How often words occur in documents, and how the words were made. */
export interface FrequencyColumns {
  readonly tokens: string;
  readonly hash: string;
  /** Documents that were counted. */
  readonly documents: number;
  /** Hashes of the words, ascending. */
  readonly dimensions: BigUint64Array;
  /** Documents with each word. */
  readonly counts: Uint32Array;
}

const KIND = 'frequencies';
const DIMENSION: ColumnSchema = { name: 'dimension', type: 'uint64' };
const DOCUMENTS: ColumnSchema = { name: 'documents', type: 'uint32' };

/** The bytes of an Arrow file. */
export function writeFrequencies(columns: FrequencyColumns): Uint8Array {
  const { tokens, hash, documents, dimensions, counts } = columns;
  const batches = Array.from(batchRanges(counts.length), ([first, end]) => ({
    count: end - first,
    rows: {
      dimension: dimensions.subarray(first, end),
      documents: counts.subarray(first, end),
    },
  }));
  return writeTable([DIMENSION, DOCUMENTS], { kind: KIND, tokens, hash, documents }, batches);
}

/** Reads such a file; a damaged one throws a FormatError. */
export function readFrequencies(source: ArrowSource, file?: string): FrequencyColumns {
  const table = openTable(source, file, { kind: KIND });
  return asFormatError(file, () => {
    const { tokens, hash } = table.header;
    if (typeof tokens !== 'string' || typeof hash !== 'string') {
      throw new Error('damaged: it does not say by which tokens and which hash it was made');
    }
    return {
      ...{ tokens, hash },
      documents: checkInteger('documents', table.header.documents, 0, Number.MAX_SAFE_INTEGER),
      dimensions: readNumbers(table, DIMENSION) as BigUint64Array,
      counts: readNumbers(table, DOCUMENTS) as Uint32Array,
    };
  });
}
