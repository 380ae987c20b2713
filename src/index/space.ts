/**
 * A space: what `optimize` trains once, and what rows and queries need to find their partitions.
 * Immutable. All segments of an index share it. Its points are vectors of 7-bit integers: of
 * dense vectors where the index holds them ('dense'), else of the codes, a bit being +1 or -1
 * ('codes'). A random projection keeps angles, so both are grouped alike.
 *
 * A dense space encodes rows too: two bits of every coordinate of the difference of a row from the
 * centroid of its partition, after a rotation that makes all coordinates alike (RaBitQ, Gao & Long,
 * SIGMOD 2024). The rotation is linear, so a row and a centroid are rotated once each.
 */

import { padded } from '../base/arrays';
import { type CentroidTree, nearestIn, nearestTwo, orderInto } from '../k-means/centroid-tree';
import { NO_ROW } from '../kernels/hits';
import {
  endPoint,
  PairedRows,
  type PointRows,
  pointsOf,
  pointWidth,
  type RowsOfLengths,
  roundInto,
  scaleOf,
} from '../kernels/products';
import { MAX_RESIDUAL_BYTES, ONE_WEIGHT, type ResidualTables } from '../kernels/residuals';
import { Rotation } from '../kernels/rotation';
import type { Task } from '../threads/job';
import type { Query } from './query';

/** Narrower vectors are filled up with zeros before they are rotated. */
const MIN_WIDTH = 96;
/** The scale of a row that equals its centroid. Not 0, which marks a removed row. */
const NO_DIFFERENCE = 1e-30;
/**
 * The relative error of a residual code: the root of (1 - a^2) / a^2, where a^2 = .8812 is the
 * share of a Gaussian's variance that its four levels keep (Max 1960).
 */
const RELATIVE_ERROR = 0.367;

/**
 * A query is compared by the mean of its products with so many of the nearest partitions. With it
 * searches score .76 of the entries on sentences at a recall of .95, next to one number of
 * partitions for all queries; with 16 .74, with 48 .79; on GloVe 1.03, 1.08 and .98.
 */
const NEAREST = 24;
/** A query visits at most so many times the usual partitions: without this limit none gains. */
const MOST_TIMES = 2;

/** What a space is made of. */
export interface SpaceParts {
  readonly kind: 'dense' | 'codes';
  /** Dimensions of the vectors, or bits of the codes. */
  readonly dimensions: number;
  /** Seed of the rotation. */
  readonly seed: bigint;
  /** The mean cosine of rows with their centroids, to which a dense space shortens these. */
  readonly nearness: number;
  readonly tree: CentroidTree;
  /** True where each row has an entry in a second partition too, in a dense space. */
  readonly hasCopies: boolean;
}

/** Partitions, as `nearest` returns them and as a search visits them. */
export interface Probes {
  readonly partitions: Uint32Array;
  /** With the query, highest first; of a search 2,048 times those of the shortened centroids. */
  readonly products: Float32Array;
  /** Of searches that visit partitions together: where the room of each visit begins. */
  readonly rooms?: Uint32Array;
}

export class Space {
  readonly parts: SpaceParts;
  /** How many partitions there are. */
  readonly count: number;
  /** Bytes of a point. */
  readonly width: number;
  /** Bytes of an entry's residual code; 0 in a space of codes, or of vectors that are too wide. */
  readonly bytesPerEntry: number;
  #pairs: PairedRows | null = null;
  readonly #rotation: Rotation | null;
  /** A rotation with the rotated centroids, and which of these were made. */
  #encoding: Rotation | null = null;
  readonly #isRotated: Uint8Array;
  /** Room for the point of a query, and for the partitions near it. */
  readonly #point: Int8Array;
  #nearest: Probes = { partitions: new Uint32Array(), products: new Float32Array() };

  constructor(parts: SpaceParts) {
    this.parts = parts;
    this.width = pointWidth(parts.dimensions);
    this.count = parts.tree.centroids.length / this.width;
    this.#point = new Int8Array(this.width);
    this.#isRotated = new Uint8Array(this.count);
    this.bytesPerEntry = parts.kind === 'dense' ? bytesPerEntryOf(parts.dimensions) : 0;
    this.#rotation =
      this.bytesPerEntry > 0 ? new Rotation(4 * this.bytesPerEntry, parts.seed) : null;
  }

