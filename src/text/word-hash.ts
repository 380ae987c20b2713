/**
 * Words to 64-bit numbers: xxHash64 of their UTF-8 bytes, or what common programs use, so that
 * codes of theirs can be made: FNV-1a, and the low 64 bits of MD5.
 */

import { hashBytes } from '../kernels/xxhash.scalar';
import { md5Low64 } from './md5';

export const WORD_HASHES = ['xxhash64', 'fnv1a64', 'md5'] as const;
export type WordHash = (typeof WORD_HASHES)[number];

const MASK = 0xffff_ffff_ffff_ffffn;
const encoder = new TextEncoder();

/** The hash of a word; a lone surrogate counts as U+FFFD. */
export function hashWord(word: string, hash: WordHash = 'xxhash64'): bigint {
  const bytes = encoder.encode(word);
  if (hash === 'xxhash64') return hashBytes(bytes, 0n);
  return hash === 'md5' ? md5Low64(bytes) : fnv1a64(bytes);
}

/** Fowler, Noll & Vo: in halves of 32 bits. */
function fnv1a64(bytes: Uint8Array): bigint {
  let low = 0x8422_2325;
  let high = 0xcbf2_9ce4;
  for (const byte of bytes) {
    low = (low ^ byte) >>> 0;
    // Times 2^40 + 0x1b3.
    const product = low * 0x1b3;
    high = (Math.imul(high, 0x1b3) + Math.floor(product / 2 ** 32) + (low << 8)) >>> 0;
    low = product % 2 ** 32;
  }
  return (BigInt(high) << 32n) | (BigInt(low) & MASK);
}
