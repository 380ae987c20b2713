/**
 * Encodes record batches as an Arrow file or stream. The library's own `tableToIPC` joins buffers
 * that are neighbours in the same memory: for two columns over one array it writes one buffer, and
 * the file cannot be read again. Here every buffer is written by itself.
 */

import {
  AsyncByteQueue,
  type RecordBatch,
  RecordBatchFileWriter,
  RecordBatchStreamWriter,
  type Schema,
} from 'apache-arrow';
import { concatenated } from '../../base/arrays';

/** A file has a footer, by which any batch can be read; a stream is read from front to back. */
export type ArrowLayout = 'file' | 'stream';

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

/** Encodes batches of one schema. `take` returns the bytes since the last `take`. */
export class BatchWriter {
  readonly #chunks = new Chunks();
  readonly #writer: RecordBatchFileWriter | RecordBatchStreamWriter;

  constructor(layout: ArrowLayout, schema: Schema) {
    this.#writer = layout === 'file' ? new RecordBatchFileWriter() : new RecordBatchStreamWriter();
    this.#writer.reset(this.#chunks as never, schema);
  }

  /** Encodes a batch. Its bytes are views of the batch's memory: use them before that changes. */
  write(batch: RecordBatch): void {
    this.#writer.write(batch);
  }

  /** Encodes the end of the file or stream. */
  finish(): void {
    this.#writer.finish();
  }

  /** The bytes that were encoded since the last call. */
  take(): Uint8Array[] {
    return this.#chunks.take();
  }
}

/** The bytes of a whole file or stream, a copy. */
export function arrowBytes(
  layout: ArrowLayout,
  schema: Schema,
  batches: readonly RecordBatch[],
): Uint8Array {
  const writer = new BatchWriter(layout, schema);
  for (const batch of batches) writer.write(batch);
  writer.finish();
  return concatenated(writer.take());
}
