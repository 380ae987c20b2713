/**
 * The columns that an index folder carries beside its rows, in and out of Arrow files. Batches of
 * one file have the same columns; each may be null, and dictionaries become plain columns.
 */

import {
  type Data,
  type DataType,
  type Field,
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
import { FORMAT_VERSION, KEY, openSealed, sealedBatch } from './arrow-seal';
import { asFormatError, openArrow } from './arrow-source';
import { RowBatch } from './row-batch';

const KIND = 'columns';
const BATCH_ROWS = 65_536;

/** The bytes of an Arrow file. Throws where batches differ in names or types of columns. */
export function columnsToArrow(batches: readonly RowBatch[]): Uint8Array {
  const parts = batches.flatMap((batch) => plainParts(batch));
  const fields = parts[0].schema.fields.map((field) => field.clone({ nullable: true }) as Field);
  const header = JSON.stringify({ version: FORMAT_VERSION, kind: KIND });
  const schema = new Schema(fields, new Map([[KEY, header]]));
  let row = 0;
  const sealed = parts.map((part, i) => {
    refuseOthers(part.schema.fields, fields);
    const batch = sealedBatch(schema, part.data.children, row, i === parts.length - 1);
    row += part.numRows;
    return batch;
  });
  return tableToIPC(new Table(schema, sealed), 'file');
}

/** Batches of at most so many rows, without dictionaries. */
function plainParts(batch: RowBatch): RecordBatch[] {
  const parts: RecordBatch[] = [];
  const isPlain = batch.toArrow().schema.fields.every(({ type }) => canBeSliced(type));
  for (let first = 0; first === 0 || first < batch.count; first += BATCH_ROWS) {
    const count = Math.min(BATCH_ROWS, batch.count - first);
    const part = isPlain
      ? batch.slice(first, first + count)
      : batch.select(Uint32Array.from({ length: count }, (_, i) => first + i));
    parts.push(part.toArrow());
  }
  return parts;
}

/** Dictionaries cannot: they become plain. */
function canBeSliced({ typeId, children }: DataType): boolean {
  if (typeId === Type.Dictionary) return false;
  return (children ?? []).every((child: Field) => canBeSliced(child.type));
}

function refuseOthers(given: readonly Field[], fields: readonly Field[]): void {
  const tell = (list: readonly Field[]) => list.map(({ name, type }) => `${name}: ${type}`);
  const [got, wanted] = [tell(given).join(', '), tell(fields).join(', ')];
  if (got === wanted) return;
  throw new Error(`columns ${got} do not fit to columns ${wanted}`);
}

export interface ColumnsFromArrowOptions {
  /** Only these columns. */
  readonly names?: readonly string[] | undefined;
  /** True when the bytes are known to be those that were written. */
  readonly isSound?: boolean;
}

export function columnsFromArrow(
  bytes: Uint8Array,
  file: string,
  { names, isSound = false }: ColumnsFromArrowOptions = {},
): RowBatch[] {
  const opened = openArrow(bytes, file);
  return asFormatError(file, () => {
    const header = openSealed(isSound ? { ...opened, isWhole: false } : opened);
    if ((header as unknown as { kind: string })?.kind !== KIND)
      throw new Error('no carried columns');
    let firstRow = 0;
    return opened.batches.map((batch) => {
      const at = { firstRow, file };
      firstRow += batch.numRows;
      const whole = RowBatch.fromArrow(withoutHeader(batch), at);
      if (names === undefined) return whole;
      const others = whole.columns.filter(({ name }) => !names.includes(name));
      return whole.without(others.map(({ name }) => name));
    });
  });
}

/** The header is the file's, not the columns'. */
function withoutHeader(batch: RecordBatch): RecordBatch {
  return new RecordBatch(new Schema(batch.schema.fields), batch.data);
}

/** Batches of equal columns as one. */
export function joinBatches(batches: readonly RowBatch[]): RowBatch {
  if (batches.length === 1) return batches[0];
  const parts = batches.map((batch) => batch.toArrow());
  const { schema } = parts[0];
  const children = schema.fields.map((_, i) => joined(parts.map(({ data }) => data.children[i])));
  const length = parts.reduce((sum, { numRows }) => sum + numRows, 0);
  const type = new Struct(schema.fields);
  const data = makeData({ type, length, nullCount: 0, children });
  return RowBatch.fromArrow(new RecordBatch(schema, data));
}

const FIXED: readonly number[] = [Type.Int, Type.Float, Type.FixedSizeBinary, Type.Timestamp];
/** Offsets of so many bytes fit 32 bits. */
const MOST_TEXT_BYTES = 2 ** 31 - 1;

function joined(chunks: readonly Data[]): Data {
  const [{ type, typeId, stride }] = chunks;
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  if (FIXED.includes(typeId) && chunks.every(({ nullCount }) => nullCount === 0)) {
    const data = new (chunks[0].values.constructor as Uint8ArrayConstructor)(length * stride);
    let at = 0;
    for (const { values, length: count } of chunks) {
      data.set(values.subarray(0, count * stride), at);
      at += count * stride;
    }
    return makeData({ type, length, nullCount: 0, data } as never);
  }
  if (typeId === Type.Utf8 && chunks.every(({ nullCount }) => nullCount === 0)) {
    const texts = joinedTexts(chunks, length);
    if (texts !== null) return texts;
  }
  const values = new Vector(chunks as Data[]);
  const builder = makeBuilder({ type, nullValues: [null, undefined] });
  for (let row = 0; row < length; row++) builder.append(values.get(row));
  return builder.finish().flush();
}

/** Texts one behind the other; null where they are too long for one column. */
function joinedTexts(chunks: readonly Data[], length: number): Data | null {
  const spans = chunks.map(({ valueOffsets, length: count }) => [
    valueOffsets[0],
    valueOffsets[count],
  ]);
  const byteLength = spans.reduce((sum, [from, to]) => sum + to - from, 0);
  if (byteLength > MOST_TEXT_BYTES) return null;
  const data = new Uint8Array(byteLength);
  const valueOffsets = new Int32Array(length + 1);
  let at = 0;
  let row = 0;
  chunks.forEach((chunk, i) => {
    const [from, to] = spans[i];
    data.set((chunk.values as Uint8Array).subarray(from, to), at);
    for (let j = 1; j <= chunk.length; j++) {
      valueOffsets[++row] = at + chunk.valueOffsets[j] - from;
    }
    at += to - from;
  });
  return makeData({ type: chunks[0].type, length, nullCount: 0, valueOffsets, data } as never);
}
