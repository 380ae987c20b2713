/**
 * Decodes ZSTD frames. Written here because fzstd 0.1 never returns on some damaged frames, and
 * Node has ZSTD from 22.15 on only, browsers not at all. Made for bytes of unknown origin: nothing
 * outside of the input is read, every loop is bounded by it, and memory by what the blocks make, or
 * by a length that they can make. Checksums are compared. No dictionaries. Format: RFC 8878,
 * section 3.
 */

import { checksum } from '../../kernels/kernels';
import { BackwardBits, FseTable, HuffmanTable, Source } from './zstd-entropy';

const MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a5; // without its lowest 4 bits, which are free
const MAX_BLOCK_BYTES = 128 << 10;
/** Content per byte of blocks: the shortest run-length block makes 128 KiB from 4 bytes. */
const MAX_RATIO = 32_768;
/** The window that decoders must allow to a frame that lacks its length (RFC 8878, 3.1.1.1.2). */
const MAX_WINDOW_BYTES = 8 << 20;
/** From this many bytes on, the methods of arrays copy faster than a loop. */
const LONG_COPY = 48;

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
  field(36, 9, 6, [
    ...[4, 3, ...ones(11, 2), 1, 1, 1, ...ones(9, 2)],
    ...[3, 2, 1, 1, 1, 1, 1, ...ones(4, -1)],
  ]),
  field(32, 8, 5, [...ones(6), 2, 2, 2, ...ones(15), ...ones(5, -1)]),
  field(53, 9, 6, [1, 4, 3, ...ones(6, 2), ...ones(37), ...ones(7, -1)]),
];

/**
 * Bits that follow each code. The least value of a code is one more than the largest of the code
 * before.
 */
