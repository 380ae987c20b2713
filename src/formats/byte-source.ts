/**
 * Where rows come from: a file that is read here and there, or bytes that come one after another.
 * A file is never held whole, so its size has no limit.
 */

import { type FileHandle, open } from 'node:fs/promises';
import { FormatError } from '../base/format-error';
import type { ByteFile, BytePipe } from '../table/arrow/batches';
import { concatenated } from '../table/arrow/bytes';
import { fill } from './file-io';

const CHUNK_BYTES = 1 << 20;
/** What is held of a stream in a format that has its schema last, or no rows until its end. */
const MAX_STREAM_BYTES = 2 ** 31;

/** Bytes of a file or a stream, read once from front to back; `close` frees the file. */
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
    /** Random access, where there is a file. */
    readonly file: ByteFile | null,
    readonly close: () => Promise<void>,
  ) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** Opens a file; `null` for a folder. */
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

  static of(chunks: AsyncIterable<Uint8Array>, name: string): ByteSource {
    return new ByteSource(name, bytesOf(chunks, name), null, async () => {});
  }

  /** A folder, whose files are read by themselves. */
  static folder(path: string): ByteSource {
    return new ByteSource(path, (async function* () {})(), null, async () => {});
  }

  /** Bytes of the file, where that is known. */
  get byteCount(): number | null {
    return this.file?.byteCount ?? null;
  }

  /** The next bytes, however many come; none at the end. */
  async next(): Promise<Uint8Array> {
    const chunk = this.#pending.shift() ?? (await this.#pull());
    this.bytesRead += chunk.length;
    return chunk;
  }

  async #pull(): Promise<Uint8Array> {
    while (!this.#isAtEnd) {
      const result = await this.#chunks.next();
      this.#isAtEnd = result.done === true;
      if (!result.done && result.value.length > 0) return result.value;
    }
    return new Uint8Array();
  }

  /** The first bytes, which stay to be read. */
  async peek(count: number): Promise<Uint8Array> {
    const head = await this.take(count);
    this.bytesRead -= head.length;
    if (head.length > 0) this.#pending.unshift(head);
    return head;
  }

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
   * Everything that is left as something to be read here and there, for formats that cannot be read
   * from front to back. Of a file all of it, and nothing is held.
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

/** One array of all; of one part itself. */
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
