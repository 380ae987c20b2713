/**
 * Arrow files by path. Node's readFile stops at 2 GiB, so a file is read in pieces into one buffer;
 * a file is written beside its place, synced and renamed, so that it is there whole or not at all.
 */

import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  type CodesFromArrowOptions,
  type CodesToArrowOptions,
  type CodesWithIds,
  codesFromArrow,
  codesToArrow,
} from '../codes/arrow-codes';
import {
  type SparseFromArrowOptions,
  type SparseWithIds,
  sparseFromArrow,
  type VectorsFromArrowOptions,
  type VectorsWithIds,
  vectorsFromArrow,
} from '../codes/arrow-vectors';
import type { Codes } from '../codes/codes';
import { FormatError } from '../format-error';

const PIECE_BYTES = 1 << 30;

/** Codes of an Arrow file or stream. */
export async function readCodes(
  path: string,
  options?: Omit<CodesFromArrowOptions, 'file'>,
): Promise<CodesWithIds> {
  return codesFromArrow(await readBytes(path), { ...options, file: path });
}

/** Dense vectors of an Arrow file or stream. */
export async function readVectors(
  path: string,
  options?: Omit<VectorsFromArrowOptions, 'file'>,
): Promise<VectorsWithIds> {
  return vectorsFromArrow(await readBytes(path), { ...options, file: path });
}

/** Sparse vectors of an Arrow file or stream. */
export async function readSparse(
  path: string,
  options?: Omit<SparseFromArrowOptions, 'file'>,
): Promise<SparseWithIds> {
  return sparseFromArrow(await readBytes(path), { ...options, file: path });
}

/** Writes codes as an Arrow file: whole, or not at all. An existing file is replaced. */
export async function writeCodes(
  path: string,
  codes: Codes,
  options?: CodesToArrowOptions,
): Promise<void> {
  const bytes = codesToArrow(codes, options);
  const suffix = randomBytes(6).toString('hex');
  const temporary = join(dirname(path), `.${basename(path)}.${suffix}.tmp`);
  try {
    const file = await open(temporary, 'wx');
    try {
      for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
        await file.writeFile(bytes.subarray(at, at + PIECE_BYTES));
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

async function readBytes(path: string): Promise<Uint8Array> {
  const file = await open(path, 'r');
  try {
    const stat = await file.stat();
    if (stat.isDirectory()) throw new FormatError('a folder, not an Arrow file', path);
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
