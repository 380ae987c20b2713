/**
 * One-bit minwise codes of sets, in plain loops of 32-bit integers, so that engines agree. Bit j is
 * the lowest bit of the j-th min-hash: two sets of Jaccard similarity J differ in a share
 * (1 - J) / 2 of the bits (Li & König 2010). Min-hashes are as by Dahlgaard, Knudsen & Thorup (FOCS
 * 2017): in each round every member draws a bit and a value, and a bit keeps the least value of the
 * first round in which a member drew it. One round suffices for some 1,500 members and 256 bits,
 * and the work is O(members + bits log bits). docs/format.md states the bits.
 */

import { ALL_ZERO, NOT_FINITE, type SparseRows } from '../sums/sums.scalar';
import { halves } from '../xxhash/xxhash.scalar';

/** 2^32 divided by the golden ratio: rounds are steps of it. */
const GOLDEN = 0x9e37_79b9;

/** The finalizer of MurmurHash3 (Austin Appleby, public domain): a bijection of 32 bits. */
function mixed(value: number): number {
  let x = value;
  x = Math.imul(x ^ (x >>> 16), 0x85eb_ca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2_ae35);
  return x ^ (x >>> 16);
}

/**
 * Writes a code of ceil(bits / 8) bytes and a byte of flags for each row. The members of a row's
 * set are its dimensions whose value is not zero.
 */
export function minwiseCodesInto(
  { bits, seed }: { readonly bits: number; readonly seed: bigint },
  rows: SparseRows,
  codes: Uint8Array,
  flags: Uint8Array,
): void {
  const hashes = new MinHashes(bits, seed);
  const bytesPerCode = Math.ceil(bits / 8);
  for (let row = 0; row < rows.count; row++) {
    flags[row] = hashes.begin(rows, rows.offsets[row], rows.offsets[row + 1]);
    hashes.codeInto(codes.subarray(row * bytesPerCode, (row + 1) * bytesPerCode));
  }
}

/** The min-hashes of one set after another. */
class MinHashes {
  /** By bit, the round in which it was first drawn, from 1, or 0; and the least value of then. */
  readonly #rounds: Uint32Array;
  readonly #values: Uint32Array;
  /** Of each member two hashes. */
  #first = new Int32Array(1024);
  #second = new Int32Array(1024);
  #count = 0;
  readonly #seedLow: number;
  readonly #seedHigh: number;

  constructor(bits: number, seed: bigint) {
    this.#rounds = new Uint32Array(bits);
    this.#values = new Uint32Array(bits);
    const { low, high } = halves(seed);
    this.#seedLow = mixed(low ^ GOLDEN);
    this.#seedHigh = mixed(high ^ this.#seedLow);
  }

  /** Takes the members of a set; returns the flags of its row. */
  begin({ dimensions, values }: SparseRows, from: number, to: number): number {
    if (to - from > this.#first.length) {
      this.#first = new Int32Array(2 * (to - from));
      this.#second = new Int32Array(2 * (to - from));
    }
    const isWide = dimensions instanceof BigUint64Array;
    const words = isWide
      ? new Uint32Array(dimensions.buffer, dimensions.byteOffset, 2 * dimensions.length)
      : dimensions;
    let areFinite = true;
    this.#count = 0;
    for (let i = from; i < to; i++) {
      if (values[i] === 0) continue;
      areFinite &&= Number.isFinite(values[i]);
      const low = mixed((isWide ? words[2 * i] : words[i]) ^ this.#seedLow);
      const high = mixed(((isWide ? words[2 * i + 1] : 0) ^ this.#seedHigh) + low);
      this.#first[this.#count] = mixed(low ^ high);
      this.#second[this.#count++] = high;
    }
    return (areFinite ? 0 : NOT_FINITE) | (this.#count === 0 ? ALL_ZERO : 0);
  }

  /** Writes the code of the members, which is all zero where there are none. */
  codeInto(code: Uint8Array): void {
    const bits = this.#values.length;
    this.#rounds.fill(0);
    let missing = this.#count === 0 ? 0 : bits;
    // From round `bits` on all members draw the same bit, so that an end is certain.
    for (let round = 0; missing > 0; round++) {
      missing -= this.#draw(round, round < bits ? -1 : round - bits);
    }
    code.fill(0);
    if (this.#count === 0) return;
    for (let bit = 0; bit < bits; bit++) code[bit >> 3] |= (this.#values[bit] & 1) << (bit & 7);
  }

  /** Lets every member draw, `fixed` or a random bit; returns how many bits are drawn at last. */
  #draw(round: number, fixed: number): number {
    const [first, second, rounds, values] = [this.#first, this.#second, this.#rounds, this.#values];
    const bits = values.length;
    const step = Math.imul(round, GOLDEN);
    const now = round + 1;
    let drawn = 0;
    for (let i = 0; i < this.#count; i++) {
      const draw = mixed(second[i] + step);
      // Exact: the product has at most 48 bits.
      const bit = fixed < 0 ? Math.floor(((draw >>> 0) * bits) / 2 ** 32) : fixed;
      if (rounds[bit] !== 0 && rounds[bit] !== now) continue;
      const value = mixed(first[i] ^ draw) >>> 0;
      if (rounds[bit] === now) {
        if (value < values[bit]) values[bit] = value;
        continue;
      }
      rounds[bit] = now;
      values[bit] = value;
      drawn++;
    }
    return drawn;
  }
}
