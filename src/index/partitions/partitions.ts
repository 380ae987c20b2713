/**
 * Distinct codes grouped by their nearest centroid, stored group by group: a search visits only the
 * groups whose centroids are near its query. Distinct codes added later are listed with their group
 * until the groups are put in order again.
 */

import type { Steps } from '../../base/steps';
import type { SimHasher } from '../../hashing/simhash';
import type { HitSearch, RowCodes } from '../../kernels/hits/hits';
import { type KernelName, residualKernel, weightedKernel } from '../../kernels/kernels';
import { blocksOf, ResidualMemory } from '../../kernels/residuals/residual-memory';
import { RANGE, type ResidualTables, type RowRun } from '../../kernels/residuals/residuals.scalar';
import type { WeightTables } from '../../kernels/weighted/weighted.scalar';
import type { DistinctCodes } from '../distinct/distinct-codes';
import type { DenseVectors } from '../vectors/dense-vectors';
import { Centroids, type Routes } from './centroids';
import { encodeAll } from './encoding';
import { gapOf, gapsOf, meanGaps, sampleStep, shortened, type Weighed } from './gaps';
import {
  ResidualCodes,
  type ResidualColumns,
  type ShortenedCentroid,
  standardError,
} from './residual-codes';
import { type PartitionQuery, type Space, spaceOf } from './space';

/** Distinct codes whose mean nearness to their centroids is taken for that of all. */
const NEARNESS_CODES = 2 ** 14;

/** What partitions use of their index. */
interface Origin {
  readonly dense: DenseVectors | null;
  readonly bits: number;
  readonly hasher: Pick<SimHasher, 'seed'>;
  readonly kernel: KernelName | undefined;
}

/** Centroids, where the distinct codes of each begin, and what was measured of them before. */
interface Grouping {
  readonly centroids: Int16Array;
  readonly starts: Uint32Array;
  readonly nearness?: number | undefined;
  /** See gaps.ts. */
  readonly gaps?: readonly number[] | undefined;
  /** Residual codes that need not be made. */
  readonly residuals?: ResidualColumns | null;
}

/** Partitions as other threads read them in place. */
export interface PartitionState extends Grouping {
  readonly nearness: number;
  readonly gaps: readonly number[];
  readonly added: readonly number[][];
  readonly partitionOfAdded: readonly number[];
  readonly residualCodes: ResidualMemory['state'] | null;
}

export class Partitions {
  readonly count: number;
  readonly centroids: Int16Array;
  readonly routing: Centroids;
  readonly space: Space;
  /** Distinct codes of partition p lie at `starts[p]` to `starts[p + 1]`. */
  readonly starts: Uint32Array;
  /** Null where no vectors are held. */
  readonly residualCodes: ResidualCodes | null;
  /** Where the residual codes of partition p begin: at a block. */
  readonly #places: Uint32Array;
  #nearness = 0;
  #gaps: readonly number[] = [];
  #ranges = new Uint32Array(256);
  #rangesAsFloats = new Float32Array(this.#ranges.buffer);
  readonly #distinctCodes: DistinctCodes;
  readonly #added: number[][];
  /** The partition of each distinct code added since they were put in order. */
  readonly #partitionOfAdded: number[] = [];
  readonly #kernel: KernelName | undefined;

