/**
 * Decodes ZSTD frames: bytes that are there as a whole, and by `ZstdDecoder` a stream, block after
 * block within a window. Written here because fzstd 0.1 never returns on some damaged frames,
 * `@hpcc-js/wasm-zstd` 1.12 returns no bytes and no error for a damaged stream, and Node has ZSTD
 * from 22.15 on only, browsers not at all. Made for bytes of unknown origin: nothing
 * outside of the input is read, every loop is bounded by it, and memory by what the blocks make, by
 * a length that they can make, or by the window. Checksums are compared. No dictionaries. Format:
 * RFC 8878, section 3.
 */

import { concatenated, grown } from '../../base/arrays';
import { PartsChecksum } from '../../kernels/xxhash';
import { BackwardBits, FseTable, HuffmanTable, Source } from './zstd-entropy';

const MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a5; // without its lowest 4 bits, which are free
const MAX_BLOCK_BYTES = 128 << 10;
/** Content per byte of blocks: the shortest run-length block makes 128 KiB from 4 bytes. */
const MAX_RATIO = 32_768;
/** The window that decoders must allow to a frame that lacks its length (RFC 8878, 3.1.1.1.2). */
const MAX_WINDOW_BYTES = 8 << 20;

/** One of the three kinds of numbers in sequences: its symbols, and the table of the format. */
interface Field {
  readonly symbolCount: number;
  readonly maxLog: number;
  readonly predefined: FseTable;
}

const ones = (count: number, value = 1): number[] => Array(count).fill(value);
/** A kind of number whose predefined table has 2^log states. */
function field(symbolCount: number, maxLog: number, log: number, shares: number[]): Field {
  return { symbolCount, maxLog, predefined: new FseTable().build(shares, log) };
}

/** Literal lengths, offsets, match lengths: blocks describe their tables in this order. */
const FIELDS = [
  field(
    36,
    9,
    6,
    [
      4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1,
      1, -1, -1, -1, -1,
    ],
  ),
  field(32, 8, 5, [...ones(6), 2, 2, 2, ...ones(15), ...ones(5, -1)]),
  field(53, 9, 6, [1, 4, 3, ...ones(6, 2), ...ones(37), ...ones(7, -1)]),
];

/**
 * Bits that follow each code. The least value of a code is one more than the largest of the code
 * before.
 */
const LITERALS_BITS = Uint8Array.from([
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12,
  13, 14, 15, 16,
]);
const MATCH_BITS = Uint8Array.from([
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
  1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
]);
const LITERALS_LEAST = leastValues(LITERALS_BITS, 0);
const MATCH_LEAST = leastValues(MATCH_BITS, 3);

/** The least value of each code, from how many bits follow it. */
function leastValues(bits: Uint8Array, first: number): Int32Array {
  const least = new Int32Array(bits.length).fill(first);
  for (let i = 1; i < bits.length; i++) least[i] = least[i - 1] + (1 << bits[i - 1]);
  return least;
}

/**
 * Decodes all frames of the input, one after another, to a new array. Throws an Error on bytes that
 * are none, and on content of more than `most` bytes.
 */
export function decodeZstd(frame: Uint8Array, most = Number.POSITIVE_INFINITY): Uint8Array {
  const source = Source.of(frame);
  const output = new ZstdOutput();
  const decoder = new ZstdDecoder(output);
  const parts: Uint8Array[] = [];
  let length = 0;
  do {
    if (decoder.isBetweenFrames) decoder.inputBytes = source.left;
    decoder.take(source.part(decoder.wanted));
    const part = output.take();
    length += part.length;
    if (length > most) throw new Error(`ZSTD makes more than ${most} bytes`);
    if (part.length > 0) parts.push(part);
  } while (source.left > 0 || !decoder.isBetweenFrames);
  return parts.length === 1 ? parts[0] : concatenated(parts);
}

/** Decodes frames to an output, with the state that one block leaves to the next. */
export class ZstdDecoder {
  /** Room for the literals of a block. */
  #scratch = new Uint8Array(0);

  readonly #huffman = new HuffmanTable();
  readonly #ownTables = FIELDS.map(() => new FseTable());
  /** The tables of the frame's last sequences; none at its start. */
  #tables: FseTable[] = [];
  /** The last three distances of matches, the last one first. */
  readonly #offsets = [1, 4, 8];

