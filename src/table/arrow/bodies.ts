/**
 * Where the batches of an Arrow file lie, and the buffers of each. Readers of parts of a file need
 * only its footer and the metadata of its batches to know this.
 */

import { Cursor, footerStart, readFooter, TAIL_BYTES, walkBlock, walkHead } from './messages';

/** Bytes `at` to `at + length - 1` of a file. */
export interface Span {
  readonly at: number;
  readonly length: number;
}

/**
 * The bodies of the batches of a file that is known to be sound, and the buffers of each in the
 * order in which Arrow lists them: column by column. Bytes of bodies may be missing.
 */
export function bodiesOf(file: Uint8Array): (Span & { readonly buffers: readonly Span[] })[] {
  const start = footerStart(file.subarray(-TAIL_BYTES), file.length);
  const { blocks } = readFooter(file.subarray(start, -TAIL_BYTES), start);
  return blocks.map((block) => {
    const cursor = new Cursor(file, block.offset, start);
    const { bodyBytes, buffer, batch } = cursor.run(walkBlock(block, walkHead()));
    const buffers = Array.from(buffer.structsAt(batch, 2, 16), (own) => ({
      at: cursor.at + buffer.int64(own),
      length: buffer.int64(own + 8),
    }));
    return { at: cursor.at, length: bodyBytes, buffers };
  });
}
