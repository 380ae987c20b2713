/**
 * Files that are compressed as a whole, recognized by their first bytes. gzip is read and written
 * in pieces; ZSTD is read as a whole and by our own decoder, since Node has it from 22.15 on only.
 */

import { Readable } from 'node:stream';
import { createGunzip, createGzip, type Gzip } from 'node:zlib';
import { FormatError } from '../base/format-error';
import { decodeZstd } from '../table/compression/zstd';

type Compression = 'gzip' | 'zstd';

/** Where bytes go: a file that appears when it is closed, a device, or a stream. */
export interface RowOutput {
  /** Resolves once the bytes are taken; their memory may change from then on. */
  write(chunks: readonly Uint8Array[]): Promise<void>;
  /** Ends the output: a file is at its place from now on. */
  close(): Promise<void>;
  /** Gives up: nothing is left of a file. */
  abort(): Promise<void>;
}

/** How many first bytes show a compression. */
export const COMPRESSION_BYTES = 4;
/** Most content of a ZSTD file: this many times its bytes, and between these two limits. */
const MAX_RATIO = 1024;
const MIN_CONTENT = 2 ** 26;
const MAX_CONTENT = 2 ** 31 - 1;
const PIECE_BYTES = 2 ** 20;

/** The compression that the first bytes show; null where there is none. */
export function compressionOf(head: Uint8Array): Compression | null {
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip';
  const isZstd = head[0] === 0x28 && head[1] === 0xb5 && head[2] === 0x2f && head[3] === 0xfd;
  return isZstd ? 'zstd' : null;
}

/** A name without the extension of a compression. */
export function bareName(path: string): string {
  return path.replace(/\.(?:gz|zst)$/i, '');
}

/** Compressed bytes that were unpacked, their content, and the bytes of it that stay in memory. */
export interface Unpacked {
  readonly packed: number;
  readonly content: number;
  readonly held: number;
}

/**
 * The content of compressed bytes, in pieces; errors name the file. `onUnpacked` is called before
 * each piece of gzip, and once for ZSTD, which is unpacked at once.
 */
export async function* decompressed(
  chunks: AsyncIterable<Uint8Array>,
  compression: Compression,
  name: string,
  onUnpacked: (state: Unpacked) => void,
): AsyncGenerator<Uint8Array> {
  try {
    if (compression === 'gzip') yield* gunzipped(chunks, onUnpacked);
    else yield* zstdContent(chunks, onUnpacked);
  } catch (error) {
    if (error instanceof FormatError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new FormatError(`its ${compression} is damaged: ${reason}`, name, { cause: error });
  }
}

async function* gunzipped(
  chunks: AsyncIterable<Uint8Array>,
  onUnpacked: (state: Unpacked) => void,
): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip();
  let content = 0;
  const source = Readable.from(chunks);
  // `pipe` does not pass errors on: without this line the loop below would wait for ever.
  source.on('error', (error) => gunzip.destroy(error));
  try {
    for await (const piece of source.pipe(gunzip)) {
      content += piece.length;
      onUnpacked({ packed: gunzip.bytesWritten, content, held: 0 });
      yield piece;
    }
  } finally {
    source.destroy();
  }
}

async function* zstdContent(
  chunks: AsyncIterable<Uint8Array>,
  onUnpacked: (state: Unpacked) => void,
): AsyncGenerator<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    length += chunk.length;
    if (length > MAX_CONTENT) throw new Error(`more than ${MAX_CONTENT} bytes: use gzip`);
  }
  const most = Math.min(MAX_CONTENT, Math.max(MIN_CONTENT, MAX_RATIO * length));
  const content = decodeZstd(Buffer.concat(parts), most);
  // As measured: compressed bytes and content, each as a whole and in pieces, some freed meanwhile.
  const held = 2 * length + 2.2 * content.length;
  onUnpacked({ packed: length, content: content.length, held });
  for (let at = 0; at < content.length; at += PIECE_BYTES) {
    yield content.subarray(at, at + PIECE_BYTES);
  }
}

/** Compresses bytes on their way to another output. Equal input becomes equal bytes. */
export class GzipOutput implements RowOutput {
  readonly #gzip: Gzip = createGzip();
  #made: Uint8Array[] = [];

  constructor(private readonly output: RowOutput) {
    this.#gzip.on('data', (bytes: Uint8Array) => this.#made.push(bytes));
  }

  async write(chunks: readonly Uint8Array[]): Promise<void> {
    for (const chunk of chunks) {
      await new Promise<void>((resolve, reject) => {
        this.#gzip.write(chunk, (error) => (error ? reject(error) : resolve()));
      });
      await this.output.write(this.#made.splice(0));
    }
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#gzip.on('end', resolve).on('error', reject).end();
    });
    await this.output.write(this.#made.splice(0));
    await this.output.close();
  }

  async abort(): Promise<void> {
    this.#gzip.destroy();
    await this.output.abort();
  }
}
