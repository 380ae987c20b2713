/**
 * Decoders of pages by Parquet's names, of what Node and this library have. None of them makes more
 * than a page must become, but for LZ4, which makes at most 255 bytes of one.
 */

import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { decodeLz4 } from '../../table/compression/lz4';
import { decodeZstd } from '../../table/compression/zstd';
import { decodeSnappy } from './snappy';

/** Makes the `length` bytes of a page; throws where it cannot. */
type Decode = (page: Uint8Array, length: number) => Uint8Array;

const CODECS: Readonly<Record<string, Decode>> = {
  UNCOMPRESSED: (page) => page,
  SNAPPY: decodeSnappy,
  GZIP: (page, length) => gunzipSync(page, { maxOutputLength: length + 1 }),
  BROTLI: (page, length) => brotliDecompressSync(page, { maxOutputLength: length + 1 }),
  ZSTD: (page, length) => decodeZstd(page, length),
  LZ4_RAW: (page) => decodeLz4(frameOf([page])),
  LZ4: (page) => decodeLz4(frameOf(hadoopBlocks(page) ?? [page])),
};

/** A page's content in a buffer that holds nothing else, so that nothing is read beyond it. */
export function decodePage(codec: string | undefined, page: Uint8Array, length: number) {
  const decode = Object.hasOwn(CODECS, codec ?? '') ? CODECS[codec as string] : undefined;
  if (decode === undefined)
    throw new Error(`pages compressed by ${codec ?? 'an unknown codec'} are not read`);
  if (length < 0) throw new Error(`a page of ${length} bytes`);
  const content = length === 0 ? new Uint8Array() : decode(page, length);
  if (content.length !== length) {
    throw new Error(`a page of ${content.length} bytes, ${length} were expected`);
  }
  return content.buffer.byteLength === length ? content : new Uint8Array(content);
}

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
