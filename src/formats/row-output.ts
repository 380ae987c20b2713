/**
 * Where rows go: a file that is there whole or not at all, or a stream that is waited for. A file
 * is written beside its place, synced and renamed; what a symbolic link points to is replaced, not
 * the link.
 */

import { randomBytes } from 'node:crypto';
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { refuseSame } from './whole-file';

export interface RowOutput {
  write(chunks: readonly Uint8Array[]): Promise<void>;
  /** Ends it: from now on it is there. */
  close(): Promise<void>;
  /** Leaves nothing behind. */
  abort(): Promise<void>;
}

export interface OutputOptions {
  /** Replaces an existing file. */
  force: boolean;
  /** Files that the output must not be, by whatever name. */
  inputs: readonly string[];
}

const statOf = (path: string) => stat(path).catch(() => null);

/** Opens a file to be written. */
export async function openOutput(path: string, options: OutputOptions): Promise<RowOutput> {
  const there = await statOf(path);
  if (there !== null) {
    for (const input of options.inputs) await refuseSame(input, path);
    if (there.isDirectory()) throw new Error(`the output ${path} is a folder`);
    if (!there.isFile()) return new Special(await open(path, 'w'));
    if (!options.force) throw new Error(`the output ${path} exists; force (--force) replaces it`);
  }
  const target = there === null ? path : await realpath(path);
  const suffix = randomBytes(6).toString('hex');
  const temporary = join(dirname(target), `.${basename(target)}.${suffix}.tmp`);
  const file = await open(temporary, 'wx').catch((error) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
    throw new Error(`the output ${path} needs a folder ${dirname(target)}, which is not there`);
  });
  return new WholeFile(file, temporary, { target, force: options.force });
}

async function writeAll(file: FileHandle, chunks: readonly Uint8Array[]): Promise<void> {
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) {
      at += (await file.write(chunk, at, Math.min(chunk.length - at, PIECE_BYTES))).bytesWritten;
    }
  }
}

const PIECE_BYTES = 1 << 30;

class WholeFile implements RowOutput {
  readonly #file: FileHandle;
  readonly #temporary: string;
  readonly #place: { target: string; force: boolean };
  #isOpen = true;

  constructor(file: FileHandle, temporary: string, place: { target: string; force: boolean }) {
    this.#file = file;
    this.#temporary = temporary;
    this.#place = place;
  }

  write(chunks: readonly Uint8Array[]): Promise<void> {
    return writeAll(this.#file, chunks);
  }

  async close(): Promise<void> {
    const { target, force } = this.#place;
    try {
      await this.#file.sync();
      await this.#end();
      // Another program may have written it meanwhile.
      if (!force && (await statOf(target)) !== null) throw new Error(`the output ${target} exists`);
      await rename(this.#temporary, target);
    } catch (error) {
      await this.abort();
      throw error;
    }
  }

  async abort(): Promise<void> {
    await this.#end();
    await rm(this.#temporary, { force: true });
  }

  async #end(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#file.close();
  }
}

/** A device or a pipe by name. */
class Special implements RowOutput {
  constructor(readonly file: FileHandle) {}

  write(chunks: readonly Uint8Array[]): Promise<void> {
    return writeAll(this.file, chunks);
  }

  close(): Promise<void> {
    return this.file.close();
  }

  abort(): Promise<void> {
    return this.file.close();
  }
}

/**
 * A stream of the caller's, which is waited for and not closed; its errors reject the next write.
 */
export class StreamOutput implements RowOutput {
  readonly #stream: NodeJS.WritableStream;
  #error: Error | null = null;
  readonly #onError = (error: Error) => {
    this.#error ??= error;
  };

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream;
    stream.on('error', this.#onError);
  }

  async write(chunks: readonly Uint8Array[]): Promise<void> {
    for (const chunk of chunks) {
      if (chunk.length > 0) await this.#writeOne(chunk);
    }
  }

  /** Resolves once the stream took the bytes, so that their memory may change. */
  #writeOne(chunk: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#error !== null) reject(this.#error);
      else this.#stream.write(chunk, (error) => (error ? reject(error) : resolve()));
    });
  }

  async close(): Promise<void> {
    if (this.#error !== null) throw this.#error;
    this.#stream.off('error', this.#onError);
  }

  async abort(): Promise<void> {
    // A broken pipe may tell so late.
    if (this.#error === null) this.#stream.once('error', () => {});
    this.#stream.off('error', this.#onError);
  }
}
