/**
 * Files that are compressed as a whole, recognized by their first bytes, and read in pieces; gzip
 * is written, too.
 */

import { Readable } from 'node:stream';
import { createGunzip, createGzip, type Gzip } from 'node:zlib';
import { FormatError, messageOf } from '../base/check';
import { ZstdDecoder } from '../table/compression/zstd';

type Compression = 'gzip' | 'zstd';

/** Gives the next bytes of a source, which are the caller's to hold; none only at the end. */
export type NextBytes = () => Promise<Uint8Array>;

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

/** The compression that the first bytes show; null where there is none. */
export function compressionOf(head: Uint8Array): Compression | null {
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip';
  const isZstd = head[0] === 0x28 && head[1] === 0xb5 && head[2] === 0x2f && head[3] === 0xfd;
  // A frame to skip, of 16 kinds: files by pzstd begin with one.
  const isSkipped = head[0] >> 4 === 5 && head[1] === 0x2a && head[2] === 0x4d && head[3] === 0x18;
  return isZstd || isSkipped ? 'zstd' : null;
}

/** A name without the extension of a compression; of an address without what follows its path. */
export function bareName(path: string): string {
  return path.replace(/^(https?:\/\/[^?#]*)[?#].*$/is, '$1').replace(/\.(?:gz|zst)$/i, '');
}

/** Returns a function that gives the content of gzip piece by piece. */
export function gunzipped(next: NextBytes, name: string): NextBytes {
  const gunzip = createGunzip();
  const source = new Readable({
    read() {
      next().then(
        (bytes) => this.push(bytes.length > 0 ? bytes : null),
        (error) => gunzip.destroy(error), // `pipe` does not pass errors on
      );
    },
  });
  const pieces: AsyncIterator<Uint8Array> = source.pipe(gunzip)[Symbol.asyncIterator]();
  return async () => {
    try {
      const { done, value } = await pieces.next();
      return done ? new Uint8Array(0) : value;
    } catch (error) {
      throw unreadable('gzip', name, error);
    }
  };
}

/** Content is at most this many times the file, or `MIN_CONTENT`, which any file may have. */
const MAX_RATIO = 1024;
const MIN_CONTENT = 2 ** 26;

/**
 * Returns a function that gives the content of ZSTD block after block, so that the window of a
 * frame is in memory and no more. `byteCount` is the size of the file, null for a stream.
 */
export function unpackedZstd(next: NextBytes, name: string, byteCount: number | null): NextBytes {
  const decoder = new ZstdDecoder();
  let packed = 0;
  let content = 0;
  return async () => {
    try {
      for (;;) {
        const piece = decoder.next();
        content += piece.length;
        const most = Math.max(MIN_CONTENT, MAX_RATIO * (byteCount ?? packed));
        if (content > most) throw new Error(`it makes more than ${most} bytes`);
        if (piece.length > 0) return piece;
        const bytes = await next();
        if (bytes.length === 0) {
          decoder.end();
          return bytes;
        }
        packed += bytes.length;
        decoder.give(bytes);
      }
    } catch (error) {
      throw unreadable('zstd', name, error);
    }
  };
}

/** The error for compressed bytes that cannot be unpacked; an error that names its file stays. */
function unreadable(compression: Compression, name: string, cause: unknown): FormatError {
  if (cause instanceof FormatError) return cause;
  const reason = messageOf(cause);
  return new FormatError(`its ${compression} cannot be unpacked: ${reason}`, name, { cause });
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
