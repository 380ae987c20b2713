/**
 * Writes files so that they survive a crash, and reads files as a whole. An output is written under
 * a temporary name next to its place, synced and renamed: it is there whole or not at all, and the
 * folder is synced so that its name lasts too. Node's own readFile and writeFile stop at 2 GiB, so
 * bytes pass in pieces.
 */

import { constants } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { type FileHandle, lstat, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { concatenated } from '../base/arrays';
import { FormatError } from '../base/check';
import { checkFileSize, FileChecksum, PIECE_BYTES } from '../table/sealed/seal';

/** Most bytes of one call to the system, which takes less than 2 GiB. */
const MAX_CALL_BYTES = 2 ** 30;

/** Where bytes go: a file that appears when it is closed, a device, or a stream. */
export interface RowOutput {
  /** Resolves once the bytes are taken; their memory may change from then on. */
  write(chunks: readonly Uint8Array[]): Promise<void>;
  /** Ends the output: a file is at its place from now on. */
  close(): Promise<void>;
  /** Gives up: nothing is left of a file. */
  abort(): Promise<void>;
}

/** What an output may replace. */
export interface OutputOptions {
  /** Replaces an existing file. */
  force: boolean;
  /** Files that the output must not be, by whatever name. */
  inputs: readonly string[];
}

const statOf = (path: string) => stat(path).catch(() => null);
/** True where anything has this name, even a link that leads nowhere. */
const isThere = (path: string) =>
  lstat(path).then(
    () => true,
    () => false,
  );

/**
 * Opens a file to be written, or a device or pipe, which is written in place. The target of a
 * symbolic link is replaced, not the link. Refuses a folder, an input, a .zst, and without `force`
 * a file that exists.
 */
export async function openOutput(path: string, options: OutputOptions): Promise<RowOutput> {
  const { force, inputs } = options;
  if (/\.zst$/i.test(path)) {
    throw new Error(`the output ${path}: ZSTD is read, not written; name it .gz`);
  }
  const there = await stat(path).catch(ignore(['ENOENT', 'ENOTDIR', 'ELOOP']));
  if (there !== null) {
    // Under any name.
    for (const input of await Promise.all(inputs.map(statOf))) {
      if (input?.dev !== there.dev || input.ino !== there.ino) continue;
      throw new Error(`the output ${path} is the input: nothing was written`);
    }
    if (there.isDirectory()) throw coded(`the output ${path} is a folder`, 'EISDIR', path);
    if (!there.isFile()) {
      // A device or a named pipe is written in place.
      const device = await open(path, 'w');
      const close = () => device.close();
      return { write: (chunks) => writeAll(device, chunks), close, abort: close };
    }
    if (!force) throw new Error(`the output ${path} exists; force (--force) replaces it`);
  } else if (!force && (await isThere(path))) {
    throw new Error(`the output ${path} is a link to nothing; force (--force) replaces the link`);
  }
  // The file that a link points to is replaced, so the temporary name lies in its folder.
  const target = there === null ? path : await realpath(path);
  // A name may have 255 bytes, and a character 4 of them.
  const start = [...basename(target)].slice(0, 50).join('');
  const temporary = join(dirname(target), `.${start}.${randomBytes(6).toString('hex')}.tmp`);
  const file = await open(temporary, 'wx', there?.mode).catch((error) => {
    if (!['ENOENT', 'ENOTDIR'].includes(error.code)) throw Object.assign(error, { path });
    const missing = `needs a folder ${dirname(target)}, which is not there`;
    throw coded(`the output ${path} ${missing}`, error.code, path);
  });
  const output = fileOutput(file, temporary, { target, force, there });
  return /\.gz$/i.test(path) ? gzipOutput(output) : output;
}

/** An error with a code of the system, and the path that it is about. */
function coded(message: string, code: string, path: string): Error {
  return Object.assign(new Error(message), { code, path });
}

/**
 * A file under a temporary name, which `close` syncs and renames. It gets the owner and the mode of
 * the file that is there, as far as this user may give them; until then fewer can read it.
 */
function fileOutput(
  file: FileHandle,
  temporary: string,
  { target, force, there }: { target: string; force: boolean; there: Stats | null },
): RowOutput {
  let isOpen = true;
  const end = async () => {
    if (isOpen) {
      isOpen = false;
      await file.close();
    }
  };
  const abort = async () => {
    await end();
    await rm(temporary, { force: true });
  };
  const close = async () => {
    try {
      if (there !== null) {
        await file.chown(there.uid, there.gid).catch(() => undefined);
        await file.chmod(there.mode).catch(() => undefined);
      }
      await file.sync();
      await end();
      if (!force && (await isThere(target))) {
        const made = 'was made by another program meanwhile; force (--force) replaces it';
        throw new Error(`the output ${target} ${made}`);
      }
      await rename(temporary, target);
    } catch (error) {
      await abort();
      throw error;
    }
    // The new name must survive a crash too.
    await syncFolder(dirname(target));
  };
  return { write: (chunks) => writeAll(file, chunks), close, abort };
}

/**
 * A stream of the caller: writes wait for it, it is not closed, its errors reject the next write.
 */
export function streamOutput(stream: NodeJS.WritableStream): RowOutput {
  let failed: Error | null = null;
  const onError = (error: Error) => {
    failed ??= error;
  };
  stream.on('error', onError);
  return {
    async write(chunks) {
      for (const chunk of chunks) {
        if (chunk.length === 0) continue;
        if (failed !== null) throw failed;
        await new Promise<void>((resolve, reject) => {
          stream.write(chunk, (error) => (error ? reject(error) : resolve()));
        });
      }
    },
    async close() {
      if (failed !== null) throw failed;
      stream.off('error', onError);
    },
    async abort() {
      // A broken pipe may report its error only now, and an error without a listener ends the
      // process.
      if (failed === null) stream.once('error', () => {});
      stream.off('error', onError);
    },
  };
}

/**
 * Compresses bytes on their way to another output: each write is a member of the gzip file. Equal
 * writes become equal bytes.
 */
function gzipOutput(output: RowOutput): RowOutput {
  let isEmpty = true;
  const write = async (chunks: readonly Uint8Array[]) => {
    isEmpty = false;
    await output.write([await promisify(gzip)(concatenated(chunks))]);
  };
  const close = async () => {
    if (isEmpty) await write([]);
    await output.close();
  };
  return { write, close, abort: output.abort };
}

/** Writes all bytes; a call of the system may write only a part of them. */
export async function writeAll(file: FileHandle, chunks: readonly Uint8Array[]): Promise<void> {
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) {
      at += (await file.write(chunk, at, Math.min(chunk.length - at, MAX_CALL_BYTES))).bytesWritten;
    }
  }
}

