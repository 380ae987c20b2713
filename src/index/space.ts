/**
 * A space: what `optimize` trains once, and what rows and queries need to find their partitions.
 * Immutable. All segments of an index share it. Its points are unit vectors of 16-bit integers: of
 * dense vectors where the index holds them ('dense'), else of the codes, a bit being +1 or -1
 * ('codes'). A random projection keeps angles, so both are grouped alike.
 *
 * A dense space encodes rows too: two bits of every coordinate of the difference of a row from the
 * centroid of its partition, after a rotation that makes all coordinates alike (RaBitQ, Gao & Long,
 * SIGMOD 2024). The rotation is linear, so a row and a centroid are rotated once each.
 */

import { padded } from '../base/arrays';
import { lengthOf } from '../base/length';
import { roundInto } from '../k-means/points';
import { CentroidTree, SecondCentroids, type TreeState } from '../k-means/two-level';
import { integerWidth, UNIT } from '../kernels/products';
import { MAX_RESIDUAL_BYTES, ONE_WEIGHT, type ResidualTables } from '../kernels/residuals';
import { Rotation, rotationKernel } from '../kernels/rotation';
import { checksum } from '../kernels/xxhash';
import type { Query } from './query-parts';

/** Narrower vectors are filled up with zeros before they are rotated. */
const MIN_WIDTH = 96;
/** The scale of a row that equals its centroid. Not 0, which marks a removed row. */
const NO_DIFFERENCE = 1e-30;
/**
 * The relative error of a residual code: the root of (1 - a^2) / a^2, where a^2 = .8812 is the
 * share of a Gaussian's variance that its four levels keep (Max 1960).
 */
const RELATIVE_ERROR = 0.367;

/** What a space is made of. */
export interface SpaceParts {
  readonly kind: 'dense' | 'codes';
  /** Dimensions of the vectors, or bits of the codes. */
  readonly dimensions: number;
  /** Seed of the rotation. */
  readonly seed: bigint;
  /** The mean cosine of rows with their centroids, to which a dense space shortens these. */
  readonly nearness: number;
  readonly tree: TreeState;
}

/** A row's second centroid; see SecondCentroids. */
type Seconds = Pick<SecondCentroids, 'of'>;

/** Partitions that a search visits. */
export interface Probes {
  readonly partitions: Uint32Array;
  /** Of each 2,048 times the product of the query and the shortened centroid. */
  readonly products: Float64Array;
  /** Of searches that visit partitions together: where the room of each visit begins. */
  readonly rooms?: Uint32Array;
}

export class Space {
  readonly parts: SpaceParts;
  /** How many partitions there are. */
  readonly count: number;
  /** Integers of a point. */
  readonly width: number;
  /** Bytes of an entry's residual code; 0 in a space of codes, or of vectors that are too wide. */
  readonly bytesPerEntry: number;
  readonly #tree: CentroidTree;
  readonly #rotation: Rotation | null;
  /** Rotated and shortened centroids, made when they are first needed. */
  readonly #rotated: (Float32Array | undefined)[] = [];
  #seconds: Seconds | null = null;
  #name: string | null = null;

  constructor(parts: SpaceParts) {
    this.parts = parts;
    this.width = integerWidth(parts.dimensions);
    this.count = parts.tree.centroids.length / this.width;
    this.#tree = new CentroidTree(parts.tree);
    this.bytesPerEntry = parts.kind === 'dense' ? bytesPerEntryOf(parts.dimensions) : 0;
    this.#rotation =
      this.bytesPerEntry > 0 ? new Rotation(4 * this.bytesPerEntry, parts.seed) : null;
  }

