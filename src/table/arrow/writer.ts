/**
 * Rows to the bytes of an Arrow file or stream, one batch at a time. The library's own `tableToIPC`
 * joins buffers that are neighbours in the same memory: for two columns over one array it writes
 * one buffer, and the file cannot be read again. Here every buffer is written by itself.
 */

import {
  AsyncByteQueue,
  type Data,
  RecordBatchFileWriter,
  RecordBatchStreamWriter,
  Schema,
} from 'apache-arrow';
import { concatenated } from '../../base/arrays';
import type { CodeOrigin } from '../../codes/codes';
import type { TextModel } from '../../vectors/vectors';
import { bytesOf } from '../columns/chunk';
import { columnOf, recordBatch } from '../columns/make';
import { joinedColumn, ofType } from '../columns/pick';
import type { RowBatch } from '../row-batch';
import { headerText, KEY, sealedBatch } from '../sealed/seal';

/** A file has a footer, by which any batch can be read; a stream is read from front to back. */
type ArrowLayout = 'file' | 'stream';

/** Collects what the library writes, buffer by buffer, without copies. */
class Chunks extends AsyncByteQueue {
  #chunks: Uint8Array[] = [];

  override write(chunk: Uint8Array): void {
    if (chunk.byteLength > 0) this.#chunks.push(chunk);
  }

  take(): Uint8Array[] {
    const chunks = this.#chunks;
    this.#chunks = [];
    return chunks;
  }
}

/** The message of a stream that has a schema. */
export function schemaMessage(schema: Schema): Uint8Array {
  const chunks = new Chunks();
  new RecordBatchStreamWriter().reset(chunks as never, schema);
  return concatenated(chunks.take());
}

/**
 * Encodes batches of one schema. Where the schema has a header, batches are sealed: each is held
 * until the next comes, since only the last one says that it is the last.
 */
export class ArrowEncoder {
  readonly #chunks = new Chunks();
  readonly #writer: RecordBatchFileWriter | RecordBatchStreamWriter;
  #held: Data[] | null = null;
  /** Rows of the batches that were encoded. */
  #row = 0;

  constructor(
    layout: ArrowLayout,
    readonly schema: Schema,
  ) {
    this.#writer = layout === 'file' ? new RecordBatchFileWriter() : new RecordBatchStreamWriter();
    this.#writer.reset(this.#chunks as never, schema);
  }

  /**
   * Adds a batch of these columns, of `length` rows; they must not change until it is encoded. All
   * that is returned are views of the memory of columns, to be used before that changes.
   */
  add(columns: Data[], length: number): Uint8Array[] {
    if (!this.schema.metadata.has(KEY)) {
      this.#writer.write(recordBatch(this.schema, columns, length));
      return this.#chunks.take();
    }
    const bytes = this.#sealHeld(false);
    this.#held = columns;
    return bytes;
  }

  /** Encodes the batch that is held, as the last one. */
  endBatches(): Uint8Array[] {
    return this.#sealHeld(true);
  }

  /** Encodes the end of the file or stream. */
  finish(): Uint8Array[] {
    const last = this.endBatches();
    this.#writer.finish();
    return [...last, ...this.#chunks.take()];
  }

  #sealHeld(isLast: boolean): Uint8Array[] {
    if (this.#held !== null) {
      const batch = sealedBatch(this.schema, this.#held, this.#row, isLast);
      this.#writer.write(batch);
      this.#row += batch.numRows;
      this.#held = null;
    }
    return this.#chunks.take();
  }
}

/** What a sealed file says of itself: what its rows are, and how its codes were made. */
export interface SealHeader extends Partial<CodeOrigin> {
  /** Rows that must not change or be lost unnoticed; not given of codes, which have `bits`. */
  readonly kind?: 'plan' | 'pairs' | 'matches' | 'vectors';
  readonly bits?: number;
  /** For vectors of texts: the model that made them. */
  readonly model?: TextModel | undefined;
}

/**
 * A batch with more bytes is cut: the Arrow library loses one of 2 GiB or more without an error.
 * Carried columns must not be cut, which are read by the numbers of their rows.
 */
const MAX_BYTES = 3 * 2 ** 29;

/**
 * Encodes batches of rows, all with columns of the same names. With a header the file is sealed; it
 * is what the file has, or the JSON of another sealed file, taken as it is.
 */
export function arrowWriter(layout: ArrowLayout, header: SealHeader | string | null) {
  const text = header === null || typeof header === 'string' ? header : headerText({ ...header });
  /** Null before the first batch, whose columns are those of all. */
  let encoder: ArrowEncoder | null = null;
  return {
    /** The bytes that a batch adds: views of its memory, to be written before that changes. */
    encode(batch: RowBatch): Uint8Array[] {
      // A file cannot replace a dictionary between batches.
      const { schema, data } = batch.toArrow();
      const columns = schema.fields.map((field, i) =>
        columnOf(field.name, joinedColumn([{ field, data: data.children[i] }])),
      );
      if (encoder === null) {
        const metadata = new Map(schema.metadata);
        metadata.delete(KEY);
        if (text !== null) metadata.set(KEY, text);
        const fields = columns.map(({ field }) => field);
        encoder = new ArrowEncoder(layout, new Schema(fields, metadata));
      }
      const all = encoder.schema.fields.map(({ type }, i) => {
        // One of nulls alone takes any type.
        const { field, data } = columns[i];
        const own = ofType(type, data);
        if (own !== null) return own;
        const was = `of type ${field.type} was of type ${type} in the first batch`;
        throw new Error(`column "${field.name}" ${was}`);
      });
      const bytes = all.reduce((sum, one) => sum + bytesOf(one), 0);
      const pieces = Math.max(1, Math.ceil(bytes / MAX_BYTES));
      const step = Math.max(1, Math.ceil(batch.count / pieces));
      const encoded: Uint8Array[] = [];
      for (let first = 0; first === 0 || first < batch.count; first += step) {
        const length = Math.min(step, batch.count - first);
        const isWhole = length === batch.count;
        const own = isWhole ? all : all.map((one) => one.slice(first, length));
        encoded.push(...encoder.add(own, length));
      }
      return encoded;
    },

    /** The bytes that end the file; without any batch, a file without columns. */
    finish(): Uint8Array[] {
      return (encoder ?? new ArrowEncoder(layout, new Schema([]))).finish();
    },
  };
}
