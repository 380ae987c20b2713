/**
 * Words to 64-bit numbers: xxHash64 of their UTF-8 bytes, or what common programs use, so that
 * codes of theirs can be made: FNV-1a, and the low 64 bits of MD5.
 */

import { hashBytes } from '../kernels/xxhash/xxhash.scalar';
import { md5Low64 } from './md5';

export const WORD_HASHES = ['xxhash64', 'fnv1a64', 'md5'] as const;
export type WordHash = (typeof WORD_HASHES)[number];

const MASK = 0xffff_ffff_ffff_ffffn;
const LONE_SURROGATE = 0xfffd;
/** Bytes of a word; longer ones take their own. */
const room = new Uint8Array(1024);

/** The hash of a word; a lone surrogate counts as U+FFFD. */
export function hashWord(word: string, hash: WordHash = 'xxhash64'): bigint {
  return hashUnits(
    Uint16Array.from({ length: word.length }, (_, i) => word.charCodeAt(i)),
    hash,
  );
}

/** The same of a word's code units. */
export function hashUnits(units: Uint16Array, hash: WordHash): bigint {
  const bytes = utf8Of(units);
  if (hash === 'xxhash64') return hashBytes(bytes, 0n);
  return hash === 'md5' ? md5Low64(bytes) : fnv1a64(bytes);
}

/** UTF-8, valid until the next call; by hand, since an encoder takes longer to be called. */
function utf8Of(units: Uint16Array): Uint8Array {
  let most = 0;
  for (let i = 0; i < units.length; i++) most += units[i] < 0x80 ? 1 : 3;
  const bytes = most <= room.length ? room : new Uint8Array(most);
  let to = 0;
  for (let i = 0; i < units.length; i++) {
    let point = units[i];
    if (point < 0x80) {
      bytes[to++] = point;
      continue;
    }
    if (point >= 0xd800 && point < 0xe000) {
      const isPair = point < 0xdc00 && (units[i + 1] & 0xfc00) === 0xdc00;
      point = isPair ? 0x1_0000 + ((point & 0x3ff) << 10) + (units[++i] & 0x3ff) : LONE_SURROGATE;
    }
    if (point < 0x800) bytes[to++] = 0xc0 | (point >> 6);
    else {
      if (point < 0x1_0000) bytes[to++] = 0xe0 | (point >> 12);
      else {
        bytes[to++] = 0xf0 | (point >> 18);
        bytes[to++] = 0x80 | ((point >> 12) & 0x3f);
      }
      bytes[to++] = 0x80 | ((point >> 6) & 0x3f);
    }
    bytes[to++] = 0x80 | (point & 0x3f);
  }
  return bytes.subarray(0, to);
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
