/**
 * Sparse rows that an index keeps, in and out of Arrow: list columns `indices` of dimensions, which
 * ascend, and `weights`, as many a row. What comes back is checked, so that no file makes vectors
 * that are out of order or not finite.
 */

import { type Data, Field, Float32, List, makeData, Type, Uint64 } from 'apache-arrow';
import { type ArrowBatches, type Chunk, chunksOf, rangesOf } from '../arrow/source';

/** Sparse rows one behind the other: those of row r lie at `offsets[r]` to `offsets[r + 1]`. */
export interface SparseColumns {
  readonly offsets: Int32Array;
  readonly indices: BigUint64Array;
  readonly weights: Float32Array;
}

const COLUMNS = ['indices', 'weights'] as const;

/** The two columns of some rows. */
export function sparseToColumns({ offsets, indices, weights }: SparseColumns): [Field, Data][] {
  const length = offsets.length - 1;
  const items = [
    makeData({ type: new Uint64(), length: indices.length, nullCount: 0, data: indices }),
    makeData({ type: new Float32(), length: weights.length, nullCount: 0, data: weights }),
  ] as Data[];
  return items.map((child, i) => {
    const type = new List(new Field('item', child.type, false));
    const data = makeData({ type, length, nullCount: 0, valueOffsets: offsets, child }) as Data;
    return [new Field(COLUMNS[i], type, false), data];
  });
}

/** The rows of the two columns, `firstRow` being the number of the first in errors; or null. */
export function sparseFromColumns(source: ArrowBatches, firstRow = 0): SparseColumns | null {
  const fields = COLUMNS.map((name) => source.schema.fields.find((field) => field.name === name));
  if (fields.every((field) => field === undefined)) return null;
  COLUMNS.forEach((name, i) => {
    const expected = ['List<Uint64>', 'List<Float32>'][i];
    const type = fields[i]?.type;
    if (type === undefined) throw new Error(`there is no column "${name}" beside the other`);
    if (String(type) === expected) return;
    throw new Error(`column "${name}" is of type ${type}, expected ${expected}`);
  });
  const [dimensions, values] = COLUMNS.map((name) => listsOf(source, name));
  const offsets = new Int32Array(source.count + 1);
  for (const { at, lengths } of dimensions) {
    for (let i = 0; i < lengths.length; i++) offsets[at + i + 1] = lengths[i];
  }
  for (const { at, lengths } of values) {
    for (let i = 0; i < lengths.length; i++) {
      if (lengths[i] === offsets[at + i + 1]) continue;
      throw new Error(`row ${firstRow + at + i}: as many indices as weights were expected`);
    }
  }
  let total = 0;
  for (let row = 0; row < source.count; row++) {
    total += offsets[row + 1];
    if (total > 0x7fff_ffff) throw new Error('more entries than a batch can hold');
    offsets[row + 1] = total;
  }
  const indices = new BigUint64Array(total);
  const weights = new Float32Array(total);
  for (const { at, items } of dimensions) indices.set(items as BigUint64Array, offsets[at]);
  for (const { at, items } of values) weights.set(items as Float32Array, offsets[at]);
  checkRows({ offsets, indices, weights }, firstRow);
  return { offsets, indices, weights };
}

/** The lists of a chunk: the row of the first, the length of each, and all their items. */
interface Lists {
  readonly at: number;
  readonly lengths: Uint32Array;
  readonly items: BigUint64Array | Float32Array;
}

function listsOf(source: ArrowBatches, name: string): Lists[] {
  return chunksOf(source, name).map((chunk: Chunk) => {
    const { data, firstRow } = chunk;
    const child = data.children[0];
    if (data.typeId !== Type.List || data.nullCount > 0 || child.nullCount > 0) {
      throw new Error(`column "${name}" has nulls`);
    }
    const { start, end } = rangesOf(chunk);
    const lengths = new Uint32Array(data.length);
    for (let i = 0; i < data.length; i++) lengths[i] = end(i) - start(i);
    const [from, to] = data.length === 0 ? [0, 0] : [start(0), end(data.length - 1)];
    if (child.values.length < to) throw new Error(`column "${name}" is shorter than its batch`);
    return { at: firstRow, lengths, items: child.values.subarray(from, to) };
  });
}

function checkRows({ offsets, indices, weights }: SparseColumns, firstRow: number): void {
  for (let row = 0; row + 1 < offsets.length; row++) {
    for (let i = offsets[row]; i < offsets[row + 1]; i++) {
      if (!Number.isFinite(weights[i])) {
        throw new Error(`row ${firstRow + row}: its vector has ${weights[i]}`);
      }
      if (i > offsets[row] && indices[i] <= indices[i - 1]) {
        throw new Error(`row ${firstRow + row}: dimension ${indices[i]} after ${indices[i - 1]}`);
      }
    }
  }
}