const LITERALS_BITS = Uint8Array.from([
  ...[...ones(16, 0), 1, 1, 1, 1, 2, 2, 3, 3, 4],
  ...[6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
]);
const MATCH_BITS = Uint8Array.from([
  ...[...ones(32, 0), 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5],
  ...[7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
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
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  const source = new Source(frame, view, 0, frame.length);
  if (source.left === 0) throw new Error('a ZSTD frame was expected');
  const decoder = new Decoder(source, most);
  while (source.left > 0) {
    const magic = source.uint(4);
    if (magic === MAGIC) decoder.decodeFrame();
    else if (magic >>> 4 === SKIPPABLE_MAGIC) source.skip(source.uint(4));
    else throw new Error('a ZSTD frame was expected');
  }
  return decoder.content();
}

/** Reads the header of a frame; `contentBytes` is null where it does not state it. */
function readHeader(source: Source) {
  // Bits 0 and 1: dictionary id; 2: checksum; 3: reserved; 5: no window; 6 and 7: content size.
  const flags = source.uint(1);
  if ((flags & 8) !== 0) throw new Error('a ZSTD frame has a reserved flag');
  const isSingle = (flags & 32) !== 0;
  let windowBytes = 0;
  if (!isSingle) {
    const byte = source.uint(1);
    windowBytes = 2 ** (10 + (byte >> 3)) * (1 + (byte & 7) / 8);
  }
  if (source.uint([0, 1, 2, 4][flags & 3]) !== 0) {
    throw new Error('a ZSTD frame with a dictionary is not supported');
  }
  const sizeFlag = flags >> 6;
  const sizeBytes = sizeFlag > 0 ? 1 << sizeFlag : Number(isSingle);
  // Sizes of two bytes count from 256 (RFC 8878, 3.1.1.1.4).
  const size = source.uint(sizeBytes) + (sizeBytes === 2 ? 256 : 0);
  return {
    contentBytes: sizeBytes === 0 ? null : size,
    windowBytes: isSingle ? size : windowBytes,
    hasChecksum: (flags & 4) !== 0,
  };
}

/** The output, and the state that one block leaves to the next. */
class Decoder {
  #out = new Uint8Array(0);
  #filled = 0;
  /** Where the content of the frame begins: matches reach no further back. */
  #frameStart = 0;
  /** Where the content of the block ends at the latest; `#out` reaches as far. */
  #limit = 0;

  /** The block's literals: `#literals` from `#literalsAt` to `#literalsEnd`. */
  #literals: Uint8Array = new Uint8Array(0);
  #literalsAt = 0;
  #literalsEnd = 0;
  #scratch = new Uint8Array(0);

  readonly #huffman = new HuffmanTable();
  readonly #ownTables = FIELDS.map(() => new FseTable());
  /** The tables of the frame's last sequences; none at its start. */
  #tables: FseTable[] = [];
  /** The last three distances of matches, the last one first. */
  readonly #offsets = [1, 4, 8];

  /** Content of more than `most` bytes is refused. */
  constructor(
    private readonly source: Source,
    private readonly most: number,
  ) {}

  content(): Uint8Array {
    // A copy rather than a view: it is the caller's to keep, without the room that was left.
    return this.#filled === this.#out.length ? this.#out : this.#out.slice(0, this.#filled);
  }

  /** Decodes a frame, whose magic number was read. */
  decodeFrame(): void {
    const source = this.source;
    const { contentBytes, windowBytes, hasChecksum } = readHeader(source);
    const possible = source.left * MAX_RATIO;
    const wanted = contentBytes ?? windowBytes;
    const granted = contentBytes === null ? Math.max(possible, MAX_WINDOW_BYTES) : possible;
    // A frame without a length is bounded by its blocks. A window larger than both is damage.
    if (wanted > granted) {
      throw new Error(`${source.left} bytes of ZSTD blocks ask for ${wanted}`);
    }
    this.#frameStart = this.#filled;
    const end = contentBytes === null ? this.most : this.#filled + contentBytes;
    if (contentBytes !== null) {
      if (end > this.most) throw new Error(`a ZSTD frame makes more than ${this.most} bytes`);
      this.#reserve(end);
    }
    this.#huffman.log = 0;
    this.#tables = [];
    this.#offsets.splice(0, 3, 1, 4, 8);

    const maxBytes = Math.min(windowBytes, MAX_BLOCK_BYTES);
    for (let isLast = false; !isLast; ) {
      const header = source.uint(3);
      isLast = (header & 1) !== 0;
      // A block makes at most as much as the window has, and never more than the frame.
      this.#limit = Math.min(this.#filled + maxBytes, end);
      this.#decodeBlock((header >> 1) & 3, header >> 3, maxBytes);
    }
    if (contentBytes !== null && this.#filled !== end) {
      throw new Error(`a ZSTD frame makes less than its ${contentBytes} bytes`);
    }
    if (hasChecksum) {
      const content = this.#out.subarray(this.#frameStart, this.#filled);
      if (source.uint(4) !== Number(checksum(content) & 0xffff_ffffn)) {
        throw new Error('the checksum of a ZSTD frame is another');
      }
    }
  }

  /** Decodes a block of one of the types: stored (0), one byte repeated (1), compressed (2). */
  #decodeBlock(type: number, size: number, maxBytes: number): void {
    const source = this.source;
    if (type === 3) throw new Error('a ZSTD block has the reserved type');
    if (size > maxBytes) throw new Error(`a ZSTD block of ${size} bytes exceeds its frame's limit`);
    if (type === 2) {
      const block = source.part(size);
      this.#readLiterals(block, maxBytes);
      this.#reserve(this.#limit);
      this.#runSequences(block);
      return;
    }
    const end = this.#filled + size;
    if (end > this.#limit) throw tooMuch();
    const start = source.skip(type === 0 ? size : 1);
    this.#reserve(end);
    if (type === 0) this.#out.set(source.bytes.subarray(start, start + size), this.#filled);
    else this.#out.fill(source.bytes[start], this.#filled, end);
    this.#filled = end;
  }

  /** Makes room for `length` bytes: exactly that many at first, then twice as many or more. */
  #reserve(length: number): void {
    if (length <= this.#out.length) return;
    const doubled = Math.min(2 * this.#out.length, this.most);
    const larger = new Uint8Array(Math.max(length, doubled));
    larger.set(this.#out.subarray(0, this.#filled));
    this.#out = larger;
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
      if (type === 0) {
        this.#setLiterals(block.bytes, block.skip(size), size);
      } else {
        const byte = block.uint(1);
        this.#setLiterals(this.#scratchOf(size).fill(byte, 0, size), 0, size);
      }
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
    this.#setLiterals(literals, 0, size);
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

  #setLiterals(bytes: Uint8Array, start: number, size: number): void {
    this.#literals = bytes;
    this.#literalsAt = start;
    this.#literalsEnd = start + size;
  }

  /** Room for the literals of a block. */
  #scratchOf(size: number): Uint8Array {
    if (this.#scratch.length < size) {
      this.#scratch = new Uint8Array(Math.min(2 * size, MAX_BLOCK_BYTES));
    }
    return this.#scratch;
  }

  /** Runs the sequences of a block, each of which copies literals, then a match from before. */
  #runSequences(block: Source): void {
    const count = readCount(block);
    if (count === 0) {
      if (block.left > 0) throw new Error('a ZSTD block has bytes behind its literals');
      this.#copyLiterals(this.#literalsEnd - this.#literalsAt);
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

      this.#copyLiterals(run);
      this.#copyMatch(this.#resolve(offset, run), length);
      if (left === 1) break; // the last sequence has no states behind it
      literalsState = (literalsCell >> 16) + bits.read((literalsCell >> 8) & 255);
      matchState = (matchCell >> 16) + bits.read((matchCell >> 8) & 255);
      offsetState = (offsetCell >> 16) + bits.read((offsetCell >> 8) & 255);
    }
    if (bits.left > 0) throw new Error('a ZSTD block has bits behind its sequences');
    this.#copyLiterals(this.#literalsEnd - this.#literalsAt);
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

  #copyLiterals(count: number): void {
    const from = this.#literalsAt;
    const to = this.#filled;
    if (count > this.#literalsEnd - from) throw new Error('a ZSTD block has too few literals');
    if (count > this.#limit - to) throw tooMuch();
    const literals = this.#literals;
    const out = this.#out;
    if (count < LONG_COPY) {
      for (let i = 0; i < count; i++) out[to + i] = literals[from + i];
    } else {
      out.set(literals.subarray(from, from + count), to);
    }
    this.#literalsAt = from + count;
    this.#filled = to + count;
  }

  /** Copies `length` bytes that lie `back` bytes before the end of the output. */
  #copyMatch(back: number, length: number): void {
    const to = this.#filled;
    if (back === 0 || back > to - this.#frameStart) {
      throw new Error('a ZSTD match starts before its frame');
    }
    if (length > this.#limit - to) throw tooMuch();
    const out = this.#out;
    const from = to - back;
    // A distance below the length overlaps what is copied: byte by byte, but for a single byte.
    if (length < LONG_COPY || (back < length && back > 1)) {
      for (let i = 0; i < length; i++) out[to + i] = out[from + i];
    } else if (back === 1) {
      out.fill(out[from], to, to + length);
    } else {
      out.copyWithin(to, from, from + length);
    }
    this.#filled = to + length;
  }
}

/** Reads how many sequences a block has, from 1 to 3 bytes. */
function readCount(block: Source): number {
  const first = block.uint(1);
  if (first < 128) return first;
  if (first < 255) return (first - 128) * 256 + block.uint(1);
  return block.uint(2) + 0x7f00;
}

function tooMuch(): Error {
  return new Error('a ZSTD block makes more than it may');
}