  /** Bytes that `take` wants next. */
  wanted = 4;
  /** A frame that so many bytes cannot make is refused before its memory is taken. */
  inputBytes = Number.POSITIVE_INFINITY;
  /** What `take` does with the next bytes. */
  #step: (source: Source) => void = this.#readMagic;
  /** Bytes of a frame to be skipped that are left. */
  #skipped = 0;
  #flags = 0;
  #header: ZstdHeader = { contentBytes: null, windowBytes: 0, hasChecksum: false };
  /** Most bytes that a block of the frame makes, and the block that is read. */
  #maxBytes = 0;
  #block = { isLast: false, type: 0, size: 0 };

  constructor(private readonly output: ZstdOutput) {}

  /** True where the input may end. */
  get isBetweenFrames(): boolean {
    return this.#step === this.#readMagic;
  }

  /** Decodes a source of the bytes that are wanted: part of a header, a block, or a checksum. */
  take(source: Source): void {
    this.#step(source);
  }

  #want(bytes: number, step: (source: Source) => void): void {
    this.wanted = bytes;
    this.#step = step;
  }

  #readMagic(source: Source): void {
    const magic = source.uint(4);
    if (magic === MAGIC) this.#want(1, this.#readFlags);
    else if (magic >>> 4 === SKIPPABLE_MAGIC) this.#want(4, this.#readSkippedSize);
    else throw new Error('a ZSTD frame was expected');
  }

  #readSkippedSize(source: Source): void {
    this.#skipped = source.uint(4);
    this.#skip();
  }

  /** Skips what is left of a frame, by pieces of a block's size. */
  #skip(): void {
    const bytes = Math.min(this.#skipped, MAX_BLOCK_BYTES);
    this.#skipped -= bytes;
    if (bytes > 0) this.#want(bytes, this.#skip);
    else this.#want(4, this.#readMagic);
  }

  /** Bits 0 and 1: dictionary id; 2: checksum; 3: reserved; 5: no window; 6 and 7: content size. */
  #readFlags(source: Source): void {
    const flags = source.uint(1);
    if ((flags & 8) !== 0) throw new Error('a ZSTD frame has a reserved flag');
    this.#flags = flags;
    const windowBytes = (flags & 32) !== 0 ? 0 : 1;
    this.#want(windowBytes + ID_BYTES[flags & 3] + sizeBytesOf(flags), this.#readHeader);
  }

  #readHeader(source: Source): void {
    const flags = this.#flags;
    const isSingle = (flags & 32) !== 0;
    const byte = isSingle ? 0 : source.uint(1);
    if (source.uint(ID_BYTES[flags & 3]) !== 0) {
      throw new Error('a ZSTD frame with a dictionary is not supported');
    }
    const sizeBytes = sizeBytesOf(flags);
    // Sizes of two bytes count from 256 (RFC 8878, 3.1.1.1.4).
    const size = source.uint(sizeBytes) + (sizeBytes === 2 ? 256 : 0);
    const header = {
      contentBytes: sizeBytes === 0 ? null : size,
      windowBytes: isSingle ? size : 2 ** (10 + (byte >> 3)) * (1 + (byte & 7) / 8),
      hasChecksum: (flags & 4) !== 0,
    };
    checkPossible(header, this.inputBytes);
    this.output.startFrame(header);
    this.#header = header;
    this.#maxBytes = Math.min(header.windowBytes, MAX_BLOCK_BYTES);
    this.#huffman.log = 0;
    this.#tables = [];
    this.#offsets.splice(0, 3, 1, 4, 8);
    this.#want(3, this.#readBlockHeader);
  }

  #readBlockHeader(source: Source): void {
    const start = source.uint(3);
    const type = (start >> 1) & 3;
    const size = start >> 3;
    if (type === 3) throw new Error('a ZSTD block has the reserved type');
    if (size > this.#maxBytes) throw tooMuch();
    this.#block = { isLast: (start & 1) !== 0, type, size };
    this.output.startBlock(type === 2 ? this.#maxBytes : size);
    this.#want(type === 1 ? 1 : size, this.#readBlock);
  }

  #readBlock(block: Source): void {
    const { isLast, type, size } = this.#block;
    if (type === 2) {
      this.#readLiterals(block, this.#maxBytes);
      this.#runSequences(block);
    } else {
      this.#readSimple(block, type, size);
      this.output.copyAllLiterals();
    }
    this.output.endBlock(isLast);
    if (!isLast) this.#want(3, this.#readBlockHeader);
    else if (this.#header.hasChecksum) this.#want(4, this.#readChecksum);
    else this.#want(4, this.#readMagic);
  }

  #readChecksum(source: Source): void {
    if (source.uint(4) !== Number(this.output.checksum & 0xffff_ffffn)) {
      throw new Error('the checksum of a ZSTD frame is another');
    }
    this.#want(4, this.#readMagic);
  }

  /** Reads literals that are stored (type 0), or one byte repeated (1). */
  #readSimple(block: Source, type: number, size: number): void {
    if (type === 0) {
      this.output.setLiterals(block.bytes, block.skip(size), size);
    } else {
      this.output.setLiterals(this.#scratchOf(size).fill(block.uint(1), 0, size), 0, size);
    }
  }

  /** Reads literals: stored, one byte repeated, or by a Huffman code in one stream or four. */
  #readLiterals(block: Source, maxBytes: number): void {
    const first = block.left > 0 ? block.bytes[block.at] : 0;
    const type = first & 3;
    const format = (first >> 2) & 3;
    // Stored literals, or one byte repeated: their size is in the first one to three bytes.
    if (type < 2) {
      const header = block.uint(format === 1 ? 2 : format === 3 ? 3 : 1);
      const size = header >> ((format & 1) === 0 ? 3 : 4);
      if (size > maxBytes) throw tooMuch();
      this.#readSimple(block, type, size);
      return;
    }
    const header = block.uint([3, 3, 4, 5][format]);
    const sizeBits = [10, 10, 14, 18][format];
    const size = Math.floor(header / 16) % 2 ** sizeBits;
    const packed = block.part(Math.floor(header / 2 ** (4 + sizeBits)));
    if (size > maxBytes) throw tooMuch();
    if (type === 2) this.#huffman.read(packed);
    if (this.#huffman.log === 0) throw new Error('a ZSTD block has no Huffman code');
    const literals = this.#scratchOf(size);
    this.output.setLiterals(literals, 0, size);
    if (format === 0) {
      this.#huffman.decode(packed, literals, 0, size);
      return;
    }
    if (size < 6) throw new Error(`${size} ZSTD literals cannot be in four streams`);
    // Four streams, each with a quarter of the literals; the length of the last is what remains.
    const lengths = [packed.uint(2), packed.uint(2), packed.uint(2)];
    const quarter = (size + 3) >> 2;
    for (let i = 0; i < 4; i++) {
      const stream = packed.part(i < 3 ? lengths[i] : packed.left);
      this.#huffman.decode(stream, literals, i * quarter, i < 3 ? (i + 1) * quarter : size);
    }
  }

  #scratchOf(size: number): Uint8Array {
    if (this.#scratch.length < size) {
      this.#scratch = new Uint8Array(Math.min(2 * size, MAX_BLOCK_BYTES));
    }
    return this.#scratch;
  }

  /** Runs the sequences of a block, each of which copies literals, then a match from before. */
  #runSequences(block: Source): void {
    const { output } = this;
    const count = readCount(block);
    if (count === 0) {
      if (block.left > 0) throw new Error('a ZSTD block has bytes behind its literals');
      output.copyAllLiterals();
      return;
    }
    this.#readTables(block);
    const bits = new BackwardBits(block);
    const [literals, offsets, matches] = this.#tables;
    // First the states, in this order; each sequence then reads its values, and the next states.
    let literalsState = bits.read(literals.log);
    let offsetState = bits.read(offsets.log);
    let matchState = bits.read(matches.log);
    for (let left = count; left > 0; left--) {
      const literalsCell = literals.cells[literalsState];
      const offsetCell = offsets.cells[offsetState];
      const matchCell = matches.cells[matchState];
      // A 32-bit unsigned integer at most: codes end at 31.
      const code = offsetCell & 255;
      const offset = ((1 << code) >>> 0) + bits.readLong(code);
      const matchCode = matchCell & 255;
      const length = MATCH_LEAST[matchCode] + bits.read(MATCH_BITS[matchCode]);
      const literalsCode = literalsCell & 255;
      const run = LITERALS_LEAST[literalsCode] + bits.read(LITERALS_BITS[literalsCode]);

      output.copyLiterals(run);
      output.copyMatch(this.#resolve(offset, run), length);
      if (left === 1) break; // the last sequence has no states behind it
      literalsState = (literalsCell >> 16) + bits.read((literalsCell >> 8) & 255);
      matchState = (matchCell >> 16) + bits.read((matchCell >> 8) & 255);
      offsetState = (offsetCell >> 16) + bits.read((offsetCell >> 8) & 255);
    }
    if (bits.left > 0) throw new Error('a ZSTD block has bits behind its sequences');
    output.copyAllLiterals();
  }

  /** Chooses the table of each kind of number: predefined, one symbol, its own, or the last one. */
  #readTables(block: Source): void {
    const modes = block.uint(1);
    if ((modes & 3) !== 0) throw new Error('a ZSTD block has reserved bits');
    this.#tables = FIELDS.map(({ symbolCount, maxLog, predefined }, i) => {
      const mode = (modes >> (6 - 2 * i)) & 3;
      if (mode === 0) return predefined;
      if (mode === 2) return this.#ownTables[i].read(block, maxLog, symbolCount);
      if (mode === 3) {
        if (this.#tables.length === 0) throw new Error('a ZSTD block has no table to use again');
        return this.#tables[i];
      }
      const symbol = block.uint(1);
      if (symbol >= symbolCount) throw new Error('a ZSTD sequence has an unknown code');
      return this.#ownTables[i].setSingle(symbol);
    });
  }

  /** The distance of a match. Values up to 3 stand for the last three distances. */
  #resolve(value: number, run: number): number {
    // Each distance that is used moves to the front of the three.
    const recent = this.#offsets;
    if (value > 3) {
      recent[2] = recent[1];
      recent[1] = recent[0];
      recent[0] = value - 3;
      return recent[0];
    }
    // After a sequence without literals the last distance is of no use: the match before would have
    // been longer.
    const index = run === 0 ? value : value - 1;
    if (index === 0) return recent[0];
    const offset = index < 3 ? recent[index] : recent[0] - 1;
    if (index > 1) recent[2] = recent[1];
    recent[1] = recent[0];
    recent[0] = offset;
    return offset;
  }
}

