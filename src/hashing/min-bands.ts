/**
 * Bands of min-hashes: a few min-hashes of a set make a key, and sets that share a key are
 * candidates (Broder 1997; Leskovec, Rajaraman & Ullman, Mining of Massive Datasets, 3.4). They are
 * the min-hashes whose lowest bits are the code, so that a set is hashed once for both. Two sets of
 * Jaccard similarity J share one of `count` keys with probability 1 - (1 - J^width)^count.
 */

import { grown } from '../base/arrays';
import type { SetMemory } from '../kernels/minwise';

export interface MinBands {
  /** Min-hashes of a key. */
  readonly width: number;
  /** Keys of a set. */
  readonly count: number;
}

/** Pairs at the lowest similarity must share a key with at least this probability. */
const LEAST_CAUGHT = 0.999;
/** Largest number of keys of a set: they take 4 bytes each, 128 bytes a row. */
const MAX_BANDS = 32;

/**
 * The widest bands that find nearly all pairs at a similarity and need at most `bits` min-hashes:
 * the wider a key, the fewer candidates. Null where even keys of two min-hashes miss too many
 * pairs.
 */
export function bandsFor(least: number, bits: number): MinBands | null {
  let best: MinBands | null = null;
  for (let width = 2; 2 * width <= bits; width++) {
    const most = Math.min(MAX_BANDS, Math.floor(bits / width));
    let count = 1;
    while (count <= most && caughtBy({ width, count }, least) < LEAST_CAUGHT) count++;
    if (count > most) break; // wider keys would need even more of them
    best = { width, count };
  }
  return best;
}

/** The probability that two sets of a Jaccard similarity share a key. */
export function caughtBy({ width, count }: MinBands, jaccard: number): number {
  return 1 - (1 - jaccard ** width) ** count;
}

/** Collects the keys of sets: `bands.count` keys for each set, in the order of the sets. */
export class BandKeys {
  #keys = new Uint32Array(1024);
  #used = 0;

  constructor(readonly bands: MinBands) {}

  /**
   * Appends the keys of the set whose code was computed last in this memory; those of an empty set
   * are 0. A min-hash is two words of `draws`, and both go into the key.
   */
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

  /** Appends keys that another thread collected for the sets that follow. */
  append(keys: Uint32Array): void {
    this.#reserve(keys.length);
    this.#keys.set(keys, this.#used);
    this.#used += keys.length;
  }

  /** The keys of all sets so far: a view, valid until more are added. */
  all(): Uint32Array {
    return this.#keys.subarray(0, this.#used);
  }

  #reserve(more: number): void {
    const length = this.#used + more;
    if (length <= this.#keys.length) return;
    this.#keys = grown(this.#keys, Math.max(length, 2 * this.#keys.length));
  }
}