  private constructor(
    origin: Origin,
    distinctCodes: DistinctCodes,
    { centroids, starts }: Grouping,
    made?: ResidualMemory | undefined,
  ) {
    const { dense, bits, kernel, hasher } = origin;
    this.#distinctCodes = distinctCodes;
    this.space = spaceOf({ dense, bits }, distinctCodes);
    this.centroids = centroids;
    this.routing = new Centroids(centroids, this.space.width, kernel);
    this.count = this.routing.count;
    this.starts = starts;
    this.#places = blocksOf(starts);
    const encoded = { vectors: dense, seed: hasher.seed, ...(kernel !== undefined && { kernel }) };
    this.residualCodes = ResidualCodes.of(encoded, made ?? this.#places[this.count]);
    this.#added = Array.from({ length: this.count }, () => []);
    this.#kernel = kernel;
  }

  /** The partitions of another thread, to be searched. */
  static over(origin: Origin, distinctCodes: DistinctCodes, state: PartitionState): Partitions {
    const { residualCodes, nearness, gaps, added, partitionOfAdded } = state;
    const memory = residualCodes === null ? undefined : ResidualMemory.over(residualCodes);
    const partitions = new Partitions(origin, distinctCodes, state, memory);
    partitions.#nearness = nearness;
    partitions.#gaps = gaps;
    for (const [p, own] of added.entries()) partitions.#added[p].push(...own);
    partitions.#partitionOfAdded.push(...partitionOfAdded);
    return partitions;
  }

  get state(): PartitionState {
    const { centroids, starts, nearness, gaps, residualCodes } = this;
    const added = { added: this.#added, partitionOfAdded: this.#partitionOfAdded };
    const held = residualCodes?.memory.state ?? null;
    return { ...{ centroids, starts, nearness, gaps }, ...added, residualCodes: held };
  }

  /** Partitions with the residual codes of all their distinct codes. */
  static *of(origin: Origin, distinctCodes: DistinctCodes, grouping: Grouping): Steps<Partitions> {
    const partitions = new Partitions(origin, distinctCodes, grouping);
    if (partitions.residualCodes === null) return partitions;
    partitions.#nearness = grouping.nearness ?? partitions.#meanNearness();
    const { residuals = null, starts } = grouping;
    const dense = origin.dense as DenseVectors;
    if (residuals === null) {
      const { bits, hasher } = origin;
      const held = { dense: dense.state, distinctCodes: distinctCodes.state };
      yield* encodeAll(partitions, { ...held, bits, seed: hasher.seed });
    }
    for (let p = 0; residuals !== null && p < partitions.count; p++) {
      const place = partitions.#placeOf(starts[p], p);
      partitions.residualCodes?.restore(place, residuals, starts[p], starts[p + 1]);
      yield undefined;
    }
    partitions.#gaps = grouping.gaps ?? (yield* partitions.#measuredGaps(dense));
    return partitions;
  }

  *#measuredGaps(dense: DenseVectors): Steps<number[]> {
    const total = this.starts[this.count];
    const all: number[][] = [];
    for (let distinct = 0; distinct < total; distinct += sampleStep(total)) {
      all.push(yield* gapsOf(this, dense.unitOf(this.#distinctCodes.rowOf(distinct))));
      yield undefined;
    }
    return meanGaps(all);
  }

  /** The mean over a sample of the distinct codes. */
  #meanNearness(): number {
    const total = this.starts[this.count];
    const every = Math.max(1, Math.ceil(total / NEARNESS_CODES));
    let sum = 0;
    for (let distinct = 0; distinct < total; distinct += every) {
      sum += (this.residualCodes as ResidualCodes).nearnessOf(
        this.#distinctCodes.rowOf(distinct),
        this.routing.at(this.#partitionOf(distinct)),
      );
    }
    const mean = sum / Math.max(1, Math.ceil(total / every));
    return Math.max(0, Math.min(1, mean)); // centroids are rounded
  }

  /** Makes the residual codes of distinct codes `first` to `end - 1`. */
  encode(first: number, end: number): null {
    for (let distinct = first, p = this.#partitionOf(first); distinct < end; distinct++) {
      while (this.starts[p + 1] <= distinct) p++;
      this.#encode(distinct, p);
    }
    return null;
  }

  #encode(distinct: number, p: number): void {
    const row = this.#distinctCodes.rowOf(distinct);
    this.residualCodes?.set(this.#placeOf(distinct, p), row, this.#shortenedOf(p));
  }

  #shortenedOf(p: number): ShortenedCentroid {
    return { centroid: this.routing.at(p), length: this.#nearness };
  }

  /**
   * Writes the residual code of a row that is not null to `out[at]..`, also where it shares its
   * code with an earlier one; returns its scale.
   */
  residualInto(row: number, out: Uint8Array, at: number): number {
    const residualCodes = this.residualCodes as ResidualCodes;
    const distinct = this.#distinctCodes.distinctOf(row);
    const p = this.#partitionOf(distinct);
    if (this.#distinctCodes.rowOf(distinct) !== row) {
      return residualCodes.encodeInto(row, this.#shortenedOf(p), out, at);
    }
    return residualCodes.copyInto(this.#placeOf(distinct, p), out, at);
  }

  get bytes(): number {
    const near = this.residualCodes?.bytes ?? 0;
    return this.centroids.byteLength + 20 * this.count + 16 * this.addedCount + near;
  }

  /** The mean cosine of vectors with their centroids, by which residual codes are made. */
  get nearness(): number {
    return this.#nearness;
  }

  /** By which searches end early, see gaps.ts. */
  get gaps(): readonly number[] {
    return this.#gaps;
  }

  /** Likely error of cosines by residual codes, of rows about as near to their centroid as most. */
  get error(): number {
    return standardError(this.space.width, this.#nearness);
  }

  /** Distinct codes added since the groups were put in order. */
  get addedCount(): number {
    return this.#partitionOfAdded.length;
  }

  /** Makes room for further distinct codes. Throws, and changes nothing, where there is none. */
  reserve(count: number): void {
    this.residualCodes?.memory.reserve(this.#places[this.count] + this.addedCount + count);
  }

  /** Takes a distinct code that was added, or has rows again. */
  take(distinct: number, isNew: boolean): void {
    if (isNew) this.#add(distinct);
    this.#encode(distinct, this.#partitionOf(distinct));
  }

  #add(distinct: number): void {
    const vector = new Int16Array(this.space.width);
    this.space.vectorInto(distinct, vector, 0);
    const nearest = this.routing.nearestTo(vector);
    this.#added[nearest].push(distinct);
    this.#partitionOfAdded.push(nearest);
  }

  /** Drops a distinct code whose rows are all removed. */
  drop(distinct: number): void {
    this.residualCodes?.remove(this.#placeOf(distinct, this.#partitionOf(distinct)));
  }

  /** See `Centroids.nearest`. */
  nearest(query: Int16Array, probes: number): Routes {
    return this.routing.nearest(query, probes);
  }

  /** Weighs the distinct codes in the partitions nearest to a point; holds the `ask` lightest. */
  *weighCodes(
    point: Int16Array,
    probes: number,
    weights: WeightTables,
    ask: number,
  ): Steps<Weighed> {
    const kernel = weightedKernel(this.#kernel);
    const begin = (from: RowCodes) => kernel.search(from, weights, ask);
    const all = this.#distinctCodes.codes.search(begin, weights.maxWeight, ask);
    const codes = this.#visit(this.nearest(point, probes).order, all);
    return { search: all.end(), codes, visited: probes };
  }

  /**
   * The same by residual codes, ending early as gaps.ts says. Tables and ranges are made at each
   * call, since a filter that searches in turn overwrites them.
   */
  // biome-ignore lint/correctness/useYield: as above
  *weighResiduals({ point, unit }: PartitionQuery, probes: number, ask: number): Steps<Weighed> {
    const routes = this.nearest(point, probes);
    const tables = (this.residualCodes as ResidualCodes).tablesOf(unit);
    return this.weighRouted(tables, routes, ask, gapOf(this.gaps, probes, ask));
  }

  /** The same in partitions that are known, nearest first. */
  weighRouted(
    tables: ResidualTables,
    { order, products }: Routes,
    ask: number,
    gap: number,
  ): Weighed {
    const ranges = this.#rangesOf(order, products);
    const { memory } = this.residualCodes as ResidualCodes;
    const search = residualKernel(this.#kernel).search(memory, tables, ask, gap);
    return { search, ...this.#visitedOf(order, search.ranges(ranges)) };
  }

  /** Shows the distinct codes of partitions to a search; returns how many. */
  #visit(partitions: Uint32Array, search: Pick<HitSearch, 'range'>): number {
    let count = 0;
    for (const partition of partitions) {
      const first = this.starts[partition];
      const end = this.starts[partition + 1];
      search.range(first, end);
      const added = this.#added[partition];
      for (const distinct of added) search.range(distinct, distinct + 1);
      count += end - first + added.length;
    }
    return count;
  }

  /**
   * The residual codes in partitions, nearest first, by the products of the query with their
   * centroids: as ranges that are valid until the next call.
   */
  #rangesOf(order: Uint32Array, products: Int32Array): Uint32Array {
    let added = 0;
    if (this.addedCount > 0) for (const p of order) added += this.#added[p].length;
    const length = RANGE * (order.length + added);
    if (length > this.#ranges.length) {
      this.#ranges = new Uint32Array(2 * length);
      this.#rangesAsFloats = new Float32Array(this.#ranges.buffer);
    }
    let at = 0;
    for (let i = 0; i < order.length; i++) {
      const p = order[i];
      // Residuals lack the shortened centroid: its product with the query is added to each cosine.
      const more = shortened(products[i], this.#nearness);
      const first = this.starts[p];
      const count = this.starts[p + 1] - first;
      at = this.#range(at, this.#places[p], first, count, more);
      if (added === 0) continue;
      for (const distinct of this.#added[p])
        at = this.#range(at, this.#placeOf(distinct, p), distinct, 1, more);
    }
    return this.#ranges.subarray(0, length);
  }

  /** How many residual codes a partition has. */
  rowsOf(p: number): number {
    return this.starts[p + 1] - this.starts[p] + this.#added[p].length;
  }

  /** The residual codes of a partition, in the order of a search, as runs of places. */
  runsOf(p: number): RowRun[] {
    const [first, code, next] = [this.#places[p], this.starts[p], this.starts[p + 1]];
    const added = this.#added[p].map((distinct) => {
      const place = this.#placeOf(distinct, p);
      return { first: place, end: place + 1, code: distinct };
    });
    return [{ first, end: first + next - code, code }, ...added];
  }

  /** Residual codes and partitions among the first so many of the ranges of an order. */
  #visitedOf(order: Uint32Array, ranges: number): { codes: number; visited: number } {
    let codes = 0;
    for (let i = 0; i < ranges; i++) codes += this.#ranges[RANGE * i + 2];
    let visited = 0;
    for (let left = ranges; left > 0; visited++) left -= 1 + this.#added[order[visited]].length;
    return { codes, visited };
  }

  #range(at: number, place: number, distinct: number, count: number, more: number): number {
    const ranges = this.#ranges;
    ranges[at] = place;
    ranges[at + 1] = distinct;
    ranges[at + 2] = count;
    this.#rangesAsFloats[at + 3] = more;
    return at + RANGE;
  }

  /**
   * Where the residual code of a distinct code is: those of added ones follow the partitions, in
   * order.
   */
  #placeOf(distinct: number, p: number): number {
    const total = this.starts[this.count];
    if (distinct >= total) return this.#places[this.count] + distinct - total;
    return this.#places[p] + distinct - this.starts[p];
  }

  #partitionOf(distinct: number): number {
    const added = distinct - this.starts[this.count];
    if (added >= 0) return this.#partitionOfAdded[added];
    let low = 0;
    let high = this.count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= distinct) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The partition of each distinct code. */
  partitionOfEach(count: number): Uint32Array {
    const partitions = new Uint32Array(count);
    for (let p = 0; p < this.count; p++) {
      partitions.fill(p, this.starts[p], this.starts[p + 1]);
      for (const distinct of this.#added[p]) partitions[distinct] = p;
    }
    return partitions;
  }
}
