/**
 * A random rotation of any width: rounds of hashed sign flips, each followed by a fast
 * Walsh-Hadamard transform of the first coordinates and one of the last, as many as the largest
 * power of two within the width, so that the two overlap. Lengths and angles stay.
 */

import { halves, hashDimension } from '../kernels/xxhash.scalar';

/** Until every coordinate depends on all others, and a few large ones are spread. */
const ROUNDS = 4;

export class Rotation {
  readonly width: number;
  readonly #size: number;
  /** Of each transform in turn: +1 or -1 a coordinate, times what makes its length 1. */
  readonly #flips: readonly Float64Array[];

  constructor(width: number, seed: bigint) {
    let size = 1;
    while (2 * size <= width) size *= 2;
    const length = 1 / Math.sqrt(size);
    this.width = width;
    this.#size = size;
    const { low, high } = halves(seed);
    this.#flips = Array.from({ length: 2 * ROUNDS }, (_, transform) =>
      Float64Array.from({ length: size }, (_, i) => {
        const hash = hashDimension(i >>> 5, transform, low, high);
        return (hash.low >>> (i & 31)) & 1 ? length : -length;
      }),
    );
  }

  /** Rotates a vector of this width in place. */
  rotate(vector: Float64Array): void {
    const last = this.width - this.#size;
    for (let transform = 0; transform < this.#flips.length; transform++) {
      if (transform % 2 === 1 && last === 0) continue;
      const start = transform % 2 === 0 ? 0 : last;
      const flips = this.#flips[transform];
      for (let i = 0; i < flips.length; i++) vector[start + i] *= flips[i];
      walshHadamard(vector, start, start + this.#size);
    }
  }
}

/** Of elements `start` to `end - 1`, two stages in a pass. */
function walshHadamard(vector: Float64Array, start: number, end: number): void {
  let span = 1;
  for (; 4 * span <= end - start; span *= 4) {
    for (let first = start; first < end; first += 4 * span) {
      for (let i = first; i < first + span; i++) {
        const a = vector[i] + vector[i + span];
        const b = vector[i] - vector[i + span];
        const c = vector[i + 2 * span] + vector[i + 3 * span];
        const d = vector[i + 2 * span] - vector[i + 3 * span];
        vector[i] = a + c;
        vector[i + span] = b + d;
        vector[i + 2 * span] = a - c;
        vector[i + 3 * span] = b - d;
      }
    }
  }
  if (span === end - start) return;
  for (let i = start; i < start + span; i++) {
    const a = vector[i];
    vector[i] = a + vector[i + span];
    vector[i + span] = a - vector[i + span];
  }
}
