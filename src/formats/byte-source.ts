/**
 * The bytes of rows: of a file, here or on a host, that can be read at any position, or of a stream
 * that is read from front to back. A file is never held whole, so its size has no limit. Files that
 * are compressed as a whole are recognized by their first bytes, and read in pieces.
 */

import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { concatenated } from '../base/arrays';
import { FormatError, messageOf } from '../base/check';
import type { ByteFile, BytePipe } from '../table/arrow/batches';
import { ZstdDecoder } from '../table/compression';
import { FileChecksum, PIECE_BYTES } from '../table/sealed/seal';
import { fill } from './file-io';
import { type FileStates, isAddress, noteChecksum, noteFile, openWeb } from './web-source';

/** Most bytes that are held of a stream whose format cannot be read from front to back. */
const MAX_STREAM_BYTES = 2 ** 31;
const NOTHING = new Uint8Array(0);

type Compression = 'gzip' | 'zstd';

/** Gives the next bytes of a source, which are the caller's to hold; none only at the end. */
type NextBytes = () => Promise<Uint8Array>;

/** Bytes of a file or a stream, read once from front to back; `close` closes the file. */
export class ByteSource implements BytePipe {
  /** Bytes taken so far. */
  bytesRead = 0;
  #pending: Uint8Array[] = [];
  #isAtEnd = false;

  /** Reads at any position; null for a stream. */
  readonly file: ByteFile | null;

  private constructor(
    /** Path, or what a stream is called. */
    readonly name: string,
    private readonly pull: NextBytes,
    file: ByteFile | null = null,
    private readonly closeFile = async () => {},
  ) {
    this.file = file && {
      byteCount: file.byteCount,
      read: async (ranges) => {
        const all = await file.read(ranges);
        for (const { length } of all) this.bytesRead += length;
        return all;
      },
    };
  }

  /** Closes the file, and frees what is held of it. */
  async close(): Promise<void> {
    this.#isAtEnd = true;
    this.#pending = [];
    await this.closeFile();
  }

