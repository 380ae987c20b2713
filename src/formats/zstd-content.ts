/**
 * The content of a ZSTD file in pieces, block after block, so that the window of a frame is in
 * memory and no more. A frame whose window is too large is refused before its memory is taken.
 */

import { FormatError } from '../base/format-error';
import type { BytePipe } from '../table/arrow/batches';
import { ZstdDecoder } from '../table/compression/zstd';
import { Source } from '../table/compression/zstd-entropy';
import { ZstdWindow } from '../table/compression/zstd-window';
import { damaged } from './compressed';

/** The largest window: that of `zstd --long`, and what `zstd -d` takes where it is not asked. */
const MAX_WINDOW_BYTES = 2 ** 27;
/** Content is at most this many times the file, or `MIN_CONTENT`, which any file may have. */
const MAX_RATIO = 1024;
const MIN_CONTENT = 2 ** 26;
const NOTHING = new Uint8Array(0);

interface ZstdOptions {
  /** The file, for errors. */
  readonly name: string;
  /** Its bytes; null for a stream. */
  readonly byteCount: number | null;
}

/** The content in pieces. */
export async function* zstdContent(
  source: BytePipe,
  { name, byteCount }: ZstdOptions,
): AsyncGenerator<Uint8Array> {
  const output = new ZstdWindow();
  const decoder = new ZstdDecoder(output);
  let [packed, content] = [0, 0];
  for (;;) {
    const frame = decoder.frame();
    const next = (bytes: Uint8Array, wanted: number) => {
      try {
        return frame.next(Source.of(bytes).part(wanted));
      } catch (error) {
        throw damaged('zstd', name, error);
      }
    };
    for (let step = next(NOTHING, 0), isFirst = true; !step.done; isFirst = false) {
      const bytes = await source.take(step.value);
      if (isFirst && bytes.length === 0) return;
      packed += bytes.length;
      step = next(bytes, step.value);
      checkWindow(output.windowBytes, name);
      const piece = output.take();
      if (piece.length === 0) continue;
      content += piece.length;
      const most = Math.max(MIN_CONTENT, MAX_RATIO * (byteCount ?? packed));
      if (content > most)
        throw damaged('zstd', name, new Error(`it makes more than ${most} bytes`));
      yield piece;
    }
  }
}

function checkWindow(bytes: number, name: string): void {
  if (bytes <= MAX_WINDOW_BYTES) return;
  const size = `${Math.ceil(bytes / 2 ** 20)} MB`;
  const most = `at most ${MAX_WINDOW_BYTES / 2 ** 20} MB, the window of zstd --long`;
  throw new FormatError(`its zstd has a window of ${size}, ${most}, is read`, name);
}
