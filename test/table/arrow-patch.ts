/** An Arrow IPC file whose bytes are changed in place, by the names of what lies there. */

import { type FileMap, type FlatTable, type MessageMap, mapFile, SLOTS, viewOf } from './arrow-map';

/** Of a node or a buffer, two int64: where the second lies. */
export const SECOND = 8;

export class Patch {
  /** A copy of what was given. */
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly map: FileMap;

  constructor(bytes: Uint8Array) {
    this.bytes = Uint8Array.from(bytes);
    this.view = viewOf(this.bytes);
    this.map = mapFile(this.bytes);
  }

  int32(at: number, value: number): void {
    this.view.setInt32(at, value, true);
  }

  int64(at: number, value: bigint): void {
    this.view.setBigInt64(at, value, true);
  }

  getInt64(at: number): number {
    return Number(this.view.getBigInt64(at, true));
  }

  get message(): MessageMap {
    return this.map.batches[0];
  }

  /** The first RecordBatch. */
  get batch(): FlatTable {
    return this.message.header;
  }

  /** Addresses of the first batch's nodes, a length and a null count each. */
  nodes(): number[] {
    return this.batch.structs(SLOTS.batch.nodes, 16);
  }

  /** Addresses of the first batch's buffers, an offset and a length each. */
  buffers(): number[] {
    return this.batch.structs(SLOTS.batch.buffers, 16);
  }

  /** Where buffer `index` of the first batch lies. */
  data(index: number): number {
    return this.message.body + this.getInt64(this.buffers()[index]);
  }

  /** The number of rows that the first batch, and each of its columns, claim. */
  claimRows(rows: bigint): void {
    this.int64(this.batch.must(SLOTS.batch.length), rows);
    for (const node of this.nodes()) this.int64(node, rows);
  }

  /** The schema of the footer, by which a file is read, and that of the first message. */
  schemas(): FlatTable[] {
    const footer = this.map.footer.table(SLOTS.footer.schema);
    return this.map.schema === null ? [footer] : [footer, this.map.schema.header];
  }

  /** A column or one of its children, in both schemas. */
  fields(path: readonly number[]): FlatTable[] {
    const [first, ...rest] = path;
    return this.schemas().map((schema) =>
      rest.reduce(
        (field, index) => field.tables(SLOTS.field.children)[index],
        schema.tables(SLOTS.schema.fields)[first],
      ),
    );
  }

  /** Number of the column with a name. */
  column(name: string): number {
    return this.schemas()[0]
      .tables(SLOTS.schema.fields)
      .findIndex((field) => this.text(field.vector(SLOTS.field.name)) === name);
  }

  text(at: number): string {
    return new TextDecoder().decode(
      this.bytes.subarray(at + 4, at + 4 + this.view.getUint32(at, true)),
    );
  }
}