  /** How many entries a row has: one, or two with copies. */
  get entriesPerRow(): 1 | 2 {
    return this.parts.hasCopies ? 2 : 1;
  }

  /** The standard error of cosines that entries estimate. */
  get error(): number {
    const { nearness } = this.parts;
    return RELATIVE_ERROR * Math.sqrt((1 - nearness * nearness) / (4 * this.bytesPerEntry));
  }

  /** Writes the point of a code to the values from `at` on. */
  pointOfCode(code: Uint8Array, points: PointRows, at: number): void {
    for (let bit = 0; bit < this.parts.dimensions; bit++) {
      points.values[at + bit] = (code[bit >> 3] >> (bit & 7)) & 1 ? 1 : -1;
    }
    endPoint(points, at);
  }

  /** The points of rows; zeros where there is no row. */
  pointsOf({ rows, vectors, codes }: RowsToPlace): Int8Array {
    if (vectors !== null) return pointsOf(vectors);
    const { width } = this;
    const values = new Int8Array(rows.length * width);
    const bytesPerCode = Math.ceil(this.parts.dimensions / 8);
    for (let i = 0; i < rows.length; i++) {
      if (rows[i] === NO_ROW) continue;
      const code = (codes as Uint8Array).subarray(i * bytesPerCode, (i + 1) * bytesPerCode);
      this.pointOfCode(code, { values, width }, i * width);
    }
    return values;
  }

  /** The partitions of points, in order. */
  nearestTo(points: Int8Array): Uint32Array {
    return nearestIn(this.parts.tree, points);
  }

