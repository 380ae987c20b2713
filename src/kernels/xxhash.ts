/**
 * xxHash64 (Yann Collet, https://xxhash.com): of bytes and words by the WebAssembly kernel; and in
 * bigints of 64 bits where an engine has no WebAssembly, and of single dimensions. Tests hold both
 * equal to the package xxhash-wasm.
 */

import { FREE_START, hasKernels, memoryOf, scratch } from './memory';

const PRIME_1 = 0x9e3779b185ebca87n;
const PRIME_2 = 0xc2b2ae3d27d4eb4fn;
const PRIME_3 = 0x165667b19e3779f9n;
const PRIME_4 = 0x85ebca77c2b2ae63n;
const PRIME_5 = 0x27d4eb2f165667c5n;

/** The lowest 64 bits. */
const wrapped = (value: bigint) => BigInt.asUintN(64, value);

const rotated = (value: bigint, count: bigint) =>
  wrapped((value << count) | (value >> (64n - count)));

/** The step for 8 bytes of input. */
const round = (lane: bigint, input: bigint) =>
  wrapped(rotated(wrapped(lane + input * PRIME_2), 31n) * PRIME_1);

/** The step for 8 bytes that the lanes did not take. */
const withEight = (hash: bigint, input: bigint) =>
  wrapped(rotated(hash ^ round(0n, input), 27n) * PRIME_1 + PRIME_4);

/** The last step, after which every bit depends on all bits. */
function avalanche(hash: bigint): bigint {
  const half = wrapped((hash ^ (hash >> 33n)) * PRIME_2);
  const whole = wrapped((half ^ (half >> 29n)) * PRIME_3);
  return whole ^ (whole >> 32n);
}

/** The two 32-bit halves of a 64-bit unsigned integer. */
export function halves(value: bigint): { low: number; high: number } {
  return { low: Number(value & 0xffff_ffffn), high: Number(value >> 32n) };
}

/** xxHash64 of one dimension as 8 little-endian bytes; the lowest 64 bits of the seed count. */
export function hashDimension(dimension: bigint, seed: bigint): bigint {
  return avalanche(withEight(wrapped(seed + PRIME_5 + 8n), dimension));
}

/** What the four lanes begin with. */
function lanesOf(seed: bigint): BigUint64Array {
  return BigUint64Array.of(seed + PRIME_1 + PRIME_2, seed + PRIME_2, seed, seed - PRIME_1);
}

/** xxHash64 of bytes, unsigned, by the scalar kernel. */
export function hashBytes(bytes: Uint8Array, seed: bigint): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const end = bytes.length;
  let hash = seed + PRIME_5;
  let at = 0;
  if (end >= 32) {
    const lanes = lanesOf(seed);
    for (; at + 32 <= end; at += 32) {
      for (let i = 0; i < 4; i++) lanes[i] = round(lanes[i], view.getBigUint64(at + 8 * i, true));
    }
    const [a, b, c, d] = lanes;
    hash = wrapped(rotated(a, 1n) + rotated(b, 7n) + rotated(c, 12n) + rotated(d, 18n));
    for (const lane of lanes) hash = wrapped((hash ^ round(0n, lane)) * PRIME_1 + PRIME_4);
  }
  hash = wrapped(hash + BigInt(end));
  for (; at + 8 <= end; at += 8) hash = withEight(hash, view.getBigUint64(at, true));
  if (at + 4 <= end) {
    const input = wrapped(BigInt(view.getUint32(at, true)) * PRIME_1);
    hash = wrapped(rotated(hash ^ input, 23n) * PRIME_2 + PRIME_3);
    at += 4;
  }
  for (; at < end; at++) {
    hash = wrapped(rotated(hash ^ wrapped(BigInt(bytes[at]) * PRIME_5), 11n) * PRIME_1);
  }
  return avalanche(hash);
}

/**
 * Longer bytes are copied to linear memory in pieces, which the caches hold: hashing 160 MB takes
 * half the time. A multiple of 32.
 */
const PIECE_BYTES = 2 ** 17;
const LANE_BYTES = 32;

/** xxHash64 of bytes, unsigned: the checksum of files. Reads those of a linear memory in place. */
export function checksum(bytes: Uint8Array, seed = 0n): bigint {
  if (!hasKernels()) return hashBytes(bytes, seed);
  const home = memoryOf(bytes);
  if (home) return wrapped(home.kernels.hashBytes(bytes.byteOffset, bytes.length, seed));
  const memory = scratch(LANE_BYTES + Math.min(bytes.length, PIECE_BYTES));
  const { kernels } = memory;
  const at = FREE_START + LANE_BYTES;
  if (bytes.length <= PIECE_BYTES) {
    memory.bytes.set(bytes, at);
    return wrapped(kernels.hashBytes(at, bytes.length, seed));
  }
  new BigUint64Array(memory.bytes.buffer, FREE_START, 4).set(lanesOf(seed));
  let hash = 0n;
  for (let done = 0; done < bytes.length; ) {
    const piece = bytes.subarray(done, done + PIECE_BYTES);
    done += piece.length;
    memory.bytes.set(piece, at);
    hash = kernels.hashMore(FREE_START, at, piece.length, BigInt(done));
  }
  return wrapped(hash);
}

/** A checksum as files have it: 16 hexadecimal digits. */
export function checksumText(hash: bigint): string {
  return hash.toString(16).padStart(16, '0');
}

/**
 * Writes xxHash64 of the UTF-8 of words to `hashes[0]..`, their halves, low before high. Word i has
 * the UTF-16 code units `starts[i]` to `starts[i + 1] - 1`; half a surrogate pair counts as U+FFFD.
 * Needs WebAssembly.
 */
export function hashWords(units: Uint16Array, starts: Uint32Array, hashes: Uint32Array): void {
  const count = starts.length - 1;
  let longest = 0;
  for (let i = 0; i < count; i++) longest = Math.max(longest, starts[i + 1] - starts[i]);
  const [first, end] = [starts[0], starts[count]];
  const startsAt = FREE_START + 8 * count;
  const unitsAt = startsAt + 4 * (count + 2);
  const bytesAt = unitsAt + 2 * (end - first);
  const memory = scratch(bytesAt + 3 * longest - FREE_START);
  const { bytes } = memory;
  const placed = new Uint32Array(bytes.buffer, startsAt, count + 1);
  for (let i = 0; i <= count; i++) placed[i] = starts[i] - first;
  new Uint16Array(bytes.buffer, unitsAt, end - first).set(units.subarray(first, end));
  memory.kernels.hashWords(unitsAt, startsAt, count, bytesAt, FREE_START);
  hashes.set(new Uint32Array(bytes.buffer, FREE_START, 2 * count));
}
