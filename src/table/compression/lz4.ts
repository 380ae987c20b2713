/**
 * Decodes LZ4 frames, with which pyarrow's Feather files and Polars' IPC files are compressed by
 * default. Written here because lz4js 0.2 decodes Polars' frames to wrong bytes without an error. A
 * first walk over the sequences finds the length, so that nothing larger than the content is
 * allocated. Checksums in frames are not compared. Format: github.com/lz4/lz4,
 * doc/lz4_Frame_format.md.
 */

const MAGIC = 0x184d2204;

/** Decodes one frame to a new array. Throws an Error on bytes that are none. */
export function decodeLz4(frame: Uint8Array): Uint8Array {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  if (view.getUint32(0, true) !== MAGIC) throw new Error('an LZ4 frame was expected');
  const flags = frame[4];
  if (flags >> 6 !== 1) throw new Error(`an LZ4 frame of version ${flags >> 6} is not known`);
  if ((flags & 1) !== 0) throw new Error('an LZ4 frame with a dictionary is not supported');
  // The flags are followed by the block size, an optional content size (8 bytes) and a header
  // checksum.
  const start = 7 + ((flags & 8) !== 0 ? 8 : 0);
  const blockTrailer = (flags & 16) !== 0 ? 4 : 0;

  const blocks: Block[] = [];
  // A block is a length and bytes; the highest bit of the length marks a stored block. Length 0
  // ends the frame.
  for (let at = start; ; ) {
    const word = view.getUint32(at, true);
    if (word === 0) break;
    const size = word & 0x7fff_ffff;
    at += 4;
    if (at + size > frame.length) throw new Error('an LZ4 block ends beyond its frame');
    blocks.push({ data: frame.subarray(at, at + size), isStored: word > 0x7fff_ffff });
    at += size + blockTrailer;
  }
  return contentOf(blocks);
}

/** Decodes a block without a frame, as a page of Parquet has it. */
export function decodeLz4Block(data: Uint8Array): Uint8Array {
  return contentOf([{ data, isStored: false }]);
}

/** The bytes of a block, stored as they are or compressed. */
interface Block {
  readonly data: Uint8Array;
  readonly isStored: boolean;
}

/** The content of all blocks; matches may refer to the blocks before. */
function contentOf(blocks: readonly Block[]): Uint8Array {
  let length = 0;
  for (const { data, isStored } of blocks) length += isStored ? data.length : walk(data, null, 0);
  const out = new Uint8Array(length);
  let filled = 0;
  for (const { data, isStored } of blocks) {
    if (isStored) out.set(data, filled);
    filled += isStored ? data.length : walk(data, out, filled);
  }
  return out;
}

/** From this many bytes on, `set` copies faster than a loop. */
const LONG_COPY = 32;

function copyLiterals(
  block: Uint8Array,
  at: number,
  count: number,
  out: Uint8Array,
  to: number,
): void {
  if (count > LONG_COPY) out.set(block.subarray(at, at + count), to);
  else for (let i = 0; i < count; i++) out[to + i] = block[at + i];
}

/**
 * Decodes a block to `out` from `start` on, or, where `out` is null, only counts. Returns the
 * length of its content.
 */
function walk(block: Uint8Array, out: Uint8Array | null, start: number): number {
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
    if (out) copyLiterals(block, at, literals, out, to);
    at += literals;
    to += literals;
    if (at === block.length) return to - start; // the last sequence has literals only
    if (at + 2 > block.length) throw new Error('an LZ4 block is cut short');
    const back = block[at] | (block[at + 1] << 8);
    at += 2;
    const matched = more(token & 15) + 4;
    if (out) {
      if (back === 0 || back > to) throw new Error('an LZ4 match starts before its frame');
      // Byte by byte, since a match may overlap what it makes.
      for (let end = to + matched, from = to - back; to < end; ) out[to++] = out[from++];
    } else {
      to += matched;
    }
  }
  return to - start;
}
