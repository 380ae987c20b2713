/**
 * The content that a ZSTD decoder makes: all of it in one array, or of a stream only as much as
 * matches reach back, while what a block adds is taken after it. A copy that would pass the end of
 * its block or frame, or start before its window, throws.
 */

import { PartsChecksum } from '../../kernels/kernels';

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
/** Least room of a stream behind its window, which is moved once for so many bytes. */
const MIN_ROOM = 2 ** 20;
const EMPTY = new Uint8Array(0);

/** Bytes of memory for the content of a frame of a stream: its window, moved by half of it. */
export function streamedBytes({ contentBytes, windowBytes }: ZstdHeader): number {
  const all = contentBytes ?? Number.POSITIVE_INFINITY;
  return Math.min(all, windowBytes + Math.max(windowBytes / 2, MIN_ROOM));
}

export class ZstdOutput {
  #bytes = EMPTY;
  #filled = 0;
  /** Bytes that `#bytes` may have. */
  #capacity: number;
  /** The header of the frame. */
  header: ZstdHeader = { contentBytes: 0, windowBytes: 0, hasChecksum: false };
  /** Where the content of the frame ends at the latest, and that of the block. */
  #end = 0;
  #limit = 0;
  /** Where matches begin at the earliest: in the frame, and in the window before the block. */
  #reach = 0;
  /** Content before this was hashed, and in a stream is in `#taken` or was there. */
  #settled = 0;
  #hash: PartsChecksum | null = null;
  #taken = EMPTY;
  /** The literals of the block: `#literals` from `#literalsAt` to `#literalsEnd`. */
  #literals: Uint8Array = EMPTY;
  #literalsAt = 0;
  #literalsEnd = 0;
  /** The lowest 32 bits of the checksum, when all blocks have ended. */
  checksum = 0;

  /** Content of more than `most` bytes is refused; null for a stream, which has no limit. */
  constructor(private readonly most: number | null) {
    this.#capacity = most ?? 0;
  }

  /** All content, but of a stream. */
  content(): Uint8Array {
    // A copy rather than a view: it is the caller's to keep, without the room that was left.
    return this.#filled === this.#bytes.length ? this.#bytes : this.#bytes.slice(0, this.#filled);
  }

  /** The content of a stream since the last call; up to 31 bytes wait for the next block. */
  take(): Uint8Array {
    const taken = this.#taken;
    this.#taken = EMPTY;
    return taken;
  }

  /** Takes no memory of a stream yet. */
  startFrame(header: ZstdHeader): void {
    const { contentBytes, hasChecksum } = header;
    if (this.most === null) {
      this.#filled = 0;
      this.#capacity = streamedBytes(header);
    }
    this.header = header;
    this.#reach = this.#filled;
    this.#settled = this.#filled;
    this.#hash = hasChecksum ? new PartsChecksum() : null;
    const most = this.most ?? Number.POSITIVE_INFINITY;
    this.#end = contentBytes === null ? most : this.#filled + contentBytes;
    if (this.#end > most) throw new Error(`a ZSTD frame makes more than ${most} bytes`);
    if (this.most !== null && contentBytes !== null) this.#reserve(this.#end);
  }

  /** A block makes at most so many bytes, and never more than the frame. */
  startBlock(maxBytes: number): void {
    this.#reach = Math.max(this.#reach, this.#filled - this.header.windowBytes);
    this.#limit = Math.min(this.#filled + maxBytes, this.#end);
    if (this.most !== null) return;
    if (this.#limit > this.#capacity) this.#moveWindow();
    this.#reserve(this.#capacity);
  }

  endBlock(isLast: boolean): void {
    const { contentBytes } = this.header;
    if (isLast && contentBytes !== null && this.#filled !== this.#end) {
      throw new Error(`a ZSTD frame makes less than its ${contentBytes} bytes`);
    }
    const waiting = isLast ? 0 : (this.#filled - this.#settled) % PART_BYTES;
    const part = this.#bytes.subarray(this.#settled, this.#filled - waiting);
    this.#settled += part.length;
    if (this.#hash) this.checksum = Number(this.#hash.add(part) & 0xffff_ffffn);
    if (this.most === null) this.#taken = part.slice();
  }

  /** Moves what matches may reach to the start of the memory. */
  #moveWindow(): void {
    const by = this.#reach;
    this.#bytes.copyWithin(0, by, this.#filled);
    this.#filled -= by;
    this.#settled -= by;
    this.#limit -= by;
    this.#end -= by;
    this.#reach = 0;
  }

  /** Makes room for `length` bytes: exactly that many at first, then twice as many or more. */
  #reserve(length: number): void {
    if (length <= this.#bytes.length) return;
    const doubled = Math.min(2 * this.#bytes.length, this.#capacity);
    const larger = new Uint8Array(Math.max(length, doubled));
    larger.set(this.#bytes.subarray(0, this.#filled));
    this.#bytes = larger;
  }

  /** Makes room for all that the block can make, as `copyLiterals` and `copyMatch` need it. */
  reserveBlock(): void {
    this.#reserve(this.#limit);
  }

  append(bytes: Uint8Array): void {
    const end = this.#filled + bytes.length;
    if (end > this.#limit) throw tooMuch();
    this.#reserve(end);
    this.#bytes.set(bytes, this.#filled);
    this.#filled = end;
  }

  repeat(byte: number, count: number): void {
    const end = this.#filled + count;
    if (end > this.#limit) throw tooMuch();
    this.#reserve(end);
    this.#bytes.fill(byte, this.#filled, end);
    this.#filled = end;
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
