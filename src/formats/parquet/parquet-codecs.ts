/**
 * What Parquet pages are compressed with, by what Node and this library have: no further package is
 * needed. Snappy is in hyparquet itself.
 */

import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { decodeLz4 } from '../../table/compression/lz4';
import { decodeZstd } from '../../table/compression/zstd';

/** Decoders by Parquet's names; `length` is what the page must become. */
export const PARQUET_CODECS = {
  GZIP: (page: Uint8Array, length: number) => gunzipSync(page, { maxOutputLength: length + 1 }),
  BROTLI: (page: Uint8Array, length: number) =>
    brotliDecompressSync(page, { maxOutputLength: length + 1 }),
  ZSTD: (page: Uint8Array, length: number) => decodeZstd(page, length),
  LZ4_RAW: (page: Uint8Array) => decodeLz4(frameOf([page])),
  LZ4: (page: Uint8Array) => decodeLz4(frameOf(hadoopBlocks(page) ?? [page])),
};

/** LZ4 blocks in a frame: a magic, flags, an unchecked checksum, the blocks, an end mark. */
function frameOf(blocks: readonly Uint8Array[]): Uint8Array {
  const length = blocks.reduce((sum, block) => sum + 4 + block.length, 11);
  const frame = new Uint8Array(length);
  const view = new DataView(frame.buffer);
  view.setUint32(0, 0x184d2204, true);
  frame.set([0x40, 0x70], 4);
  let at = 7;
  for (const block of blocks) {
    view.setUint32(at, block.length, true);
    frame.set(block, at + 4);
    at += 4 + block.length;
  }
  return frame;
}

/** Hadoop writes the lengths before each block, highest byte first; null where they do not fit. */
function hadoopBlocks(page: Uint8Array): Uint8Array[] | null {
  const view = new DataView(page.buffer, page.byteOffset, page.length);
  const blocks: Uint8Array[] = [];
  for (let at = 0; at < page.length; ) {
    if (at + 8 > page.length) return null;
    const length = view.getUint32(at + 4);
    if (length === 0 || at + 8 + length > page.length) return null;
    blocks.push(page.subarray(at + 8, at + 8 + length));
    at += 8 + length;
  }
  return blocks;
}
