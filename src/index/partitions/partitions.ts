/**
 * Distinct codes grouped by their nearest centroid, stored group by group: a search visits only the
 * groups whose centroids are near its query. With copies each code is listed in a second group too
 * (k-means/second-centroid.ts): where codes lie far from all centroids, a search then finds the
 * same share in fewer groups. Distinct codes added later are listed with their groups until these
 * are put in order again.
 */

import type { Steps } from '../../base/steps';
import type { SimHasher } from '../../hashing/simhash';
import { flatSecondsState, SecondCentroids } from '../../k-means/second-centroid';
import type { RowCodes, Search } from '../../kernels/hits';
import { ResidualParts } from '../../kernels/residual-parts';
import { type RowRun, residualKernel } from '../../kernels/residual-search';
import type { ResidualTables } from '../../kernels/residuals';
import { type WeightTables, weightedKernel } from '../../kernels/weighted';
import type { DistinctCodes } from '../distinct/distinct-codes';
import type { DenseVectors } from '../vectors/dense-vectors';
import { Centroids, type Routes } from './centroids';
import { encodeAll } from './encoding';
import { type AddedState, type Copies, copiesOf, Entries, withoutCopies } from './entries';
import { gapOf, gapsOf, meanGaps, sampleStep, shortened, type Weighed } from './gaps';
import {
  inOrder,
  nearnessOf,
  ResidualCodes,
  type ResidualColumns,
  type ShortenedCentroid,
} from './residual-codes';
import { type PartitionQuery, type RoutedQuery, type Space, spaceOf } from './space';

/** Distinct codes whose mean nearness to their centroids is taken for that of all. */
const NEARNESS_CODES = 2 ** 14;

/** What partitions use of their index. */
interface Origin {
  readonly dense: DenseVectors | null;
  readonly bits: number;
  readonly hasher: Pick<SimHasher, 'seed'>;
}

/** Centroids, where the distinct codes of each begin, and what was measured of them before. */
interface Grouping {
  readonly centroids: Int16Array;
  readonly starts: Uint32Array;
  readonly nearness?: number | undefined;
  /** See gaps.ts. */
  readonly gaps?: readonly number[] | undefined;
  /** By distinct code its second partition; null without copies. */
  readonly seconds?: Uint32Array | null;
  /** Residual codes that need not be made, by distinct code: in own and in second partitions. */
  readonly residuals?: ResidualColumns | null;
  readonly copied?: ResidualColumns | null;
}

/** Partitions as other threads read them in place. */
export interface PartitionState extends Pick<Grouping, 'centroids' | 'starts'>, AddedState {
  readonly nearness: number;
  readonly gaps: readonly number[];
  readonly copies: Copies | null;
  readonly residualCodes: ResidualParts['state'] | null;
}

/** What a constructor is given besides centroids and starts: of another thread, or nothing. */
type Made = Pick<PartitionState, 'copies' | 'added'> & { readonly parts?: ResidualParts };

export class Partitions {
  readonly count: number;
  readonly centroids: Int16Array;
  readonly routing: Centroids;
  readonly space: Space;
  /** Distinct codes of partition p lie at `starts[p]` to `starts[p + 1]`. */
  readonly starts: Uint32Array;
  /** Null where no vectors are held. */
  readonly residualCodes: ResidualCodes | null;
  readonly #entries: Entries;
  #nearness = 0;
  #gaps: readonly number[] = [];
  readonly #distinctCodes: DistinctCodes;

