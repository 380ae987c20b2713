/**
 * A file of a generation as it grows, of any size: written in pieces of 1 MiB, each hashed on its
 * way, so that nothing is held twice.
 */

import { type FileHandle, open } from 'node:fs/promises';
import { FileChecksum, PIECE_BYTES } from '../stored/manifest';

export class GenerationFile {
  /** Bytes so far. */
  bytes = 0;
  readonly #handle: FileHandle;
  readonly #piece = new Uint8Array(PIECE_BYTES);
  readonly #checksum = new FileChecksum();

  private constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  /** Creates a file that is not there yet. */
  static async create(path: string): Promise<GenerationFile> {
    return new GenerationFile(await open(path, 'wx'));
  }

  async write(chunks: readonly Uint8Array[]): Promise<void> {
    for (const chunk of chunks) {
      for (let from = 0; from < chunk.length; ) {
        const filled = this.bytes % PIECE_BYTES;
        const some = chunk.subarray(from, from + PIECE_BYTES - filled);
        this.#piece.set(some, filled);
        this.bytes += some.length;
        from += some.length;
        if (filled + some.length === PIECE_BYTES) await this.#put(this.#piece);
      }
    }
  }

  async #put(piece: Uint8Array): Promise<void> {
    this.#checksum.add(piece);
    for (let at = 0; at < piece.length; ) {
      at += (await this.#handle.write(piece, at, piece.length - at)).bytesWritten;
    }
  }

  /** Writes the rest and syncs; returns the checksum of the file. */
  async end(): Promise<string> {
    const rest = this.bytes % PIECE_BYTES;
    if (rest > 0 || this.bytes === 0) await this.#put(this.#piece.subarray(0, rest));
    await this.#handle.sync();
    await this.#handle.close();
    return this.#checksum.text;
  }

  /** Closes what will be deleted. */
  async abandon(): Promise<void> {
    await this.#handle.close().catch(() => undefined);
  }
}
