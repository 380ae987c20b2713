/**
 * Searches by Hamming distance, which miss nothing: the k nearest rows, or all within a distance,
 * in the order of (distance, row). Tables of blocks of bits find them where the distance is small
 * and few codes share a block with the query; else all codes are scanned. Tables are made at the
 * second search of a segment that they could answer, so that a single search does not pay for them.
 */

import { grown } from '../base/arrays';
import { rowOf, rowsOf, Smallest, weightOf } from '../base/top-k';
import { distance, distanceOfWords, inGrowingSteps } from '../kernels/hamming';
import { NO_ROW } from '../kernels/hits';
import { hammingKernel } from '../kernels/kernels';
import type { FilterMemory } from './filter';
import type { Block, MemoryPart, Searched, Stepped, Want, Work } from './searched';

/** Rows and their distances in bits, ordered by (distance, row). */
interface NearRows {
  readonly rows: Uint32Array;
  readonly distances: Uint16Array;
}

interface AskedByDistance {
  readonly k: number;
  /** Inclusive. */
  readonly maxDistance: number;
  readonly filter: FilterMemory | null;
}

/** Fewer codes are scanned in the time of some look-ups. */
const MIN_CODES = 4096;
/**
 * Codes that a scan compares in the time of a look-up in a table, and of a code that is found in
 * its list: each lies at a random place of memory (bench/exact.mjs, builds.mjs).
 */
const SCANNED_PER_LOOK_UP = 128;
const SCANNED_PER_FOUND = 16;

/**
 * Look-ups that took longer than a scan halve what the next searches spend on tables, down to this
 * part of a scan.
 */
const MIN_SHARE = 1 / 64;
/** Codes between two looks at the limit. */
const STEP_CODES = 2 ** 11;

/** Tables are made again when a tail has so many times their codes. */
const MAX_GROWTH = 1.25;

/**
 * For each segment or tail the tables of its codes, how many searches could have used them, and
 * which part of the time of a scan a search may spend on them.
 */
const tables = new WeakMap<
  MemoryPart,
  { searches: number; made: BlockTables | null; share: number }
>();

export class DistanceSearch implements Stepped {
  /** What some block was searched by, tables where any was. */
  method: 'scan' | 'bands' = 'scan';
  readonly #index: Searched;
  readonly #code: Uint8Array;
  readonly #asked: AskedByDistance;
  readonly #work: Work;
  readonly #best: Smallest;
  #next = 0;

  constructor(index: Searched, code: Uint8Array, asked: AskedByDistance, work: Work) {
    this.#index = index;
    this.#code = code;
    this.#asked = asked;
    this.#work = work;
    this.#best = new Smallest(asked.k);
  }

  get isDone(): boolean {
    return this.#next === this.#index.blockCount;
  }

