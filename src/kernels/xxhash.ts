/**
 * xxHash64 (Yann Collet, https://xxhash.com): of bytes by the WebAssembly kernel, and of dimensions
 * and words by the scalar kernel, which computes with 32-bit halves: a 64-bit value is `low` and
 * `high`, both unsigned; bigints would be some ten times slower. Tests hold both equal to the
 * package xxhash-wasm.
 */

import { FREE_START, hasKernels, homeOf, scratch } from './memory';
import { textKernels } from './text-kernels';

const PRIME_1 = [0x85ebca87, 0x9e3779b1] as const;
const PRIME_2 = [0x27d4eb4f, 0xc2b2ae3d] as const;
const PRIME_3 = [0x9e3779f9, 0x165667b1] as const;
const PRIME_4 = [0xc2b2ae63, 0x85ebca77] as const;
const PRIME_5 = [0x165667c5, 0x27d4eb2f] as const;
type Constant = readonly [low: number, high: number];
/** What the seed and each lane begin with: PRIME_1 + PRIME_2, PRIME_2, 0, -PRIME_1. */
const LANE_STARTS = [[0xadc0b5d6, 0x60ea27ee], PRIME_2, [0, 0], [0x7a143579, 0x61c8864e]] as const;

/** A 64-bit unsigned integer. Every operation is modulo 2^64, in place, and returns it. */
class Register {
  low = 0;
  high = 0;

  /** Sets both halves, of which the lowest 32 bits count. */
  set(low: number, high: number): this {
    this.low = low >>> 0;
    this.high = high >>> 0;
    return this;
  }

  add(low: number, high: number): this {
    const sum = this.low + (low >>> 0);
    return this.set(sum, this.high + high + (sum > 0xffff_ffff ? 1 : 0));
  }

  plus(by: Constant): this {
    return this.add(by[0], by[1]);
  }

  xor(low: number, high: number): this {
    return this.set(this.low ^ low, this.high ^ high);
  }

  /** Multiplies: low halves by 16-bit digits, since `Math.imul` gives only the lower 32 bits. */
  times(by: Constant): this {
    const { low, high } = this;
    const a0 = low & 0xffff;
    const a1 = low >>> 16;
    const b0 = by[0] & 0xffff;
    const b1 = by[0] >>> 16;
    // Products of two digits, and these sums with a carry, are below 2^32. `carry` is the upper
    // half of low x low; `cross`, and what exceeds 32 bits of the sum, matter only modulo 2^32.
    const middle = (Math.imul(a1, b0) >>> 0) + (Math.imul(a0, b0) >>> 16);
    const middle2 = (Math.imul(a0, b1) >>> 0) + (middle & 0xffff);
    const carry = Math.imul(a1, b1) + (middle >>> 16) + (middle2 >>> 16);
    const cross = Math.imul(low, by[1]) + Math.imul(high, by[0]);
    return this.set(Math.imul(low, by[0]), carry + cross);
  }

  /** Rotates left by 1..31. */
  rotate(count: number): this {
    const back = 32 - count;
    return this.set(
      (this.low << count) | (this.high >>> back),
      (this.high << count) | (this.low >>> back),
    );
  }

  /** x ^= x >> count, for count 1..63. */
  xorShifted(count: number): this {
    if (count >= 32) return this.xor(count === 32 ? this.high : this.high >>> (count - 32), 0);
    return this.xor((this.low >>> count) | (this.high << (32 - count)), this.high >>> count);
  }

  /** xxHash64's step for 8 bytes of input. */
  round(low: number, high: number): this {
    input.set(low, high).times(PRIME_2);
    return this.add(input.low, input.high).rotate(31).times(PRIME_1);
  }

  /** xxHash64's merge of one of four lanes into the hash. */
  merge(low: number, high: number): this {
    mixed.set(0, 0).round(low, high);
    return this.xor(mixed.low, mixed.high).times(PRIME_1).plus(PRIME_4);
  }

  /** xxHash64's last step, after which every bit depends on all bits. */
  avalanche(): this {
    return this.xorShifted(33).times(PRIME_2).xorShifted(29).times(PRIME_3).xorShifted(32);
  }
}

/** Registers that all calls share, so that hashing allocates nothing. */
const input = /* @__PURE__ */ new Register();
const mixed = /* @__PURE__ */ new Register();
const result = /* @__PURE__ */ new Register();

/** The two 32-bit halves of a 64-bit unsigned integer. */
export function halves(value: bigint): { low: number; high: number } {
  return { low: Number(value & 0xffff_ffffn), high: Number(value >> 32n) };
}

/**
 * xxHash64 of one dimension as 8 little-endian bytes. Returns a shared register, which the next
 * hash overwrites.
 */
