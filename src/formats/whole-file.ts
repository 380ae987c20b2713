/**
 * Files read and written as a whole. Node's readFile stops at 2 GiB, so a file is read in pieces
 * into one buffer; a file is written beside its place, synced and renamed, so that it is there
 * whole or not at all.
 */

import { randomBytes } from 'node:crypto';
import { open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { FormatError } from '../base/format-error';

const PIECE_BYTES = 1 << 30;

/** An existing file is replaced. */
export async function writeWhole(
  path: string,
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<void> {
  const suffix = randomBytes(6).toString('hex');
  const temporary = join(dirname(path), `.${basename(path)}.${suffix}.tmp`);
  try {
    const file = await open(temporary, 'wx');
    try {
      for await (const bytes of chunks) {
        for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
          await file.writeFile(bytes.subarray(at, at + PIECE_BYTES));
        }
      }
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

export async function readWhole(path: string): Promise<Uint8Array> {
  const file = await open(path, 'r');
  try {
    const stat = await file.stat();
    if (stat.isDirectory()) throw new FormatError('a folder, not a file', path);
    const { size } = stat;
    const bytes = new Uint8Array(size);
    let filled = 0;
    while (filled < size) {
      const { bytesRead } = await file.read(bytes, filled, Math.min(PIECE_BYTES, size - filled));
      if (bytesRead === 0) return bytes.subarray(0, filled); // it shrank meanwhile
      filled += bytesRead;
    }
    return bytes;
  } finally {
    await file.close();
  }
}

/** Fails when the output is the input, by whatever name. */
export async function refuseSame(input: string, output: string): Promise<void> {
  const [from, to] = await Promise.all([stat(input), stat(output).catch(() => null)]);
  if (to === null || from.dev !== to.dev || from.ino !== to.ino) return;
  throw new Error(`the output ${output} is the input: nothing was written`);
}
