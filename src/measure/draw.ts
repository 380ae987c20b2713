/**
 * Rows drawn from a stream of unknown length, each with the same chance (Vitter's algorithm R,
 * 1985). What is drawn depends on the seed and the number of rows, not on how they are cut.
 */

/** A number in 0..1, by a seed and a place: a hash, so that places need no order. */
export function shareAt(seed: number, place: number): number {
  const high = mixed(mixed(seed ^ 0x9e37_79b9) ^ place);
  const low = mixed(high ^ Math.floor(place / 2 ** 32) ^ 0x85eb_ca6b);
  return ((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53;
}

/** The finalizer of MurmurHash3. */
function mixed(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85eb_ca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2_ae35);
  return bits ^ (bits >>> 16);
}

/** At most `most` of the items that are offered, in the order in which they came. */
export class Reservoir<T> {
  readonly #most: number;
  readonly #seed: number;
  #taken: { place: number; item: T }[] = [];
  #offered = 0;

  constructor(most: number, seed: number) {
    this.#most = most;
    this.#seed = seed;
  }

  /** How many were offered. */
  get offered(): number {
    return this.#offered;
  }

  /** Makes the item only when it is drawn. */
  offer(make: () => T): void {
    const place = this.#offered++;
    if (place < this.#most) {
      this.#taken.push({ place, item: make() });
      return;
    }
    const other = Math.floor(shareAt(this.#seed, place) * (place + 1));
    if (other < this.#most) this.#taken[other] = { place, item: make() };
  }

  result(): T[] {
    return [...this.#taken].sort((a, b) => a.place - b.place).map(({ item }) => item);
  }
}

/** `count` of the numbers below `from`, ascending; all where there are no more. */
export function drawnNumbers(from: number, count: number, seed: number): number[] {
  const drawn = new Reservoir<number>(count, seed);
  for (let i = 0; i < from; i++) drawn.offer(() => i);
  return drawn.result();
}
