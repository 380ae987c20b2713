// Methods to make ±1 patterns as one writes them in JavaScript, without a kernel.

import xxhash from 'xxhash-wasm';

const { h64Raw } = await xxhash();

/** One hash for each bit of each dimension, but the cheapest sound one: MurmurHash3 of 32 bits. */
export class PerBitMurmur {
  constructor({ bits, seed }) {
    this.bits = bits;
    this.seed = seed;
  }

  hashSparse(indices, values) {
    const { bits, seed } = this;
    const sums = new Float64Array(bits);
    for (let i = 0; i < indices.length; i++) {
      for (let bit = 0; bit < bits; bit++) {
        sums[bit] += murmur(indices[i], bit + seed) & 1 ? values[i] : -values[i];
      }
    }
    return signs(sums);
  }
}

/** The codes of projection 'signs' from the npm package: a BigInt for each word of 64 bits. */
export class WordHash {
  constructor({ bits, seed }) {
    this.bits = bits;
    this.seed = seed;
  }

  hashSparse(indices, values) {
    const { bits, seed } = this;
    const sums = new Float64Array(bits);
    const key = new Uint8Array(8);
    const view = new DataView(key.buffer);
    for (let i = 0; i < indices.length; i++) {
      view.setBigUint64(0, BigInt(indices[i]), true);
      for (let first = 0; first < bits; first += 64) {
        let pattern = h64Raw(key, BigInt(seed + first / 64));
        for (let bit = first; bit < first + 64; bit++, pattern >>= 1n) {
          sums[bit] += pattern & 1n ? values[i] : -values[i];
        }
      }
    }
    return signs(sums);
  }
}

function signs(sums) {
  const code = new Uint8Array(sums.length / 8);
  for (let bit = 0; bit < sums.length; bit++) {
    if (sums[bit] > 0) code[bit >> 3] |= 1 << (bit & 7);
  }
  return code;
}

/** MurmurHash3 (Appleby 2011) of one 32-bit block. */
function murmur(block, seed) {
  let k = Math.imul(block, 0xcc9e2d51);
  k = Math.imul((k << 15) | (k >>> 17), 0x1b873593);
  let h = seed ^ k;
  h = (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) ^ 4;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
