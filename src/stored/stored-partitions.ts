/**
 * The partitions of a stored index as one search uses them: routes by the centroids, and weighs the
 * partitions that the cache holds by the kernels of an index in memory. Where those that a search
 * visits do not fit into memory together, they are read and weighed group after group.
 */

import type { Steps } from '../base/steps';
import type { SearchedPartitions } from '../index/index-parts';
import { gapOf, type Weighed } from '../index/partitions/gaps';
import { ResidualCodes, standardError } from '../index/partitions/residual-codes';
import { type PartitionQuery, type Space, spaceOf } from '../index/partitions/space';
import { FallingLimit, type Hits } from '../kernels/hits/hits';
import { productsKernel, residualKernel, weightedKernel } from '../kernels/kernels';
import { UNIT } from '../kernels/products/products.scalar';
import { ONE_WEIGHT, RANGE, type ResidualRows } from '../kernels/residuals/residuals.scalar';
import type { WeightTables } from '../kernels/weighted/weighted.scalar';
import type { StoredContent } from './content';
import { Need } from './needs';
import type { PartitionCache } from './partition-cache';

/** What routes queries: the same for all searches. */
export class Router {
  readonly count: number;
  readonly space: Space;
  readonly residualCodes: ResidualCodes | null;
  readonly gaps: readonly number[];
  readonly nearness: number;
  readonly #centroids: Int16Array;
  readonly #content: StoredContent;

  constructor(content: StoredContent, centroids: Int16Array) {
    const { parts, header } = content;
    const { dense, bits, kernel, hasher } = parts;
    this.space = spaceOf({ dense, bits }, parts.distinctCodes);
    this.#centroids = centroids;
    this.count = centroids.length / this.space.width;
    const encoded = { vectors: dense, seed: hasher.seed, ...(kernel !== undefined && { kernel }) };
    this.residualCodes = ResidualCodes.of(encoded, 0);
    this.gaps = header.gaps ?? [];
    this.nearness = header.nearness ?? 0;
    this.#content = content;
  }

