/**
 * Writes a sealed Arrow file batch by batch. One batch is held back, since the last one says that
 * it is the last. Notes where the body of each batch lies, so that it can be read by its range
 * alone.
 */

import { Schema } from 'apache-arrow';
import { concatenated, padded } from '../../base/arrays';
import { checksum } from '../../kernels/xxhash';
import { BatchWriter } from '../arrow/bytes';
import { headerText, KEY, Sealer } from './seal';
import { type ColumnSchema, columnsOf, type TableBatch, type TableHeader } from './sealed-table';

/** Where the body of a record batch is in its file. */
export interface Body {
  readonly at: number;
  readonly length: number;
  readonly checksum: bigint;
  /**
   * The checksum of what lies before the last column; 0 where the writer does not know its width.
   */
  readonly headChecksum: bigint;
}

/** Bytes before the metadata of a message: four of 255, and the length of what follows. */
const PREFIX_BYTES = 8;

/** All returned bytes, in order, are the file. */
export class TableWriter {
  /** Bodies of the batches that were returned so far. */
  readonly bodies: Body[] = [];
  readonly #columns: readonly ColumnSchema[];
  readonly #header: TableHeader;
  /** Bytes of a row in the last column; 0 where heads are not read alone. */
  readonly #lastBytes: number;
  #sealer: Sealer | null = null;
  #writer: BatchWriter | null = null;
  /** Bytes returned so far. */
  #at = 0;

  constructor(columns: readonly ColumnSchema[], header: TableHeader, lastBytes = 0) {
    this.#lastBytes = lastBytes;
    this.#columns = columns;
    this.#header = header;
  }

  /**
   * Adds a batch, which must not change until the next call; returns the bytes that are complete
   * now.
   */
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

  /** The last bytes of the file, which must have a batch. */
  end(): Uint8Array[] {
    const last = this.#next(null);
    this.#writer?.finish();
    return [...last, ...(this.#writer?.take() ?? [])];
  }

  /** Seals and encodes; notes where the bodies lie. */
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

/** The bytes of a whole file. */
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
