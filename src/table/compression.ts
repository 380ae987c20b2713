/**
 * Decodes ZSTD and LZ4, with which Arrow and Parquet files are compressed.
 *
 * ZSTD is decoded by libzstd, in the WebAssembly of the package zstddec, whose own functions report
 * no errors. Made for bytes of unknown origin: checksums and lengths are compared, and a decoder
 * has its own memory and a window of 128 MB at most. No dictionaries. Format: RFC 8878.
 *
 * The decoder of LZ4 is written here because lz4js 0.2 decodes Polars' frames to wrong bytes
 * without an error. Callers know the length of the content, so nothing larger is allocated.
 * Checksums in frames are not compared. Format: github.com/lz4/lz4, doc/lz4_Frame_format.md.
 */

import { concatenated } from '../base/arrays';
import { zstdModule } from '../kernels/zstd.generated';

/** The functions of libzstd (zstd.h) that are used; sizes and addresses are integers of 32 bits. */
interface Library {
  readonly memory: WebAssembly.Memory;
  malloc(bytes: number): number;
  ZSTD_createDCtx(): number;
  ZSTD_freeDCtx(context: number): void;
  ZSTD_decompressStream(context: number, output: number, input: number): number;
}

/** Bytes that libzstd takes or makes at once: the content of a block. */
const PIECE_BYTES = 2 ** 17;
/** A decoder with more memory than this is not kept for the next frame. */
const MAX_KEPT_BYTES = 2 ** 26;
/** Results from this one on are errors: 2^32 less a number of zstd_errors.h. */
const FIRST_ERROR = 2 ** 32 - 120;
const ERRORS: Readonly<Record<number, string>> = {
  10: 'a ZSTD frame was expected',
  16: 'a window of more than 128 MB, which zstd --long has',
  22: 'the checksum of a ZSTD frame is another',
  32: 'a ZSTD frame with a dictionary is not supported',
  64: 'no memory is left for ZSTD',
};

const NOTHING = new Uint8Array(0);
let module: WebAssembly.Module | null = null;

function libraryOf(): Library {
  if (zstdModule === null) {
    const advice = 'register a decoder of ZSTD with compressionRegistry of apache-arrow';
    throw new Error(`ZSTD is read in Node only: ${advice}`);
  }
  module ??= new WebAssembly.Module(Uint8Array.from(atob(zstdModule), (one) => one.charCodeAt(0)));
  const imports = { env: { emscripten_notify_memory_growth() {} } };
  return new WebAssembly.Instance(module, imports).exports as unknown as Library;
}

/** Decodes frames, one after another, of which `give` gets the bytes in parts of any size. */
export class ZstdDecoder {
  /** True where the input may end. */
  isBetweenFrames = true;
  readonly #library = libraryOf();
  #context = 0;
  /** ZSTD_inBuffer and ZSTD_outBuffer: an address, a size and a position each. */
  readonly #buffers = this.#library.malloc(24);
  readonly #input = this.#library.malloc(PIECE_BYTES);
  readonly #output = this.#library.malloc(PIECE_BYTES);
  /** What was given, and is not in the memory of the library yet. */
  #given: Uint8Array = NOTHING;
  /** Whether the last output was full, so that more may come without input. */
  #isFull = false;

  constructor() {
    this.reset();
  }

  /** Begins again, also after an error. */
  reset(): void {
    this.#library.ZSTD_freeDCtx(this.#context);
    this.#context = this.#library.ZSTD_createDCtx();
    this.#words().set([this.#input, 0, 0, this.#output, PIECE_BYTES, 0]);
    this.#given = NOTHING;
    this.#isFull = false;
    this.isBetweenFrames = true;
  }

  /** Bytes of memory that the decoder holds. */
  get heldBytes(): number {
    return this.#library.memory.buffer.byteLength;
  }

  /** Adds bytes to the input, all of which `next` has decoded before. */
  give(bytes: Uint8Array): void {
    this.#given = bytes;
  }

  /** The next bytes of the content; none where more input is needed. Throws for damaged frames. */
  next(): Uint8Array {
    for (;;) {
      const [, size, position] = this.#words();
      if (position === size && !this.#isFull) {
        if (this.#given.length === 0) return NOTHING;
        const part = this.#given.subarray(0, PIECE_BYTES);
        this.#given = this.#given.subarray(part.length);
        this.#bytes().set(part, this.#input);
        this.#words().set([part.length, 0], 1);
      }
      const made = this.#step();
      if (made > 0) return this.#bytes().slice(this.#output, this.#output + made);
    }
  }

  /** Throws unless the last frame is whole. */
  end(): void {
    if (!this.isBetweenFrames) throw new Error('a ZSTD frame is cut short');
  }

  /** Decodes some of the input; returns how many bytes of content it makes. */
  #step(): number {
    this.#words()[5] = 0;
    const input = this.#buffers;
    const left = this.#library.ZSTD_decompressStream(this.#context, input + 12, input) >>> 0;
    if (left >= FIRST_ERROR) {
      const error = 2 ** 32 - left;
      throw new Error(ERRORS[error] ?? `a ZSTD frame is damaged (error ${error} of libzstd)`);
    }
    const made = this.#words()[5];
    this.isBetweenFrames = left === 0;
    this.#isFull = made === PIECE_BYTES && left > 0;
    return made;
  }