  get want(): Want | null {
    return this.isDone ? null : { kind: 'block', block: this.#next };
  }

  suspend(): void {}

  step(): void {
    const block = this.#index.blockAt(this.#next++);
    const known = this.#asked.filter?.known;
    if (known && block.part !== null) this.#takeKnown(block.part, known);
    else if (block.part !== null && this.#byTables(block.part, block.end)) this.method = 'bands';
    else this.#scan(block);
  }

  get near(): NearRows {
    const keys = this.#best.result();
    const distances = new Uint16Array(keys.length);
    for (let i = 0; i < keys.length; i++) distances[i] = weightOf(keys[i]);
    return { rows: rowsOf(keys), distances };
  }

  /** The largest distance at which a row can still enter. */
  #limit(best: Smallest): number {
    const { maxDistance } = this.#asked;
    return Math.min(maxDistance, Number.isFinite(best.bound) ? weightOf(best.bound) : maxDistance);
  }

  /** Compares rows that are known to be accepted. */
  #takeKnown(part: MemoryPart, known: Uint32Array): void {
    const { codes, bytesPerCode } = part.codes;
    for (const row of known) {
      const place = part.placeOf(row);
      if (place < 0) continue;
      const found = distance(this.#code, codes, place * bytesPerCode);
      this.#work.codesCompared++;
      if (found <= this.#asked.maxDistance) this.#best.take(found, row);
    }
  }

  /** Offers all codes of a part within the limit; false where tables do not pay. */
  #byTables(part: MemoryPart, count: number): boolean {
    const { maxDistance, k } = this.#asked;
    const { bits } = this.#index;
    const { blocks } = cutOf(count, bits);
    if (count < MIN_CODES || blocks < 2) return false; // blocks would be too narrow
    if (k >= count && maxDistance > reachOf(blocks)) return false;
    const state = tables.get(part) ?? { searches: 0, made: null, share: 1 };
    tables.set(part, state);
    state.searches++;
    const isOld = state.made !== null && count > MAX_GROWTH * state.made.count;
    if (isOld || (state.made === null && state.searches > 1)) {
      state.made = new BlockTables(part.codes.codes, count, bits);
    }
    const { made } = state;
    // A filter may start another search while the tables are in use: that search scans.
    if (made === null || made.isInUse) return false;
    const near = new Smallest(k);
    let isDone = false;
    made.isInUse = true;
    try {
      isDone = this.#lookUp(part, made, near, state.share * count);
    } finally {
      made.isInUse = false; // also where a filter throws
    }
    if (!isDone) {
      // Tables took longer than a scan: the next searches give up on them earlier.
      state.share = Math.max(MIN_SHARE, state.share / 2);
      return false;
    }
    state.share = Math.min(1, 2 * state.share);
    for (const key of near.unordered()) this.#best.take(weightOf(key), rowOf(key));
    // Codes of a tail that were added after the tables were made are scanned.
    this.#scan({ codes: part.codes, first: made.count, end: count, part });
    return true;
  }

  /**
   * Offers to `near` the codes that tables find, until no other can enter; false if that takes
   * longer than a scan of `most` codes.
   */
  #lookUp(part: MemoryPart, made: BlockTables, near: Smallest, most: number): boolean {
    const { codes, bytesPerCode, rows } = part.codes;
    const { buffer, byteOffset, length } = codes;
    const isOfWords = bytesPerCode % 4 === 0 && byteOffset % 4 === 0;
    const words = isOfWords ? new Int32Array(buffer, byteOffset, length / 4) : null;
    const code = words && new Int32Array(this.#code.slice().buffer);
    const { filter } = this.#asked;
    let left = most;
    made.begin(this.#code);
    for (let radius = 0; radius <= made.reach; radius++) {
      left -= SCANNED_PER_LOOK_UP * made.lookUpsAt(radius);
      const count = left < 0 ? -1 : made.lookUp(radius, left / SCANNED_PER_FOUND);
      if (count < 0) return false;
      left -= SCANNED_PER_FOUND * count;
      this.#work.codesCompared += count;
      let limit = Math.min(this.#limit(this.#best), this.#limit(near));
      for (let i = 0; i < count; i++) {
        const position = made.found[i];
        const bits =
          words !== null && code !== null
            ? distanceOfWords(code, words, position * (bytesPerCode / 4))
            : distance(this.#code, codes, position * bytesPerCode);
        if (bits > limit) continue;
        const row = rows[position];
        if (row !== NO_ROW && (filter === null || filter.accepts(row))) near.take(bits, row);
        limit = Math.min(limit, this.#limit(near));
      }
      if (limit <= radius) return true;
    }
    return false;
  }

  /** Compares all codes of a block. */
  #scan(block: Block): void {
    const { codes, rows } = block.codes;
    const { first, end } = block;
    if (first >= end) return;
    const { filter } = this.#asked;
    const hamming = hammingKernel();
    const hits = new Uint32Array(2 * Math.min(STEP_CODES, end - first));
    this.#work.codesCompared += end - first;
    inGrowingSteps(first, end, STEP_CODES, (from, to) => {
      // A lower row may follow at the same distance.
      const limit = this.#limit(this.#best) + 1;
      const found = hamming.hitsInto(codes, from, to - from, this.#code, limit, hits);
      for (let i = 0; i < 2 * found; i += 2) {
        const row = rows[hits[i]];
        const bits = hits[i + 1];
        if (row === NO_ROW) continue;
        // Only rows that can enter are asked for.
        if (filter !== null && (bits > this.#limit(this.#best) || !filter.accepts(row))) continue;
        this.#best.take(bits, row);
      }
    });
  }
}

/** Widest block: a table has a start for each of its values. */
const MAX_BLOCK_BITS = 24;
/**
 * Most tables, which take some 8 bytes a code each: those of wide codes would outgrow the codes.
 */
const MAX_BLOCKS = 64;

/**
 * Tables over blocks of the bits of codes, by which all codes within a small distance are found
 * without comparing the others. Codes are cut into m blocks; of two codes that differ in r bits
 * some block differs in at most r / m of them, by the pigeonhole principle (Manku, Jain & Das Sarma
 * 2007; Norouzi, Punjani & Fleet 2012). A table leads from the value of a block to the positions of
 * all codes that have it, by a counting sort.
 */
class BlockTables {
  /** Codes that are in the tables. */
  readonly count: number;
  readonly #bytesPerCode: number;
  readonly #blocks: readonly { readonly firstBit: number; readonly bits: number }[];
  readonly #starts: readonly Uint32Array[];
  readonly #positions: readonly Uint32Array[];
  /** By position, the number of the last search that compared it. */
  readonly #compared: Uint32Array;
  #search = 0;
  /** True during a search, in which no other may begin. */
  isInUse = false;
  /** What the last call of `lookUp` found. */
  found = new Uint32Array(64);
  /** The values of the blocks of the query. */
  readonly #values: Uint32Array;

  /** Tables of the codes at positions 0 to `count - 1`. */
  constructor(codes: Uint8Array, count: number, bits: number) {
    const { blocks, blockBits } = cutOf(count, bits);
    // Blocks are wider where their number is limited; a table then has their first bits.
    const most = blocks === MAX_BLOCKS ? blockBits : MAX_BLOCK_BITS;
    this.count = count;
    this.#bytesPerCode = Math.ceil(bits / 8);
    this.#compared = new Uint32Array(count);
    this.#blocks = Array.from({ length: blocks }, (_, i) => {
      const firstBit = Math.floor((i * bits) / blocks);
      const end = Math.floor(((i + 1) * bits) / blocks);
      return { firstBit, bits: Math.min(most, end - firstBit) };
    });
    this.#values = new Uint32Array(blocks);
    const sorted = this.#blocks.map((block) => this.#sorted(codes, block));
    this.#starts = sorted.map(({ starts }) => starts);
    this.#positions = sorted.map(({ positions }) => positions);
  }

  #sorted(codes: Uint8Array, block: { firstBit: number; bits: number }) {
    const starts = new Uint32Array(2 ** block.bits + 1);
    const values = new Uint32Array(this.count);
    for (let at = 0; at < this.count; at++) {
      values[at] = blockOf(codes, at * this.#bytesPerCode, block);
      starts[values[at] + 1]++;
    }
    for (let value = 1; value < starts.length; value++) starts[value] += starts[value - 1];
    const next = starts.slice();
    const positions = new Uint32Array(this.count);
    for (let at = 0; at < this.count; at++) positions[next[values[at]]++] = at;
    return { starts, positions };
  }

  /** The largest distance within which tables find all codes. */
  get reach(): number {
    return reachOf(this.#blocks.length);
  }

  /** Begins a search for codes near this one, which must stay as it is. */
  begin(query: Uint8Array): void {
    this.#search++;
    for (let i = 0; i < this.#blocks.length; i++) {
      this.#values[i] = blockOf(query, 0, this.#blocks[i]);
    }
  }

  /** How often `lookUp` looks into a table. */
  lookUpsAt(radius: number): number {
    const { length } = this.#blocks;
    return radius < length ? 1 : this.#blocks[radius % length].bits;
  }

  /**
   * Looks up the table of block `radius % m` by the value of the query with exactly `radius / m`
   * bits changed, rounded down. After the calls for 0 to r, every code within distance r was in
   * `found`: one that never was differs from the query in more than r / m bits of each of the m
   * blocks, so in more than r bits. Writes the positions that this search did not find before to
   * `found`; returns how many, or -1 where the lists have more than `most`.
   */
  lookUp(radius: number, most: number): number {
    const block = radius % this.#blocks.length;
    const value = this.#values[block];
    if (radius < this.#blocks.length) return this.#take(block, value, 0, most);
    let count = 0;
    for (let bit = 0; bit < this.#blocks[block].bits && count >= 0; bit++) {
      count = this.#take(block, value ^ (1 << bit), count, most);
    }
    return count;
  }

  /** Appends what a table has of a value behind `count` positions. */
  #take(block: number, value: number, count: number, most: number): number {
    const starts = this.#starts[block];
    const positions = this.#positions[block];
    const end = starts[value + 1];
    if (count + end - starts[value] > most) return -1;
    if (count + end - starts[value] > this.found.length) {
      this.found = grown(this.found, 2 * (count + end - starts[value]));
    }
    let next = count;
    for (let i = starts[value]; i < end; i++) {
      const position = positions[i];
      if (this.#compared[position] === this.#search) continue;
      this.#compared[position] = this.#search;
      this.found[next++] = position;
    }
    return next;
  }
}

/** How codes are cut into blocks: how many, and their bits at least. */
function cutOf(count: number, bits: number): { blocks: number; blockBits: number } {
  const blockBits = Math.min(MAX_BLOCK_BITS, 31 - Math.clz32(Math.max(2, count)));
  return { blocks: Math.min(MAX_BLOCKS, Math.floor(bits / blockBits)), blockBits };
}

/**
 * The largest distance within which tables of so many blocks find all codes. A search changes one
 * bit of a block at most: more would make more look-ups than a scan costs.
 */
function reachOf(blocks: number): number {
  return 2 * blocks - 1;
}

/** The bits of a block of the code that begins at byte `from`, as a number. */
function blockOf(
  codes: Uint8Array,
  from: number,
  { firstBit, bits }: { firstBit: number; bits: number },
): number {
  let value = 0;
  for (let done = 0; done < bits; ) {
    const bit = firstBit + done;
    const inByte = bit & 7;
    const some = Math.min(8 - inByte, bits - done);
    value |= ((codes[from + (bit >> 3)] >> inByte) & ((1 << some) - 1)) << done;
    done += some;
  }
  return value >>> 0;
}
