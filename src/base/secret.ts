/**
 * Hashes under a secret, for hash tables whose keys come from outside: codes, ids, words and
 * dimensions. With a known hash function an attacker can choose keys that all collide; a table then
 * takes minutes instead of milliseconds for 100,000 of them. So each table draws its own secret. It
 * decides only where entries lie in memory: no result, file or digest depends on it.
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