  // Views are made again for each use: a memory that grows takes them away.
  #bytes(): Uint8Array {
    return new Uint8Array(this.#library.memory.buffer);
  }

  #words(): Uint32Array {
    return new Uint32Array(this.#library.memory.buffer, this.#buffers, 6);
  }
}

/** For the next frame, since a new decoder takes some milliseconds. */
let kept: ZstdDecoder | null = null;

/**
 * Decodes all frames of the input, one after another, to a new array. Throws an Error on bytes that
 * are none, and on content of more than `most` bytes.
 */
export function decodeZstd(frames: Uint8Array, most = Number.POSITIVE_INFINITY): Uint8Array {
  if (frames.length === 0) throw new Error('a ZSTD frame was expected');
  if (kept === null || kept.heldBytes > MAX_KEPT_BYTES) kept = new ZstdDecoder();
  kept.reset();
  kept.give(frames);
  const parts: Uint8Array[] = [];
  let length = 0;
  for (let part = kept.next(); part.length > 0; part = kept.next()) {
    length += part.length;
    if (length > most) throw new Error(`ZSTD makes more than ${most} bytes`);
    parts.push(part);
  }
  kept.end();
  return parts.length === 1 ? parts[0] : concatenated(parts);
}

const LZ4_MAGIC = 0x184d2204;

/** Decodes one frame of at most `most` bytes of content to a new array; else throws an Error. */
export function decodeLz4(frame: Uint8Array, most: number): Uint8Array {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  if (view.getUint32(0, true) !== LZ4_MAGIC) throw new Error('an LZ4 frame was expected');
  const flags = frame[4];
  if (flags >> 6 !== 1) throw new Error(`an LZ4 frame of version ${flags >> 6} is not known`);
  if ((flags & 1) !== 0) throw new Error('an LZ4 frame with a dictionary is not supported');
  // The flags are followed by the block size, an optional content size (8 bytes) and a header
  // checksum.
  const start = 7 + ((flags & 8) !== 0 ? 8 : 0);
  const blockTrailer = (flags & 16) !== 0 ? 4 : 0;
  const out = new Uint8Array(most);
  let filled = 0;
  // A block is a length and bytes; the highest bit of the length marks a stored block. Length 0
  // ends the frame.
  for (let at = start; ; ) {
    const word = view.getUint32(at, true);
    if (word === 0) return out.subarray(0, filled);
    const size = word & 0x7fff_ffff;
    at += 4;
    if (at + size > frame.length) throw new Error('an LZ4 block ends beyond its frame');
    const block = frame.subarray(at, at + size);
    if (word > 0x7fff_ffff) {
      checkRoom(out, filled, size);
      out.set(block, filled);
      filled += size;
    } else filled = decodeInto(block, out, filled);
    at += size + blockTrailer;
  }
}

/** Decodes a block without a frame, as a page of Parquet has it. */
export function decodeLz4Block(block: Uint8Array, most: number): Uint8Array {
  const out = new Uint8Array(most);
  return out.subarray(0, decodeInto(block, out, 0));
}

function checkRoom(out: Uint8Array, to: number, count: number): void {
  if (count > out.length - to) throw new Error(`LZ4 makes more than ${out.length} bytes`);
}

/** From this many bytes on, `set` copies faster than a loop. */
const LONG_COPY = 32;

/**
 * Decodes a block to `out` from `start` on; matches may refer to the blocks before. Returns where
 * its content ends.
 */
function decodeInto(block: Uint8Array, out: Uint8Array, start: number): number {
  let at = 0;
  let to = start;
  // A length of 15 continues in the following bytes, the last of which is below 255.
  const more = (nibble: number): number => {
    let length = nibble;
    if (nibble < 15) return length;
    for (let byte = 255; byte === 255; length += byte) {
      if (at >= block.length) throw new Error('an LZ4 block is cut short');
      byte = block[at++];
    }
    return length;
  };
  while (at < block.length) {
    const token = block[at++];
    const literals = more(token >> 4);
    if (at + literals > block.length) throw new Error('LZ4 literals end beyond their block');
    checkRoom(out, to, literals);
    if (literals > LONG_COPY) out.set(block.subarray(at, at + literals), to);
    else for (let i = 0; i < literals; i++) out[to + i] = block[at + i];
    at += literals;
    to += literals;
    if (at === block.length) return to; // the last sequence has literals only
    if (at + 2 > block.length) throw new Error('an LZ4 block is cut short');
    const back = block[at] | (block[at + 1] << 8);
    at += 2;
    const matched = more(token & 15) + 4;
    if (back === 0 || back > to) throw new Error('an LZ4 match starts before its frame');
    checkRoom(out, to, matched);
    // Byte by byte, since a match may overlap what it makes.
    for (let end = to + matched, from = to - back; to < end; ) out[to++] = out[from++];
  }
  return to;
}
