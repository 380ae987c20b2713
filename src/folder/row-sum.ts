/**
 * A sum over rows that does not depend on their order. Equal sets of rows have equal sums; two
 * different sets have equal sums with a probability of 2⁻⁶⁴. It compares files of any size that
 * have the same rows in different orders, in constant memory.
 */

// Splits a hash into halves without bigint arithmetic.
const word = new BigUint64Array(1);
const halves = new Uint32Array(word.buffer);

export class RowSum {
  #low = 0;
  #high = 0;

  /** Adds a row: a hash, and two numbers below 2³² that belong to it. */
  add(hash: bigint, a: number, b: number): void {
    word[0] = hash;
    const [x, y] = halves;
    this.#low = (this.#low + mix(mix(mix(mix(x ^ 0x9e3779b9) ^ y) ^ a) ^ b)) >>> 0;
    this.#high = (this.#high + mix(mix(mix(mix(b ^ 0x85ebca77) ^ a) ^ y) ^ x)) >>> 0;
  }

  equals(other: RowSum): boolean {
    return this.#low === other.#low && this.#high === other.#high;
  }
}

/** A bijection of 32-bit integers, each bit of which depends on all (the end of MurmurHash3). */
function mix(value: number): number {
  let x = value;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return x ^ (x >>> 16);
}
