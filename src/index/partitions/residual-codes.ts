/**
 * Two bits of every coordinate of the difference of a vector from its partition's centroid, after
 * a rotation that makes all coordinates alike: the side, and whether far from it. A sixteenth of
 * the vector, by which the candidates for re-ranking are chosen. A distinct code is encoded by the
 * vector of its first row; residual codes lie in the order in which they are visited.
 */

import { padded } from '../../base/arrays';
import { gatherCodes } from '../../codes/gather';
import { type IntegerRows, UNIT } from '../../kernels/products';
import { ResidualMemory } from '../../kernels/residual-memory';
import { ResidualParts } from '../../kernels/residual-parts';
import { MAX_RESIDUAL_BYTES, ONE_WEIGHT, type ResidualTables } from '../../kernels/residuals';
import { Rotation, rotationKernel } from '../../kernels/rotation';
import type { DenseVectors } from '../vectors/dense-vectors';

/** The vectors that are encoded. */
type Encoded = Pick<DenseVectors, 'dimensions' | 'valuesAt' | 'normOf'>;

/** Narrower vectors are filled up with zeros. */
const MIN_WIDTH = 96;
/** Of a vector that is as its centroid: a scale that is not that of a removed row. */
const NO_DIFFERENCE = 1e-30;

/** The mean direction of a partition's vectors: its centroid, of length UNIT, shortened. */
export interface ShortenedCentroid {
  readonly centroid: Int16Array;
  readonly length: number;
}

/** Residual codes of distinct codes, one after another, and their scales. */
export interface ResidualColumns {
  readonly codes: Uint8Array;
  readonly scales: Float32Array;
}

/** Those of distinct codes in another order: at position i that of `order[i]`. */
export function inOrder({ codes, scales }: ResidualColumns, order: Uint32Array): ResidualColumns {
  const bytes = codes.length / scales.length;
  const ordered = new Uint8Array(order.length * bytes);
  gatherCodes(codes, ordered, bytes, order);
  const orderedScales = new Float32Array(order.length);
  for (let i = 0; i < order.length; i++) orderedScales[i] = scales[order[i]];
  return { codes: ordered, scales: orderedScales };
}

export class ResidualCodes {
  readonly parts: ResidualParts;
  readonly #vectors: Encoded;
  readonly #rotation: Rotation;
  /** The tables that were made last. */
  #tables: (ResidualTables & { readonly query: Float64Array }) | null = null;

  /** Null where no vectors are kept, or too wide ones. */
  static of(
    { vectors, seed }: { vectors: Encoded | null; seed: bigint },
    places: number | ResidualParts,
  ): ResidualCodes | null {
    if (vectors === null || residualBytesOf({ dense: vectors }) === 0) return null;
    return new ResidualCodes(vectors, new Rotation(widthOf(vectors), seed), places);
  }

  private constructor(vectors: Encoded, rotation: Rotation, places: number | ResidualParts) {
    const isMade = typeof places !== 'number';
    this.parts = isMade ? places : new ResidualParts(rotation.width / 4, Math.max(places, 1));
    this.#vectors = vectors;
    this.#rotation = rotation;
  }

  get bytes(): number {
    return this.parts.byteLength;
  }

  /** The residual code at a place, of a row. */
  set(place: number, row: number, shortened: ShortenedCentroid): void {
    this.parts.reserve(place + 1);
    const { code } = this.#rotation;
    this.parts.set(place, code, this.#encode(row, shortened));
  }

  /** Puts the residual codes that were read of distinct codes `first` to `end - 1` at a place. */
  restore(place: number, { codes, scales }: ResidualColumns, first: number, end: number): void {
    const { bytesPerRow: bytes } = this.parts;
    const own = codes.subarray(first * bytes, end * bytes);
    this.parts.setRows(place, own, scales.subarray(first, end));
  }

  /** Writes the residual code of a row to `out[at]..`; returns its scale, 0 of a zero vector. */
  encodeInto(row: number, shortened: ShortenedCentroid, out: Uint8Array, at: number): number {
    const scale = this.#encode(row, shortened);
    if (scale > 0) out.set(this.#rotation.code, at);
    return scale;
  }

  /** Copies the residual code at a place to `out[at]..`; returns its scale. */
  copyInto(place: number, out: Uint8Array, at: number): number {
    return this.parts.copyInto(place, out, at);
  }

  /** Encodes into the rotation. */
  #encode(row: number, { centroid, length }: ShortenedCentroid): number {
    const vector = this.#vectors.valuesAt(row);
    const norm = this.#vectors.normOf(row);
    if (norm === 0) return 0;
    const { vector: sums } = this.#rotation;
    const less = length / UNIT;
    for (let i = 0; i < vector.length; i++) sums[i] = vector[i] / norm - less * centroid[i];
    return this.#encodeSums(vector.length);
  }

  /** Encodes the first values of the rotation's vector. */
  #encodeSums(count: number): number {
    this.#rotation.vector.fill(0, count);
    rotationKernel.rotate(this.#rotation);
    const scale = rotationKernel.encode(this.#rotation);
    return scale > 0 ? scale : NO_DIFFERENCE;
  }

  /** Codes of whole vectors of length UNIT, by which those near a query are found. */
  codesOf({ values, width }: IntegerRows): ResidualMemory {
    const count = values.length / width;
    const codes = new ResidualMemory(this.parts.bytesPerRow, count);
    const { vector, code } = this.#rotation;
    for (let row = 0, at = 0; row < count; row++) {
      for (let i = 0; i < width; i++) vector[i] = values[at++] / UNIT;
      codes.set(row, code, this.#encodeSums(width));
    }
    return codes;
  }

  /** A place whose rows are all removed. */
  remove(place: number): void {
    this.parts.setScale(place, 0);
  }

  /**
   * The lookup tables of a query, a vector of length 1 that stays as it is. Valid until the next
   * call for another one: routing and scoring ask for the same.
   */
  tablesOf(query: Float64Array): ResidualTables {
    if (this.#tables?.query !== query) this.#tables = { query, ...this.#newTables(query) };
    return this.#tables;
  }

  #newTables(query: Float64Array): ResidualTables {
    const { vector, tables, scales } = this.#rotation;
    vector.set(query);
    vector.fill(0, query.length);
    rotationKernel.rotate(this.#rotation);
    rotationKernel.tables(this.#rotation);
    const [zero, entriesPerUnit] = scales;
    return { tables, zero, factor: entriesPerUnit > 0 ? ONE_WEIGHT / entriesPerUnit : 0 };
  }
}

/** How much of a centroid is in the vector of a row, at length 1. */
export function nearnessOf(vectors: Encoded, row: number, centroid: Int16Array): number {
  const vector = vectors.valuesAt(row);
  let sum = 0;
  for (let i = 0; i < vector.length; i++) sum += vector[i] * centroid[i];
  const norm = vectors.normOf(row);
  return norm > 0 ? sum / (norm * UNIT) : 0;
}

/** Bytes of a residual code of an index of these vectors; 0 where there are none. */
export function residualBytesOf({ dense }: { dense: Pick<Encoded, 'dimensions'> | null }): number {
  if (dense === null || widthOf(dense) > 4 * MAX_RESIDUAL_BYTES) return 0;
  return widthOf(dense) / 4;
}

/** A multiple of 8: both halves of residual codes take whole bytes. */
function widthOf({ dimensions }: Pick<Encoded, 'dimensions'>): number {
  return Math.max(MIN_WIDTH, padded(dimensions));
}
