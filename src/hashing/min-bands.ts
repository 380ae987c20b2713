/**
 * Bands of min-hashes: a few min-hashes of a set make a key, and sets that share a key are
 * candidates (Broder 1997; Leskovec, Rajaraman & Ullman, Mining of Massive Datasets, 3.4). The
 * min-hashes are those whose lowest bits are the code, so that a set is hashed once. Two sets of
 * Jaccard similarity J share one of `count` keys with probability 1 - (1 - J^width)^count.
 */

import { grown } from '../base/arrays';
import type { SetMemory } from '../kernels/minwise/set-memory';

export interface MinBands {
  /** Min-hashes of a key. */
  readonly width: number;
  /** Keys of a set. */
  readonly count: number;
}

/** Share of the pairs at the least similarity that share a key, at least. */
const LEAST_CAUGHT = 0.999;
/** Keys of a set: 128 bytes a row. */
const MAX_BANDS = 32;

/**
 * The widest bands, which make fewest candidates, that catch nearly all pairs at a similarity and
 * of which `bits` min-hashes suffice; null where only keys of one min-hash would do.
 */
export function bandsFor(least: number, bits: number): MinBands | null {
  let best: MinBands | null = null;
  for (let width = 2; 2 * width <= bits; width++) {
    const most = Math.min(MAX_BANDS, Math.floor(bits / width));
    let count = 1;
    while (count <= most && caughtBy({ width, count }, least) < LEAST_CAUGHT) count++;
    if (count > most) break;
    best = { width, count };
  }
  return best;
}

/** The probability that two sets of a similarity share a key. */
export function caughtBy({ width, count }: MinBands, jaccard: number): number {
  return 1 - (1 - jaccard ** width) ** count;
}

/** Collects the keys of sets, one after another. */
export class BandKeys {
  #keys = new Uint32Array(1024);
  #used = 0;

  constructor(readonly bands: MinBands) {}

  /** Appends the keys of the set whose code was made last; an empty one has zeros. */
  take({ draws, memberCount }: SetMemory): void {
    const { width, count } = this.bands;
    this.#reserve(count);
    for (let band = 0, i = 0; band < count; band++) {
      let key = 0;
      for (const end = i + 2 * width; i < end && memberCount > 0; i++) {
        key = Math.imul(key ^ draws[i], 0x9e37_79b1);
        key ^= key >>> 15;
      }
      this.#keys[this.#used++] = key;
    }
  }

  /** Appends keys that were collected elsewhere. */
  append(keys: Uint32Array): void {
    this.#reserve(keys.length);
    this.#keys.set(keys, this.#used);
    this.#used += keys.length;
  }

  /** Those of all sets. */
  all(): Uint32Array {
    return this.#keys.subarray(0, this.#used);
  }

  #reserve(more: number): void {
    const length = this.#used + more;
    if (length <= this.#keys.length) return;
    this.#keys = grown(this.#keys, Math.max(length, 2 * this.#keys.length));
  }
}
