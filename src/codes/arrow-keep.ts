/** Some rows of an Arrow file, as a new file with all of its columns. */

import {
  type Data,
  type DataType,
  type Dictionary,
  Field,
  type FixedSizeBinary,
  FixedSizeList,
  LargeList,
  List,
  Map_,
  makeBuilder,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  Type,
  tableToIPC,
  Vector,
} from 'apache-arrow';
import { KEY, sealedBatch } from './arrow-seal';
import { type ArrowSource, asFormatError, openArrow, rangesOf } from './arrow-source';

/**
 * The rows for which `kept` is 1, in their order. Dictionary columns become plain ones, since files
 * cannot replace a dictionary between batches.
 */
export function keepRows(source: ArrowSource, kept: Uint8Array, file?: string): Uint8Array {
  const opened = openArrow(source, file);
  return asFormatError(file, () => {
    const { batches, count } = opened;
    if (count !== kept.length) throw new Error(`${count} rows, not ${kept.length}`);
    const { fields, metadata } = opened.schema;
    const plain = fields.map(
      ({ name, type, nullable }) => new Field(name, plainOf(type), nullable),
    );
    const schema = new Schema(plain, metadata);
    const out: RecordBatch[] = [];
    let firstRow = 0;
    let written = 0;
    batches.forEach((batch, index) => {
      const rows: number[] = [];
      for (let i = 0; i < batch.numRows; i++) if (kept[firstRow + i] === 1) rows.push(i);
      firstRow += batch.numRows;
      const children = batch.data.children.map((data) => taken(data, rows));
      const isLast = index === batches.length - 1;
      // Our own files are sealed batch by batch.
      if (metadata.has(KEY)) out.push(sealedBatch(schema, children, written, isLast));
      else {
        const data = makeData({ type: new Struct(plain), length: rows.length, children });
        out.push(new RecordBatch(schema, data));
      }
      written += rows.length;
    });
    return tableToIPC(new Table(schema, out), 'file');
  });
}

/** Types whose values lie one after another, so many elements each. */
const FIXED: readonly number[] = [
  ...[Type.Int, Type.Float, Type.FixedSizeBinary],
  ...[Type.Date, Type.Time, Type.Timestamp, Type.Duration],
];
const LISTS: readonly number[] = [Type.List, Type.LargeList, Type.Map];

/** The same type without dictionaries, at any depth. */
function plainOf(type: DataType): DataType {
  if (type.typeId === Type.Dictionary) return plainOf((type as Dictionary).dictionary);
  const children = (type.children ?? []) as Field[];
  if (children.length === 0) return type;
  const plain = children.map(({ name, type: own, nullable, metadata }) => {
    return new Field(name, plainOf(own), nullable, metadata);
  });
  if (plain.every((field, i) => field.type === children[i].type)) return type;
  if (type.typeId === Type.Struct) return new Struct(plain);
  if (type.typeId === Type.List) return new List(plain[0]);
  if (type.typeId === Type.LargeList) return new LargeList(plain[0]);
  if (type.typeId === Type.FixedSizeList) {
    return new FixedSizeList((type as FixedSizeList).listSize, plain[0]);
  }
  if (type.typeId === Type.Map) return new Map_(plain[0] as never, (type as Map_).keysSorted);
  throw new Error(`columns of type ${type} with dictionaries in them are not supported`);
}

/** Some rows of a column. */
function taken(data: Data, rows: ArrayLike<number>): Data {
  const { typeId, stride } = data;
  const { length } = rows;
  const type = plainOf(data.type as DataType);
  const nulls = nullsOf(data, rows);
  if (FIXED.includes(typeId) && data.values.length >= stride * data.length) {
    const values = new (data.values.constructor as Uint8ArrayConstructor)(stride * length);
    for (let i = 0; i < length; i++) {
      for (let j = 0; j < stride; j++) values[stride * i + j] = data.values[stride * rows[i] + j];
    }
    return makeData({ type: type as FixedSizeBinary, length, data: values, ...nulls });
  }
  if (typeId === Type.Struct) {
    const children = data.children.map((child) => taken(child, rows));
    return makeData({ type: type as Struct, length, children, ...nulls });
  }
  if (typeId === Type.FixedSizeList || LISTS.includes(typeId)) {
    const { start, end } = rangesOf({ data, firstRow: 0 });
    const inner: number[] = [];
    const offsets = [0];
    for (let i = 0; i < length; i++) {
      for (let at = start(rows[i]); at < end(rows[i]); at++) inner.push(at);
      offsets.push(inner.length);
    }
    const child = taken(data.children[0], inner);
    if (typeId === Type.FixedSizeList) {
      return makeData({ type: type as FixedSizeList, length, child, ...nulls });
    }
    const valueOffsets =
      typeId === Type.LargeList
        ? BigInt64Array.from(offsets, BigInt)
        : (Int32Array.from(offsets) as never);
    return makeData({ type: type as List, length, valueOffsets, child, ...nulls } as never);
  }
  const values = new Vector([data]);
  const builder = makeBuilder({ type, nullValues: [null, undefined] });
  for (let i = 0; i < length; i++) builder.append(values.get(rows[i]));
  return builder.finish().flush();
}

function nullsOf(data: Data, rows: ArrayLike<number>) {
  if (data.nullCount === 0) return { nullCount: 0 };
  const nullBitmap = new Uint8Array(Math.ceil(rows.length / 8));
  let nullCount = 0;
  for (let i = 0; i < rows.length; i++) {
    if (data.getValid(rows[i])) nullBitmap[i >> 3] |= 1 << (i & 7);
    else nullCount++;
  }
  return { nullCount, nullBitmap };
}
