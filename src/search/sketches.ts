/**
 * A second bit for each hyperplane: of every kept vector not only on which side of it the vector
 * lies, but also whether far from it, for at least as many orthogonal hyperplanes as it has
 * dimensions: a sixteenth of the vector. What tells of the rows in the partitions visited which are
 * worth a full look. Slots are known by the vector of their first row, and lie in the order in
 * which they are visited.
 */

import { SimHasher } from '../hashing/simhash';
import { SketchMemory } from '../kernels/sketch-memory';
import { MOST_SKETCH_BYTES, ONE_WEIGHT, type SketchTables } from '../kernels/sketches.scalar';
import type { KeptVectors } from './kept-vectors';
import { lengthOf } from './length';

/**
 * Where a coordinate of standard deviation 1 counts as far, and what near and far ones are like:
 * the four levels that lose least of a Gaussian (Max 1960; Lloyd 1982).
 */
const FAR = 0.9816;
const NEAR_LEVEL = 0.4528;
const FAR_LEVEL = 1.51;
/** By two bits: the side, and whether far. */
const LEVELS = [-NEAR_LEVEL, NEAR_LEVEL, -FAR_LEVEL, FAR_LEVEL];

/** Of the index whose vectors they are of. */
interface Origin {
  readonly vectors: KeptVectors | null;
  readonly hasher: SimHasher;
  readonly mean: Float64Array | null;
}

const LEAST_PLANES = 128;
const ENTRIES = 16;
const MOST_ENTRY = 31;

export class Sketches {
  readonly memory: SketchMemory;
  readonly #vectors: KeptVectors;
  readonly #planes: SimHasher;
  readonly #sketch: Uint8Array;
  readonly #tables: Uint8Array;
  /** True when the first accumulators of the index are those of the sketches. */
  readonly #sharesSums: boolean;

  /** Null where vectors are too wide. */
  static of({ vectors, hasher, mean }: Origin, places: number): Sketches | null {
    if (vectors === null || planesOf(vectors) > 4 * MOST_SKETCH_BYTES) return null;
    return new Sketches(vectors, hasher, mean, places);
  }

  private constructor(
    vectors: KeptVectors,
    { projection, seed, bits }: SimHasher,
    mean: Float64Array | null,
    places: number,
  ) {
    const planes = planesOf(vectors);
    const { dimensions } = vectors;
    this.#sharesSums = projection === 'hadamard' && bits >= planes && mean === null;
    this.memory = new SketchMemory(planes / 4, places);
    this.#vectors = vectors;
    const options = { bits: planes, projection: 'hadamard', dimensions, seed } as const;
    this.#planes = new SimHasher(options);
    this.#sketch = new Uint8Array(planes / 4);
    this.#tables = new Uint8Array((ENTRIES * planes) / 2);
  }

  get bytes(): number {
    return this.memory.byteLength;
  }

  /** The sketch at a place, of a row. */
  set(place: number, row: number): void {
    this.memory.reserve(place + 1);
    const sums = this.#planes.accumulate(this.#vectors.at(row));
    const length = lengthOf(sums);
    const far = (FAR * length) / Math.sqrt(sums.length);
    const sketch = this.#sketch.fill(0);
    let product = 0; // of the sketch with its vector
    for (let i = 0; i < sums.length; i++) {
      const size = Math.abs(sums[i]);
      const isFar = size > far;
      product += size * (isFar ? FAR_LEVEL : NEAR_LEVEL);
      sketch[i >> 2] |= (Number(sums[i] > 0) | (isFar ? 2 : 0)) << (2 * (i & 3));
    }
    this.memory.set(place, sketch, product > 0 ? length / product : 0);
  }

  /** A place whose rows are all removed. */
  remove(place: number): void {
    this.memory.setScale(place, 0);
  }

  /** What a query says of sketches: a vector, and the index's sums of it. Until the next call. */
  tablesOf(query: Float64Array, ofIndex: Float64Array | null): SketchTables {
    const { bits } = this.#planes;
    const isShared = this.#sharesSums && ofIndex !== null;
    const sums = isShared ? ofIndex.subarray(0, bits) : this.#planes.accumulate(query);
    const groups = sums.length / 2;
    let most = 0;
    let total = 0;
    for (let i = 0; i < sums.length; i += 2) {
      const size = FAR_LEVEL * (Math.abs(sums[i]) + Math.abs(sums[i + 1]));
      most = Math.max(most, size);
      total += size;
    }
    const entriesPerUnit = most > 0 ? MOST_ENTRY / (2 * most) : 0;
    const tables = this.#tables;
    const low = new Float64Array(4);
    const high = new Float64Array(4);
    for (let group = 0; group < groups; group++) {
      const a = sums[2 * group] * entriesPerUnit;
      const b = sums[2 * group + 1] * entriesPerUnit;
      const least = FAR_LEVEL * (Math.abs(a) + Math.abs(b)) + 0.5;
      for (let bits = 0; bits < 4; bits++) {
        low[bits] = a * LEVELS[bits] + least;
        high[bits] = b * LEVELS[bits];
      }
      for (let value = 0; value < ENTRIES; value++) {
        tables[ENTRIES * group + value] = (low[value & 3] + high[value >> 2]) | 0;
      }
    }
    const length = lengthOf(sums);
    const factor = length > 0 ? ONE_WEIGHT / (entriesPerUnit * length) : 0;
    return { tables, base: total * entriesPerUnit, factor };
  }
}

function planesOf({ dimensions }: KeptVectors): number {
  let planes = LEAST_PLANES;
  while (planes < dimensions) planes *= 2;
  return planes;
}
