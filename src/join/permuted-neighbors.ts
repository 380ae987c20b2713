/**
 * Near neighbours of every row by the randomized way of Ravichandran, Pantel & Hovy (2005): the
 * bits are permuted at random, the codes sorted by them, and each is compared with those next to
 * it; after q permutations the k nearest that were met remain. Distances are true; neighbours may
 * be missing. `neighborLists` finds all, mostly in less time, and is here to be compared with it.
 */

import seedrandom from 'seedrandom';
import { checkInteger, checkK, checkOptions, checkSeed } from '../base/check';
import {
  checkLongCall,
  LONG_CALL,
  type LongCall,
  runInTurns,
  runSteps,
  type Steps,
} from '../base/steps';
import type { HammingKernel } from '../kernels/hamming/hamming.scalar';
import { hammingKernel, type KernelName } from '../kernels/kernels';
import { allocateCodes } from '../kernels/memory';
import { BestLists } from './best-lists';
import { type Distinct, distinctOf } from './distinct';
import { type NeighborLists, ofRows, wantsOf } from './neighbor-lists';
import { type RowSource, type Rows, rowsOf } from './source';

export interface PermutedNeighborsOptions extends LongCall {
  /** How many neighbours of each row; fewer where fewer were met. */
  k?: number;
  /** Random orders of the bits: q of the paper. Time and recall grow with them. */
  permutations?: number;
  /** Codes next to each, half of them on each side, that it is compared with: B of the paper. */
  window?: number;
  /** Of the permutations. */
  seed?: number | bigint;
  kernel?: KernelName;
}

/** Permutations and window as in the paper, which has 3,000 bits. */
export const PERMUTED_NEIGHBORS_DEFAULTS = {
  k: 10,
  permutations: 1000,
  window: 100,
  seed: 0,
} as const;

/** Near neighbours of every row, the k nearest that were met. */
export function permutedNeighbors(
  source: RowSource,
  options?: PermutedNeighborsOptions,
): NeighborLists {
  const { call, ...request } = requestOf(source, options);
  return runSteps(lists(request), call);
}

/** The same in turns with the event loop. */
export async function permutedNeighborsAsync(
  source: RowSource,
  options?: PermutedNeighborsOptions,
): Promise<NeighborLists> {
  const { call, ...request } = requestOf(source, options);
  return runInTurns(lists(request), call);
}

const OPTIONS = ['k', 'permutations', 'window', 'seed', 'kernel', ...LONG_CALL];
const NO_END = Number.MAX_SAFE_INTEGER;

interface Request {
  readonly rows: Rows;
  readonly k: number;
  readonly permutations: number;
  readonly window: number;
  readonly seed: bigint;
  readonly kernel: KernelName | undefined;
}

function requestOf(source: RowSource, options: PermutedNeighborsOptions | undefined) {
  const known = checkOptions('options', options, OPTIONS);
  const given = { ...PERMUTED_NEIGHBORS_DEFAULTS, ...known };
  const rows = rowsOf('source', source);
  return {
    rows,
    k: checkK(given.k),
    permutations: checkInteger('permutations', given.permutations, 1, NO_END),
    window: checkInteger('window', given.window, 1, NO_END),
    seed: checkSeed(given.seed),
    kernel: known.kernel ?? rows.kernel,
    call: checkLongCall(known),
  };
}

function* lists({ rows, k, permutations, window, seed, kernel }: Request): Steps<NeighborLists> {
  const codes = yield* distinctOf(rows.codes, null, 0, kernel);
  const { count } = codes;
  const found = new BestLists(wantsOf(codes, k), codes.bits);
  const random = seedrandom.alea(String(seed));
  const bits = Uint32Array.from({ length: codes.bits }, (_, bit) => bit);
  const stride = 4 * codes.room.words;
  const sortedCodes = allocateCodes(count * stride);
  const hamming = hammingKernel(kernel, stride);
  for (let i = 0; i < permutations; i++) {
    shuffle(bits, random);
    const order = yield* sorted(codes, bits);
    for (const done of compared(codes, order, sortedCodes, window, found, hamming)) {
      yield [i * count + done, permutations * count];
    }
  }
  return yield* ofRows(codes, found, k);
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

/** Codes, and comparisons, between two steps. */
const STEP_CODES = 2 ** 15;
const STEP_COMPARISONS = 2 ** 16;
/** Bits of a key: those that are left are looked at only where keys are equal. */
const KEY_BITS = 32;
const DIGIT_BITS = 11;

/** The slots in the order of their bits, the first bit of `bits` first. */
function* sorted({ room, count }: Distinct, bits: Uint32Array): Steps<Uint32Array> {
  const { words, codes } = room;
  const bitOf = (slot: number, bit: number) =>
    (codes[slot * words + (bit >> 5)] >>> (bit & 31)) & 1;
  const keys = new Uint32Array(count);
  const first = bits.subarray(0, KEY_BITS);
  for (let slot = 0; slot < count; slot++) {
    let key = 0;
    for (const bit of first) key = (key << 1) | bitOf(slot, bit);
    keys[slot] = key;
    if (slot % STEP_CODES === STEP_CODES - 1) yield undefined;
  }
  let order = keys.map((_, slot) => slot);
  for (let shift = 0; shift < KEY_BITS; shift += DIGIT_BITS) {
    order = byDigit(order, keys, shift);
    yield undefined;
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
  yield undefined;
  return order;
}

/** One round of a radix sort. */
function byDigit(order: Uint32Array, keys: Uint32Array, shift: number) {
  const mask = 2 ** DIGIT_BITS - 1;
  const places = new Uint32Array(2 ** DIGIT_BITS + 1);
  for (const slot of order) places[((keys[slot] >>> shift) & mask) + 1]++;
  for (let digit = 0; digit < mask; digit++) places[digit + 1] += places[digit];
  const ordered = new Uint32Array(order.length);
  for (const slot of order) ordered[places[(keys[slot] >>> shift) & mask]++] = slot;
  return ordered;
}

/**
 * Compares each code with those behind it in the order that are in its window, or in whose window
 * it is; at both ends of the order windows reach farther in, so that all have equal width.
 */
function* compared(
  { room, count }: Distinct,
  order: Uint32Array,
  codes: Uint8Array,
  window: number,
  found: BestLists,
  kernel: HammingKernel,
): Generator<number> {
  const { words } = room;
  const stride = 4 * words;
  const target = new Uint32Array(codes.buffer, codes.byteOffset, count * words);
  const limits = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    const from = order[i] * words;
    for (let w = 0; w < words; w++) target[i * words + w] = room.codes[from + w];
    limits[i] = found.limitOf(order[i]);
    if (i % STEP_CODES === STEP_CODES - 1) yield 0;
  }
  const half = Math.ceil(window / 2);
  const distances = new Uint16Array(Math.min(count, window));
  for (let i = 0, work = 0; i < count; i++) {
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
    work += width;
    if (work < STEP_COMPARISONS) continue;
    work = 0;
    yield i + 1;
  }
  yield count;
}
