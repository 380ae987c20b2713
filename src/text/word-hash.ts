/**
 * Hashes the UTF-8 bytes of words to 64-bit numbers: by xxHash64, or to reproduce the codes of
 * other programs by FNV-1a (64 bits) or by the last 64 bits of MD5 (RFC 1321), which the Python
 * package `simhash` uses. MD5 is not used for security.
 */

import { checkOneOf, wrongType } from '../base/check';
import { hashBytes } from '../kernels/xxhash';

export const WORD_HASHES = ['xxhash64', 'fnv1a64', 'md5'] as const;
export type WordHash = (typeof WORD_HASHES)[number];

const MASK = 0xffff_ffff_ffff_ffffn;
/** U+FFFD, by which encoders replace half of a surrogate pair. */
const REPLACEMENT = 0xfffd;
/** Space for the UTF-8 bytes of a word, shared by all calls; longer words get their own. */
const shared = /* @__PURE__ */ new Uint8Array(1024);

/**
 * The hash of a word, an unsigned 64-bit integer; half a surrogate pair counts as U+FFFD.
 *
 * @example
 * console.log(hashWord('tea')); // 4741855839676419641n
 * console.log(hashWord('a', 'fnv1a64').toString(16)); // af63dc4c8601ec8c
 */
export function hashWord(word: string, hash: WordHash = 'xxhash64'): bigint {
  if (typeof word !== 'string') throw wrongType('word', 'a string', word);
  checkOneOf('hash', hash, WORD_HASHES);
  return hashUnits(
    Uint16Array.from({ length: word.length }, (_, i) => word.charCodeAt(i)),
    hash,
  );
}

/** The hash of a word given by its UTF-16 code units. */
export function hashUnits(units: Uint16Array, hash: WordHash): bigint {
  const bytes = utf8Of(units);
  if (hash === 'xxhash64') return hashBytes(bytes, 0n);
  return hash === 'md5' ? md5Low64(bytes) : fnv1a64(bytes);
}

/**
 * The UTF-8 bytes of code units: a view that the next call may overwrite. It does not use
 * TextEncoder, which needs a string, and whose call takes longer than a word takes here.
 */
function utf8Of(units: Uint16Array): Uint8Array {
  let maxLength = 0;
  for (let i = 0; i < units.length; i++) maxLength += units[i] < 0x80 ? 1 : 3;
  const bytes = maxLength <= shared.length ? shared : new Uint8Array(maxLength);
  let to = 0;
  for (let i = 0; i < units.length; i++) {
    let point = units[i];
    if (point < 0x80) {
      bytes[to++] = point;
      continue;
    }
    if (point >= 0xd800 && point < 0xe000) {
      const isPair = point < 0xdc00 && (units[i + 1] & 0xfc00) === 0xdc00;
      point = isPair ? 0x1_0000 + ((point & 0x3ff) << 10) + (units[++i] & 0x3ff) : REPLACEMENT;
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

/** FNV-1a of Fowler, Noll & Vo, on two halves of 32 bits: bigints would be several times slower. */
function fnv1a64(bytes: Uint8Array): bigint {
  let low = 0x8422_2325;
  let high = 0xcbf2_9ce4;
  for (const byte of bytes) {
    low = (low ^ byte) >>> 0;
    // The product with 2^40 + 0x1b3; low * 0x1b3 is below 2^53, so it is exact.
    const product = low * 0x1b3;
    high = (Math.imul(high, 0x1b3) + Math.floor(product / 2 ** 32) + (low << 8)) >>> 0;
    low = product % 2 ** 32;
  }
  return (BigInt(high) << 32n) | (BigInt(low) & MASK);
}

const SHIFTS = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];

let sines: Uint32Array | undefined;

/**
 * floor(2^32 |sin(i + 1)|), as the RFC defines it. None of the 64 numbers is nearer to an integer
 * than 0.015, so engines whose sines differ in their last bits give equal tables.
 */
function sineTable(): Uint32Array {
  sines ??= Uint32Array.from({ length: 64 }, (_, i) => 2 ** 32 * Math.abs(Math.sin(i + 1)));
  return sines;
}

/** The last 8 bytes of the MD5 digest of some bytes, as a number with its highest byte first. */
export function md5Low64(bytes: Uint8Array): bigint {
  const padded = new Uint8Array(64 * Math.ceil((bytes.length + 9) / 64));
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, 8n * BigInt(bytes.length), true);
  const state = Uint32Array.of(0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476);
  for (let block = 0; block < padded.length; block += 64) mix(state, view, block);
  const digest = new DataView(new ArrayBuffer(16));
  state.forEach((word, i) => {
    digest.setUint32(4 * i, word, true);
  });
  return digest.getBigUint64(8, false);
}

/** One block of 64 bytes, added to the state by the RFC's four rounds. */
function mix(state: Uint32Array, block: DataView, at: number): void {
  const table = sineTable();
  let [a, b, c, d] = state;
  for (let i = 0; i < 64; i++) {
    const round = i >> 4;
    let f = c ^ (b | ~d);
    let word = (7 * i) & 15;
    if (round === 0) {
      f = (b & c) | (~b & d);
      word = i;
    } else if (round === 1) {
      f = (d & b) | (~d & c);
      word = (5 * i + 1) & 15;
    } else if (round === 2) {
      f = b ^ c ^ d;
      word = (3 * i + 5) & 15;
    }
    const sum = (a + f + table[i] + block.getUint32(at + 4 * word, true)) | 0;
    const shift = SHIFTS[4 * round + (i & 3)];
    a = d;
    d = c;
    c = b;
    b = (b + ((sum << shift) | (sum >>> (32 - shift)))) | 0;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
}
