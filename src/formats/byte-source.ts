/**
 * Where rows come from: a file that is read here and there, or bytes that come one after another,
 * and the lines in them. A file is never held whole, so its size has no limit; to find the end of a
 * line takes time in proportion to its length.
 */

import { isUtf8 } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import { concatenated } from '../base/arrays';
import { FormatError } from '../base/format-error';
import type { ByteFile, BytePipe } from '../table/arrow/batches';
import { COMPRESSION_BYTES, compressionOf, decompressed } from './compressed';
import { fill } from './file-io';

const NEWLINE = 10;
const RETURN = 13;

const CHUNK_BYTES = 1 << 20;
/** What is held of a stream in a format that has its schema last, or no rows until its end. */
const MAX_STREAM_BYTES = 2 ** 31;
/** What that takes, as measured: in the parts that came, and all as one. */
const WHOLE_COPIES = 2.3;

/** Bytes of a file or a stream, read once from front to back; `close` frees the file. */
export class ByteSource implements BytePipe {
  /** Bytes taken so far. */
  bytesRead = 0;
  /** Bytes that stay in memory, of what cannot be unpacked or read piece by piece. */
  heldBytes = 0;
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

  /** The same without its compression, which its first bytes tell. */
  async uncompressed(): Promise<ByteSource> {
    const compression = compressionOf(await this.peek(COMPRESSION_BYTES));
    if (compression === null) return this;
    const content = decompressed(this.#left(), compression, this.name, (bytes) => {
      source.heldBytes = bytes;
    });
    const source = new ByteSource(this.name, content, null, this.close);
    return source;
  }

  async *#left(): AsyncGenerator<Uint8Array> {
    for (let next = await this.next(); next.length > 0; next = await this.next()) yield next;
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
      if (chunk.length === 0) {
        this.heldBytes = Math.max(this.heldBytes, WHOLE_COPIES * length);
        return joined(parts);
      }
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

/** Whole lines: line i lies at `starts[i]` to `ends[i]`, its end mark left out. */
export interface LineBlock {
  readonly bytes: Buffer;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** Number of the first line, from 1. */
  readonly firstLine: number;
  /** False where some bytes are no UTF-8. */
  readonly isText: boolean;
}

/** The lines of a source; a last one without an end mark counts, nothing behind one does not. */
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
    const cut = isLast ? 0 : chunk.lastIndexOf(NEWLINE) + 1;
    if (cut === 0 && !isLast) {
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

/** A byte order mark is not part of the first line. */
export async function skipMark(source: ByteSource): Promise<void> {
  const head = await source.peek(MARK.length);
  if (MARK.every((byte, i) => head[i] === byte)) await source.take(MARK.length);
}

/** The text of some bytes that may be none. */
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

/** Says that a line is longer than it may be. */
export const tooLong = (maxLineBytes: number) =>
  `more than ${maxLineBytes} bytes; maxLineBytes allows more`;

/** An error at a line of a file. */
export function lineError(line: number, message: string, file: string): FormatError {
  return new FormatError(`line ${line}: ${message}`, file);
}