  /** The partitions of points, and their second ones. */
  nearestTwo(points: Int8Array): { own: Uint32Array; seconds: Uint32Array } {
    const { tree } = this.parts;
    this.#pairs ??= new PairedRows({ values: tree.centroids, width: this.width }, tree.starts);
    return nearestTwo(tree, this.#pairs, points);
  }

  /**
   * The partitions that a query visits, nearly always the nearest ones: `count` of them, or with
   * `slack` as many as `visitCount` says.
   */
  route(query: Query, count: number, slack?: number): Probes {
    const { nearness } = this.parts;
    const room = slack === undefined ? count : Math.max(NEAREST, MOST_TIMES * count);
    const { partitions, products } = this.nearest(query, room);
    const visited = slack === undefined ? count : visitCount(products, count, slack);
    const own = products.slice(0, visited);
    for (let i = 0; i < own.length; i++) own[i] = ONE_WEIGHT * (nearness * own[i]);
    return { partitions: partitions.slice(0, visited), products: own };
  }

  /**
   * The `count` partitions nearest to a query, nearly always, and its products with them, until the
   * next call.
   */
  nearest(query: Query, count: number): Probes {
    const { kind } = this.parts;
    const point = { values: this.#point, width: this.width };
    if (kind === 'dense') roundInto(query.unit as Float64Array, point, 0);
    else if (query.sums === null) this.pointOfCode(query.code, point, 0);
    else roundInto(query.sums, point, 0);
    const wanted = Math.min(count, this.count);
    if (wanted > this.#nearest.partitions.length) {
      this.#nearest = { partitions: new Uint32Array(wanted), products: new Float32Array(wanted) };
    }
    const partitions = this.#nearest.partitions.subarray(0, wanted);
    const products = this.#nearest.products.subarray(0, wanted);
    orderInto(this.parts.tree, point.values, partitions, products);
    return { partitions, products };
  }

  /** The entries of rows in some partitions, as many of each row. */
  entriesOf(rows: RowsOfLengths, partitions: Uint32Array): NonNullable<PlacedRows['entries']> {
    const { seed } = this.parts;
    this.#encoding ??= new Rotation(4 * this.bytesPerEntry, seed, this.count);
    for (const p of partitions) if (this.#isRotated[p] === 0) this.#rotateCentroid(p);
    const { codes, scales } = this.#encoding.encodeRows(rows, partitions);
    for (let i = 0; i < scales.length; i++) {
      const isThere = rows.lengths[Math.floor((i * rows.lengths.length) / scales.length)] > 0;
      if (isThere && !(scales[i] > 0)) scales[i] = NO_DIFFERENCE;
    }
    return { codes, scales };
  }

  /** Rotates and shortens the centroid of a partition, for the encoding of its rows. */
  #rotateCentroid(p: number): void {
    const { tree, nearness, dimensions } = this.parts;
    const rotation = this.#encoding as Rotation;
    const { vector, centroids, width } = rotation;
    const at = p * this.width;
    const scale = nearness * scaleOf(tree.centroids, at, this.width);
    for (let i = 0; i < dimensions; i++) vector[i] = tree.centroids[at + i] * scale;
    vector.fill(0, dimensions);
    rotation.rotate();
    centroids.set(vector, p * width);
    this.#isRotated[p] = 1;
  }

  /** The lookup tables of a query, a vector of length 1; the next call overwrites them. */
  tablesOf(unit: Float64Array): ResidualTables {
    const rotation = this.#rotation as Rotation;
    const { vector } = rotation;
    // By a loop, since `set` of numbers of another type takes twice as long.
    for (let i = 0; i < unit.length; i++) vector[i] = unit[i];
    vector.fill(0, unit.length);
    rotation.rotate();
    rotation.makeTables();
    const [zero, entriesPerUnit] = rotation.scales;
    const factor = entriesPerUnit > 0 ? ONE_WEIGHT / entriesPerUnit : 0;
    return { tables: rotation.tables, zero, factor };
  }
}

/** The level of a query: the mean of its NEAREST highest products with partitions. */
export function levelOf(products: Float32Array): number {
  const count = Math.min(NEAREST, products.length);
  let sum = 0;
  for (let i = 0; i < count; i++) sum += products[i];
  return sum / count;
}

/**
 * How many partitions a query visits by its products with the nearest, highest first: those of
 * products that are at most `slack` below its level, so that a query amid many partitions that are
 * about as near as each other visits more of them; at most MOST_TIMES `usual`.
 */
export function visitCount(products: Float32Array, usual: number, slack: number): number {
  const least = levelOf(products) - slack;
  const most = Math.min(products.length, MOST_TIMES * usual);
  let count = 1;
  while (count < most && products[count] >= least) count++;
  return count;
}

/** A multiple of 2 bytes, so that both halves take whole bytes; 0 where vectors are too wide. */
export function bytesPerEntryOf(dimensions: number): number {
  const bytes = Math.max(MIN_WIDTH, padded(dimensions)) / 4;
  return bytes > MAX_RESIDUAL_BYTES ? 0 : bytes;
}

/** Rows as a space places them: their vectors where it is dense, else their codes. */
export interface RowsToPlace {
  /** By place the row, or NO_ROW where there is none that can be found. */
  readonly rows: Uint32Array;
  /** Of length 0 where there is no row. */
  readonly vectors: RowsOfLengths | null;
  readonly codes: Uint8Array | null;
}

/** What a space says of rows, in their order. */
export interface PlacedRows {
  readonly partitions: Uint32Array;
  /** Null without copies. */
  readonly seconds: Uint32Array | null;
  /** Entries of dense rows, those of one row next to each other; scale 0 where there is none. */
  readonly entries: { readonly codes: Uint8Array; readonly scales: Float32Array } | null;
}

/** Rows of one call: some milliseconds. */
export const PLACED_AT_ONCE = 1024;

/**
 * Puts rows into partitions: the only function that does, whether rows were just added, are built
 * from files, or get another space. Threads share the work of many rows.
 */
export function place(space: Space, given: RowsToPlace): PlacedRows {
  const points = space.pointsOf(given);
  const { own: partitions, seconds } = space.parts.hasCopies
    ? space.nearestTwo(points)
    : { own: space.nearestTo(points), seconds: null };
  if (space.bytesPerEntry === 0) return { partitions, seconds, entries: null };
  const all = new Uint32Array(space.entriesPerRow * partitions.length);
  for (let i = 0; i < partitions.length; i++) {
    if (seconds === null) all[i] = partitions[i];
    else all.set([partitions[i], seconds[i]], 2 * i);
  }
  return { partitions, seconds, entries: space.entriesOf(given.vectors as RowsOfLengths, all) };
}

export const PLACING: Task<SpaceParts, RowsToPlace, PlacedRows> = {
  name: 'placing',
  open(parts) {
    const space = new Space(parts);
    return (rows) => place(space, rows);
  },
};
