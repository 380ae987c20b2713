/** Writes rows as Parquet by hyparquet-writer (MIT, kept by Hyperparam), a row group at a time. */

import type { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { concatenated } from '../../base/arrays';
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

/** An encoder that holds one row group; only this function loads the library. */
export async function parquetEncoder(neighbors?: readonly Neighbors[]): Promise<RowEncoder> {
  const library = await import('hyparquet-writer');
  return new ParquetRows(new library.ByteWriter(), library.ParquetWriter, neighbors);
}

/** All rows of a batch as one file, with a column `neighbors`: a struct of two lists. */
export async function parquetWithNeighbors(
  batch: RowBatch,
  neighbors: readonly Neighbors[],
): Promise<Uint8Array> {
  const encoder = await parquetEncoder(neighbors);
  return concatenated([...(await encoder.encode(batch)), ...(await encoder.finish())]);
}

/** The values of a column in the row group that is held. */
interface Column {
  readonly name: string;
  readonly kind: ColumnKind;
  values: unknown[];
}

/** Collects rows until they fill a row group. */
class ParquetRows implements RowEncoder {
  #writer: ParquetWriter | null = null;
  #columns: Column[] = [];
  #heldBytes = 0;

  constructor(
    private readonly bytes: ByteWriter,
    private readonly Writer: typeof ParquetWriter,
    /** Those of all rows, which then are one row group. */
    private readonly neighbors: readonly Neighbors[] | undefined,
  ) {}

  /** Adds a batch to the row group; returns bytes only once the group is written. */
  async encode(batch: RowBatch): Promise<Uint8Array[]> {
    this.#writer ??= this.#begin(batch);
    const columns = this.#columns;
    for (const column of columns) {
      const kind = kindOfField(batch.column(column.name).field);
      const values = batch.values(column.name);
      // A column of nulls alone fits every type.
      const isOther = JSON.stringify(kind) !== JSON.stringify(column.kind);
      if (isOther && values.some((value) => value !== null)) {
        throw new Error(`column "${column.name}" has another type than in the first batch`);
      }
      const turn = turnOf(column.kind);
      for (const value of values) column.values.push(value === null ? null : turn(value));
    }
    this.#heldBytes += batch.byteLength;
    const rows = columns[0]?.values.length ?? 0;
    return rows >= GROUP_ROWS || this.#heldBytes >= GROUP_BYTES ? this.#group() : this.#take();
  }

  /** Writes the last row group and the footer. */
  async finish(): Promise<Uint8Array[]> {
    this.#writer ??= this.#begin();
    const last = await this.#group();
    await this.#writer.finish();
    return [...last, ...this.#take()];
  }

  /** The writer of a file with the columns of the first batch, or none where there was no batch. */
  #begin(batch?: RowBatch): ParquetWriter {
    const fields = batch?.toArrow().schema.fields ?? [];
    this.#columns = fields.map((field) => ({
      name: field.name ?? '',
      kind: kindOfField(field),
      values: [],
    }));
    const leaves = this.#columns.flatMap(({ name, kind }) => elementsOf(name, kind));
    const more = this.neighbors === undefined ? [] : NEIGHBORS;
    const root = { name: 'root', num_children: fields.length + Math.sign(more.length) };
    return new this.Writer({ writer: this.bytes, schema: [root, ...leaves, ...more] });
  }

  /** Writes the rows that are held as a row group; returns all bytes that are new. */
  async #group(): Promise<Uint8Array[]> {
    const rows = this.#columns[0]?.values.length ?? 0;
    if (rows > 0) {
      const columnData = this.#columns.map(({ name, values }) => ({ name, data: values }));
      const { neighbors } = this;
      if (neighbors !== undefined) columnData.push({ name: 'neighbors', data: [...neighbors] });
      await this.#writer?.write({ columnData, rowGroupSize: rows });
      for (const column of this.#columns) column.values = [];
      this.#heldBytes = 0;
    }
    return this.#take();
  }

  /** The bytes that were written since the last call, a copy; frees the room of the library. */
  #take(): Uint8Array[] {
    const taken = this.bytes.getBytes().slice();
    this.bytes.index = 0;
    return [taken];
  }
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
