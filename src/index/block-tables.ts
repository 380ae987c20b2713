/**
 * Tables over blocks of the bits of codes, by which all codes within a small distance are found
 * without comparing the others. Codes are cut into m blocks; of two codes that differ in r bits
 * some block differs in at most r / m of them, by the pigeonhole principle (Manku, Jain & Das Sarma
 * 2007; Norouzi, Punjani & Fleet 2012). A table leads from the value of a block to the positions of
 * all codes that have it, by a counting sort.
 */

import { grown } from '../base/arrays';

/** Widest block: a table has a start for each of its values. */
const MAX_BLOCK_BITS = 24;
/** Bits of a block that a search changes at most; more makes more look-ups than a scan costs. */
const MAX_FLIPS = 1;
/**
 * Most tables, which take some 8 bytes a code each: those of wide codes would outgrow the codes.
 */
const MAX_BLOCKS = 64;

export class BlockTables {
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

  /** Tables of the codes at positions 0 to `count - 1`; null where blocks would be too narrow. */
  static of(codes: Uint8Array, count: number, bits: number): BlockTables | null {
    const blockBits = Math.min(MAX_BLOCK_BITS, 31 - Math.clz32(Math.max(2, count)));
    const blocks = Math.min(MAX_BLOCKS, Math.floor(bits / blockBits));
    // Blocks are wider where their number is limited; a table then has their first bits.
    const most = blocks === MAX_BLOCKS ? blockBits : MAX_BLOCK_BITS;
    return blocks < 2 ? null : new BlockTables(codes, count, { bits, blocks, most });
  }

  private constructor(
    codes: Uint8Array,
    count: number,
    { bits, blocks, most }: { bits: number; blocks: number; most: number },
  ) {
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

  get bytes(): number {
    return [...this.#starts, ...this.#positions].reduce(
      (sum, { byteLength }) => sum + byteLength,
      0,
    );
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
    return this.#blocks.length * (MAX_FLIPS + 1) - 1;
  }

  /** Begins a search for codes near this one, which must stay as it is. */
  begin(query: Uint8Array): void {
    this.#search++;
    for (let i = 0; i < this.#blocks.length; i++) {
      this.#values[i] = blockOf(query, 0, this.#blocks[i]);
    }
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
