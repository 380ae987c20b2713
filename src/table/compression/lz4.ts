/**
 * Decodes LZ4 frames, with which pyarrow's Feather files and Polars' IPC files are compressed by
 * default. Written here because lz4js 0.2 decodes Polars' frames to wrong bytes without an error.
 * Callers know the length of the content, so nothing larger is allocated. Checksums in frames are
 * not compared. Format: github.com/lz4/lz4, doc/lz4_Frame_format.md.
 */

const MAGIC = 0x184d2204;

/** Decodes one frame of at most `most` bytes of content to a new array; else throws an Error. */
export function decodeLz4(frame: Uint8Array, most: number): Uint8Array {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  if (view.getUint32(0, true) !== MAGIC) throw new Error('an LZ4 frame was expected');
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
