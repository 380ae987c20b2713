/**
 * The nearest of every code among all, exact. Each pair is compared once and offered to both codes.
 * A random sample of codes is compared first; what they find gives every other code a limit. The
 * others follow in the order of their limits, so that the codes of a tile, which share the highest
 * limit, have nearly equal ones. If many codes have all they need within a small distance, a join
 * by tables finds these, and only the rest is compared with all.
 */

import { ascending } from '../base/arrays';
import { drawToFront } from '../base/draw';
import { alea } from '../base/random';
import type { Steps } from '../base/steps';
import { type KernelName, tileKernel } from '../kernels/kernels';
import { TILE_HIT, TILE_ROWS, TileMemory } from '../kernels/tiles/tile-memory';
import { inParallel } from '../threads/parallel';
import type { BestLists } from './best-lists';
import { type JoinCodes, join, methodFor } from './join';
import type { JoinMethod } from './join-layout';
import { hitsOfTiles, TILING } from './tile-task';

/** Largest distance for which a join by tables is considered. */
export const MAX_JOINED = 63;

/** Codes that are compared with all others first, to learn how far the nearest are. */
const SAMPLE = 1024;
/**
 * Queries before codes are put in order for the first time; the number then grows by GROWTH until
 * the next order, and reaches SAMPLE on the way.
 */
const FIRST_QUERIES = 16;
const GROWTH = 2;
/** Nanoseconds of a comparison of 64 bits on the machine of bench/results.md. */
const COMPARED_WORD_NS = 0.22;
/** Nanoseconds to offer a pair to the lists of both codes, on a machine of that kind. */
const OFFERED_NS = 65;
/** Nanoseconds of work, and codes put in order, between two steps. */
const STEP_NS = 5e6;
const STEP_CODES = 2 ** 15;
/** Nanoseconds of work below which a join by tables is not considered. */
const MIN_NS = 2e8;
/** Shares of the codes for which a join by tables may find all neighbours. */
const SHARES = [0.2, 0.5, 0.8, 0.95, 1];

/** Fills the list of each distinct code with the nearest others, by distance, then number. */
export function* findNearest(
  codes: JoinCodes,
  lists: BestLists,
  maxDistance: number,
  kernel: KernelName | undefined,
): Steps<void> {
  // Where lists are limited by a small distance, tables may find all of it without comparing all.
  const expected = workOf(codes, codes.count);
  if (expected > MIN_NS && maxDistance <= MAX_JOINED) {
    const method = methodFor(codes, maxDistance);
    if (method.layout.length > 0 && method.expectedMs * 1e6 < expected) {
      yield* joined(codes, method, maxDistance, kernel, (a, b, distance) => {
        lists.offer(a, distance, b);
        lists.offer(b, distance, a);
      });
      return;
    }
  }
  yield* new Comparison(codes, lists, kernel).steps();
}

/** Passes all pairs within a distance to `take`, by a join with tables. */
function* joined(
  codes: JoinCodes,
  method: JoinMethod,
  maxDistance: number,
  kernel: KernelName | undefined,
  take: (a: number, b: number, distance: number) => void,
): Steps<void> {
  const range = () => [0, codes.count] as const;
  yield* join(codes, method, { maxDistance, kernel, range }, (hits, count) => {
    for (let i = 0; i < 3 * count; i += 3) take(hits[i], hits[i + 1], hits[i + 2]);
  });
}

/** Estimated nanoseconds to compare `asked` of the codes with each other and with all others. */
function workOf({ count, bits }: JoinCodes, asked: number): number {
  return pairsOf(count, asked) * Math.ceil(bits / 64) * COMPARED_WORD_NS;
}

/** Number of pairs of `asked` codes with each other and with all others. */
function pairsOf(count: number, asked: number): number {
  return asked * count - asked ** 2 / 2;
}

