/**
 * The files of an index that a page or a program has at hand: bytes in memory, or files that a
 * person has chosen. Searches read only the ranges that they need.
 */

import { wrongType } from '../base/check';
import { FormatError } from '../base/format-error';
import { checkFileSize } from '../table/sealed/file-checksum';
import { manifestGeneration, manifestName } from './manifest';
import { type ByteRange, IS_MISSING, type NamedFile, type Place } from './place';

/** The files by their names. A `Blob` is read by ranges; every `File` is one. */
export type FilesAtHand = ReadonlyMap<string, Uint8Array | Blob>;

/** Reads such files for a stored index; it ignores files that are not of the index. */
export class BytePlace implements Place {
  readonly #files: FilesAtHand;

  constructor(
    files: FilesAtHand,
    readonly name = 'files',
  ) {
    for (const [name, bytes] of files) {
      if (bytes instanceof Uint8Array || bytes instanceof Blob) continue;
      throw wrongType(`files["${name}"]`, 'bytes or a Blob', bytes);
    }
    this.#files = new Map(files);
  }

  async manifest(generation: number | undefined) {
    // As in a folder, the manifest with the highest number is the index; 0 stands for none.
    const own = Array.from(this.#files.keys(), manifestGeneration).filter((one) => one !== null);
    const newest = generation ?? Math.max(0, ...own);
    const name = manifestName(newest);
    const file = this.#files.get(name);
    return file === undefined
      ? null
      : { name, generation: newest, bytes: await bytesOf(file, 0, sizeOf(file)) };
  }

  async read({ name, bytes }: NamedFile, ranges: readonly ByteRange[], signal?: AbortSignal) {
    const path = `${this.name}/${name}`;
    const file = this.#files.get(name);
    if (file === undefined) throw new FormatError(IS_MISSING, path);
    checkFileSize(sizeOf(file), bytes, path);
    // A chosen file that was changed or deleted since cannot be read any more.
    const read = ({ at, length }: ByteRange) =>
      bytesOf(file, at, at + length).catch((cause) => {
        throw new FormatError(`cannot be read: ${(cause as Error).message}`, path, { cause });
      });
    const results = await Promise.all(ranges.map(read));
    signal?.throwIfAborted();
    return results;
  }

  /** Bytes at hand need no closing. */
  async close(): Promise<void> {}
}

function sizeOf(file: Uint8Array | Blob): number {
  return file instanceof Uint8Array ? file.length : file.size;
}

/** A copy, since the owner of the bytes may change them. */
async function bytesOf(file: Uint8Array | Blob, from: number, end: number): Promise<Uint8Array> {
  if (file instanceof Uint8Array) return new Uint8Array(file.subarray(from, end));
  return new Uint8Array(await file.slice(from, end).arrayBuffer());
}
