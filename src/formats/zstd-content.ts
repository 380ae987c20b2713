/**
 * The content of a ZSTD file in pieces, block after block, so that the window of a frame is in
 * memory and no more. A frame whose window is too large is refused before its memory is taken.
 */

import { FormatError } from '../base/format-error';
import type { BytePipe } from '../table/arrow/batches';
import { ZstdDecoder } from '../table/compression/zstd';
import { Source } from '../table/compression/zstd-entropy';
import { ZstdWindow } from '../table/compression/zstd-output';
import { damaged } from './compressed';

/** The largest window: that of `zstd --long`, and what `zstd -d` takes where it is not asked. */
const MAX_WINDOW_BYTES = 2 ** 27;
/** Content is at most this many times the file, or `MIN_CONTENT`, which any file may have. */
const MAX_RATIO = 1024;
const MIN_CONTENT = 2 ** 26;

interface ZstdOptions {
  /** The file, for errors. */
  readonly name: string;
  /** Its bytes; null for a stream. */
  readonly byteCount: number | null;
}

export class ZstdContent {
  readonly #output = new ZstdWindow();
  readonly #decoder = new ZstdDecoder(this.#output);
  #packed = 0;
  #content = 0;

  constructor(
    private readonly source: BytePipe,
    private readonly options: ZstdOptions,
  ) {}

  /** The next piece of the content; without bytes at the end. */
  async next(): Promise<Uint8Array> {
    const { name, byteCount } = this.options;
    for (;;) {
      const { wanted, isBetweenFrames } = this.#decoder;
      const bytes = await this.source.take(wanted);
      if (isBetweenFrames && bytes.length === 0) return bytes;
      this.#packed += bytes.length;
      try {
        this.#decoder.take(Source.of(bytes).part(wanted));
        checkWindow(this.#output.windowBytes, name);
        const piece = this.#output.take();
        this.#content += piece.length;
        const most = Math.max(MIN_CONTENT, MAX_RATIO * (byteCount ?? this.#packed));
        if (this.#content > most) throw new Error(`it makes more than ${most} bytes`);
        if (piece.length > 0) return piece;
      } catch (error) {
        throw damaged('zstd', name, error);
      }
    }
  }
}

function checkWindow(bytes: number, name: string): void {
  if (bytes <= MAX_WINDOW_BYTES) return;
  const size = `${Math.ceil(bytes / 2 ** 20)} MB`;
  const most = `at most ${MAX_WINDOW_BYTES / 2 ** 20} MB, the window of zstd --long`;
  throw new FormatError(`its zstd has a window of ${size}, ${most}, is read`, name);
}
