/**
 * Record batches to the bytes of an Arrow file or stream. The library's own way to one array,
 * `tableToIPC`, joins neighbouring buffers that lie in the same memory: of two columns over one
 * array it writes one, and the file cannot be read again. Here every buffer is written.
 */

import {
  AsyncByteQueue,
  type RecordBatch,
  RecordBatchFileWriter,
  RecordBatchStreamWriter,
  type Schema,
} from 'apache-arrow';
import { concatenated } from '../../base/arrays';

/** A file has a footer and can be read here and there; a stream ends where it ends. */
export type ArrowLayout = 'file' | 'stream';

/** Collects what the library writes, buffer by buffer. */
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

/** Writes batches of one schema; each call returns the bytes that it adds. */
export class BatchWriter {
  readonly #chunks = new Chunks();
  readonly #writer: RecordBatchFileWriter | RecordBatchStreamWriter;

  constructor(layout: ArrowLayout, schema: Schema) {
    this.#writer = layout === 'file' ? new RecordBatchFileWriter() : new RecordBatchStreamWriter();
    this.#writer.reset(this.#chunks as never, schema);
  }

  /** Bytes not taken yet; they lie over the batch's memory, and must be used before it changes. */
  write(batch: RecordBatch): void {
    this.#writer.write(batch);
  }

  finish(): void {
    this.#writer.finish();
  }

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
