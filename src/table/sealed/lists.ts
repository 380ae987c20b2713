/**
 * Small parts of an index folder in and out of Arrow: the numbers of removed rows, and the centres
 * of partitions. One column each, sealed like codes.
 */

import { type Data, Field, FixedSizeList, Int16, makeData, Schema, Uint32 } from 'apache-arrow';
import { arrowBytes } from '../arrow/bytes';
import { asFormatError, chunksOf, openArrow } from '../arrow/source';
import { FORMAT_VERSION, KEY, openSealed, sealedBatch } from './seal';

export function removedToArrow(rows: Uint32Array): Uint8Array {
  const type = new Uint32();
  const data = makeData({ type, length: rows.length, nullCount: 0, data: rows });
  return oneColumn('removed', new Field('row', type, false), data);
}

/** The numbers, ascending. */
export function removedFromArrow(bytes: Uint8Array, file: string): Uint32Array {
  const { values } = valuesOf(bytes, file, { kind: 'removed', column: 'row', type: /^Uint32$/ });
  const rows = values as Uint32Array;
  for (let i = 1; i < rows.length; i++) {
    if (rows[i] > rows[i - 1]) continue;
    return asFormatError(file, () => {
      throw new Error(`row ${rows[i]} after row ${rows[i - 1]}`);
    });
  }
  return rows;
}

/** Centres one after another, `width` integers each. */
export function centresToArrow(values: Int16Array, width: number): Uint8Array {
  const item = new Field('item', new Int16(), false);
  const type = new FixedSizeList(width, item) as FixedSizeList;
  const child = makeData({
    ...{ type: new Int16(), length: values.length, nullCount: 0, data: values },
  });
  const length = values.length / width;
  const data = makeData({ type, length, nullCount: 0, child: child as Data });
  return oneColumn('centres', new Field('centre', type, false), data);
}

export function centresFromArrow(bytes: Uint8Array, file: string): Int16Array {
  const type = /^FixedSizeList\[\d+\]<Int16>$/;
  return valuesOf(bytes, file, { kind: 'centres', column: 'centre', type }).values as Int16Array;
}

function oneColumn(kind: string, field: Field, data: Data): Uint8Array {
  const header = JSON.stringify({ version: FORMAT_VERSION, kind });
  const schema = new Schema([field], new Map([[KEY, header]]));
  return arrowBytes('file', schema, [sealedBatch(schema, [data], 0, true)]);
}

function valuesOf(
  bytes: Uint8Array,
  file: string,
  { kind, column, type }: { kind: string; column: string; type: RegExp },
): { values: Uint32Array | Int16Array } {
  const opened = openArrow(bytes, file);
  return asFormatError(file, () => {
    const header = openSealed(opened) as unknown as { kind: string } | null;
    const [field] = opened.schema.fields;
    const isRight = field?.name === column && type.test(String(field.type));
    if (header?.kind !== kind || !isRight) throw new Error(`it holds no ${kind}`);
    if (opened.count === 0) return { values: new Uint32Array() };
    const [{ data }, more] = chunksOf(opened, column);
    if (more !== undefined || data.nullCount > 0) throw new Error('it is not one batch of numbers');
    const numbers = data.children[0] ?? data;
    const length = data.length * (data.children[0] === undefined ? 1 : data.stride);
    if (numbers.values.length < length) throw new Error(`column "${column}" is too short`);
    return { values: numbers.values.subarray(0, length) };
  });
}