/** Compares all codes with all, those with the highest limits first. */
class Comparison {
  readonly #codes: JoinCodes;
  readonly #lists: BestLists;
  readonly #tiles: TileMemory;
  readonly #kernelName: KernelName | undefined;
  /** Distinct codes in the order of comparison; the first `#asked` were compared with all. */
  readonly #order: Uint32Array;
  #asked = 0;
  /** Codes at and behind this position of the order need no further neighbours. */
  #end: number;
  /** All pairs up to this distance were offered already, by tables. */
  #offered = -1;

  constructor(codes: JoinCodes, lists: BestLists, kernel: KernelName | undefined) {
    const { count, bits } = codes;
    this.#codes = codes;
    this.#lists = lists;
    this.#kernelName = kernel;
    this.#tiles = new TileMemory(count, bits);
    this.#order = ascending(count);
    this.#end = count;
  }

  /** Alternates between sorting by limits and comparing, until no code needs neighbours. */
  *steps(): Steps<void> {
    yield* this.#sort(0);
    const random = alea('nearest');
    yield* drawToFront(this.#order.subarray(0, this.#end), SAMPLE, random);
    for (let next = FIRST_QUERIES; this.#asked < this.#end; next *= GROWTH) {
      // The random sample must stay in front until it was compared.
      yield* this.#sort(Math.max(this.#asked, Math.min(SAMPLE, this.#end)));
      while (this.#asked < Math.min(this.#end, next)) {
        yield* this.#ask(Math.min(this.#end, next, this.#asked + this.#tiles.queries));
      }
      if (this.#asked === SAMPLE) yield* this.#join();
    }
  }

  /** Only smaller distances are of use to a distinct code; 0 if it needs no further neighbours. */
  #limitOf(distinct: number): number {
    const limit = this.#lists.limitOf(distinct);
    return limit <= this.#offered + 1 ? 0 : limit;
  }

  /**
   * Sorts codes from position `first` on by limit, highest first (counting sort), and copies codes
   * and limits in this order for the kernel.
   */
  *#sort(first: number): Steps<void> {
    const order = this.#order;
    const { bits, count } = this.#codes;
    const distincts = order.slice(first);
    const starts = new Uint32Array(bits + 3);
    const ranks = new Uint32Array(distincts.length);
    for (let i = 0; i < distincts.length; i++) {
      ranks[i] = bits + 1 - this.#limitOf(distincts[i]);
      starts[ranks[i] + 1]++;
      if (i % STEP_CODES === STEP_CODES - 1) yield undefined;
    }
    this.#end = count - starts[bits + 2]; // before the codes whose limit is 0
    for (let rank = 0; rank <= bits + 1; rank++) starts[rank + 1] += starts[rank];
    for (let i = 0; i < distincts.length; i++) order[first + starts[ranks[i]]++] = distincts[i];
    for (let at = this.#asked; at < count; at += STEP_CODES) {
      this.#copy(at, Math.min(count, at + STEP_CODES));
      yield undefined;
    }
  }

