/**
 * Buckets of bytes, of which memory holds only a part. When memory holds more than a limit, all
 * buckets are appended to a temporary file of the generation. A bucket reads back as the bytes that
 * were added, in order. `close` deletes the file; after a kill the next writer of the folder does.
 */

import type { FileHandle } from 'node:fs/promises';
import { fill } from '../formats/file-io';
import type { GenerationWriter } from './generations';

/** Bytes of one write, in which many small parts go to the disk together. */
const WRITE_BYTES = 2 ** 22;

/** A bucket: `length` bytes of it are in `held`, those added before them are in the file. */
interface Bucket {
  held: Uint8Array;
  length: number;
  /** Where its bytes are in the file, and how many: pairs, in the order of addition. */
  readonly extents: number[];
}

/** Numbered buckets, to which bytes are only appended. */
export class Spill {
  readonly #writer: GenerationWriter;
  readonly #limit: number;
  readonly #buckets = new Map<number, Bucket>();
  #file: { readonly handle: FileHandle; readonly name: string } | null = null;
  /** Bytes of the file, and bytes of memory. */
  #written = 0;
  #held = 0;

  /** Memory holds about `limit` bytes after each `settle`. */
  constructor(writer: GenerationWriter, limit: number) {
    this.#writer = writer;
    this.#limit = limit;
  }

  /**
   * Appends a copy of some bytes to a bucket. Nothing is written before `settle`, so callers must
   * call it regularly.
   */
  add(bucket: number, bytes: Uint8Array): void {
    let own = this.#buckets.get(bucket);
    if (own === undefined) {
      own = { held: new Uint8Array(), length: 0, extents: [] };
      this.#buckets.set(bucket, own);
    }
    // Memory doubles, so that growing costs linear time.
    const length = own.length + bytes.length;
    if (length > own.held.length) {
      const grown = new Uint8Array(Math.max(length, 2 * own.held.length, 64));
      grown.set(own.held.subarray(0, own.length));
      this.#held += grown.length - own.held.length;
      own.held = grown;
    }
    own.held.set(bytes, own.length);
    own.length = length;
  }

  /** If memory holds more than the limit, writes all buckets to the file and frees them. */
  async settle(): Promise<void> {
    if (this.#held <= this.#limit) return;
    this.#file ??= await this.#writer.temporary();
    // Collects buckets, so that each write has WRITE_BYTES even if buckets are small.
    const room = new Uint8Array(Math.min(WRITE_BYTES, this.#held));
    let filled = 0;
    const put = async () => {
      for (let at = 0; at < filled; ) {
        const { handle } = this.#file as { handle: FileHandle };
        const { bytesWritten } = await handle.write(room, at, filled - at, this.#written);
        at += bytesWritten;
        this.#written += bytesWritten;
      }
      filled = 0;
    };
    // In ascending order, since buckets are also read in that order.
    for (const number of [...this.#buckets.keys()].sort((a, b) => a - b)) {
      const own = this.#buckets.get(number) as Bucket;
      if (own.length === 0) continue;
      own.extents.push(this.#written + filled, own.length);
      for (let from = 0; from < own.length; ) {
        const some = own.held.subarray(from, Math.min(own.length, from + WRITE_BYTES - filled));
        room.set(some, filled);
        filled += some.length;
        from += some.length;
        if (filled === WRITE_BYTES) await put();
      }
      own.held = new Uint8Array();
      own.length = 0;
    }
    await put();
    this.#held = 0;
  }

  /** The numbers of the buckets from `first` to `end - 1` to which bytes were added, ascending. */
  bucketsFrom(first: number, end: number): number[] {
    return [...this.#buckets.keys()]
      .filter((one) => one >= first && one < end)
      .sort((a, b) => a - b);
  }

  /**
   * All bytes of a bucket: a copy that starts at a multiple of 8 bytes, empty for an unknown
   * bucket.
   */
  async read(bucket: number): Promise<Uint8Array> {
    const { held, length, extents } = this.#buckets.get(bucket) ?? EMPTY;
    // First the parts in the file, in the order in which they were written, then those in memory.
    let total = length;
    for (let i = 1; i < extents.length; i += 2) total += extents[i];
    const bytes = new Uint8Array(Buffer.allocUnsafeSlow(total).buffer);
    let at = 0;
    for (let i = 0; i < extents.length; i += 2) {
      const part = bytes.subarray(at, at + extents[i + 1]);
      const { handle, name } = this.#file as { handle: FileHandle; name: string };
      if ((await fill(handle, part, extents[i])) < part.length) {
        throw new Error(`${name} was cut short while it was written`);
      }
      at += part.length;
    }
    bytes.set(held.subarray(0, length), at);
    return bytes;
  }

  /** Frees memory and deletes the file. */
  async close(): Promise<void> {
    this.#buckets.clear();
    const file = this.#file;
    this.#file = null;
    if (file !== null) await this.#writer.removeTemporary(file);
  }
}

const EMPTY: Bucket = { held: new Uint8Array(), length: 0, extents: [] };
