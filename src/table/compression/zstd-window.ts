/**
 * The content of a stream of ZSTD: only as much is in memory as matches reach back, while what a
 * block adds is taken after it.
 */

import { PartsChecksum } from '../../kernels/xxhash';
import { type ZstdHeader, ZstdOutput } from './zstd-output';

/** Parts for the checksum are a multiple of these bytes. */
const PART_BYTES = 32;
/** Least room behind a window, which is moved once for so many bytes. */
const MIN_ROOM = 2 ** 20;

export class ZstdWindow extends ZstdOutput {
  /** Content before this was hashed, and is in `#taken` or was there. */
  #settled = 0;
  #hash = new PartsChecksum();
  #checksum = 0n;
  #taken = new Uint8Array(0);
  /** Bytes of the window of the frame; 0 before the first. */
  windowBytes = 0;
  /** Bytes of memory for the content of the frame: its window, which moves by half of it. */
  #heldBytes = 0;

  /** The content since the last call; up to 31 bytes wait for the next block. */
  take(): Uint8Array {
    const taken = this.#taken;
    this.#taken = new Uint8Array(0);
    return taken;
  }

  override startFrame(header: ZstdHeader): void {
    const { contentBytes, windowBytes } = header;
    const room = Math.max(windowBytes / 2, MIN_ROOM);
    this.windowBytes = windowBytes;
    this.#heldBytes = Math.min(contentBytes ?? Number.POSITIVE_INFINITY, windowBytes + room);
    this.filled = 0;
    this.#settled = 0;
    this.#hash = new PartsChecksum();
    super.startFrame(header);
  }

  /** Makes room for the block, by moving what matches may reach to the start of the memory. */
  protected override makeRoom(): void {
    const { reach } = this;
    const heldBytes = this.#heldBytes;
    if (this.bytes.length < heldBytes) this.bytes = new Uint8Array(heldBytes); // of a first block
    if (this.limit <= heldBytes) return;
    this.bytes.copyWithin(0, reach, this.filled);
    this.filled -= reach;
    this.#settled -= reach;
    this.limit -= reach;
    this.end -= reach;
    this.reach = 0;
  }

  override endBlock(isLast: boolean): void {
    super.endBlock(isLast);
    const waiting = isLast ? 0 : (this.filled - this.#settled) % PART_BYTES;
    const part = this.bytes.slice(this.#settled, this.filled - waiting);
    if (this.header.hasChecksum) this.#checksum = this.#hash.add(part);
    this.#settled += part.length;
    this.#taken = part;
  }

  override checksum(): bigint {
    return this.#checksum;
  }
}
