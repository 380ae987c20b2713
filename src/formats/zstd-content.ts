/**
 * The content of a ZSTD file, frame after frame. Our decoder takes a frame as a whole (Node has
 * its own from 22.15 on only), so the bytes and the content of one frame are in memory at once. A
 * frame that states its content is checked against the limit before it is read, any other one while
 * it is unpacked. Format: RFC 8878, section 3.1.
 */

import { FormatError } from '../base/format-error';
import type { BytePipe } from '../table/arrow/batches';
import { decodeZstd } from '../table/compression/zstd';
import { damaged, type Unpacked } from './compressed';
import { checkHeld, type HoldLimit } from './hold-limit';

const MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a5; // without its lowest 4 bits, which are free
const MAX_BLOCK_BYTES = 2 ** 17;
/** Types of blocks; the content of others is as long as they are. */
const RUN_LENGTH = 1;
const COMPRESSED = 2;
/** Most bytes of a frame and of its content, which also is at most this many times the frame. */
const MAX_BYTES = 2 ** 31 - 1;
const MAX_RATIO = 1024;
/** Content that any frame may have. */
const MIN_CONTENT = 2 ** 26;
const PIECE_BYTES = 2 ** 20;
/**
 * Bytes of memory for each of a frame, in parts and as one array, and for each of its content, as
 * measured: content whose length is not stated is copied as it grows, and for a checksum all of it.
 */
const FRAME_COPIES = 2;
const STATED_COPIES = 1;
const GROWN_COPIES = 1.8;
const CHECKSUM_COPIES = 1;

interface ZstdOptions {
  /** The file, for errors. */
  readonly name: string;
  readonly limit: HoldLimit | undefined;
  /** Called after each frame with the sum of all until then. */
  readonly onUnpacked: (state: Unpacked) => void;
}

/** The content in pieces. */
export async function* zstdContent(
  source: BytePipe,
  options: ZstdOptions,
): AsyncGenerator<Uint8Array> {
  let state: Unpacked = { packed: 0, content: 0, held: 0 };
  for (;;) {
    const frame = await readFrame(source, options);
    if (frame.byteCount === 0) return;
    const content = contentOf(frame, options);
    state = {
      packed: state.packed + frame.byteCount,
      content: state.content + content.length,
      held: Math.max(state.held, frame.heldBytes(content.length)),
    };
    options.onUnpacked(state);
    for (let at = 0; at < content.length; at += PIECE_BYTES) {
      yield content.subarray(at, at + PIECE_BYTES);
    }
  }
}

/** The content of a frame; throws the refusal where the limit may have ended it. */
function contentOf(frame: Frame, { name, limit }: ZstdOptions): Uint8Array {
  let most = Math.min(MAX_BYTES, Math.max(MIN_CONTENT, MAX_RATIO * frame.byteCount));
  const room = frame.contentWithin(limit?.bytes ?? MAX_BYTES);
  const isLimited = frame.statedBytes === null && room < Math.min(most, frame.mostBytes);
  if (isLimited) most = room;
  try {
    return decodeZstd(Buffer.concat(frame.parts), most);
  } catch (error) {
    if (isLimited && limit) throw limit.refusal(name, frame.heldBytes(frame.mostBytes), true);
    throw damaged('zstd', name, error);
  }
}

/**
 * The next frame, found by the lengths in front of its blocks; of no bytes at the end. Where these
 * make no sense it ends there: the decoder says what is wrong.
 */
async function readFrame(source: BytePipe, options: ZstdOptions): Promise<Frame> {
  const frame = new Frame(source, options);
  const magic = await frame.uint(4);
  if (magic >>> 4 === SKIPPABLE_MAGIC) await frame.take(await frame.uint(4));
  if (magic !== MAGIC) return frame;
  const flags = await frame.uint(1);
  const isSingle = (flags & 32) !== 0;
  frame.hasChecksum = (flags & 4) !== 0;
  // The size of the window, and the id of a dictionary.
  await frame.take(Number(!isSingle) + [0, 1, 2, 4][flags & 3]);
  const sizeFlag = flags >> 6;
  const sizeBytes = sizeFlag > 0 ? 1 << sizeFlag : Number(isSingle);
  // Sizes of two bytes count from 256.
  const least = sizeBytes === 2 ? 256 : 0;
  if (sizeBytes > 0) frame.statedBytes = (await frame.uint(sizeBytes)) + least;
  for (let isLast = false; !isLast && !frame.isCut; ) {
    const header = await frame.uint(3);
    isLast = (header & 1) !== 0;
    const type = (header >> 1) & 3;
    const size = header >> 3;
    frame.mostBytes += type === COMPRESSED ? MAX_BLOCK_BYTES : size;
    await frame.take(type === RUN_LENGTH ? 1 : size);
  }
  if (frame.hasChecksum) await frame.take(4);
  return frame;
}

/** The bytes of a frame; what must be held is checked before each of its parts is taken. */
class Frame {
  readonly parts: Uint8Array[] = [];
  byteCount = 0;
  /** Bytes of the content by the header; null where it does not state them. */
  statedBytes: number | null = null;
  /** Bytes of content that the blocks make at most. */
  mostBytes = 0;
  hasChecksum = false;
  /** Whether the source ended within the frame. */
  isCut = false;

  constructor(
    private readonly source: BytePipe,
    private readonly options: ZstdOptions,
  ) {}

  /** Takes the next bytes, as a number whose lowest byte comes first. */
  async uint(count: number): Promise<number> {
    const bytes = await this.take(count);
    return bytes.reduceRight((value, byte) => value * 256 + byte, 0);
  }

  /** Takes the next bytes, fewer where the source ends. */
  async take(count: number): Promise<Uint8Array> {
    const { name, limit } = this.options;
    if (this.byteCount + count > MAX_BYTES) {
      throw new FormatError(`a ZSTD frame of more than ${MAX_BYTES} bytes: use gzip`, name);
    }
    checkHeld(limit, name, FRAME_COPIES * count + this.heldBytes(this.statedBytes ?? 0));
    const bytes = await this.source.take(count);
    this.parts.push(bytes);
    this.byteCount += bytes.length;
    this.isCut ||= bytes.length < count;
    return bytes;
  }

  /** Bytes in memory while the frame is unpacked to so many bytes of content. */
  heldBytes(contentBytes: number): number {
    return FRAME_COPIES * this.byteCount + this.#copies * contentBytes;
  }

  /** Bytes of content to which it can be unpacked within so many bytes of memory. */
  contentWithin(bytes: number): number {
    const left = bytes - FRAME_COPIES * this.byteCount;
    return Math.max(0, Math.floor(left / this.#copies));
  }

  get #copies(): number {
    const copies = this.statedBytes === null ? GROWN_COPIES : STATED_COPIES;
    return copies + (this.hasChecksum ? CHECKSUM_COPIES : 0);
  }
}
