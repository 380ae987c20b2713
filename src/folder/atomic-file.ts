/**
 * Files and folders so that what was written survives a crash: a file is written beside its place
 * and synced before anyone can see it. Node's own readFile stops at 2 GiB, so bytes pass in pieces.
 */

import { constants } from 'node:buffer';
import { open } from 'node:fs/promises';
import { FormatError } from '../base/format-error';

const PIECE_BYTES = 2 ** 30;

/** Writes a file that is not there yet, and syncs it. */
export async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'wx');
  try {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      await file.writeFile(bytes.subarray(at, at + PIECE_BYTES));
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/** All bytes of a file, which must be so many: looked at before memory is taken. */
export async function readExactly(path: string, byteLength: number): Promise<Uint8Array> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    if (size !== byteLength) {
      const how = size < byteLength ? 'cut short' : 'damaged';
      throw new FormatError(`${how}: ${size} bytes, the manifest says ${byteLength}`, path);
    }
    if (size > constants.MAX_LENGTH) {
      const most = constants.MAX_LENGTH;
      throw new FormatError(`${size} bytes, this engine holds at most ${most} in one piece`, path);
    }
    const bytes = new Uint8Array(Buffer.allocUnsafeSlow(size).buffer);
    for (let filled = 0; filled < size; ) {
      const count = Math.min(PIECE_BYTES, size - filled);
      const { bytesRead } = await file.read(bytes, filled, count, filled);
      if (bytesRead === 0) throw new FormatError('cut short while it was read', path);
      filled += bytesRead;
    }
    return bytes;
  } finally {
    await file.close();
  }
}

/** Makes names in a folder last; where folders cannot be synced (Windows) nothing is done. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(ignore(['EISDIR', 'EPERM', 'EACCES']));
  if (folder === null) return;
  try {
    await folder.sync().catch(ignore(['EPERM', 'EINVAL', 'EISDIR']));
  } finally {
    await folder.close();
  }
}

/** Null in place of an error of these codes. */
export function ignore(codes: readonly string[]): (error: unknown) => null {
  return (error) => {
    if (codes.includes((error as NodeJS.ErrnoException)?.code ?? '')) return null;
    throw error;
  };
}
