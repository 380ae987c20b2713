/**
 * Seeded random numbers: the generator Alea (Baagøe 2010) of the package seedrandom, which the
 * build bundles, since browsers cannot import it; and hashes of positions. Equal seeds give equal
 * numbers on every engine.
 */

import generatorOf from 'seedrandom/lib/alea.js';

/** Makes a generator of multiples of 2^-32 from 0 to 1, 1 excluded. */
export function alea(seed: string): () => number {
  return generatorOf(seed);
}

/**
 * A hash of a seed (32 bits) and a position (up to 2^53 - 1) as a number from 0 to 1, 1 excluded,
 * with 53 random bits. Unlike a generator's, it does not depend on which positions came before.
 */
export function shareAt(seed: number, position: number): number {
  const high = mixed(mixed(seed ^ 0x9e37_79b9) ^ position);
  const low = mixed(high ^ Math.floor(position / 2 ** 32) ^ 0x85eb_ca6b);
  return ((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53;
}

/** The finalizer of MurmurHash3 (Austin Appleby, public domain): signed 32-bit integers. */
export function mixed(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85eb_ca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2_ae35);
  return bits ^ (bits >>> 16);
}
