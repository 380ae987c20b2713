/** Writes rows as Parquet by hyparquet-writer (MIT, kept by Hyperparam), a row group at a time. */

import type { ParquetWriter } from 'hyparquet-writer';
import { type ColumnKind, kindOfField } from '../../table/columns/types';
import type { RowBatch } from '../../table/row-batch';
import { exactJson } from '../column-kinds';
import type { RowEncoder } from '../row-reader';

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

/** A row group ends after about this many rows, or bytes; readers take one at a time. */
const GROUP_ROWS = 65_536;
const GROUP_BYTES = 1 << 26;

/** Rows near each row: their numbers in the file, and how far each is. */
export interface Neighbors {
  readonly ids: number[];
  readonly distances: number[];
}

/** The values of a column in the row group that is held. */
interface Column {
  readonly name: string;
  readonly kind: ColumnKind;
  values: unknown[];
}

/**
 * An encoder that holds rows until they fill a row group, and returns their bytes then; only this
 * function loads the library. With `neighbors`, those of all rows of one batch, which is one row
 * group, there is a column of this name: a struct of two lists.
 */
export async function parquetEncoder(neighbors?: readonly Neighbors[]): Promise<RowEncoder> {
  const { ByteWriter, ParquetWriter } = await import('hyparquet-writer');
  const bytes = new ByteWriter();
  let writer: InstanceType<typeof ParquetWriter> | null = null;
  let columns: Column[] = [];
  let heldBytes = 0;
  /** Begins a file with the columns of the first batch, or none where there was no batch. */
  const begin = (batch?: RowBatch) => {
    const fields = batch?.toArrow().schema.fields ?? [];
    columns = fields.map((field) => {
      return { name: field.name ?? '', kind: kindOfField(field), values: [] };
    });
    const leaves = columns.flatMap(({ name, kind }) => elementsOf(name, kind));
    const more = neighbors === undefined ? [] : NEIGHBORS;
    const root = { name: 'root', num_children: fields.length + Math.sign(more.length) };
    return new ParquetWriter({ writer: bytes, schema: [root, ...leaves, ...more] });
  };
  /** The bytes that were written since the last call, a copy; frees the room of the library. */
  const take = () => {
    const taken = bytes.getBytes().slice();
    bytes.index = 0;
    return [taken];
  };
  /** Writes the rows that are held as a row group; returns all bytes that are new. */
  const group = async () => {
    const rows = columns[0]?.values.length ?? 0;
    const columnData = columns.map(({ name, values }) => ({ name, data: values }));
    if (neighbors !== undefined) columnData.push({ name: 'neighbors', data: [...neighbors] });
    if (rows > 0) await writer?.write({ columnData, rowGroupSize: rows });
    for (const column of columns) column.values = [];
    heldBytes = 0;
    return take();
  };
  return {
    async encode(batch) {
      writer ??= begin(batch);
      for (const column of columns) addValues(column, batch);
      heldBytes += batch.byteLength;
      const rows = columns[0]?.values.length ?? 0;
      return rows >= GROUP_ROWS || heldBytes >= GROUP_BYTES ? group() : take();
    },
    async finish() {
      writer ??= begin();
      const last = await group();
      await writer.finish();
      return [...last, ...take()];
    },
  };
}

function addValues({ name, kind, values: held }: Column, batch: RowBatch): void {
  const own = kindOfField(batch.column(name).field);
  const values = batch.values(name);
  // A column of nulls alone fits every type.
  const isOther = JSON.stringify(own) !== JSON.stringify(kind);
  if (isOther && values.some((value) => value !== null)) {
    throw new Error(`column "${name}" has another type than in the first batch`);
  }
  const turn = turnOf(kind);
  for (const value of values) held.push(value === null ? null : turn(value));
}

/** A function that turns plain values into those that the library takes. */
function turnOf(kind: ColumnKind): (value: unknown) => unknown {
  if (kind === 'int64' || kind === 'uint64' || kind === 'uint32') {
    return (value) => BigInt(value as number);
  }
  if (typeof kind === 'object') {
    const item = turnOf(kind.list);
    return (value) => (value as unknown[]).map((one) => (one === null ? null : item(one)));
  }
  if (kind === 'text' || kind === 'json') {
    return (value) => (typeof value === 'string' ? value : exactJson(value));
  }
  return (value) => value;
}

/** The schema of a column that is written; all columns may have nulls. */
function elementsOf(name: string, kind: ColumnKind): SchemaElement[] {
  if (typeof kind === 'object') {
    return [
      { name, repetition_type: 'OPTIONAL', num_children: 1, converted_type: 'LIST' },
      { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
      ...elementsOf('element', kind.list),
    ];
  }
  return [{ name, repetition_type: 'OPTIONAL', ...(LEAVES[kind] ?? { type: 'INT32' }) }];
}

/** How kinds are written; narrower integers than these become INT32. */
const LEAVES: Partial<Record<string, Omit<SchemaElement, 'name'>>> = {
  bool: { type: 'BOOLEAN' },
  float32: { type: 'FLOAT' },
  float64: { type: 'DOUBLE' },
  uint32: { type: 'INT64' },
  int64: { type: 'INT64' },
  uint64: { type: 'INT64', converted_type: 'UINT_64' },
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  binary: { type: 'BYTE_ARRAY' },
};

const NEIGHBORS: readonly SchemaElement[] = [
  { name: 'neighbors', repetition_type: 'OPTIONAL', num_children: 2 },
  ...elementsOf('ids', { list: 'int32' }),
  ...elementsOf('distances', { list: 'float32' }),
];
