/**
 * Two bits of every coordinate of the difference of a vector from its partition's centroid, after
 * a rotation that makes all coordinates alike: the side, and whether far from it. A sixteenth of
 * the vector, by which the candidates for re-ranking are chosen. A distinct code is encoded by the
 * vector of its first row; residual codes lie in the order in which they are visited.
 */

import { type KernelName, rotationKernel } from '../../kernels/kernels';
import { UNIT } from '../../kernels/products/products.scalar';
import { ResidualMemory } from '../../kernels/residuals/residual-memory';
import {
  MAX_RESIDUAL_BYTES,
  ONE_WEIGHT,
  type ResidualTables,
} from '../../kernels/residuals/residuals.scalar';
import {
  FAR_LEVEL,
  NEAR_LEVEL,
  Rotation,
  type RotationKernel,
} from '../../kernels/rotation/rotation.scalar';
import type { DenseVectors } from '../vectors/dense-vectors';

/** By two bits: the side, and whether far. */
const LEVELS = [-NEAR_LEVEL, NEAR_LEVEL, -FAR_LEVEL, FAR_LEVEL];

/** Narrower vectors are filled up with zeros. */
const MIN_WIDTH = 96;
const ENTRIES = 16;
const MAX_ENTRY = 31;
/** Entries are added up as integers with so many bits behind the point. */
const FRACTION_BITS = 16;
const FRACTION = 2 ** FRACTION_BITS;
/** Of a vector that is as its centroid: a scale that is not that of a removed row. */
const NO_DIFFERENCE = 1e-30;

/** The mean direction of a partition's vectors: its centroid, of length UNIT, shortened. */
export interface Middle {
  readonly centroid: Int16Array;
  readonly length: number;
}

export class ResidualCodes {
  readonly memory: ResidualMemory;
  readonly #vectors: DenseVectors;
  readonly #rotation: Rotation;
  readonly #kernel: RotationKernel;
  readonly #tables: Uint8Array;

  /** Null where no vectors are kept, or too wide ones. */
  static of(
    { vectors, seed, kernel }: { vectors: DenseVectors | null; seed: bigint; kernel?: KernelName },
    places: number,
  ): ResidualCodes | null {
    if (vectors === null || widthOf(vectors) > 4 * MAX_RESIDUAL_BYTES) return null;
    return new ResidualCodes(vectors, new Rotation(widthOf(vectors), seed), places, kernel);
  }

  private constructor(
    vectors: DenseVectors,
    rotation: Rotation,
    places: number,
    kernel: KernelName | undefined,
  ) {
    this.memory = new ResidualMemory(rotation.width / 4, places);
    this.#vectors = vectors;
    this.#rotation = rotation;
    this.#kernel = rotationKernel(kernel);
    this.#tables = new Uint8Array((ENTRIES * rotation.width) / 2);
  }

  get bytes(): number {
    return this.memory.byteLength;
  }

  /** How much of the centroid is in a row's vector, at length 1. */
  nearnessOf(row: number, centroid: Int16Array): number {
    const vector = this.#vectors.valuesAt(row);
    let sum = 0;
    for (let i = 0; i < vector.length; i++) sum += vector[i] * centroid[i];
    const norm = this.#vectors.normOf(row);
    return norm > 0 ? sum / (norm * UNIT) : 0;
  }

  /** The residual code at a place, of a row. */
  set(place: number, row: number, { centroid, length }: Middle): void {
    this.memory.reserve(place + 1);
    const vector = this.#vectors.valuesAt(row);
    const norm = this.#vectors.normOf(row);
    if (norm === 0) {
      this.remove(place);
      return;
    }
    const { vector: sums, code: residualCode } = this.#rotation;
    const less = length / UNIT;
    for (let i = 0; i < vector.length; i++) sums[i] = vector[i] / norm - less * centroid[i];
    sums.fill(0, vector.length);
    this.#kernel.rotate(this.#rotation);
    const scale = this.#kernel.encode(this.#rotation);
    this.memory.set(place, residualCode, scale > 0 ? scale : NO_DIFFERENCE);
  }

  /** A place whose rows are all removed. */
  remove(place: number): void {
    this.memory.setScale(place, 0);
  }

  /** The lookup tables of a query, a vector of length 1. Valid until the next call. */
  tablesOf(query: Float64Array): ResidualTables {
    const { vector: sums } = this.#rotation;
    sums.fill(0, query.length);
    sums.set(query);
    this.#kernel.rotate(this.#rotation);
    const groups = sums.length / 2;
    let most = 0;
    let total = 0;
    for (let i = 0; i < sums.length; i += 2) {
      const size = FAR_LEVEL * (Math.abs(sums[i]) + Math.abs(sums[i + 1]));
      most = Math.max(most, size);
      total += size;
    }
    const entriesPerUnit = most > 0 ? MAX_ENTRY / (2 * most) : 0;
    const tables = this.#tables;
    const unit = entriesPerUnit * FRACTION;
    for (let group = 0, at = 0; group < groups; group++) {
      const a = sums[2 * group] * unit;
      const b = sums[2 * group + 1] * unit;
      const least = FAR_LEVEL * (Math.abs(a) + Math.abs(b)) + FRACTION / 2;
      const low0 = (a * LEVELS[0] + least) | 0;
      const low1 = (a * LEVELS[1] + least) | 0;
      const low2 = (a * LEVELS[2] + least) | 0;
      const low3 = (a * LEVELS[3] + least) | 0;
      for (let bits = 0; bits < 4; bits++, at += 4) {
        const high = (b * LEVELS[bits]) | 0;
        tables[at] = (low0 + high) >> FRACTION_BITS;
        tables[at + 1] = (low1 + high) >> FRACTION_BITS;
        tables[at + 2] = (low2 + high) >> FRACTION_BITS;
        tables[at + 3] = (low3 + high) >> FRACTION_BITS;
      }
    }
    const factor = entriesPerUnit > 0 ? ONE_WEIGHT / entriesPerUnit : 0;
    return { tables, base: total * entriesPerUnit, factor };
  }
}

/** A multiple of 8: residual codes take whole pairs of bytes. */
function widthOf({ dimensions }: DenseVectors): number {
  return Math.max(MIN_WIDTH, (dimensions + 7) & ~7);
}
