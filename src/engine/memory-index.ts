/**
 * The rows of an index in memory: segments and a tail that share one space. Adding appends to the
 * tail, which becomes a segment when it is long; neighbours of similar size are merged, so that
 * there are at most a logarithm of the rows of them. Removed rows are freed when half of a segment
 * is gone.
 */

import type { LongCall } from '../base/long-work';
import { alea } from '../base/random';
import { runSteps } from '../base/steps';
import type { Id } from '../index/id-table';
import type { DenseVectors } from '../index/vectors/dense-vectors';
import type { RowVectors } from '../index/vectors/row-vectors';
import { allocateIntegers } from '../k-means/points';
import { trainTree } from '../k-means/two-level';
import { NO_ROW } from '../kernels/hits';
import type { KernelName } from '../kernels/kernels';
import { UNIT } from '../kernels/products';
import { Rows, type RowsToAppend } from './rows';
import type { Searched } from './search';
import { merged, type Placed, pointsOf, type Segment, Tail } from './segment';
import { bytesPerEntryOf, Space } from './space';

/** Rows with which the tail becomes a segment; with fewer, scoring them one by one costs little. */
const TAIL_ROWS = 4096;
/** Segments are not merged to larger ones, so that a merge takes some seconds at most. */
const MAX_SEGMENT_ROWS = 2 ** 22;
/** Removed rows of a segment that are freed: more than this, and than half of its rows. */
const MIN_FREED = 1024;

/** What all rows of an index have in common. */
interface MemoryOptions {
  readonly bits: number;
  readonly bytesPerCode: number;
  readonly kernel: KernelName;
  /** Makes an empty place for vectors; null where the index holds none. */
  readonly newVectors: (() => RowVectors) | null;
  readonly seed: bigint;
  /** Rows with which the tail becomes a segment, and of the largest; tests make them small. */
  readonly tailRows?: number;
  readonly maxSegmentRows?: number;
}

/** A space for the rows, and whether they have copies in second partitions. */
export interface Layout {
  readonly space: Space | null;
  readonly hasCopies: boolean;
}

export class MemoryIndex {
  readonly #options: MemoryOptions;
  #layout: Layout = { space: null, hasCopies: false };
  #segments: Placed[] = [];
  #tail: Tail;

  constructor(options: MemoryOptions) {
    this.#options = options;
    this.#tail = this.#newTail(0);
  }

  #newTail(firstRow: number): Tail {
    const { bytesPerCode, newVectors } = this.#options;
    const rows = new Rows(firstRow, bytesPerCode, newVectors?.() ?? null);
    return new Tail(rows, this.#layout.space, this.#layout.hasCopies);
  }

  /** The number of the next row. */
  get nextRow(): number {
    return this.#tail.rows.endRow;
  }

  /** Rows that are there, null ones included. */
  get count(): number {
    return this.#parts.reduce((sum, { rows }) => sum + rows.liveCount, 0);
  }

  get segmentCount(): number {
    return this.#segments.length;
  }

  get #parts(): readonly Placed[] {
    return [...this.#segments, this.#tail];
  }

