/**
 * Tables over blocks of the bits of codes, by which all codes within a small distance are found
 * without comparing the others. Codes are cut into m blocks; of two codes that differ in r bits
 * some block differs in at most r / m of them, by the pigeonhole principle (Manku, Jain & Das Sarma
 * 2007; Norouzi, Punjani & Fleet 2012). A table leads from the value of a block to the positions of
 * all codes that have it, by a counting sort.
 */

import { distance } from '../kernels/hamming';

/** Widest block: a table has a start for each of its values. */
const MAX_BLOCK_BITS = 24;
/** Bits of a block that a search changes at most; more makes more look-ups than a scan costs. */
export const MAX_FLIPS = 1;

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

  /** Tables of the codes at positions 0 to `count - 1`; null where blocks would be too narrow. */
  static of(codes: Uint8Array, count: number, bits: number): BlockTables | null {
    const blockBits = Math.min(MAX_BLOCK_BITS, 31 - Math.clz32(Math.max(2, count)));
    const blocks = Math.floor(bits / blockBits);
    return blocks < 2 ? null : new BlockTables(codes, count, bits, blocks);
  }

  private constructor(codes: Uint8Array, count: number, bits: number, blocks: number) {
    this.count = count;
    this.#bytesPerCode = Math.ceil(bits / 8);
    this.#compared = new Uint32Array(count);
    this.#blocks = Array.from({ length: blocks }, (_, i) => {
      const firstBit = Math.floor((i * bits) / blocks);
      const end = Math.floor(((i + 1) * bits) / blocks);
      return { firstBit, bits: Math.min(MAX_BLOCK_BITS, end - firstBit) };
    });
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

  /** The largest distance within which tables find all codes when so many bits are changed. */
  reach(flips: number): number {
    return this.#blocks.length * (flips + 1) - 1;
  }

  /**
   * Calls `take` with each position of the codes, whose first ones are those of the tables, that
   * agrees with the query in a block but for `flips` bits, and its distance; each once. Returns
   * false, and calls it for none, where there are more than `most`.
   */
  search(
    codes: Uint8Array,
    query: Uint8Array,
    flips: number,
    most: number,
    take: (position: number, distance: number) => void,
  ): boolean {
    const lists = this.#blocks.flatMap((block, i) => {
      const value = blockOf(query, 0, block);
      const values = [value];
      for (let bit = 0; flips > 0 && bit < block.bits; bit++) values.push(value ^ (1 << bit));
      return values.map((one) => {
        return {
          positions: this.#positions[i],
          first: this.#starts[i][one],
          end: this.#starts[i][one + 1],
        };
      });
    });
    if (lists.reduce((sum, { first, end }) => sum + end - first, 0) > most) return false;
    this.#search++;
    for (const { positions, first, end } of lists) {
      for (let i = first; i < end; i++) {
        const position = positions[i];
        if (this.#compared[position] === this.#search) continue;
        this.#compared[position] = this.#search;
        take(position, distance(query, codes, position * this.#bytesPerCode));
      }
    }
    return true;
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