/** Bytes of a dictionary's id, by the flags of a frame. */
const ID_BYTES = [0, 1, 2, 4];

/** Bytes of the content's size: none where the flags say that it is not stated. */
function sizeBytesOf(flags: number): number {
  const sizeFlag = flags >> 6;
  return sizeFlag > 0 ? 1 << sizeFlag : Number((flags & 32) !== 0);
}

/** Refuses a frame that asks for more memory than so many bytes of input can fill. */
function checkPossible({ contentBytes, windowBytes }: ZstdHeader, inputBytes: number): void {
  const wanted = contentBytes ?? windowBytes;
  // A frame without a length is bounded by its blocks. A window larger than both is damage.
  const granted = contentBytes === null ? MAX_WINDOW_BYTES : 0;
  if (wanted <= Math.max(granted, inputBytes * MAX_RATIO)) return;
  throw new Error(`${inputBytes} bytes of ZSTD ask for ${wanted}`);
}

/** Reads how many sequences a block has, from 1 to 3 bytes. */
function readCount(block: Source): number {
  const first = block.uint(1);
  if (first < 128) return first;
  if (first < 255) return (first - 128) * 256 + block.uint(1);
  return block.uint(2) + 0x7f00;
}

/** What the header of a frame states; `contentBytes` is null where it does not. */
interface ZstdHeader {
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

/**
 * The content that a decoder makes: only as much is in memory as matches reach back, while what a
 * block adds is taken after it. A copy that would pass the end of its block or frame, or start
 * before its window, throws.
 */
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
    const needed = Math.min(this.#limit, heldBytes);
    if (needed > this.#bytes.length) {
      // Grows as content comes: a short frame may have, or claim, a large window.
      this.#bytes = grown(
        this.#bytes,
        Math.min(heldBytes, Math.max(needed, 2 * this.#bytes.length)),
      );
    }
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

function tooMuch(): Error {
  return new Error('a ZSTD block makes more than it may');
}