  /** A checksum of all that decides where a row or a query goes. */
  get name(): string {
    const { kind, dimensions, seed, nearness, tree } = this.parts;
    this.#name ??= [
      checksum(new TextEncoder().encode(`${kind} ${dimensions} ${seed} ${nearness}`)),
      ...[tree.centroids, tree.coarse, tree.starts].map((values) =>
        checksum(new Uint8Array(values.buffer, values.byteOffset, values.byteLength)),
      ),
    ].join('-');
    return this.#name;
  }

  /** The standard error of cosines that entries estimate. */
  get error(): number {
    const { nearness } = this.parts;
    return RELATIVE_ERROR * Math.sqrt((1 - nearness * nearness) / (4 * this.bytesPerEntry));
  }

  /** Writes the point of a vector of this length to `out[at]..`. */
  pointOfVector(vector: ArrayLike<number>, norm: number, out: Int16Array, at: number): void {
    roundInto(vector, norm, out, at);
  }

  /** Writes the point of a code to `out[at]..`. */
  pointOfCode(code: Uint8Array, out: Int16Array, at: number): void {
    const one = Math.floor(UNIT / Math.sqrt(this.parts.dimensions));
    for (let bit = 0; bit < this.parts.dimensions; bit++) {
      out[at + bit] = (code[bit >> 3] >> (bit & 7)) & 1 ? one : -one;
    }
  }

  /** The partitions of points, in order. */
  nearestTo(points: Int16Array): Uint32Array {
    const nearest = new Uint32Array(points.length / this.width);
    this.#tree.nearestInto(points, nearest);
    return nearest;
  }

  /** The second partitions of points whose first ones are `own`. */
  secondsOf(points: Int16Array, own: Uint32Array): Uint32Array {
    this.#seconds ??= new SecondCentroids(this.#tree.state);
    return this.#seconds.of(points, own);
  }

  /** The first `count` partitions that a query visits: nearly always the nearest ones. */
  route(query: Query, count: number): Probes {
    const { kind, nearness } = this.parts;
    const point = new Int16Array(this.width);
    if (kind === 'dense') roundInto(query.unit as Float64Array, 1, point, 0);
    else if (query.sums === null) this.pointOfCode(query.code, point, 0);
    else roundInto(query.sums, lengthOf(query.sums), point, 0);
    const partitions = new Uint32Array(Math.min(count, this.count));
    const found = new Int32Array(partitions.length);
    this.#tree.orderInto(point, partitions, found);
    const products = new Float64Array(found.length);
    for (let i = 0; i < found.length; i++) {
      products[i] = ONE_WEIGHT * (nearness * (found[i] / (UNIT * UNIT)));
    }
    return { partitions, products };
  }

  /** Rotates a row, which `encode` then compares with centroids. */
  rotated(vector: ArrayLike<number>, norm: number): Float64Array {
    const rotation = this.#rotation as Rotation;
    const { vector: values } = rotation;
    for (let i = 0; i < vector.length; i++) values[i] = vector[i] / norm;
    values.fill(0, vector.length);
    rotationKernel.rotate(rotation);
    return values.slice();
  }

  /** The residual code of a rotated row in a partition: a view that the next call overwrites. */
  encode(rotated: Float64Array, p: number): { code: Uint8Array; scale: number } {
    const rotation = this.#rotation as Rotation;
    const { vector, code } = rotation;
    this.#rotated[p] ??= this.#rotatedCentroid(p);
    const centroid = this.#rotated[p];
    for (let i = 0; i < vector.length; i++) vector[i] = rotated[i] - centroid[i];
    const scale = Math.fround(rotationKernel.encode(rotation));
    return { code, scale: scale > 0 ? scale : NO_DIFFERENCE };
  }

  #rotatedCentroid(p: number): Float32Array {
    const { tree, nearness, dimensions } = this.parts;
    const centroid = tree.centroids.subarray(p * this.width, p * this.width + dimensions);
    return Float32Array.from(this.rotated(centroid, UNIT / nearness));
  }

  /** The lookup tables of a query, a vector of length 1; the next call overwrites them. */
  tablesOf(unit: Float64Array): ResidualTables {
    const rotation = this.#rotation as Rotation;
    rotation.vector.set(unit);
    rotation.vector.fill(0, unit.length);
    const kernel = rotationKernel;
    kernel.rotate(rotation);
    kernel.tables(rotation);
    const [zero, entriesPerUnit] = rotation.scales;
    const factor = entriesPerUnit > 0 ? ONE_WEIGHT / entriesPerUnit : 0;
    return { tables: rotation.tables, zero, factor };
  }
}

/** A multiple of 2 bytes, so that both halves take whole bytes; 0 where vectors are too wide. */
export function bytesPerEntryOf(dimensions: number): number {
  const bytes = Math.max(MIN_WIDTH, padded(dimensions)) / 4;
  return bytes > MAX_RESIDUAL_BYTES ? 0 : bytes;
}
