/**
 * Small sealed tables: the removed rows and the centroids of an index folder, a column each, and
 * document frequencies, a row a word.
 */

import { checkInteger } from '../../base/check';
import { fromByteRows, toByteRows } from '../../vectors/byte-rows';
import { type ArrowSource, asArrow } from '../arrow/source';
import { batchRanges, type ColumnSchema, openTable, readNumbers } from './sealed-table';
import { writeTable } from './table-writer';

const REMOVED: ColumnSchema = { name: 'row', type: 'uint32' };

/** Numbers of removed rows, ascending. */
export function removedToArrow(rows: Uint32Array): Uint8Array {
  return writeTable([REMOVED], { kind: 'removed' }, [{ count: rows.length, rows: { row: rows } }]);
}

/** Reads them; a file where they do not ascend throws a FormatError. */
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

/** The names in files are those of version 1, whose centroids are of 16 bits. */
const centroids = (vector: 'int8' | 'int16', width: number | null): ColumnSchema => {
  return { name: 'centre', type: { vector, width } };
};
const PEAK: ColumnSchema = { name: 'peak', type: 'uint16' };

/** Centroids one after another, `width` integers each: of 8 bits, where these hold them. */
export function centroidsToArrow(values: Int16Array, width: number): Uint8Array {
  const count = values.length / width;
  const { bytes, peaks } = toByteRows(values, width);
  if (!fromByteRows({ bytes, peaks }).every((value, i) => value === values[i])) {
    const batch = { count, rows: { centre: values } };
    return writeTable([centroids('int16', width)], { kind: 'centres' }, [batch]);
  }
  const batch = { count, rows: { centre: bytes, peak: peaks } };
  return writeTable([centroids('int8', width), PEAK], { kind: 'centres' }, [batch]);
}

/** Reads them; the width is known from the index. */
export function centroidsFromArrow(bytes: Uint8Array, file: string): Int16Array {
  const table = openTable(bytes, file, { kind: 'centres' });
  return asArrow(file, () => {
    if (!table.schema.fields.some(({ name }) => name === PEAK.name)) {
      return readNumbers(table, centroids('int16', null)) as Int16Array;
    }
    return fromByteRows({
      bytes: readNumbers(table, centroids('int8', null)) as Int8Array,
      peaks: readNumbers(table, PEAK) as Uint16Array,
    });
  });
}

/** How often words occur in documents, and how the words were made. */
interface FrequencyColumns {
  readonly tokens: string;
  readonly hash: string;
  /** Documents that were counted. */
  readonly documents: number;
  /** Hashes of the words, ascending. */
  readonly dimensions: BigUint64Array;
  /** Documents with each word. */
  readonly counts: Uint32Array;
}

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
  return writeTable(
    [DIMENSION, DOCUMENTS],
    { kind: 'frequencies', tokens, hash, documents },
    batches,
  );
}

/** Reads such a file; a damaged one throws a FormatError. */
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
