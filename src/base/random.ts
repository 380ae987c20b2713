/**
 * Seeded random numbers: the generator Alea (Baagøe 2010), whose numbers are those of the package
 * seedrandom; and hashes of positions. Equal seeds give equal numbers on every engine.
 */

/** A generator of numbers from 0 to 1, 1 excluded, that are multiples of 2^-32. */
export function alea(seed: string): () => number {
  let hash = 0xefc8_249d;
  // A fraction that depends on this text and on all before it.
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
  const state = Float64Array.of(mash(' '), mash(' '), mash(' ')); // numbers that need no heap
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

/** A number in 0..1 that is a hash of a seed and a position, so positions need no order. */
export function shareAt(seed: number, position: number): number {
  const high = mixed(mixed(seed ^ 0x9e37_79b9) ^ position);
  const low = mixed(high ^ Math.floor(position / 2 ** 32) ^ 0x85eb_ca6b);
  return ((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53;
}

/** The finalizer of MurmurHash3, a permutation of 32-bit integers. */
export function mixed(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85eb_ca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2_ae35);
  return bits ^ (bits >>> 16);
}
