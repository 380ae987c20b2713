/**
 * Reads the files of an index folder at positions. A file is opened at its first read and its size
 * compared with the manifest's; it stays open, so that its bytes can be read even after a later
 * save has deleted its name.
 */

import { readv, readvSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { FormatError } from '../base/check';
import { ignore } from '../formats/file-io';
import type { ByteRange } from '../table/arrow/messages';
import { checkFileSize } from '../table/sealed/seal';
import { type Content, openContent } from './content';
import { newestManifest } from './generations';
import type { Manifest } from './manifest';
import {
  allEnded,
  MissingFileError,
  type NamedFile,
  type Place,
  type TargetRange,
  withPlace,
} from './place';

/**
 * Ranges at most this many bytes apart are read by one call: copying what lies between takes less
 * time than a call. Partitions near each other have numbers near each other.
 */
const MAX_GAP = 2 ** 14;
/** What lies between ranges is read to here, and not looked at. */
const gap = new Uint8Array(MAX_GAP);
/**
 * Calls for so many bytes at most are waited for where the system holds them: of 10,000,000 rows of
 * 384 dimensions a partition has 280 KB. Longer calls are not made of several ranges: those are
 * faster in parallel.
 */
const MAX_SHORT_BYTES = 2 ** 19;
/** Pieces of one call, at most: systems take 1,024. */
const MAX_PIECES = 512;

/** Reads a folder on disk for a stored index. */
export class FolderPlace implements Place {
  readonly name: string;
  readonly #open = new Map<string, Promise<FileHandle>>();
  /** Reads that have not ended; their files must stay open. */
  readonly #running = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(folder: string) {
    this.name = folder;
  }

  manifest() {
    return newestManifest(this.name);
  }

  read(
    file: NamedFile,
    ranges: readonly TargetRange[],
    memory: Uint8Array,
    signal?: AbortSignal,
  ): Promise<void> {
    const reading = this.#read(file, ranges, memory, signal);
    this.#running.add(reading);
    return reading.finally(() => this.#running.delete(reading));
  }

  async #read(
    file: NamedFile,
    ranges: readonly TargetRange[],
    memory: Uint8Array,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { fd } = await this.#handle(file);
    signal?.throwIfAborted();
    const path = this.#path(file);
    const reads: Promise<void>[] = [];
    for (const call of callsOf(ranges, memory)) {
      const { at, length, pieces } = call;
      const isWaitedFor = noteRead(path, at, length) && length <= MAX_SHORT_BYTES;
      const got = isWaitedFor ? readvSync(fd, pieces, at) : 0;
      if (got < length) reads.push(fillRest(fd, path, call, got));
    }
    await allEnded(reads);
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
    if (handle === null) throw new MissingFileError(path);
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

/** Runs work that reads a generation of a folder. */
export function withContent<T>(
  folder: string,
  manifest: Manifest,
  work: (content: Content) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  return withPlace(new FolderPlace(folder), async (place) =>
    work(await openContent(place, manifest, signal)),
  );
}

/**
 * Chunks of files that were read, by path. The system is trusted to hold in memory those that were
 * read last, as many as have a share of the machine's memory: a call that waits for short ranges of
 * these takes a third of the time of a callback. Of a disk, many are read at the same time.
 */
const chunksRead = new Map<string, Set<number>>();
let trustedCount = 0;
const CHUNK_BYTES = 2 ** 16;
const TRUSTED_SHARE = 1 / 4;
// A container may have less memory than the machine.
const MEMORY_BYTES = Math.min(
  totalmem(),
  process.constrainedMemory?.() || Number.POSITIVE_INFINITY,
);

/** Notes that a range is read; true if all its chunks are trusted to be in memory. */
function noteRead(path: string, at: number, length: number): boolean {
  if (CHUNK_BYTES * trustedCount > TRUSTED_SHARE * MEMORY_BYTES) {
    chunksRead.clear();
    trustedCount = 0;
  }
  const chunks = chunksRead.get(path) ?? new Set();
  chunksRead.set(path, chunks);
  const before = chunks.size;
  const last = Math.floor((at + length - 1) / CHUNK_BYTES);
  for (let chunk = Math.floor(at / CHUNK_BYTES); chunk <= last; chunk++) chunks.add(chunk);
  trustedCount += chunks.size - before;
  return chunks.size === before;
}

/** A call that reads bytes at a position of a file to several places. */
interface ReadCall extends ByteRange {
  readonly pieces: readonly Uint8Array[];
}

/** The calls that read ranges into memory. */
function callsOf(ranges: readonly TargetRange[], memory: Uint8Array): ReadCall[] {
  const calls: { at: number; length: number; pieces: Uint8Array[] }[] = [];
  let end = 0;
  for (const { at, length, to } of [...ranges].sort((a, b) => a.at - b.at)) {
    if (length === 0) continue;
    const piece = memory.subarray(to, to + length);
    const last = calls.at(-1);
    const between = at - end;
    end = at + length;
    const isNear = between >= 0 && between <= MAX_GAP;
    if (last && isNear && end - last.at <= MAX_SHORT_BYTES && last.pieces.length < MAX_PIECES) {
      if (between > 0) last.pieces.push(gap.subarray(0, between));
      last.pieces.push(piece);
      last.length = end - last.at;
    } else calls.push({ at, length, pieces: [piece] });
  }
  return calls;
}

/** Reads what a call has not read yet, all but `got` bytes; throws where the file ends before. */
async function fillRest(fd: number, path: string, call: ReadCall, got: number): Promise<void> {
  while (got < call.length) {
    // Behind what was read.
    let skip = got;
    const rest = call.pieces.map((piece) => {
      const some = piece.subarray(skip);
      skip -= piece.length - some.length;
      return some;
    });
    const more = await piecesRead(fd, rest, call.at + got);
    got += more;
    if (more > 0) continue;
    // It became shorter after it was opened.
    const what = `cut short while it was open: it ends before byte ${call.at + call.length}`;
    throw new FormatError(what, path);
  }
}

/** Reads pieces by one call; resolves to how many bytes it has read. */
function piecesRead(fd: number, pieces: readonly Uint8Array[], at: number): Promise<number> {
  return new Promise((resolve, reject) => {
    readv(fd, pieces, at, (error, bytesRead) => (error ? reject(error) : resolve(bytesRead)));
  });
}