  /** Copies codes and limits from position `first` to `end - 1` of the order for the kernel. */
  #copy(first: number, end: number): void {
    const order = this.#order;
    const from = this.#codes.memory.arrays.codes;
    const { codes, limits, stride } = this.#tiles;
    const to = new Uint32Array(codes.buffer, codes.byteOffset, codes.length / 4);
    const width = stride / 4;
    for (let at = first; at < end; at++) {
      limits[at] = this.#limitOf(order[at]);
      const [old, own] = [order[at] * width, at * width];
      for (let w = 0; w < width; w++) to[own + w] = from[old + w];
    }
  }

  /** Compares the codes up to position `end` with each other and with all that follow. */
  *#ask(end: number): Steps<void> {
    const tiles = this.#tiles;
    const { count, bits } = this.#codes;
    const first = this.#asked;
    const before = pairsOf(count, first);
    const total = pairsOf(count, this.#end);
    // The first pairs all enter lists; later ones the less often, the more codes were compared.
    const offered = FIRST_QUERIES / Math.max(FIRST_QUERIES, first);
    const perPair = Math.ceil(bits / 64) * COMPARED_WORD_NS + offered * OFFERED_NS;
    const perStep = STEP_NS / ((end - first) * perPair);
    const step = Math.max(1, Math.floor(perStep / TILE_ROWS)) * TILE_ROWS;
    const rowEndOf = (i: number) => Math.min(count, first + (i + 1) * step);
    let isPrepared = false;
    yield* inParallel({
      task: TILING,
      state: { codes: tiles.codes, limits: tiles.limits, count, bits, kernel: this.#kernelName },
      count: Math.ceil((count - first) / step),
      part: (i) => ({ first, end, row: first + i * step, rowEnd: rowEndOf(i) }),
      here: (part) => {
        if (!isPrepared) tileKernel(this.#kernelName).prepare(tiles, first, end);
        isPrepared = true;
        // Hits are offered at once, so that limits fall within the part as well.
        const take = (found: number) => this.#take(tiles.hits, TILE_HIT * found);
        hitsOfTiles(tiles, part, this.#kernelName, take);
        return { hits: tiles.hits.subarray(0, 0) };
      },
      take: ({ hits }, i) => {
        this.#take(hits, hits.length);
        const rows = rowEndOf(i) - first;
        return [Math.min(total, before + pairsOf(rows, Math.min(rows, end - first))), total];
      },
      scratchBytes: tiles.workBytes,
    });
    this.#asked = end;
    yield [pairsOf(count, end), total];
  }

  /** Offers hits, which are positions in the order, to the lists of both codes. */
  #take(hits: Uint32Array, length: number): void {
    const { limits } = this.#tiles;
    const order = this.#order;
    const lists = this.#lists;
    const offered = this.#offered;
    for (let i = 0; i < length; i += TILE_HIT) {
      const query = hits[i];
      const row = hits[i + 1];
      const distance = hits[i + 2];
      // A block meets itself: each of its pairs counts once. A join has offered near pairs before.
      if (row <= query || distance <= offered) continue;
      if (distance < limits[query]) {
        limits[query] = lists.offer(order[query], distance, order[row]);
      }
      if (distance < limits[row]) limits[row] = lists.offer(order[row], distance, order[query]);
    }
  }

  /**
   * Offers all pairs within a distance by tables, if that saves more time than it costs. The
   * distance is chosen by the limits of the sample.
   */
  *#join(): Steps<void> {
    const codes = this.#codes;
    const sampled = this.#order.subarray(0, SAMPLE);
    // Limits of the sample, ascending: below the one at a share, so many codes have all they need.
    const farthest = Uint32Array.from(sampled, (distinct) => this.#lists.limitOf(distinct)).sort();
    let best = { work: workOf(codes, this.#end), distance: -1, method: null as JoinMethod | null };
    if (best.work < MIN_NS) return;
    for (const share of SHARES) {
      const distance = farthest[Math.floor(share * (SAMPLE - 1))] - 1;
      if (distance > MAX_JOINED || distance <= best.distance) continue;
      const method = methodFor(codes, distance);
      const work = method.expectedMs * 1e6 + workOf(codes, (1 - share) * this.#end);
      if (method.layout.length > 0 && work < best.work) best = { work, distance, method };
      yield undefined;
    }
    if (best.method === null) return;
    const isAsked = new Uint8Array(codes.count);
    for (const distinct of sampled) isAsked[distinct] = 1;
    yield* joined(codes, best.method, best.distance, this.#kernelName, (a, b, distance) => {
      // Codes of the sample were compared with all: their pairs are offered already.
      if (isAsked[a] + isAsked[b] > 0) return;
      this.#lists.offer(a, distance, b);
      this.#lists.offer(b, distance, a);
    });
    this.#offered = best.distance;
  }
}