  private constructor(
    origin: Origin,
    distinctCodes: DistinctCodes,
    { centroids, starts }: Grouping,
    made: Made,
  ) {
    const { dense, bits, hasher } = origin;
    this.#distinctCodes = distinctCodes;
    this.space = spaceOf({ dense, bits }, distinctCodes);
    this.centroids = centroids;
    this.starts = starts;
    this.#entries = new Entries(starts, made.copies, made);
    const encoded = { vectors: dense, seed: hasher.seed };
    this.residualCodes = ResidualCodes.of(encoded, made.parts ?? this.#entries.placeCount);
    this.routing = new Centroids(centroids, this.space.width, this.residualCodes);
    this.count = this.routing.count;
  }

  /** The partitions of another thread, to be searched. */
  static over(origin: Origin, distinctCodes: DistinctCodes, state: PartitionState): Partitions {
    const { residualCodes, nearness, gaps, copies, added } = state;
    const made = residualCodes === null ? {} : { parts: ResidualParts.over(residualCodes) };
    const partitions = new Partitions(origin, distinctCodes, state, { copies, added, ...made });
    partitions.#nearness = nearness;
    partitions.#gaps = gaps;
    return partitions;
  }

  get state(): PartitionState {
    const { centroids, starts, nearness, gaps, residualCodes } = this;
    const entries = { copies: this.#entries.copies, ...this.#entries.state };
    const held = residualCodes?.parts.state ?? null;
    return { ...{ centroids, starts, nearness, gaps }, ...entries, residualCodes: held };
  }

  /** Partitions with the residual codes of all their distinct codes. */
  static *of(origin: Origin, distinctCodes: DistinctCodes, grouping: Grouping): Steps<Partitions> {
    const { residuals = null, copied = null, seconds = null, starts } = grouping;
    const copies = seconds && copiesOf(starts, seconds);
    const partitions = new Partitions(origin, distinctCodes, grouping, { copies, added: [] });
    if (partitions.residualCodes === null) return partitions;
    const dense = origin.dense as DenseVectors;
    const { routing } = partitions;
    partitions.#nearness =
      grouping.nearness ?? meanNearness(dense, distinctCodes, { starts, routing });
    if (residuals === null || (copies !== null && copied === null)) {
      const { bits, hasher } = origin;
      const held = { dense: dense.state, distinctCodes: distinctCodes.state };
      yield* encodeAll(partitions, { ...held, bits, seed: hasher.seed });
    } else yield* partitions.#restore(residuals, copied);
    partitions.#gaps = grouping.gaps ?? (yield* partitions.#measuredGaps(dense));
    return partitions;
  }

  /** Puts residual codes that were read into their places. */
  *#restore(residuals: ResidualColumns, copied: ResidualColumns | null): Steps<void> {
    const { starts, residualCodes } = this;
    for (let p = 0; p < this.count; p++) {
      const place = this.#entries.placeOf(starts[p], p, 0);
      residualCodes?.restore(place, residuals, starts[p], starts[p + 1]);
      const codes = this.#entries.copiesIn(p, starts[p + 1] - starts[p]);
      if (copied !== null && codes.length > 0) {
        const own = inOrder(copied, codes);
        residualCodes?.restore(this.#entries.placeOfCopy(codes[0]), own, 0, codes.length);
      }
      yield undefined;
    }
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
    if (!this.hasCopies) return;
    const second = this.#shortenedOf(this.#entries.secondOf(distinct));
    this.residualCodes?.set(this.#entries.placeOfCopy(distinct), row, second);
  }

  #shortenedOf(p: number): ShortenedCentroid {
    return { centroid: this.routing.at(p), length: this.#nearness };
  }

  /**
   * Writes the residual code of a row that is not null to `out[at]..`, also where it shares its
   * code with an earlier one; returns its scale. With `isCopy` that in the second partition.
   */
  residualInto(row: number, out: Uint8Array, at: number, isCopy = false): number {
    const residualCodes = this.residualCodes as ResidualCodes;
    const distinct = this.#distinctCodes.distinctOf(row);
    const p = isCopy ? this.#entries.secondOf(distinct) : this.#partitionOf(distinct);
    if (this.#distinctCodes.rowOf(distinct) !== row) {
      return residualCodes.encodeInto(row, this.#shortenedOf(p), out, at);
    }
    const place = isCopy ? this.#entries.placeOfCopy(distinct) : this.#placeOf(distinct, p);
    return residualCodes.copyInto(place, out, at);
  }

  get bytes(): number {
    const near = this.residualCodes?.bytes ?? 0;
    const copies = this.hasCopies ? 16 * this.starts[this.count] : 0;
    return this.routing.bytes + 20 * this.count + 16 * this.addedCount + near + copies;
  }

  /** 2 where each distinct code is in a second partition too. */
  get entriesPerCode(): 1 | 2 {
    return this.#entries.perCode;
  }

  get hasCopies(): boolean {
    return this.entriesPerCode === 2;
  }

  /** The mean cosine of vectors with their centroids, by which residual codes are made. */
  get nearness(): number {
    return this.#nearness;
  }

  /** By which searches end early, see gaps.ts. */
  get gaps(): readonly number[] {
    return this.#gaps;
  }

  /** Distinct codes added since the groups were put in order. */
  get addedCount(): number {
    return this.#entries.addedCount;
  }

  /** Makes room for further distinct codes. Throws, and changes nothing, where there is none. */
  reserve(count: number): void {
    const { placeCount, perCode } = this.#entries;
    this.residualCodes?.parts.reserve(placeCount + perCode * count);
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
    const own = Uint32Array.of(nearest);
    const state = flatSecondsState(this.centroids, this.space.width);
    const seconds = this.hasCopies ? new SecondCentroids(state).of(vector, own) : [];
    this.#entries.add([nearest, ...seconds]);
  }

  /** Drops a distinct code whose rows are all removed. */
  drop(distinct: number): void {
    this.residualCodes?.remove(this.#placeOf(distinct, this.#partitionOf(distinct)));
    if (this.hasCopies) this.residualCodes?.remove(this.#entries.placeOfCopy(distinct));
  }

  /** See `Centroids.nearest`. */
  nearest(query: RoutedQuery, probes: number): Routes {
    return this.routing.nearest(query, probes);
  }

  /** Weighs the distinct codes in the partitions nearest to a point; holds the `ask` lightest. */
  *weighCodes(
    query: RoutedQuery,
    probes: number,
    weights: WeightTables,
    ask: number,
  ): Steps<Weighed> {
    const held = this.heldFor(ask);
    const begin = (from: RowCodes) => weightedKernel.search(from, weights, held);
    const all = this.#distinctCodes.codes.search(begin, weights.maxWeight, held);
    let codes = 0;
    for (const p of this.nearest(query, probes).order) {
      const own = { first: this.starts[p], end: this.starts[p + 1] };
      this.#entries.eachCode(p, own, (first, end) => all.range(first, end));
      codes += this.#entries.countOf(p);
    }
    const found = all.end();
    const search = this.hasCopies ? withoutCopies(found, ask, (code) => code) : found;
    return { search, codes, visited: probes };
  }

  /**
   * The same by residual codes, ending early as gaps.ts says. Tables and ranges are made at each
   * call, since a filter that searches in turn overwrites them.
   */
  // biome-ignore lint/correctness/useYield: as above
  *weighResiduals(query: PartitionQuery, probes: number, ask: number): Steps<Weighed> {
    const routes = this.nearest(query, probes);
    const tables = (this.residualCodes as ResidualCodes).tablesOf(query.unit);
    const gap = gapOf(this.gaps, probes, ask);
    const { search, ...visited } = this.weighEntries(tables, routes, this.heldFor(ask), gap);
    return { search: this.codesOf(search, ask), ...visited };
  }

  /** Weighs the entries of known partitions, nearest first; holds the `want` lightest. */
  weighEntries(
    tables: ResidualTables,
    { order, products }: Routes,
    want: number,
    gap: number,
  ): Weighed {
    const entries = this.#entries;
    // Residuals lack the shortened centroid: its product with the query is added to each cosine.
    const ranges = entries.rangesOf(order, (i) => shortened(products[i], this.#nearness));
    const { parts } = this.residualCodes as ResidualCodes;
    const query = { tables, want, gap };
    const { search, seen } = parts.search(residualKernel, query, ranges);
    return { search, ...entries.visitedOf(order, seen) };
  }

  /** How many entries a search for `ask` distinct codes holds. */
  heldFor(ask: number): number {
    return this.entriesPerCode * ask;
  }

  /** The `ask` lightest distinct codes of a search that has held `heldFor(ask)` entries. */
  codesOf(search: Search, ask: number): Search {
    const codeOf = (entry: number) => this.#entries.codeOf(entry);
    if (this.hasCopies) return withoutCopies(search, ask, codeOf, codeOf);
    return search;
  }

  /** How many residual codes a partition has. */
  rowsOf(p: number): number {
    return this.#entries.countOf(p);
  }

  /** The residual codes of a partition, in the order of a search, as runs of places. */
  runsOf(p: number): RowRun[] {
    return this.#entries.runsOf(p);
  }

  #placeOf(distinct: number, p: number): number {
    return this.#entries.placeOf(distinct, p, distinct - this.starts[p]);
  }

  #partitionOf(distinct: number): number {
    if (distinct >= this.starts[this.count]) return this.#entries.partitionOfAdded(distinct);
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
    }
    for (let distinct = this.starts[this.count]; distinct < count; distinct++) {
      partitions[distinct] = this.#partitionOf(distinct);
    }
    return partitions;
  }

  /** The second partition of each distinct code; null without copies. */
  secondOfEach(count: number): Uint32Array | null {
    if (!this.hasCopies) return null;
    return Uint32Array.from({ length: count }, (_, distinct) => this.#entries.secondOf(distinct));
  }
}

/** The mean cosine of vectors with their centroids, over a sample of the distinct codes. */
function meanNearness(
  vectors: DenseVectors,
  distinctCodes: DistinctCodes,
  { starts, routing }: { readonly starts: Uint32Array; readonly routing: Centroids },
): number {
  const total = starts[routing.count];
  const every = Math.max(1, Math.ceil(total / NEARNESS_CODES));
  let sum = 0;
  for (let distinct = 0, p = 0; distinct < total; distinct += every) {
    while (starts[p + 1] <= distinct) p++;
    sum += nearnessOf(vectors, distinctCodes.rowOf(distinct), routing.at(p));
  }
  const mean = sum / Math.max(1, Math.ceil(total / every));
  return Math.max(0, Math.min(1, mean)); // centroids are rounded
}