  /** What a search reads; rows of the tail get their partitions first. */
  searched(): Searched {
    this.#tail.assign();
    const { bits, kernel } = this.#options;
    return { bits, kernel, ...this.#layout, parts: this.#parts };
  }

  append(rows: RowsToAppend): void {
    this.#tail.append(rows);
    const { tailRows = TAIL_ROWS } = this.#options;
    if (this.#layout.space !== null && this.#tail.rows.count >= tailRows) this.#seal();
  }

  /** Makes a segment of the tail, and merges it with smaller neighbours. */
  #seal(): void {
    this.#tail.assign();
    const end = this.nextRow;
    const { maxSegmentRows = MAX_SEGMENT_ROWS } = this.#options;
    let parts: Placed[] = [this.#tail];
    let rows = this.#tail.rows.liveCount;
    for (let last = this.#segments.at(-1); last !== undefined; last = this.#segments.at(-1)) {
      const { liveCount } = last.rows;
      if (liveCount >= 2 * rows || liveCount + rows > maxSegmentRows) break;
      rows += liveCount;
      parts = [last, ...parts];
      this.#segments.pop();
    }
    if (rows > 0) this.#segments.push(this.#merged(parts));
    this.#tail = this.#newTail(end);
  }

  #merged(parts: readonly Placed[]): Segment {
    const { bytesPerCode, newVectors } = this.#options;
    return merged(parts, { bytesPerCode, vectors: newVectors?.() ?? null, ...this.#layout });
  }

  /** Removes a row; returns false where there is none. */
  remove(row: number): boolean {
    const found = this.#find(row);
    if (found === null) return false;
    const { part, position } = found;
    part.remove(position);
    const { count, liveCount } = part.rows;
    const removed = count - liveCount;
    if (removed <= MIN_FREED || removed <= liveCount) return true;
    const at = this.#segments.indexOf(part);
    if (at < 0) this.#seal();
    else if (liveCount === 0) this.#segments.splice(at, 1);
    else this.#segments[at] = this.#merged([part]);
    return true;
  }

  #find(row: number): { part: Placed; position: number } | null {
    for (const part of this.#parts) {
      const position = part.rows.positionOf(row);
      if (position >= 0) return { part, position };
    }
    return null;
  }

  /** The row of an id. */
  rowOf(id: Id): number | undefined {
    for (let i = this.#segments.length; i >= 0; i--) {
      const row = this.#parts[i].rows.rowOf(id);
      if (row !== undefined) return row;
    }
    return undefined;
  }

  idOf(row: number): Id | undefined {
    const found = this.#find(row);
    return found === null ? undefined : found.part.rows.idAt(found.position, row);
  }

  /** Trains a space of so many partitions on rows for which `trains` is true. */
  async train(
    partitions: number,
    seed: string,
    trains: (row: number) => boolean,
    _call: LongCall,
  ): Promise<Space> {
    const { newVectors, bits } = this.#options;
    const vectors = newVectors?.() ?? null;
    const dimensions =
      vectors?.kind === 'sparse' ? 0 : ((vectors as DenseVectors | null)?.dimensions ?? 0);
    const kind = dimensions > 0 && bytesPerEntryOf(dimensions) > 0 ? 'dense' : 'codes';
    const parts = {
      ...({ kind, dimensions: kind === 'dense' ? dimensions : bits, nearness: 1 } as const),
      seed: this.#options.seed,
    };
    const state = { coarse: new Int16Array(), starts: new Uint32Array() };
    const probe = new Space({
      ...parts,
      tree: { ...state, centroids: new Int16Array(), width: 0 },
    });
    const sample = this.#sample(probe, partitions * SAMPLE_PER_CENTROID, seed, trains);
    const count = Math.min(partitions, sample.length / probe.width);
    const tree = runSteps(trainTree(sample, probe.width, { count, seed }), {});
    const space = new Space({ ...parts, tree: tree.state });
    const nearness = kind === 'dense' ? this.#nearness(space) : 1;
    return new Space({ ...parts, nearness, tree: tree.state });
  }

  /** The points of some rows, in random order. */
  #sample(
    space: Space,
    wanted: number,
    seed: string,
    trains: (row: number) => boolean,
  ): Int16Array {
    const places: { rows: Rows; position: number }[] = [];
    for (const { rows } of this.#parts) {
      for (let position = 0; position < rows.count; position++) {
        const row = rows.codes.rows[position];
        if (row !== NO_ROW && trains(row)) places.push({ rows, position });
      }
    }
    const random = alea(seed);
    const count = Math.min(places.length, Math.max(MIN_SAMPLE, wanted));
    const sample = allocateIntegers(count, space.width);
    for (let i = 0; i < count; i++) {
      const other = i + Math.floor(random() * (places.length - i));
      [places[i], places[other]] = [places[other], places[i]];
      const { rows, position } = places[i];
      sample.set(pointsOf(rows, space, position, position + 1), i * space.width);
    }
    return sample;
  }

  /** The mean cosine of rows with their centroids, over a sample. */
  #nearness(space: Space): number {
    const { width } = space;
    let [sum, count] = [0, 0];
    for (const { rows } of this.#parts) {
      const every = Math.max(1, Math.floor(rows.count / NEARNESS_ROWS));
      for (let position = 0; position < rows.count; position += every) {
        if (rows.codes.rows[position] === NO_ROW) continue;
        const point = pointsOf(rows, space, position, position + 1);
        const [p] = space.nearestTo(point);
        const centroid = space.parts.tree.centroids.subarray(p * width, (p + 1) * width);
        let product = 0;
        for (let i = 0; i < width; i++) product += point[i] * centroid[i];
        sum += product / (UNIT * UNIT);
        count++;
      }
    }
    return Math.max(1e-3, Math.min(1, sum / Math.max(1, count)));
  }

  /** Puts all rows into the partitions of another space, as one segment. */
  place(layout: Layout): void {
    const placed = this.#parts.map(({ rows }) => {
      const all = new Tail(rows, layout.space, layout.hasCopies);
      all.assign();
      return all;
    });
    const end = this.nextRow;
    this.#layout = layout;
    this.#segments = this.count > 0 ? [this.#merged(placed)] : [];
    this.#tail = this.#newTail(end);
  }
}

/** Rows that train one centroid, and the fewest that are drawn. */
const SAMPLE_PER_CENTROID = 40;
const MIN_SAMPLE = 2 ** 14;
/** Rows of a segment whose cosines with their centroids are averaged. */
const NEARNESS_ROWS = 4096;
