/**
 * The content that a ZSTD decoder makes, in one array. A copy that would pass the end of its block
 * or frame, or start before its window, throws.
 */

import { checksum, PartsChecksum } from '../../kernels/xxhash';

/** What the header of a frame states; `contentBytes` is null where it does not. */
export interface ZstdHeader {
  readonly contentBytes: number | null;
  readonly windowBytes: number;
  readonly hasChecksum: boolean;
}

/** From this many bytes on, the methods of arrays copy faster than a loop. */
const LONG_COPY = 48;

export class ZstdOutput {
  protected bytes = new Uint8Array(0);
  protected filled = 0;
  /** The header of the frame, once one was started. */
  protected header!: ZstdHeader;
  /** Where the content of the frame begins, where it ends at the latest, and that of the block. */
  #start = 0;
  protected end = 0;
  protected limit = 0;
  /** Where matches begin at the earliest: in the frame, and in the window before the block. */
  protected reach = 0;
  /** The literals of the block: `#literals` from `#literalsAt` to `#literalsEnd`. */
  #literals: Uint8Array = this.bytes;
  #literalsAt = 0;
  #literalsEnd = 0;

  /** Content of more than `most` bytes is refused. */
  constructor(private readonly most = Number.POSITIVE_INFINITY) {}

  content(): Uint8Array {
    // A copy rather than a view: it is the caller's to keep, without the room that was left.
    return this.filled === this.bytes.length ? this.bytes : this.bytes.slice(0, this.filled);
  }

  /** Takes no memory yet. */
  startFrame(header: ZstdHeader): void {
    const { contentBytes } = header;
    this.header = header;
    this.#start = this.filled;
    this.reach = this.filled;
    this.end = contentBytes === null ? this.most : this.filled + contentBytes;
    if (this.end > this.most) throw new Error(`a ZSTD frame makes more than ${this.most} bytes`);
  }

  /** A block makes at most so many bytes, and never more than the frame. */
  startBlock(maxBytes: number): void {
    this.reach = Math.max(this.reach, this.filled - this.header.windowBytes);
    this.limit = Math.min(this.filled + maxBytes, this.end);
    this.makeRoom();
  }

  /**
   * Makes room for the frame where its length is known, else for the block: exactly for the first,
   * then twice as much or more.
   */
  protected makeRoom(): void {
    const length = this.header.contentBytes === null ? this.limit : this.end;
    if (length <= this.bytes.length) return;
    const doubled = Math.min(2 * this.bytes.length, this.most);
    const larger = new Uint8Array(Math.max(length, doubled));
    larger.set(this.bytes.subarray(0, this.filled));
    this.bytes = larger;
  }

  endBlock(isLast: boolean): void {
    const { contentBytes } = this.header;
    if (isLast && contentBytes !== null && this.filled !== this.end) {
      throw new Error(`a ZSTD frame makes less than its ${contentBytes} bytes`);
    }
  }

  /** The checksum of the frame, when its last block has ended. */
  checksum(): bigint {
    return checksum(this.bytes.subarray(this.#start, this.filled));
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
    const to = this.filled;
    if (count > this.#literalsEnd - from) throw new Error('a ZSTD block has too few literals');
    if (count > this.limit - to) throw tooMuch();
    const literals = this.#literals;
    const bytes = this.bytes;
    if (count < LONG_COPY) {
      for (let i = 0; i < count; i++) bytes[to + i] = literals[from + i];
    } else {
      bytes.set(literals.subarray(from, from + count), to);
    }
    this.#literalsAt = from + count;
    this.filled = to + count;
  }

  /** Copies `length` bytes that lie `back` bytes before the end. */
  copyMatch(back: number, length: number): void {
    const to = this.filled;
    if (back === 0 || back > to - this.reach) {
      throw new Error('a ZSTD match starts before its window');
    }
    if (length > this.limit - to) throw tooMuch();
    const bytes = this.bytes;
    const from = to - back;
    // A distance below the length overlaps what is copied: byte by byte, but for a single byte.
    if (length < LONG_COPY || (back < length && back > 1)) {
      for (let i = 0; i < length; i++) bytes[to + i] = bytes[from + i];
    } else if (back === 1) {
      bytes.fill(bytes[from], to, to + length);
    } else {
      bytes.copyWithin(to, from, from + length);
    }
    this.filled = to + length;
  }
}

export function tooMuch(): Error {
  return new Error('a ZSTD block makes more than it may');
}

/** Parts for the checksum are a multiple of these bytes. */
const PART_BYTES = 32;
/** Least room behind a window, which is moved once for so many bytes. */
const MIN_ROOM = 2 ** 20;

/**
 * The content of a stream of ZSTD: only as much is in memory as matches reach back, while what a
 * block adds is taken after it.
 */
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
