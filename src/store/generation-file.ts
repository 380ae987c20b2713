/**
 * A file of a generation while it is written, of any size. Bytes go to the disk in pieces of 1 MiB,
 * each hashed first, so that memory holds one piece and the checksum needs no second reading.
 */

import { type FileHandle, open } from 'node:fs/promises';
import { grown } from '../base/arrays';
import { FileChecksum, PIECE_BYTES } from '../table/sealed/seal';

const LEAST_PIECE_BYTES = 2 ** 13;

/** Writes a file that must not exist yet; `end` returns its checksum. */
export class GenerationFile {
  /** Bytes given so far: the size of the file at its end. */
  bytes = 0;
  readonly #handle: FileHandle;
  /** The bytes that wait; most files of a small folder need a few KiB of it. */
  #piece = new Uint8Array(LEAST_PIECE_BYTES);
  readonly #checksum = new FileChecksum();

  private constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  /** Creates the file; throws where one of this name exists. */
  static async create(path: string): Promise<GenerationFile> {
    return new GenerationFile(await open(path, 'wx'));
  }

  /** Appends bytes. Their memory may change once the promise resolves. */
  async write(chunks: readonly Uint8Array[]): Promise<void> {
    for (const chunk of chunks) {
      for (let from = 0; from < chunk.length; ) {
        const filled = this.bytes % PIECE_BYTES;
        const some = chunk.subarray(from, from + PIECE_BYTES - filled);
        while (filled + some.length > this.#piece.length) this.#piece = grown(this.#piece);
        this.#piece.set(some, filled);
        this.bytes += some.length;
        from += some.length;
        if (filled + some.length === PIECE_BYTES) await this.#put(this.#piece);
      }
    }
  }

  /** Hashes and writes a piece. One system call may write only a part of it. */
  async #put(piece: Uint8Array): Promise<void> {
    this.#checksum.add(piece);
    for (let at = 0; at < piece.length; ) {
      at += (await this.#handle.write(piece, at, piece.length - at)).bytesWritten;
    }
  }

  /** Writes the rest, syncs and closes; returns the checksum, 16 hexadecimal digits. */
  async end(): Promise<string> {
    const rest = this.bytes % PIECE_BYTES;
    // An empty file has the checksum of one empty piece, as in `fileChecksum`.
    if (rest > 0 || this.bytes === 0) await this.#put(this.#piece.subarray(0, rest));
    await this.#handle.sync();
    await this.#handle.close();
    return this.#checksum.text;
  }

  /** Closes the file without ending it: the caller deletes it. */
  async abandon(): Promise<void> {
    await this.#handle.close().catch(() => undefined);
  }
}
