/**
 * Seeded random numbers: the Alea generator of seedrandom, without the six others that an import of
 * the whole package brings into a bundle; and hashes of positions. Equal seeds give equal numbers
 * on every engine.
 */

import alea from 'seedrandom/lib/alea.js';

export { alea };

/** A number in 0..1 that is a hash of a seed and a position, so positions need no order. */
export function shareAt(seed: number, position: number): number {
  const high = mixed(mixed(seed ^ 0x9e37_79b9) ^ position);
  const low = mixed(high ^ Math.floor(position / 2 ** 32) ^ 0x85eb_ca6b);
  return ((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53;
}

/** The finalizer of MurmurHash3. */
function mixed(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85eb_ca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2_ae35);
  return bits ^ (bits >>> 16);
}