export function hashDimension(low: number, high: number, seedLow: number, seedHigh: number) {
  mixed.set(0, 0).round(low, high);
  return result
    .set(seedLow, seedHigh)
    .plus(PRIME_5)
    .add(8, 0)
    .xor(mixed.low, mixed.high)
    .rotate(27)
    .times(PRIME_1)
    .plus(PRIME_4)
    .avalanche();
}

/** Writes the four lanes of 8 bytes before any bytes are hashed, each its low and its high half. */
function startLanes(lanes: Uint32Array, seed: bigint): void {
  const { low, high } = halves(seed);
  for (let i = 0; i < 4; i++) {
    mixed.set(low, high).plus(LANE_STARTS[i]);
    lanes[2 * i] = mixed.low;
    lanes[2 * i + 1] = mixed.high;
  }
}

/** Lanes that all calls share. */
const lanes = /* @__PURE__ */ new Uint32Array(8);

/** xxHash64 of bytes, unsigned, by the scalar kernel. */
export function hashBytes(bytes: Uint8Array, seed: bigint): bigint {
  const { low, high } = halves(seed);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (bytes.length < 32) {
    return hashRest(result.set(low, high).plus(PRIME_5).add(bytes.length, 0), view, 0);
  }
  startLanes(lanes, seed);
  let at = 0;
  for (; at + 32 <= bytes.length; at += 32) {
    for (let i = 0; i < 8; i += 2) {
      mixed.set(lanes[i], lanes[i + 1]);
      mixed.round(view.getUint32(at + 4 * i, true), view.getUint32(at + 4 * i + 4, true));
      lanes[i] = mixed.low;
      lanes[i + 1] = mixed.high;
    }
  }
  result.set(0, 0);
  for (let i = 0; i < 4; i++) {
    mixed.set(lanes[2 * i], lanes[2 * i + 1]).rotate([1, 7, 12, 18][i]);
    result.add(mixed.low, mixed.high);
  }
  for (let i = 0; i < 8; i += 2) result.merge(lanes[i], lanes[i + 1]);
  return hashRest(result.add(bytes.length, 0), view, at);
}

/** Hashes the up to 31 bytes from `at` on, which the lanes did not take, into a shared register. */
function hashRest(hash: Register, view: DataView, at: number): bigint {
  for (; at + 8 <= view.byteLength; at += 8) {
    mixed.set(0, 0).round(view.getUint32(at, true), view.getUint32(at + 4, true));
    hash.xor(mixed.low, mixed.high).rotate(27).times(PRIME_1).plus(PRIME_4);
  }
  if (at + 4 <= view.byteLength) {
    mixed.set(view.getUint32(at, true), 0).times(PRIME_1);
    hash.xor(mixed.low, mixed.high).rotate(23).times(PRIME_2).plus(PRIME_3);
    at += 4;
  }
  for (; at < view.byteLength; at++) {
    mixed.set(view.getUint8(at), 0).times(PRIME_5);
    hash.xor(mixed.low, mixed.high).rotate(11).times(PRIME_1);
  }
  hash.avalanche();
  return (BigInt(hash.high) << 32n) | BigInt(hash.low);
}

/**
 * Longer bytes are copied to linear memory in pieces, which the caches hold: hashing 160 MB takes
 * half the time. A multiple of 32.
 */
const PIECE_BYTES = 2 ** 17;
const LANE_BYTES = 32;

/** xxHash64 of bytes, unsigned: the checksum of files. */
export function checksum(bytes: Uint8Array, seed = 0n): bigint {
  if (!hasKernels()) return hashBytes(bytes, seed);
  const memory = scratch(LANE_BYTES + Math.min(bytes.length, PIECE_BYTES));
  const kernels = textKernels(memory);
  const at = FREE_START + LANE_BYTES;
  if (bytes.length <= PIECE_BYTES) {
    memory.bytes.set(bytes, at);
    return BigInt.asUintN(64, kernels.hashBytes(at, bytes.length, seed));
  }
  startLanes(new Uint32Array(memory.bytes.buffer, FREE_START, 8), seed);
  let hash = 0n;
  for (let done = 0; done < bytes.length; ) {
    const piece = bytes.subarray(done, done + PIECE_BYTES);
    done += piece.length;
    memory.bytes.set(piece, at);
    hash = kernels.hashMore(FREE_START, at, piece.length, BigInt(done));
  }
  return BigInt.asUintN(64, hash);
}

/** The same of `length` bytes from `at` on in the memory of an `Arena`, in place. */
export function checksumIn(values: Uint8Array, at: number, length: number): bigint {
  const { hashBytes } = textKernels(homeOf(values));
  return BigInt.asUintN(64, hashBytes(values.byteOffset + at, length, 0n));
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
  textKernels(memory).hashWords(unitsAt, startsAt, count, bytesAt, FREE_START);
  hashes.set(new Uint32Array(bytes.buffer, FREE_START, 2 * count));
}
