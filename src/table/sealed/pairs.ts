/**
 * Pairs of rows out to Arrow, as a stream of record batches: a chunk of bytes for each batch, so
 * that pairs without number pass through a memory of one batch.
 */

import {
  type Data,
  Field,
  Float64,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Uint16,
  Uint32,
} from 'apache-arrow';
import { arrowBytes } from '../arrow/bytes';

/** Pairs of a batch, column by column. */
export interface PairColumns {
  readonly a: Uint32Array;
  readonly b: Uint32Array;
  readonly distances: Uint16Array;
  readonly cosines: Float64Array | null;
}

/** Behind the last batch. */
const END_BYTES = 8;

export class PairWriter {
  readonly #schema: Schema;
  readonly #head: Uint8Array;

  constructor(hasCosines: boolean) {
    const columns: Field[] = [
      new Field('a', new Uint32(), false),
      new Field('b', new Uint32(), false),
      new Field('distance', new Uint16(), false),
    ];
    if (hasCosines) columns.push(new Field('cosine', new Float64(), false));
    this.#schema = new Schema(columns);
    this.#head = this.#streamOf(null);
  }

  /** What a stream begins with, and ends with. */
  get begin(): Uint8Array {
    return this.#head.subarray(0, this.#head.length - END_BYTES);
  }

  get end(): Uint8Array {
    return this.#head.subarray(this.#head.length - END_BYTES);
  }

  batch({ a, b, distances, cosines }: PairColumns): Uint8Array {
    const { length } = a;
    const column = (
      type: Uint32 | Uint16 | Float64,
      data: Uint32Array | Uint16Array | Float64Array,
    ) =>
      makeData({ type: type as Uint32, length, nullCount: 0, data: data as Uint32Array }) as Data;
    const children = [
      column(new Uint32(), a),
      column(new Uint32(), b),
      column(new Uint16(), distances),
    ];
    if (cosines !== null) children.push(column(new Float64(), cosines));
    const data = makeData({ type: new Struct(this.#schema.fields), length, children });
    const bytes = this.#streamOf(new RecordBatch(this.#schema, data));
    return bytes.subarray(this.begin.length, bytes.length - END_BYTES);
  }

  #streamOf(batch: RecordBatch | null): Uint8Array {
    return arrowBytes('stream', this.#schema, batch === null ? [] : [batch]);
  }
}