/** Writes and syncs a file that must not exist yet; the caller makes it visible by a link. */
export async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'wx');
  try {
    await writeAll(file, [bytes]);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** All bytes of a file of any size that the engine holds in one piece. */
export async function readWhole(path: string): Promise<Uint8Array> {
  const file = await open(path, 'r');
  try {
    const stat = await file.stat();
    const { size } = stat;
    if (stat.isDirectory()) throw new FormatError('a folder, not a file', path);
    if (size > constants.MAX_LENGTH) {
      const most = constants.MAX_LENGTH;
      throw new FormatError(`${size} bytes, this engine holds at most ${most} in one piece`, path);
    }
    const bytes = new Uint8Array(Buffer.allocUnsafeSlow(size).buffer);
    return bytes.subarray(0, await fill(file, bytes)); // fewer where it shrank meanwhile
  } finally {
    await file.close();
  }
}

/**
 * The checksum of a file of `byteLength` bytes, as manifests state it; another size throws. Calls
 * `passed` with the bytes of each piece.
 */
export async function checksumOf(
  path: string,
  byteLength: number,
  passed: (bytes: number) => void,
): Promise<string> {
  const sum = new FileChecksum();
  const file = await open(path, 'r');
  try {
    checkFileSize((await file.stat()).size, byteLength, path);
    const piece = new Uint8Array(PIECE_BYTES);
    for (let at = 0; at < byteLength; at += piece.length) {
      const length = Math.min(piece.length, byteLength - at);
      if ((await fill(file, piece.subarray(0, length), at)) < length) {
        throw new FormatError('cut short while it was read', path);
      }
      passed(length);
      sum.add(piece.subarray(0, length));
    }
    return sum.text;
  } finally {
    await file.close();
  }
}

/** Reads from `at` on until `bytes` is full or the file ends; returns how many bytes were read. */
export async function fill(file: FileHandle, bytes: Uint8Array, at = 0): Promise<number> {
  let filled = 0;
  while (filled < bytes.length) {
    const count = Math.min(MAX_CALL_BYTES, bytes.length - filled);
    const { bytesRead } = await file.read(bytes, filled, count, at + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

/** Makes new names in a folder last; does nothing where folders cannot be synced (Windows). */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(ignore(['EISDIR', 'EPERM', 'EACCES']));
  if (folder === null) return;
  try {
    await folder.sync().catch(ignore(['EPERM', 'EINVAL', 'EISDIR']));
  } finally {
    await folder.close();
  }
}

/** For `catch`: returns null in place of an error with one of these codes, and throws others. */
export function ignore(codes: readonly string[]): (error: unknown) => null {
  return (error) => {
    if (codes.includes((error as NodeJS.ErrnoException)?.code ?? '')) return null;
    throw error;
  };
}
