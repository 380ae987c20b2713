/** Turns batches into the bytes of one format. */

import type { RowBatch } from '../table/row-batch';

export interface RowEncoder {
  encode(batch: RowBatch): Uint8Array[] | Promise<Uint8Array[]>;
  /** The bytes that end the output. */
  finish(): Uint8Array[] | Promise<Uint8Array[]>;
}
