/** Checksums and sizes of whole files, as manifests state them. */

import { FormatError } from '../../base/check';
import { checksum, checksumText } from '../../kernels/xxhash';

/** Bytes that are hashed at once. The hash of a piece is the seed of the next. */
export const PIECE_BYTES = 2 ** 20;

/** The checksum of a file that comes in pieces of PIECE_BYTES; only the last may be shorter. */
export class FileChecksum {
  #hash = 0n;

  add(piece: Uint8Array): void {
    this.#hash = checksum(piece, this.#hash);
  }

  get text(): string {
    return checksumText(this.#hash);
  }
}

/**
 * The checksum of a file: xxHash64 chained over pieces of 1 MiB, as 16 hexadecimal digits. An empty
 * file counts as one empty piece.
 */
export function fileChecksum(bytes: Uint8Array): string {
  const pieces = new FileChecksum();
  for (let at = 0; at === 0 || at < bytes.length; at += PIECE_BYTES) {
    pieces.add(bytes.subarray(at, at + PIECE_BYTES));
  }
  return pieces.text;
}

/** Throws a FormatError unless a file has as many bytes as is stated. */
export function checkFileSize(size: number, expected: number, path: string): void {
  if (size === expected) return;
  const how = size < expected ? 'cut short' : 'damaged';
  throw new FormatError(`${how}: ${size} bytes, the manifest says ${expected}`, path);
}
