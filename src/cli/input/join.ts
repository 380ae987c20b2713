/**
 * Parts of a collection put together: ids and vectors that were read batch by batch become one.
 * Also the rows of an index with their ids, and the rows of a collection in blocks.
 */

import { bitmapOf, isValid } from '../../base/bitmap';
import { liveRows } from '../../measure/rows';
import type { DenseMatrix, Id, Ids, SimHashIndex, SparseMatrix } from '../../node';

/** Typed arrays of one type as one. */
function concat<T extends { readonly length: number }>(parts: readonly T[]): T {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const joined = new (parts[0].constructor as Float64ArrayConstructor)(length);
  let at = 0;
  for (const part of parts) {
    joined.set(part as unknown as Float64Array, at);
    at += part.length;
  }
  return joined as unknown as T;
}

/** Ids of one kind: strings, or integers of one type. */
export function joinIds(parts: readonly Ids[]): Ids {
  if (parts.length <= 1) return parts[0] ?? [];
  if (Array.isArray(parts[0])) return (parts as readonly (readonly string[])[]).flat();
  return concat(parts as readonly Int32Array[]);
}

/** Dense vectors of one width; values are float64 where those of any part are. */
export function joinDense(parts: readonly DenseMatrix[]): DenseMatrix {
  const [{ dimensions }] = parts;
  const isWide = parts.some(({ values }) => values instanceof Float64Array);
  const values = concat(
    parts.map((part) => (isWide ? Float64Array.from(part.values) : part.values)) as Float64Array[],
  );
  if (!parts.some(({ validity }) => validity)) return { values, dimensions };
  let [part, first] = [0, 0]; // the part of the current row, and its first row
  const validity = bitmapOf(values.length / dimensions, (row) => {
    while (row - first >= parts[part].values.length / dimensions) {
      first += parts[part++].values.length / dimensions;
    }
    return isValid(parts[part].validity, row - first);
  });
  return { values, dimensions, validity };
}

/** Sparse vectors; a null row becomes one without entries. */
export function joinSparse(parts: readonly SparseMatrix[]): SparseMatrix {
  const offsets = [0];
  const spans = parts.map((part) => {
    const [start, end] = [part.offsets[0], part.offsets[part.offsets.length - 1]];
    const shift = offsets[offsets.length - 1] - start;
    for (let row = 1; row < part.offsets.length; row++) offsets.push(part.offsets[row] + shift);
    return {
      indices: BigUint64Array.from(part.indices.slice(start, end), BigInt),
      values: Float64Array.from(part.values.slice(start, end)),
    };
  });
  return {
    offsets,
    indices: concat(spans.map(({ indices }) => indices)),
    values: concat(spans.map(({ values }) => values)),
  };
}

/** The ids of some rows, in an array of the type of `ids`. */
export function idsAt(ids: Ids, rows: Uint32Array): Ids {
  if (Array.isArray(ids)) return Array.from(rows, (row) => ids[row]);
  const numbers = ids as Int32Array;
  const some = new (numbers.constructor as Int32ArrayConstructor)(rows.length);
  for (let i = 0; i < rows.length; i++) some[i] = numbers[rows[i]];
  return some;
}

/** The rows of an index that are there, and by row their ids; those of removed rows are empty. */
export function rowsOfIndex(index: SimHashIndex): { rows: Uint32Array; ids: Ids } {
  const rows = liveRows(index);
  const all: (Id | undefined)[] = Array((rows.at(-1) ?? -1) + 1).fill(undefined);
  for (const row of rows) all[row] = index.idOf(row);
  return { rows, ids: typed(all) };
}

/** Ids as strings where one is, else as integers of the narrowest type that holds all. */
function typed(all: readonly (Id | undefined)[]): Ids {
  if (all.some((id) => typeof id === 'string')) return all.map((id) => String(id ?? ''));
  const integers = all.map((id) => BigInt(id ?? 0));
  if (integers.every((id) => id === BigInt.asUintN(32, id))) {
    return Uint32Array.from(integers, Number);
  }
  const isSigned = integers.every((id) => id === BigInt.asIntN(64, id));
  return isSigned ? BigInt64Array.from(integers) : BigUint64Array.from(integers);
}

/** Rows of an output that are made at once. */
const BATCH_ROWS = 8192;

/** The rows of a collection, a batch of an output at a time; one empty batch without rows. */
export function* rowBlocks(rows: {
  readonly count: number;
  readonly there: Uint32Array | null;
}): Generator<Uint32Array> {
  const all = rows.there ?? Uint32Array.from({ length: rows.count }, (_, row) => row);
  for (let first = 0; first === 0 || first < all.length; first += BATCH_ROWS) {
    yield all.slice(first, first + BATCH_ROWS);
  }
}
