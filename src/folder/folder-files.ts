/**
 * Reads the files of an index folder at positions. A file is opened at its first read and its size
 * compared with the manifest's; it stays open, so that its bytes can be read even after a later
 * save has deleted its name.
 */

import { read as readAt } from 'node:fs';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FormatError } from '../base/format-error';
import { fill, ignore, type Readable } from '../formats/file-io';
import { manifestName } from '../stored/manifest';
import {
  type ByteRange,
  checkFileSize,
  joined,
  type NamedFile,
  type StoredFiles,
} from '../stored/stored-files';
import { generationsIn, missingFile } from './generations';

/**
 * How many ranges of one file are read at once: the number of threads that Node uses for files by
 * default.
 */
const PARALLEL = 4;
/**
 * Ranges at most this many bytes apart are read by one call: copying what lies between takes less
 * time than a call. Partitions near each other have numbers near each other.
 */
const MAX_GAP = 2 ** 14;

/** Reads a folder on disk for a stored index. */
export class FolderFiles implements StoredFiles {
  readonly place: string;
  readonly #open = new Map<string, Promise<FileHandle>>();
  /** Reads that have not ended; their files must stay open. */
  readonly #running = new Set<Promise<unknown>>();
  #isClosed = false;
  /** The generation whose manifest was read or given last, for errors. */
  #generation: number | null;

  constructor(folder: string, generation: number | null = null) {
    this.place = folder;
    this.#generation = generation;
  }

  async manifest(generation: number | undefined) {
    const own = generation ?? (await generationsIn(this.place)).at(-1);
    if (own === undefined) return null;
    this.#generation = own;
    const name = manifestName(own);
    const bytes = await readFile(join(this.place, name)).catch(ignore(['ENOENT']));
    return bytes && { name, generation: own, bytes };
  }

  read(file: NamedFile, ranges: readonly ByteRange[], signal?: AbortSignal): Promise<Uint8Array[]> {
    const reading = this.#read(file, ranges, signal);
    this.#running.add(reading);
    return reading.finally(() => this.#running.delete(reading));
  }

  async #read(
    file: NamedFile,
    ranges: readonly ByteRange[],
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array[]> {
    const handle = quickly(await this.#handle(file));
    const results = ranges.map(() => new Uint8Array());
    const reads = joined(ranges, MAX_GAP);
    let next = 0;
    // PARALLEL loops run at once; each takes the next read until none is left.
    const readSome = async () => {
      while (next < reads.length) {
        signal?.throwIfAborted();
        const { at, length, parts } = reads[next++];
        // Not zeroed, and not from Node's pool: the array starts at byte 0 of its own buffer.
        const bytes = new Uint8Array(Buffer.allocUnsafeSlow(length).buffer);
        if ((await fill(handle, bytes, at)) < length) throw cutShort(this.#path(file), at);
        for (const part of parts) {
          const from = ranges[part].at - at;
          results[part] = bytes.subarray(from, from + ranges[part].length);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(PARALLEL, reads.length) }, readSome));
    return results;
  }

  #path({ name }: NamedFile): string {
    return join(this.place, name);
  }

  /** The handle of a file, opened once for all its reads; rejects after `close`. */
  #handle(file: NamedFile): Promise<FileHandle> {
    const known = this.#open.get(file.name);
    if (known !== undefined) return known;
    if (this.#isClosed) return Promise.reject(new Error(`${this.place}: it is closed`));
    const opening = this.#opened(file);
    this.#open.set(file.name, opening);
    opening.catch(() => this.#open.delete(file.name)); // may be tried again
    return opening;
  }

  /** Opens a file; throws where it is missing, or has another size than the manifest says. */
  async #opened(file: NamedFile): Promise<FileHandle> {
    const path = this.#path(file);
    const handle = await open(path, 'r').catch(ignore(['ENOENT']));
    if (handle === null) throw await missingFile(this.place, this.#generation, file.name);
    try {
      checkFileSize((await handle.stat()).size, file.bytes, path);
    } catch (error) {
      await handle.close();
      throw error;
    }
    return handle;
  }

  async close(): Promise<void> {
    this.#isClosed = true; // reads that still run must not open further files
    await Promise.allSettled(this.#running);
    const handles = [...this.#open.values()];
    this.#open.clear();
    for (const handle of handles) await handle.then((one) => one.close()).catch(() => undefined);
  }
}

/**
 * Reads by callbacks, in half the time of `FileHandle.read`. The handle must not be closed before
 * they end.
 */
function quickly({ fd }: FileHandle): Readable {
  return {
    read: (bytes, offset, count, at) =>
      new Promise((resolve, reject) => {
        readAt(fd, bytes, offset, count, at, (error, bytesRead) => {
          if (error) reject(error);
          else resolve({ bytesRead });
        });
      }),
  };
}

/** The error for a file that became shorter after it was opened. */
function cutShort(path: string, at: number): FormatError {
  return new FormatError(`cut short while it was open: it ends before byte ${at} was read`, path);
}
