/**
 * Small sealed tables: the removed rows and the centroids of an index folder, and tables of
 * document frequencies.
 */

import { checkInteger } from '../../base/check';
import { fromByteRows, toByteRows } from '../../vectors/byte-rows';
import { type ArrowSource, asArrow } from '../arrow/source';
import { batchRanges, type ColumnSchema, openTable, readNumbers, writeTable } from './sealed-table';

const REMOVED: ColumnSchema = { name: 'row', type: 'uint32' };

/** The bytes of a file with the numbers of removed rows, which ascend. */
export function removedToArrow(rows: Uint32Array): Uint8Array {
  return writeTable([REMOVED], { kind: 'removed' }, [{ count: rows.length, rows: { row: rows } }]);
}

/** Reads such a file; a FormatError where the numbers do not ascend. */
export function removedFromArrow(bytes: Uint8Array, file: string): Uint32Array {
  const table = openTable(bytes, file, { kind: 'removed' });
  return asArrow(file, () => {
    const rows = readNumbers(table, REMOVED) as Uint32Array;
    for (let i = 1; i < rows.length; i++) {
      if (rows[i] <= rows[i - 1]) throw new Error(`row ${rows[i]} after row ${rows[i - 1]}`);
    }
    return rows;
  });
}

const CENTROID: ColumnSchema = { name: 'centroid', type: { vector: 'int8', width: null } };
/** Scales 8-bit integers back: round(integer · peak / 127). */
const PEAK: ColumnSchema = { name: 'peak', type: 'uint16' };

/**
 * The bytes of a file with centroids, `width` integers each, one after another, as 8 bits and a
 * peak, by which training has rounded them.
 */
export function centroidsToArrow(values: Int16Array, width: number): Uint8Array {
  const count = values.length / width;
  const { bytes, peaks } = toByteRows(values, width);
  const batch = { count, rows: { centroid: bytes, peak: peaks } };
  const column: ColumnSchema = { name: CENTROID.name, type: { vector: 'int8', width } };
  return writeTable([column, PEAK], { kind: 'centroids' }, [batch]);
}

/** Reads such a file. The caller knows how many integers a centroid has. */
export function centroidsFromArrow(bytes: Uint8Array, file: string): Int16Array {
  const table = openTable(bytes, file, { kind: 'centroids' });
  return asArrow(file, () =>
    fromByteRows({
      bytes: readNumbers(table, CENTROID) as Int8Array,
      peaks: readNumbers(table, PEAK) as Uint16Array,
    }),
  );
}

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
      ...{ tokens, hash },
      documents: checkInteger('documents', table.header.documents, 0, Number.MAX_SAFE_INTEGER),
      dimensions: readNumbers(table, DIMENSION) as BigUint64Array,
      counts: readNumbers(table, DOCUMENTS) as Uint32Array,
    };
  });
}
