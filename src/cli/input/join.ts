/**
 * Parts of a collection put together: codes, ids and vectors that were read batch by batch become
 * one. Also the rows of an index with their ids, and the rows of a collection in blocks.
 */

import { isValid } from '../../base/bitmap';
import { liveRows } from '../../measure/rows';
import {
  Codes,
  type DenseMatrix,
  type Id,
  type Ids,
  type SimHashIndex,
  type SparseMatrix,
} from '../../node';

type Numbers =
  | Float32Array
  | Float64Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Uint8Array;

/** Typed arrays of one type, one after another. */
function concat<T extends Numbers>(parts: readonly T[]): T {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const joined = new (parts[0].constructor as new (length: number) => T)(length);
  let at = 0;
  for (const part of parts) {
    joined.set(part as never, at);
    at += part.length;
  }
  return joined;
}

/** The bitmaps of parts as one, or null where no part has null rows. */
function joinValidity(
  parts: readonly { readonly validity?: Uint8Array | null | undefined }[],
  countOf: (part: number) => number,
): Uint8Array | null {
  if (!parts.some(({ validity }) => validity)) return null;
  const count = parts.reduce((sum, _, i) => sum + countOf(i), 0);
  const joined = new Uint8Array(Math.ceil(count / 8));
  let row = 0;
  parts.forEach(({ validity }, part) => {
    for (let i = 0; i < countOf(part); i++, row++) {
      if (isValid(validity, i)) joined[row >> 3] |= 1 << (row & 7);
    }
  });
  return joined;
}

/** Codes of one width; where there are no parts, no codes of `bits`. */
export function joinCodes(parts: readonly Codes[], { bits }: { bits: number }): Codes {
  if (parts.length === 0) return Codes.allocate(0, { bits });
  if (parts.length === 1) return parts[0];
  const [{ origin }] = parts;
  return Codes.from(concat(parts.map(({ bytes }) => bytes)), {
    bits: parts[0].bits,
    validity: joinValidity(parts, (part) => parts[part].count),
    ...(origin && { origin }),
  });
}

/** Ids of one kind: strings, or integers of one type. */
export function joinIds(parts: readonly Ids[]): Ids {
  if (parts.length <= 1) return parts[0] ?? [];
  if (Array.isArray(parts[0])) return (parts as readonly (readonly string[])[]).flat();
  return concat(parts as readonly Int32Array[]);
}

/** Dense vectors of one width; values are float64 where those of any part are. */
export function joinVectors(parts: readonly DenseMatrix[]): DenseMatrix {
  const [{ dimensions }] = parts;
  const isWide = parts.some(({ values }) => values instanceof Float64Array);
  const values = parts.map((part) => (isWide ? Float64Array.from(part.values) : part.values));
  const validity = joinValidity(parts, (part) => parts[part].values.length / dimensions);
  return { values: concat(values as Float64Array[]), dimensions, validity };
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
export function idsAt(ids: Ids, rows: ArrayLike<number>): Ids {
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
  if (integers.every((id) => id === BigInt.asIntN(64, id))) return BigInt64Array.from(integers);
  return BigUint64Array.from(integers);
}

/**
 * The rows of a collection, at most `blockRows` at a time; one empty block where there are none.
 */
export function* rowBlocks(
  rows: { readonly count: number; readonly there: Uint32Array | null },
  blockRows: number,
): Generator<Uint32Array> {
  const { there } = rows;
  const count = there?.length ?? rows.count;
  for (let first = 0; first === 0 || first < count; first += blockRows) {
    const end = Math.min(count, first + blockRows);
    yield there?.slice(first, end) ??
      Uint32Array.from({ length: end - first }, (_, i) => first + i);
  }
}
