/**
 * Hashes under a secret, for hash tables whose keys come from outside, as codes, ids, words and
 * dimensions; and the table of counts by hash. With a known hash function an attacker can choose
 * keys that all collide; a table then takes minutes instead of milliseconds for 100,000 of them. So
 * each table draws its own secret. It decides only where entries lie in memory: no result, file or
 * digest depends on it.
 */

/** Secret random 32-bit words; three of them for the functions of this file. */
export type Secret = Uint32Array;

/** Words drawn at once, since a draw takes 10 µs, however small it is. */
const POOL = 3 * 256;
let pool = /* @__PURE__ */ new Uint32Array(0);
/** Words of the pool that were given out; none is given out twice. */
let used = 0;

/** Returns a new secret of three words: a copy that the caller owns. */
export function newSecret(): Secret {
  if (used === pool.length) {
    pool = crypto.getRandomValues(new Uint32Array(POOL));
    used = 0;
  }
  used += 3;
  return pool.slice(used - 3, used);
}

/**
 * A permutation of 32-bit integers under a secret; the result is signed. Multipliers are made odd,
 * so that they can be inverted, and are secret too, so that no difference of two keys leads to a
 * known difference of their hashes.
 */
export function scrambled(value: number, secret: Secret): number {
  let hash = Math.imul(value ^ secret[0], secret[1] | 1);
  hash = Math.imul(hash ^ (hash >>> 15), secret[2] | 1);
  return hash ^ (hash >>> 16);
}

/** The hash of a number of 64 bits, given as two 32-bit halves. */
export function hashOfPair(low: number, high: number, secret: Secret): number {
  return scrambled(low ^ scrambled(high, secret), secret);
}

/** Entries of an empty table, factor of growth, and largest share in use: memory before speed. */
const FIRST_ENTRIES = 1024;
const GROWTH = 1.2;
const MAX_FULL = 0.9;

/**
 * Counts by 64-bit hash, which is given as two halves: a hash table of 12 bytes an entry that is
 * 3/4 full or more.
 */
export class HashCounts {
  /** Anyone can compute the hashes of words, and choose words whose hashes collide in a table. */
  readonly #secret = newSecret();
  #size = 0;
  #lows = new Uint32Array(FIRST_ENTRIES);
  #highs = new Uint32Array(FIRST_ENTRIES);
  /** 0 where an entry is free. */
  #counts = new Uint32Array(FIRST_ENTRIES);

  /** Number of hashes. */
  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return 12 * this.#counts.length;
  }

  /** The count of a hash; 0 where it was never added. */
  countOf(low: number, high: number): number {
    return this.#counts[this.#placeOf(low, high)];
  }

  /** Adds a count, which is not 0, to that of a hash. */
  add(low: number, high: number, count: number): void {
    if (this.#size >= MAX_FULL * this.#counts.length) {
      this.#rebuild(Math.ceil(GROWTH * this.#counts.length));
    }
    const at = this.#placeOf(low, high);
    if (this.#counts[at] === 0) {
      this.#size++;
      this.#lows[at] = low;
      this.#highs[at] = high;
    }
    this.#counts[at] += count;
  }

  /** Adds 1 for each of some hashes, whose halves are given, low before high. */
  addAll(halves: Uint32Array): void {
    for (let i = 0; i < halves.length; i += 2) this.add(halves[i], halves[i + 1], 1);
  }

  /** Goes through all hashes, in no order. */
  each(take: (low: number, high: number, count: number) => void): void {
    for (let i = 0; i < this.#counts.length; i++) {
      if (this.#counts[i] > 0) take(this.#lows[i], this.#highs[i], this.#counts[i]);
    }
  }

  /** Makes room for `size` hashes in all, so that adding them does not rebuild the table. */
  reserve(size: number): void {
    const room = Math.ceil(size / MAX_FULL) + 1;
    if (room > this.#counts.length) this.#rebuild(room);
  }

  /** The entry of a hash, or the free entry where it would be. Linear probing. */
  #placeOf(low: number, high: number): number {
    const { length } = this.#counts;
    const hash = hashOfPair(low, high, this.#secret) >>> 0;
    let at = Math.floor((hash / 2 ** 32) * length); // the length is not a power of two
    while (this.#counts[at] > 0 && (this.#lows[at] !== low || this.#highs[at] !== high)) {
      at = at + 1 === length ? 0 : at + 1;
    }
    return at;
  }

  /** Moves all hashes to a table of `room` entries. */
  #rebuild(room: number): void {
    const [lows, highs, counts] = [this.#lows, this.#highs, this.#counts];
    this.#lows = new Uint32Array(room);
    this.#highs = new Uint32Array(room);
    this.#counts = new Uint32Array(room);
    for (let i = 0; i < counts.length; i++) {
      if (counts[i] === 0) continue;
      const at = this.#placeOf(lows[i], highs[i]);
      this.#lows[at] = lows[i];
      this.#highs[at] = highs[i];
      this.#counts[at] = counts[i];
    }
  }
}
