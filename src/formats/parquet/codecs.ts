/** Decoders of pages, from Node and this library. None makes more bytes than its page must have. */

import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { decodeLz4Block } from '../../table/compression/lz4';
import { decodeZstd } from '../../table/compression/zstd';

/** Decodes a page of `length` bytes; throws where it cannot. */
type Decode = (page: Uint8Array, length: number) => Uint8Array;

/** By number; 3, LZO, and 5, LZ4 as Hadoop frames it, are not read. */
const CODECS: Readonly<Record<number, Decode>> = {
  0: (page) => page,
  1: decodeSnappy,
  2: (page, length) => gunzipSync(page, { maxOutputLength: length + 1 }),
  4: (page, length) => brotliDecompressSync(page, { maxOutputLength: length + 1 }),
  6: decodeZstd,
  7: decodeLz4Block,
};

/** The content of a page of `length` bytes. */
export function decodePage(codec: number, page: Uint8Array, length: number): Uint8Array {
  const decode = CODECS[codec];
  if (decode === undefined) {
    const advice = 'write the file with Snappy, gzip, Brotli, ZSTD or LZ4_RAW';
    throw new Error(`pages compressed by codec ${codec} are not read: ${advice}`);
  }
  if (length < 0) throw new Error(`a page of ${length} bytes`);
  const content = length === 0 ? new Uint8Array() : decode(page, length);
  if (content.length === length) return content;
  throw new Error(`a page of ${content.length} bytes, ${length} were expected`);
}

/**
 * The content of a Snappy block (google/snappy, format_description.txt), which must have `length`
 * bytes: each byte is written once, and `length` of them at most.
 */
export function decodeSnappy(block: Uint8Array, length: number): Uint8Array {
  const out = new Uint8Array(length);
  let at = 0;
  let filled = 0;
  const byte = () => {
    if (at >= block.length) throw new Error('a Snappy block is cut short');
    return block[at++];
  };
  const number = (bytes: number) => {
    let value = 0;
    for (let i = 0; i < bytes; i++) value += byte() * 2 ** (8 * i);
    return value;
  };
  while (byte() > 0x7f); // the length again, which the page's header has
  while (at < block.length) {
    const tag = byte();
    const kind = tag & 3;
    let count = (tag >> 2) + 1;
    if (kind === 0) {
      if (count > 60) count = number(count - 60) + 1;
      if (count > block.length - at || count > length - filled) throw tooLong(length);
      out.set(block.subarray(at, at + count), filled);
      at += count;
      filled += count;
      continue;
    }
    // Kinds 1 to 3 copy bytes from before, at a distance of 11, 16 or 32 bits.
    if (kind === 1) count = ((tag >> 2) & 7) + 4;
    const offset = kind === 1 ? ((tag >> 5) << 8) + byte() : number(kind === 2 ? 2 : 4);
    if (offset < 1 || offset > filled) throw new Error('a Snappy block refers to before its start');
    if (count > length - filled) throw tooLong(length);
    // The copy may overlap what it makes.
    for (const end = filled + count; filled < end; filled++) out[filled] = out[filled - offset];
  }
  if (filled === length) return out;
  throw new Error(`a Snappy block of ${filled} bytes, ${length} were expected`);
}

function tooLong(length: number): Error {
  return new Error(`a Snappy block of more than ${length} bytes`);
}
