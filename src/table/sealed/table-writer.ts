/**
 * A sealed Arrow file, written batch by batch: one batch is held, since the last one says that it
 * is the last. Notes where the body of each batch lies, so that it can be read by its range alone.
 */

import { Schema } from 'apache-arrow';
import { concatenated } from '../../base/arrays';
import { checksum } from '../../kernels/kernels';
import { BatchWriter } from '../arrow/bytes';
import { headerText, KEY, Sealer } from './seal';
import { type ColumnSchema, columnsOf, type TableBatch, type TableHeader } from './sealed-table';

/** The body of a record batch in its file. */
export interface Body {
  readonly at: number;
  readonly length: number;
  readonly checksum: bigint;
  /** Of what lies before the last column, where the writer was told how wide that is. */
  readonly headChecksum: bigint;
}

/** Bytes before the metadata of a message: a mark, and the length of what follows. */
const PREFIX_BYTES = 8;

export class TableWriter {
  /** Bodies of the batches that were given out. */
  readonly bodies: Body[] = [];
  readonly #columns: readonly ColumnSchema[];
  readonly #header: TableHeader;
  /** Bytes that a row has in the last column; 0 where no caller reads heads. */
  readonly #lastBytes: number;
  #sealer: Sealer | null = null;
  #writer: BatchWriter | null = null;
  /** Bytes given out so far. */
  #at = 0;

  constructor(columns: readonly ColumnSchema[], header: TableHeader, lastBytes = 0) {
    this.#lastBytes = lastBytes;
    this.#columns = columns;
    this.#header = header;
  }

  /** The bytes of the file that are known now; the batch must not change until the next call. */
  add({ count, rows, carried = [] }: TableBatch): Uint8Array[] {
    const columns = [...columnsOf(this.#columns, rows, count), ...carried];
    const first: Uint8Array[] = [];
    if (this.#sealer === null) {
      const fields = columns.map(({ field }) => field);
      const schema = new Schema(fields, new Map([[KEY, headerText(this.#header)]]));
      this.#sealer = new Sealer(schema);
      this.#writer = new BatchWriter('file', schema);
      first.push(concatenated(this.#writer.take()));
      this.#at = first[0].length;
    }
    return [...first, ...this.#next(columns.map(({ data }) => data))];
  }

  /** The bytes that end the file, which must have a batch. */
  end(): Uint8Array[] {
    const last = this.#next(null);
    this.#writer?.finish();
    return [...last, ...(this.#writer?.take() ?? [])];
  }

  #next(columns: Parameters<Sealer['next']>[0]): Uint8Array[] {
    const records = this.#sealer?.next(columns) ?? [];
    return records.map((record) => {
      this.#writer?.write(record);
      const message = concatenated(this.#writer?.take() ?? []);
      const { buffer, byteOffset } = message;
      const head = PREFIX_BYTES + new DataView(buffer, byteOffset).getInt32(4, true);
      const body = message.subarray(head);
      const before = Math.max(0, body.length - padded(record.numRows * this.#lastBytes));
      this.bodies.push({
        ...{ at: this.#at + head, length: body.length, checksum: checksum(body) },
        headChecksum: this.#lastBytes === 0 ? 0n : checksum(body.subarray(0, before)),
      });
      this.#at += message.length;
      return message;
    });
  }
}

/** Buffers begin at multiples of 8 bytes. */
export function padded(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

/** The bytes of an Arrow file of a table, given batch by batch. */
export function writeTable(
  columns: readonly ColumnSchema[],
  header: TableHeader,
  batches: Iterable<TableBatch>,
): Uint8Array {
  const writer = new TableWriter(columns, header);
  const parts: Uint8Array[] = [];
  for (const batch of batches) parts.push(...writer.add(batch));
  return concatenated([...parts, ...writer.end()]);
}
