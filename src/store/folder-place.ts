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
import { checkFileSize } from '../table/sealed/file-checksum';
import { type Host, startHost } from '../threads/host';
import { whenThreadsClose } from '../threads/pool';
import { generationsIn, missingFile } from './generations';
import { manifestName } from './manifest';
import { type ByteRange, joined, type NamedFile, type Place } from './place';
import { ReadBuffers } from './read-buffers';

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
export class FolderPlace implements Place {
  readonly name: string;
  readonly #open = new Map<string, Promise<FileHandle>>();
  /** Reads that have not ended; their files must stay open. */
  readonly #running = new Set<Promise<unknown>>();
  readonly #buffers = new ReadBuffers();
  #isClosed = false;
  /** The generation whose manifest was read or given last, for errors. */
  #generation: number | null;

  constructor(folder: string, generation: number | null = null) {
    this.name = folder;
    this.#generation = generation;
  }

  async manifest(generation: number | undefined) {
    const own = generation ?? (await generationsIn(this.name)).at(-1);
    if (own === undefined) return null;
    this.#generation = own;
    const name = manifestName(own);
    const bytes = await readFile(join(this.name, name)).catch(ignore(['ENOENT']));
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
    const { fd } = await this.#handle(file);
    const results = ranges.map(() => new Uint8Array());
    const reads = joined(ranges, MAX_GAP);
    const all = await bytesOf({ fd, buffers: this.#buffers }, reads, signal);
    reads.forEach(({ at, length, parts }, i) => {
      if (all[i].length < length) throw cutShort(this.#path(file), at);
      for (const part of parts) {
        const from = ranges[part].at - at;
        results[part] = all[i].subarray(from, from + ranges[part].length);
      }
    });
    return results;
  }

  #path({ name }: NamedFile): string {
    return join(this.name, name);
  }

  /** The handle of a file, opened once for all its reads; rejects after `close`. */
  #handle(file: NamedFile): Promise<FileHandle> {
    // Before all else: the number of a file that is being closed may soon be that of another.
    if (this.#isClosed) return Promise.reject(new Error(`${this.name}: it is closed`));
    const known = this.#open.get(file.name);
    if (known !== undefined) return known;
    const opening = this.#opened(file);
    this.#open.set(file.name, opening);
    opening.catch(() => this.#open.delete(file.name)); // may be tried again
    return opening;
  }

  /** Opens a file; throws where it is missing, or has another size than the manifest says. */
  async #opened(file: NamedFile): Promise<FileHandle> {
    const path = this.#path(file);
    const handle = await open(path, 'r').catch(ignore(['ENOENT']));
    if (handle === null) throw await missingFile(this.name, this.#generation, file.name);
    try {
      checkFileSize((await handle.stat()).size, file.bytes, path);
    } catch (error) {
      await handle.close();
      throw error;
    }
    return handle;
  }

  giveBack(all: Iterable<ArrayBufferView>): void {
    this.#buffers.giveBack(all);
  }

  async close(): Promise<void> {
    this.#isClosed = true; // reads that still run must not open further files
    await Promise.allSettled(this.#running);
    const handles = [...this.#open.values()];
    this.#open.clear();
    for (const handle of handles) await handle.then((one) => one.close()).catch(() => undefined);
  }
}

/** The bytes of each range, fewer where the file ends within it. */
async function bytesOf(
  { fd, buffers }: { fd: number; buffers: ReadBuffers },
  ranges: readonly ByteRange[],
  signal: AbortSignal | undefined,
): Promise<Uint8Array<ArrayBuffer>[]> {
  signal?.throwIfAborted();
  const read = readsByThreads(ranges) ? await readByThreads(fd, ranges, buffers) : null;
  signal?.throwIfAborted();
  if (read !== null) return read;
  const file = quickly(fd);
  const all: Uint8Array<ArrayBuffer>[] = [];
  let next = 0;
  // PARALLEL loops run at once; each takes the next range until none is left.
  const readSome = async () => {
    while (next < ranges.length) {
      signal?.throwIfAborted();
      const i = next++;
      const { at, length } = ranges[i];
      const bytes = buffers.take(length);
      all[i] = bytes.subarray(0, await fill(file, bytes, at));
    }
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, ranges.length) }, readSome));
  return all;
}

/**
 * Reads by callbacks, in half the time of `FileHandle.read`. The handle must not be closed before
 * they end.
 */
function quickly(fd: number): Readable {
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

/** As many as Node's own threads for files. */
const THREADS = 4;
/** A thread is asked for at least so many ranges: a message costs as much as two reads. */
const RANGES_A_THREAD = 4;
/** Above this average length the bytes decide how long a read takes, so threads gain nothing. */
const MAX_MEAN_BYTES = 2 ** 20;
/** Each range begins at a multiple of so many bytes of its buffer. */
const ALIGNMENT = 64;

/** Reads until a range is full or the file ends; replies with all bytes, and where it ended. */
const SCRIPT = `
const { parentPort } = require('node:worker_threads');
const { readSync } = require('node:fs');
parentPort.on('message', ({ number, fd, at, lengths, places, bytes }) => {
  const filled = lengths.map(() => 0);
  try {
    for (let i = 0; i < at.length; i++) {
      while (filled[i] < lengths[i]) {
        const left = lengths[i] - filled[i];
        const count = readSync(fd, bytes, places[i] + filled[i], left, at[i] + filled[i]);
        if (count === 0) break;
        filled[i] += count;
      }
    }
    parentPort.postMessage({ number, bytes, filled }, [bytes.buffer]);
  } catch ({ message, code }) {
    parentPort.postMessage({ number, error: { message, code } });
  }
});`;

interface Reply {
  readonly number: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly filled: Float64Array;
  readonly error?: { readonly message: string; readonly code: string };
}

/** Whether so many ranges are read by threads. */
function readsByThreads(ranges: readonly ByteRange[]): boolean {
  if (isForbidden || ranges.length < RANGES_A_THREAD) return false;
  const bytes = ranges.reduce((sum, { length }) => sum + length, 0);
  return bytes <= MAX_MEAN_BYTES * ranges.length;
}

/**
 * The bytes of each range, fewer where the file ends within it; null where a thread could not
 * start, or ended: nothing is lost, and other means can read. The file must stay open.
 */
async function readByThreads(
  fd: number,
  ranges: readonly ByteRange[],
  buffers: ReadBuffers,
): Promise<Uint8Array<ArrayBuffer>[] | null> {
  const count = Math.min(THREADS, Math.floor(ranges.length / RANGES_A_THREAD));
  const each = Math.ceil(ranges.length / count);
  const asked = Array.from({ length: count }, (_, i) => {
    const own = ranges.slice(i * each, (i + 1) * each);
    return threadOf(i)?.read(fd, own, buffers) ?? null;
  });
  const read = await Promise.all(asked);
  return read.includes(null) ? null : read.flatMap((own) => own ?? []);
}

class ReadThread {
  readonly #host: Host;
  readonly #waiting = new Map<number, (reply: Reply | null) => void>();
  #last = 0;
  #hasReplied = false;
  #isEnded = false;

  constructor(onEnd: (thread: ReadThread) => void) {
    this.#host = startHost(SCRIPT, {
      onMessage: (message) => this.#take(message as Reply),
      onEnd: () => {
        // A thread that never replied could not start, unless it was ended at once.
        if (!this.#hasReplied && !this.#isEnded) isForbidden = true;
        onEnd(this);
        for (const reply of this.#waiting.values()) reply(null);
        this.#waiting.clear();
      },
    });
  }

  #take(reply: Reply): void {
    this.#hasReplied = true;
    this.#waiting.get(reply.number)?.(reply);
    this.#waiting.delete(reply.number);
    if (this.#waiting.size === 0) this.#host.hold(false);
  }

  async read(
    fd: number,
    ranges: readonly ByteRange[],
    buffers: ReadBuffers,
  ): Promise<Uint8Array<ArrayBuffer>[] | null> {
    const number = ++this.#last;
    const [at, lengths, places] = [0, 1, 2].map(() => new Float64Array(ranges.length));
    let total = 0;
    for (const [i, range] of ranges.entries()) {
      [at[i], lengths[i], places[i]] = [range.at, range.length, total];
      total = ALIGNMENT * Math.ceil((total + range.length) / ALIGNMENT);
    }
    const space = buffers.take(total);
    const reply = await new Promise<Reply | null>((resolve) => {
      this.#host.post({ number, fd, at, lengths, places, bytes: space }, [space.buffer]);
      if (this.#waiting.size === 0) this.#host.hold(true);
      this.#waiting.set(number, resolve);
    });
    if (reply === null) return null;
    const { bytes, filled, error } = reply;
    if (error !== undefined) throw Object.assign(new Error(error.message), { code: error.code });
    buffers.lend(bytes.buffer);
    return ranges.map((_, i) => bytes.subarray(places[i], places[i] + filled[i]));
  }

  end(): Promise<unknown> {
    this.#isEnded = true;
    return this.#host.end();
  }
}

const threads: (ReadThread | undefined)[] = [];
/** True after a thread could not start. */
let isForbidden = false;

function threadOf(i: number): ReadThread | null {
  if (threads.length === 0) whenThreadsClose(endThreads);
  try {
    threads[i] ??= new ReadThread((ended) => {
      if (threads[i] === ended) threads[i] = undefined;
    });
    return threads[i];
  } catch {
    isForbidden = true;
    return null;
  }
}

function endThreads(): Promise<unknown> {
  return Promise.all(threads.map((thread) => thread?.end()));
}
