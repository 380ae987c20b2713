/**
 * The bytes of rows: of a file that can be read at any position, or of a stream that is read from
 * front to back. A file is never held whole, so its size has no limit.
 */

import { type FileHandle, open } from 'node:fs/promises';
import { concatenated } from '../base/arrays';
import { FormatError } from '../base/format-error';
import type { ByteFile, BytePipe } from '../table/arrow/batches';
import { COMPRESSION_BYTES, compressionOf, gunzipped } from './compressed';
import { fill } from './file-io';
import { zstdContent } from './zstd-content';

const CHUNK_BYTES = 1 << 20;
/** Most bytes that are held of a stream whose format cannot be read from front to back. */
const MAX_STREAM_BYTES = 2 ** 31;

/** Bytes of a file or a stream, read once from front to back; `close` closes the file. */
export class ByteSource implements BytePipe {
  /** Bytes taken so far. */
  bytesRead = 0;
  #pending: Uint8Array[] = [];
  #chunks: AsyncIterator<Uint8Array>;
  #isAtEnd = false;

  private constructor(
    /** Path, or what a stream is called. */
    readonly name: string,
    chunks: AsyncIterable<Uint8Array>,
    /** Reads at any position; null for a stream. */
    readonly file: ByteFile | null,
    private readonly closeFile: () => Promise<void>,
  ) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** Closes the file, and frees what is held of it. */
  async close(): Promise<void> {
    this.#isAtEnd = true;
    this.#pending = [];
    this.#chunks = noChunks();
    await this.closeFile();
  }

  /** Opens a file; null for a folder. A device or a pipe is read as a stream. */
  static async open(path: string): Promise<ByteSource | null> {
    const handle = await open(path, 'r');
    try {
      const stat = await handle.stat();
      if (stat.isDirectory()) {
        await handle.close();
        return null;
      }
      const file = stat.isFile() ? fileAccess(handle, stat.size) : null;
      const source: ByteSource = new ByteSource(path, chunksOf(handle), file, () => handle.close());
      if (file !== null) file.onRead = (bytes) => (source.bytesRead += bytes);
      return source;
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
    const content =
      compression === 'gzip'
        ? gunzipped(this.#left(), name)
        : zstdContent(this, { name, byteCount });
    // Compressed bytes cannot be read at any position, so there is no `file`.
    return new ByteSource(name, content, null, () => this.close());
  }

  /** The bytes that were not read yet. */
  async *#left(): AsyncGenerator<Uint8Array> {
    for (let next = await this.next(); next.length > 0; next = await this.next()) yield next;
  }

  /** The bytes of a stream; a chunk of anything else throws a FormatError. */
  static of(chunks: AsyncIterable<Uint8Array>, name: string): ByteSource {
    return new ByteSource(name, bytesOf(chunks, name), null, async () => {});
  }

  /** Stands for a folder, whose files are opened one by one; it has no bytes. */
  static folder(path: string, close = async () => {}): ByteSource {
    return new ByteSource(path, noChunks(), null, close);
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
    const chunk = this.#pending.shift() ?? (await this.#pull());
    this.bytesRead += chunk.length;
    return chunk;
  }

  /** The next chunk that is not empty. */
  async #pull(): Promise<Uint8Array> {
    while (!this.#isAtEnd) {
      const result = await this.#chunks.next();
      this.#isAtEnd = result.done === true;
      if (!result.done && result.value.length > 0) return result.value;
    }
    return new Uint8Array();
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
    return this.file ?? inMemory(await this.#rest());
  }

  async #rest(): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    let length = 0;
    for (;;) {
      const chunk = await this.next();
      if (chunk.length === 0) return joined(parts);
      length += chunk.length;
      parts.push(chunk);
      if (length > MAX_STREAM_BYTES) {
        const most = `more than ${MAX_STREAM_BYTES} bytes`;
        const advice = 'of a format that is not read as a stream; give a file';
        throw new FormatError(`${most} ${advice}`, this.name);
      }
    }
  }
}

async function* noChunks(): AsyncGenerator<Uint8Array> {}

/** All parts in one array; a single part is returned as it is. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 ? parts[0] : concatenated(parts);
}

function inMemory(bytes: Uint8Array): ByteFile {
  return {
    byteCount: bytes.length,
    async readInto(target, at) {
      if (at + target.length > bytes.length) throw new Error('cut short: it ends before its data');
      target.set(bytes.subarray(at, at + target.length));
    },
  };
}

/** Reads at any position of a file; `onRead` is called with the bytes of each read. */
function fileAccess(handle: FileHandle, byteCount: number) {
  return {
    byteCount,
    onRead: (_: number) => {},
    async readInto(bytes: Uint8Array, at: number): Promise<void> {
      if ((await fill(handle, bytes, at)) < bytes.length) {
        throw new Error('cut short: the file ends before its data');
      }
      this.onRead(bytes.length);
    },
  };
}

async function* chunksOf(handle: FileHandle): AsyncGenerator<Uint8Array> {
  for (;;) {
    // New memory for each chunk, since callers hold chunks.
    const bytes = new Uint8Array(CHUNK_BYTES);
    const { bytesRead } = await handle.read(bytes, 0, CHUNK_BYTES, null);
    if (bytesRead === 0) return;
    yield bytes.subarray(0, bytesRead);
  }
}

async function* bytesOf(chunks: AsyncIterable<Uint8Array>, name: string) {
  for await (const chunk of chunks) {
    if (chunk instanceof Uint8Array) yield chunk;
    else throw new FormatError(`a stream of ${typeof chunk}s, not of bytes`, name);
  }
}
