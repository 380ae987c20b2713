/**
 * Near neighbours of every row by the randomized method of Ravichandran, Pantel & Hovy (2005): the
 * bits are permuted at random, the codes sorted by them, and each is compared with those next to
 * it; after q permutations the k nearest that were met remain. Distances are true; neighbours may
 * be missing. It uses the library's kernels and lists, so that the comparison with
 * `neighborLists`, which finds all, is fair.
 */

import seedrandom from 'seedrandom';
import { runSteps } from '../../src/base/steps';
import type { Codes } from '../../src/codes/codes';
import { BestLists } from '../../src/join/best-lists';
import { type NeighborLists, ofRows, wantsOf } from '../../src/join/neighbor-lists';
import { type Distinct, distinctOf } from '../../src/join/source';
import type { HammingKernel } from '../../src/kernels/hamming/hamming.scalar';
import { hammingKernel, type KernelName } from '../../src/kernels/kernels';
import { allocateCodes } from '../../src/kernels/memory';

export interface PermutedNeighborsOptions {
  /** How many neighbours of each row; fewer where fewer were met. */
  k: number;
  /** Random orders of the bits: q of the paper. Time and recall grow with them. */
  permutations: number;
  /** Codes next to each, half of them on each side, that it is compared with: B of the paper. */
  window: number;
  /** Of the permutations. */
  seed?: number;
  kernel?: KernelName;
}

/** Near neighbours of every row, the k nearest that were met. */
export function permutedNeighbors(
  source: Codes,
  { k, permutations, window, seed = 0, kernel }: PermutedNeighborsOptions,
): NeighborLists {
  const codes = runSteps(distinctOf(source, null, 0, kernel), {});
  const found = new BestLists(wantsOf(codes, k), codes.bits);
  const random = seedrandom.alea(String(seed));
  const bits = Uint32Array.from({ length: codes.bits }, (_, bit) => bit);
  const stride = 4 * codes.memory.words;
  const sortedCodes = allocateCodes(codes.count * stride);
  const hamming = hammingKernel(kernel, stride);
  for (let i = 0; i < permutations; i++) {
    shuffle(bits, random);
    compare(codes, sorted(codes, bits), sortedCodes, window, found, hamming);
  }
  return runSteps(ofRows(codes, found, k), {});
}

/** By Fisher and Yates. */
function shuffle(values: Uint32Array, random: () => number): void {
  for (let i = values.length - 1; i > 0; i--) {
    const other = Math.floor(random() * (i + 1));
    const value = values[i];
    values[i] = values[other];
    values[other] = value;
  }
}

/** Bits of a key: further bits are looked at only where keys are equal. */
const KEY_BITS = 32;
const DIGIT_BITS = 11;

/** The distinct codes in the order of their bits, the first bit of `bits` first. */
function sorted({ memory, count }: Distinct, bits: Uint32Array): Uint32Array {
  const {
    words,
    arrays: { codes },
  } = memory;
  const bitOf = (code: number, bit: number) =>
    (codes[code * words + (bit >> 5)] >>> (bit & 31)) & 1;
  const keys = new Uint32Array(count);
  const first = bits.subarray(0, KEY_BITS);
  for (let code = 0; code < count; code++) {
    let key = 0;
    for (const bit of first) key = (key << 1) | bitOf(code, bit);
    keys[code] = key;
  }
  let order = keys.map((_, code) => code);
  for (let shift = 0; shift < KEY_BITS; shift += DIGIT_BITS) {
    order = byDigit(order, keys, shift);
  }
  const byRest = (a: number, b: number) => {
    for (let i = KEY_BITS; i < bits.length; i++) {
      const difference = bitOf(a, bits[i]) - bitOf(b, bits[i]);
      if (difference !== 0) return difference;
    }
    return 0;
  };
  for (let from = 0, to = 0; from < count; from = to) {
    while (to < count && keys[order[to]] === keys[order[from]]) to++;
    if (to - from > 1) order.subarray(from, to).sort(byRest);
  }
  return order;
}

/** One round of a radix sort. */
function byDigit(order: Uint32Array, keys: Uint32Array, shift: number) {
  const mask = 2 ** DIGIT_BITS - 1;
  const places = new Uint32Array(2 ** DIGIT_BITS + 1);
  for (const code of order) places[((keys[code] >>> shift) & mask) + 1]++;
  for (let digit = 0; digit < mask; digit++) places[digit + 1] += places[digit];
  const ordered = new Uint32Array(order.length);
  for (const code of order) ordered[places[(keys[code] >>> shift) & mask]++] = code;
  return ordered;
}

/**
 * Compares each code with those behind it in the order that are in its window, or in whose window
 * it is; at both ends of the order windows reach farther in, so that all have equal width.
 */
function compare(
  { memory, count }: Distinct,
  order: Uint32Array,
  codes: Uint8Array,
  window: number,
  found: BestLists,
  kernel: HammingKernel,
): void {
  const { words } = memory;
  const stride = 4 * words;
  const target = new Uint32Array(codes.buffer, codes.byteOffset, count * words);
  const limits = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    const from = order[i] * words;
    for (let w = 0; w < words; w++) target[i * words + w] = memory.arrays.codes[from + w];
    limits[i] = found.limitOf(order[i]);
  }
  const half = Math.ceil(window / 2);
  const distances = new Uint16Array(Math.min(count, window));
  for (let i = 0; i < count; i++) {
    const last = i >= count - 1 - window ? count - 1 : Math.max(i + half, window);
    const width = last - i;
    if (width <= 0) continue;
    const next = codes.subarray((i + 1) * stride, (last + 1) * stride);
    kernel.distancesInto(next, width, codes.subarray(i * stride, (i + 1) * stride), distances);
    for (let j = 0; j < width; j++) {
      const distance = distances[j];
      const other = i + 1 + j;
      if (distance < limits[i]) limits[i] = found.offerAgain(order[i], distance, order[other]);
      if (distance < limits[other]) {
        limits[other] = found.offerAgain(order[other], distance, order[i]);
      }
    }
  }
}
