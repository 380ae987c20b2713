/** Document frequencies of words as a sealed table. */

import { checkInteger } from '../../base/check';
import { type ArrowSource, asArrow } from '../arrow/source';
import { batchRanges, type ColumnSchema, openTable, readNumbers, writeTable } from './sealed-table';

/** A table of document frequencies, and how its words were made. */
interface FrequencyColumns {
  /** The tokenizer and the hash of words, by name. */
  readonly tokens: string;
  readonly hash: string;
  /** How many documents were counted. */
  readonly documents: number;
  /** Hashes of the words, ascending. */
  readonly dimensions: BigUint64Array;
  /** For each word, in how many documents it occurs. */
  readonly counts: Uint32Array;
}

const DIMENSION: ColumnSchema = { name: 'dimension', type: 'uint64' };
const DOCUMENTS: ColumnSchema = { name: 'documents', type: 'uint32' };

/** The bytes of an Arrow file with the table. */
export function writeFrequencies(columns: FrequencyColumns): Uint8Array {
  const { tokens, hash, documents, dimensions, counts } = columns;
  const batches = batchRanges(counts.length).map(([first, end]) => ({
    count: end - first,
    rows: {
      dimension: dimensions.subarray(first, end),
      documents: counts.subarray(first, end),
    },
  }));
  return writeTable(
    [DIMENSION, DOCUMENTS],
    { kind: 'frequencies', tokens, hash, documents },
    batches,
  );
}

/** Reads such a file; damage throws a FormatError. */
export function readFrequencies(source: ArrowSource, file?: string): FrequencyColumns {
  const table = openTable(source, file, { kind: 'frequencies' });
  return asArrow(file, () => {
    const { tokens, hash } = table.header;
    if (typeof tokens !== 'string' || typeof hash !== 'string') {
      throw new Error('damaged: it does not say by which tokens and which hash it was made');
    }
    return {
      tokens,
      hash,
      documents: checkInteger('documents', table.header.documents, 0, Number.MAX_SAFE_INTEGER),
      dimensions: readNumbers(table, DIMENSION) as BigUint64Array,
      counts: readNumbers(table, DOCUMENTS) as Uint32Array,
    };
  });
}
