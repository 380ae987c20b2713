/**
 * The bytes of rows: of a file that can be read at any position, or of a stream that is read from
 * front to back, and the lines in them. A file is never held whole, so its size has no limit;
 * finding the end of a line takes time in proportion to the line's length.
 */

import { isUtf8 } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import { concatenated } from '../base/arrays';
import { FormatError } from '../base/format-error';
import type { ByteFile, BytePipe } from '../table/arrow/batches';
import { COMPRESSION_BYTES, compressionOf, gunzipped } from './compressed';
import { fill } from './file-io';
import { zstdContent } from './zstd-content';

const NEWLINE = 10;
const RETURN = 13;

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

/** Whole lines: line i lies at `starts[i]` to `ends[i] - 1`, without its line end. */
export interface LineBlock {
  readonly bytes: Buffer;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** Number of the first line, from 1. */
  readonly firstLine: number;
  /** False where some bytes are no UTF-8. */
  readonly isText: boolean;
}

/**
 * The lines of a source, in blocks. A last line without a line end counts; after a last line end
 * there is no line. A line of more than `maxLineBytes` throws.
 */
export async function* lineBlocks(
  source: ByteSource,
  maxLineBytes: number,
): AsyncGenerator<LineBlock> {
  let pending: Uint8Array[] = [];
  let firstLine = 1;
  let held = 0;
  await skipMark(source);
  for (;;) {
    const chunk = await source.next();
    const isLast = chunk.length === 0;
    // Whole lines up to here; what follows waits for the next chunk.
    const cut = isLast ? 0 : chunk.lastIndexOf(NEWLINE) + 1;
    if (cut === 0 && !isLast) {
      // Parts of a long line are joined once, when its end comes: no byte is copied twice.
      pending.push(chunk);
      held += chunk.length;
      if (held > maxLineBytes) throw lineError(firstLine, tooLong(maxLineBytes), source.name);
      continue;
    }
    const bytes = Buffer.concat([...pending, chunk.subarray(0, cut)]);
    pending = [chunk.subarray(cut)];
    held = chunk.length - cut;
    if (bytes.length > 0) {
      const block = blockOf(bytes, firstLine);
      const long = block.starts.findIndex((start, i) => block.ends[i] - start > maxLineBytes);
      if (long >= 0) throw lineError(firstLine + long, tooLong(maxLineBytes), source.name);
      firstLine += block.starts.length;
      yield block;
    }
    if (isLast) return;
  }
}

/** Finds the lines in some bytes; a carriage return before a line feed belongs to the line end. */
function blockOf(bytes: Buffer, firstLine: number): LineBlock {
  const starts: number[] = [];
  const ends: number[] = [];
  for (let start = 0; start < bytes.length; ) {
    const found = bytes.indexOf(NEWLINE, start);
    const end = found < 0 ? bytes.length : found;
    starts.push(start);
    ends.push(end > start && bytes[end - 1] === RETURN ? end - 1 : end);
    start = end + 1;
  }
  return { bytes, starts, ends, firstLine, isText: isUtf8(bytes) };
}

const MARK = [0xef, 0xbb, 0xbf];

/** Skips a byte order mark, which is no part of the first line. */
export async function skipMark(source: ByteSource): Promise<void> {
  const head = await source.peek(MARK.length);
  if (MARK.every((byte, i) => head[i] === byte)) await source.take(MARK.length);
}

/** The text of some bytes; throws where the engine has no string of that length. */
export function textOf(bytes: Buffer, start: number, end: number): string {
  if (end - start > MAX_CHARACTERS) throw new Error(`${end - start} bytes are too long for a text`);
  return bytes.toString('utf8', start, end);
}

/** A little below what the engine allows in one string. */
const MAX_CHARACTERS = 2 ** 29 - 1024;

/** Fails where a line is no UTF-8. */
export function checkUtf8(bytes: Buffer, start: number, end: number): void {
  if (!isUtf8(bytes.subarray(start, end))) throw new Error('not UTF-8 text');
}

/** The message for a line that is longer than allowed. */
export const tooLong = (maxLineBytes: number) =>
  `more than ${maxLineBytes} bytes; maxLineBytes allows more`;

/** An error at a line of a file. */
export function lineError(line: number, message: string, file: string): FormatError {
  return new FormatError(`line ${line}: ${message}`, file);
}