  /** The nearest partitions, nearest first, and the products with their centroids. */
  nearest(query: Int16Array, probes: number): { order: Uint32Array; products: Int32Array } {
    const order = new Uint32Array(probes);
    const products = new Int32Array(probes);
    const rows = { values: this.#centroids, width: this.space.width };
    productsKernel(this.#content.parts.kernel).orderInto(rows, query, order, products);
    return { order, products };
  }
}

/** Notes which rows a search has found; codes are numbered from `base` on in each group. */
export interface Notes {
  /** Of a search whose rows are all in memory: hits are cells. */
  noteCells(hits: Hits, limit: number): void;
  /** Of the group at `base`, before others take its place: hits are cells, `base` higher. */
  noteGroup(hits: Hits, limit: number, base: number): void;
}

export class StoredPartitions implements SearchedPartitions {
  readonly #router: Router;
  readonly #content: StoredContent;
  readonly #cache: PartitionCache;
  readonly #notes: Notes;

  constructor(content: StoredContent, router: Router, cache: PartitionCache, notes: Notes) {
    this.#content = content;
    this.#router = router;
    this.#cache = cache;
    this.#notes = notes;
  }

  get count(): number {
    return this.#router.count;
  }

  get space(): Space {
    return this.#router.space;
  }

  get residualCodes(): ResidualCodes | null {
    return this.#router.residualCodes;
  }

  get error(): number {
    return standardError(this.space.width, this.#router.nearness);
  }

  nearest(point: Int16Array, probes: number) {
    return this.#router.nearest(point, probes);
  }

  *weighCodes(
    point: Int16Array,
    probes: number,
    weights: WeightTables,
    ask: number,
  ): Steps<Weighed> {
    const { order, products } = this.nearest(point, probes);
    const groups = this.#cache.groupsOf(order, products);
    const { codes: memory } = this.#cache;
    const all = new FallingLimit(weights.maxWeight, ask);
    let codes = 0;
    for (const [i, { first, end }] of groups.entries()) {
      const group = order.subarray(first, end);
      yield* this.#loaded(group, { needsCodes: true });
      const kernel = weightedKernel(this.#content.parts.kernel);
      const search = kernel.search(memory, weights, ask);
      for (const partition of group) {
        for (const run of this.#cache.runsOf(partition)) {
          search.range(run.first, run.first + run.count);
          codes += run.count;
        }
      }
      if (groups.length === 1) {
        this.#notes.noteCells(search.hits(), search.limit);
        return { search, codes, visited: probes };
      }
      const base = i * memory.rows.length;
      const { limit } = search;
      const hits = search.hits();
      for (let j = 0; j < hits.count; j++) {
        if (hits.weights[j] <= limit) all.take(base + hits.codes[j], hits.weights[j]);
      }
      this.#notes.noteGroup(all.list, all.limit, base);
    }
    const { limit, held, list } = all;
    return { search: { limit, held, hits: () => list }, codes, visited: probes };
  }

  *weighResiduals({ point, unit }: PartitionQuery, probes: number, ask: number): Steps<Weighed> {
    const { gaps, residualCodes } = this.#router;
    const { order, products } = this.nearest(point, probes);
    const groups = this.#cache.groupsOf(order, products);
    yield* this.#loaded(order.subarray(0, groups[0].end), { needsCodes: false });
    const rows = this.#cache.residuals as ResidualRows;
    const tables = (residualCodes as ResidualCodes).tablesOf(unit);
    const kernel = residualKernel(this.#content.parts.kernel);
    const search = kernel.search(rows, tables, ask, gapOf(gaps, probes, ask));
    let [codes, visited] = [0, 0];
    for (const [i, { first, end }] of groups.entries()) {
      if (i > 0) {
        yield* this.#loaded(order.subarray(first, end), { needsCodes: false, isMidway: true });
      }
      const base = i * this.#cache.codes.rows.length;
      const { ranges, owners } = this.#rangesOf({ order, products }, first, end, base);
      const seen = search.ranges(ranges);
      for (let at = 0; at < seen; at++) codes += ranges[RANGE * at + 2];
      visited = seen === 0 ? first : owners[seen - 1] + 1;
      if (groups.length > 1) this.#notes.noteGroup(search.seen(), search.limit, base);
      if (seen < owners.length) break;
    }
    const { limit, held } = search;
    const hits = search.hits();
    if (groups.length === 1) this.#notes.noteCells(hits, limit);
    return { search: { limit, held, hits: () => hits }, codes, visited };
  }

  /** Waits until these partitions are in memory. */
  *#loaded(
    partitions: Uint32Array,
    { needsCodes, isMidway = false }: { needsCodes: boolean; isMidway?: boolean },
  ): Steps<void> {
    let missing = this.#cache.missing(partitions, needsCodes);
    this.#cache.counts.hits += partitions.length - missing.length;
    while (missing.length > 0) {
      const wanted = new Map(Array.from(partitions, (partition) => [partition, needsCodes]));
      yield new Need(this.#cache, wanted, isMidway);
      missing = this.#cache.missing(partitions, needsCodes);
    }
  }

  /** The cells of partitions as ranges of the kernel, and to which of the order each belongs. */
  #rangesOf(
    { order, products }: { order: Uint32Array; products: Int32Array },
    first: number,
    end: number,
    base: number,
  ): { ranges: Uint32Array; owners: number[] } {
    const numbers: number[] = [];
    const owners: number[] = [];
    for (let i = first; i < end; i++) {
      for (const run of this.#cache.runsOf(order[i])) {
        numbers.push(run.first, base + run.first, run.count, 0);
        owners.push(i);
      }
    }
    const ranges = Uint32Array.from(numbers);
    const floats = new Float32Array(ranges.buffer);
    owners.forEach((owner, i) => {
      // As in Partitions.ranges: the product with the shortened centroid.
      const { nearness } = this.#router;
      floats[RANGE * i + 3] = (nearness * products[owner] * ONE_WEIGHT) / (UNIT * UNIT);
    });
    return { ranges, owners };
  }
}