  /**
   * Opens a file or an address; null for a folder. A device or a pipe is read as a stream. `states`
   * are those of the files on hosts that were read before.
   */
  static async open(path: string, states: FileStates = new Map()): Promise<ByteSource | null> {
    if (isAddress(path)) {
      const { name, next, ranges, close } = await openWeb(path, states);
      return new ByteSource(name, next, ranges, close);
    }
    const handle = await open(path, 'r');
    try {
      const stat = await handle.stat({ bigint: true });
      if (stat.isDirectory()) {
        await handle.close();
        return null;
      }
      const isFile = stat.isFile();
      if (isFile) noteFile(states, path, stat);
      const sum = new FileChecksum();
      const pull = async () => {
        const bytes = new Uint8Array(PIECE_BYTES);
        let count = 0;
        let bytesRead = 0;
        do {
          ({ bytesRead } = await handle.read(bytes, count, PIECE_BYTES - count, null));
          count += bytesRead;
        } while (isFile && bytesRead > 0 && count < PIECE_BYTES); // a pipe gives what it has
        if (count > 0) sum.add(bytes.subarray(0, count));
        else if (isFile) noteChecksum(states, path, sum.text);
        return bytes.subarray(0, count);
      };
      const file: ByteFile = {
        byteCount: Number(stat.size),
        async read(ranges) {
          const all = ranges.map(({ length }) => new Uint8Array(length));
          for (const [i, bytes] of all.entries()) {
            if ((await fill(handle, bytes, ranges[i].at)) < bytes.length) {
              throw new Error('cut short: the file ends before its data');
            }
          }
          return all;
        },
      };
      return new ByteSource(path, pull, isFile ? file : null, () => handle.close());
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** The source without its compression, which its first bytes show; itself without one. */
  async uncompressed(): Promise<ByteSource> {
    const compression = compressionOf(await this.peek(COMPRESSION_BYTES));
    if (compression === null) return this;
    const { byteCount, name } = this;
    const pull =
      compression === 'gzip'
        ? gunzipped(() => this.next(), name)
        : unpackedZstd(() => this.next(), name, byteCount);
    // Compressed bytes cannot be read at any position, so there is no `file`.
    return new ByteSource(name, pull, null, () => this.close());
  }

  /** The bytes of a stream; a chunk of anything else throws a FormatError. */
  static of(
    chunks: AsyncIterable<Uint8Array>,
    name: string,
    states: FileStates = new Map(),
  ): ByteSource {
    const iterator = chunks[Symbol.asyncIterator]();
    const sum = new FileChecksum();
    return new ByteSource(name, async () => {
      for (;;) {
        const { done, value } = await iterator.next();
        if (done) {
          noteChecksum(states, name, sum.text);
          return NOTHING;
        }
        if (!(value instanceof Uint8Array)) {
          throw new FormatError(`a stream of ${typeof value}s, not of bytes`, name);
        }
        sum.add(value);
        if (value.length > 0) return value;
      }
    });
  }

  /** Stands for a folder, whose files are opened one by one; it has no bytes. */
  static folder(path: string, close = async () => {}): ByteSource {
    return new ByteSource(path, async () => NOTHING, null, close);
  }

  /** The size of a file; null for a stream. */
  get byteCount(): number | null {
    return this.file?.byteCount ?? null;
  }

  /** Bytes of a file that were not taken yet; null for a stream. */
  get bytesLeft(): number | null {
    return this.file === null ? null : this.file.byteCount - this.bytesRead;
  }

  /** The next bytes, however many there are; none only at the end. */
  async next(): Promise<Uint8Array> {
    const chunk = this.#pending.shift() ?? (this.#isAtEnd ? NOTHING : await this.pull());
    if (chunk.length === 0) this.#isAtEnd = true;
    this.bytesRead += chunk.length;
    return chunk;
  }

  /** The first `count` bytes, which stay to be read. */
  async peek(count: number): Promise<Uint8Array> {
    const head = await this.take(count);
    this.bytesRead -= head.length;
    if (head.length > 0) this.#pending.unshift(head);
    return head;
  }

  /** The next `count` bytes, fewer only at the end. Not copied where they lie in one chunk. */
  async take(count: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    let missing = count;
    while (missing > 0) {
      const chunk = await this.next();
      if (chunk.length === 0) break;
      parts.push(chunk.subarray(0, missing));
      if (chunk.length > missing) {
        this.#pending.unshift(chunk.subarray(missing));
        this.bytesRead -= chunk.length - missing;
      }
      missing -= Math.min(missing, chunk.length);
    }
    return joined(parts);
  }

  /**
   * All bytes that are left, to be read at any position, for formats that cannot be read from front
   * to back. A file is read where it is, from its beginning; a stream is held in memory.
   */
  async randomAccess(): Promise<ByteFile> {
    if (this.file !== null) return this.file;
    const bytes = await this.take(MAX_STREAM_BYTES + 1);
    if (bytes.length > MAX_STREAM_BYTES) {
      const most = `more than ${MAX_STREAM_BYTES} bytes`;
      const advice = 'of a format that is not read as a stream; give a file';
      throw new FormatError(`${most} ${advice}`, this.name);
    }
    const read: ByteFile['read'] = async (ranges) =>
      ranges.map(({ at, length }) => bytes.subarray(at, at + length));
    return { byteCount: bytes.length, read };
  }
}

/** All parts in one array; a single part is returned as it is. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 ? parts[0] : concatenated(parts);
}

/** How many first bytes show a compression. */
const COMPRESSION_BYTES = 4;

/** The compression that the first bytes show; null where there is none. */
function compressionOf(head: Uint8Array): Compression | null {
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip';
  const isZstd = head[0] === 0x28 && head[1] === 0xb5 && head[2] === 0x2f && head[3] === 0xfd;
  // A frame to skip, of 16 kinds: files by pzstd begin with one.
  const isSkipped = head[0] >> 4 === 5 && head[1] === 0x2a && head[2] === 0x4d && head[3] === 0x18;
  return isZstd || isSkipped ? 'zstd' : null;
}

/** Returns a function that gives the content of gzip piece by piece. */
function gunzipped(next: NextBytes, name: string): NextBytes {
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
