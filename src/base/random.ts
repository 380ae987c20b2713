/**
 * Seeded random numbers: the generator Alea (Baagøe 2010), with the same numbers as the package
 * seedrandom; and hashes of positions. Equal seeds give equal numbers on every engine.
 */

/** Makes a generator of multiples of 2^-32 from 0 to 1, 1 excluded. */
export function alea(seed: string): () => number {
  let hash = 0xefc8_249d;
  // Returns a number in 0..1 that depends on this text and on all texts passed before.
  const mash = (text: string) => {
    for (let i = 0; i < text.length; i++) {
      hash += text.charCodeAt(i);
      const scaled = 0.02519603282416938 * hash;
      const whole = scaled >>> 0;
      const product = (scaled - whole) * whole;
      hash = product >>> 0;
      hash += (product - hash) * 2 ** 32;
    }
    return (hash >>> 0) / 2 ** 32;
  };
  // In a typed array, where assigning a number allocates no memory.
  const state = Float64Array.of(mash(' '), mash(' '), mash(' '));
  for (let i = 0; i < 3; i++) {
    state[i] -= mash(seed);
    if (state[i] < 0) state[i] += 1;
  }
  let carry = 1;
  return () => {
    const next = 2_091_639 * state[0] + carry * 2 ** -32;
    carry = next | 0;
    state[0] = state[1];
    state[1] = state[2];
    state[2] = next - carry;
    return state[2];
  };
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
