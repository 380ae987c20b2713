/**
 * ZSTD frames to bytes by fzstd, guarded: fzstd takes the memory that a frame's header asks for
 * before it looks further, and its answer may start at any address, where Arrow wants whole words.
 */

import { decompress } from 'fzstd';

/** The shortest run-length block makes 128 KiB from 4 bytes. */
const MAX_RATIO = 32_768;
/** What a decoder has to grant to a frame that does not tell its length (RFC 8878, 3.1.1.1.2). */
const MAX_WINDOW_BYTES = 8 << 20;

export function decodeZstd(frame: Uint8Array): Uint8Array {
  const wanted = neededBytes(frame);
  if (wanted > Math.max(MAX_WINDOW_BYTES, frame.length * MAX_RATIO)) {
    throw new Error(`a ZSTD frame of ${frame.length} bytes asks for ${wanted}`);
  }
  const bytes = decompress(frame);
  return bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
}

/** The content's length or, where the header does not tell it, the window's. */
function neededBytes(frame: Uint8Array): number {
  const flags = frame[4];
  const isSingle = (flags & 32) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][flags & 3];
  const sizeFlag = flags >> 6;
  const sizeBytes = sizeFlag > 0 ? 1 << sizeFlag : Number(isSingle);
  if (sizeBytes === 0) {
    const base = 2 ** (10 + (frame[5] >> 3));
    return base + (base / 8) * (frame[5] & 7);
  }
  let size = sizeFlag === 1 ? 256 : 0;
  for (let i = 0, at = (isSingle ? 5 : 6) + dictionaryBytes; i < sizeBytes; i++) {
    size += frame[at + i] * 256 ** i;
  }
  return size;
}
