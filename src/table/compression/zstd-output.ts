/**
 * The content that a ZSTD decoder makes: only as much is in memory as matches reach back, while
 * what a block adds is taken after it. A copy that would pass the end of its block or frame, or
 * start before its window, throws.
 */

import { PartsChecksum } from '../../kernels/xxhash';

/** What the header of a frame states; `contentBytes` is null where it does not. */
export interface ZstdHeader {
  readonly contentBytes: number | null;
  readonly windowBytes: number;
  readonly hasChecksum: boolean;
}

/** From this many bytes on, the methods of arrays copy faster than a loop. */
const LONG_COPY = 48;
/** Parts for the checksum are a multiple of these bytes. */
const PART_BYTES = 32;
/** Least room behind a window, which is moved once for so many bytes. */
const MIN_ROOM = 2 ** 20;

export class ZstdOutput {
  #bytes = new Uint8Array(0);
  #filled = 0;
  #header: ZstdHeader = { contentBytes: null, windowBytes: 0, hasChecksum: false };
  /** Where the content of the frame ends at the latest, and that of the block. */
  #end = 0;
  #limit = 0;
  /** Where matches begin at the earliest: in the frame, and in the window before the block. */
  #reach = 0;
  /** The literals of the block: `#literals` from `#literalsAt` to `#literalsEnd`. */
  #literals: Uint8Array = this.#bytes;
  #literalsAt = 0;
  #literalsEnd = 0;
  /** Content before this was hashed, and is in `#taken` or was there. */
  #settled = 0;
  #hash = new PartsChecksum();
  /** The checksum of the frame, when its last block has ended. */
  checksum = 0n;
  #taken = new Uint8Array(0);

  /** Bytes of the window of the frame; 0 before the first. */
  get windowBytes(): number {
    return this.#header.windowBytes;
  }

  /** Bytes of memory that are held. */
  get heldBytes(): number {
    return this.#bytes.length;
  }

  /** The content since the last call; up to 31 bytes wait for the next block. */
  take(): Uint8Array {
    const taken = this.#taken;
    this.#taken = new Uint8Array(0);
    return taken;
  }

  /** Takes no memory yet. */
  startFrame(header: ZstdHeader): void {
    this.#header = header;
    this.#filled = 0;
    this.#settled = 0;
    this.#reach = 0;
    this.#hash = new PartsChecksum();
    this.#end = header.contentBytes ?? Number.POSITIVE_INFINITY;
  }

  /** A block makes at most so many bytes, and never more than the frame. */
  startBlock(maxBytes: number): void {
    const { contentBytes, windowBytes } = this.#header;
    // Of the content the memory has its window, which moves by half of it.
    const room = Math.max(windowBytes / 2, MIN_ROOM);
    const heldBytes = Math.min(contentBytes ?? Number.POSITIVE_INFINITY, windowBytes + room);
    const reach = Math.max(this.#reach, this.#filled - windowBytes);
    this.#reach = reach;
    this.#limit = Math.min(this.#filled + maxBytes, this.#end);
    // Of a first block: nothing is in the memory yet.
    if (this.#bytes.length < heldBytes) this.#bytes = new Uint8Array(heldBytes);
    if (this.#limit <= heldBytes) return;
    // Moves what matches may reach to the start of the memory.
    this.#bytes.copyWithin(0, reach, this.#filled);
    this.#filled -= reach;
    this.#settled -= reach;
    this.#limit -= reach;
    this.#end -= reach;
    this.#reach = 0;
  }

  endBlock(isLast: boolean): void {
    const { contentBytes, hasChecksum } = this.#header;
    if (isLast && contentBytes !== null && this.#filled !== this.#end) {
      throw new Error(`a ZSTD frame makes less than its ${contentBytes} bytes`);
    }
    const waiting = isLast ? 0 : (this.#filled - this.#settled) % PART_BYTES;
    this.#taken = this.#bytes.slice(this.#settled, this.#filled - waiting);
    if (hasChecksum) this.checksum = this.#hash.add(this.#taken);
    this.#settled += this.#taken.length;
  }

  setLiterals(bytes: Uint8Array, start: number, size: number): void {
    this.#literals = bytes;
    this.#literalsAt = start;
    this.#literalsEnd = start + size;
  }

  /** Copies the literals that are left. */
  copyAllLiterals(): void {
    this.copyLiterals(this.#literalsEnd - this.#literalsAt);
  }

  copyLiterals(count: number): void {
    const from = this.#literalsAt;
    const to = this.#filled;
    if (count > this.#literalsEnd - from) throw new Error('a ZSTD block has too few literals');
    if (count > this.#limit - to) throw tooMuch();
    const literals = this.#literals;
    const bytes = this.#bytes;
    if (count < LONG_COPY) {
      for (let i = 0; i < count; i++) bytes[to + i] = literals[from + i];
    } else {
      bytes.set(literals.subarray(from, from + count), to);
    }
    this.#literalsAt = from + count;
    this.#filled = to + count;
  }

  /** Copies `length` bytes that lie `back` bytes before the end. */
  copyMatch(back: number, length: number): void {
    const to = this.#filled;
    if (back === 0 || back > to - this.#reach) {
      throw new Error('a ZSTD match starts before its window');
    }
    if (length > this.#limit - to) throw tooMuch();
    const bytes = this.#bytes;
    const from = to - back;
    // A distance below the length overlaps what is copied: byte by byte, but for a single byte.
    if (length < LONG_COPY || (back < length && back > 1)) {
      for (let i = 0; i < length; i++) bytes[to + i] = bytes[from + i];
    } else if (back === 1) {
      bytes.fill(bytes[from], to, to + length);
    } else {
      bytes.copyWithin(to, from, from + length);
    }
    this.#filled = to + length;
  }
}

export function tooMuch(): Error {
  return new Error('a ZSTD block makes more than it may');
}
