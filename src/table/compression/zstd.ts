/**
 * Decodes ZSTD by libzstd, in the WebAssembly of the package zstddec, whose own functions report no
 * errors. Made for bytes of unknown origin: checksums and lengths are compared, and a decoder has
 * its own memory and a window of 128 MB at most. No dictionaries. Format: RFC 8878.
 */

import { concatenated } from '../../base/arrays';
import { zstdModule } from '../../kernels/zstd.generated';

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
