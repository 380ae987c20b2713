/**
 * Hashes under a secret, for hash tables whose keys come from outside: codes, ids, words and
 * dimensions. Whoever knows a hash function can choose keys that all collide, and 100,000 of them
 * then take a table minutes instead of milliseconds; secrets are drawn for each table. They decide
 * only where entries lie in memory: no result, file or digest depends on them.
 */

/** Some secret 32-bit words. */
export type Secret = Uint32Array;

/** Words drawn at once: a draw takes 10 µs, however small. */
const POOL = 3 * 256;
let pool = /* @__PURE__ */ new Uint32Array(0);
let used = 0;

/** Three words, as the functions here need: new ones at each call. */
export function newSecret(): Secret {
  if (used === pool.length) {
    pool = crypto.getRandomValues(new Uint32Array(POOL));
    used = 0;
  }
  used += 3;
  return pool.slice(used - 3, used);
}

/**
 * Maps 32-bit integers to 32-bit integers, each to another. Multipliers are secret too, so that no
 * difference of two keys leads to a known difference of their hashes.
 */
export function scrambled(value: number, secret: Secret): number {
  let hash = Math.imul(value ^ secret[0], secret[1] | 1);
  hash = Math.imul(hash ^ (hash >>> 15), secret[2] | 1);
  return hash ^ (hash >>> 16);
}

/** The hash of a number of 64 bits given by its halves. */
export function hashOfPair(low: number, high: number, secret: Secret): number {
  return scrambled(low ^ scrambled(high, secret), secret);
}

/**
 * The hash of `count` bytes: a scramble for each 4 of them. HalfSipHash, which is a stronger hash,
 * doubled the time of adding codes of 64 bits.
 */
export function hashOfBytes(
  bytes: Uint8Array,
  from: number,
  count: number,
  secret: Secret,
): number {
  const one = secret[1] | 1;
  const other = secret[2] | 1;
  let hash = secret[0] ^ count;
  let at = from;
  for (const end = from + (count & ~3); at < end; at += 4) {
    const word = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
    hash = Math.imul(hash ^ word, one);
    hash = Math.imul(hash ^ (hash >>> 15), other);
  }
  for (; at < from + count; at++) {
    hash = Math.imul(hash ^ bytes[at], one);
    hash = Math.imul(hash ^ (hash >>> 15), other);
  }
  return hash ^ (hash >>> 16);
}
