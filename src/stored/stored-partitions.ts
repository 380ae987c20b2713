/**
 * The partitions of a stored index as searches use them: routes by the centroids, and searches the
 * partitions that the cache holds by the kernels of an index in memory.
 */

import type { SearchedPartitions } from '../index/index-parts';
import { ResidualCodes, standardError } from '../index/partitions/residual-codes';
import { type Space, spaceOf } from '../index/partitions/space';
import type { HitSearch } from '../kernels/hits/hits';
import { productsKernel, residualKernel } from '../kernels/kernels';
import { UNIT } from '../kernels/products/products.scalar';
import {
  ONE_WEIGHT,
  RANGE,
  type ResidualRows,
  type ResidualSearch,
} from '../kernels/residuals/residuals.scalar';
import type { StoredContent } from './content';
import type { PartitionCache } from './partition-cache';

/** Thrown where a search needs partitions that are not in memory: read them and search again. */
export class MissingPartitions extends Error {
  constructor(readonly partitions: Uint32Array) {
    super('partitions are not in memory');
  }
}

export class StoredPartitions implements SearchedPartitions {
  readonly count: number;
  readonly space: Space;
  readonly residualCodes: ResidualCodes | null;
  readonly gaps: readonly number[];
  readonly #nearness: number;
  readonly #centroids: Int16Array;
  readonly #content: StoredContent;
  readonly #cache: PartitionCache;
  /** The partition of each range that was made last. */
  #rangeOwners: number[] = [];
  #lastRanges = new Uint32Array();

  constructor(content: StoredContent, centroids: Int16Array, cache: PartitionCache) {
    const { parts, header } = content;
    const { dense, bits, kernel, hasher } = parts;
    this.space = spaceOf({ dense, bits }, parts.distinctCodes);
    this.#centroids = centroids;
    this.count = centroids.length / this.space.width;
    const encoded = { vectors: dense, seed: hasher.seed, ...(kernel !== undefined && { kernel }) };
    this.residualCodes = ResidualCodes.of(encoded, 0);
    this.gaps = header.gaps ?? [];
    this.#nearness = header.nearness ?? 0;
    this.#content = content;
    this.#cache = cache;
  }

  get error(): number {
    return standardError(this.space.width, this.#nearness);
  }

  nearest(query: Int16Array, probes: number): { order: Uint32Array; products: Int32Array } {
    const order = new Uint32Array(probes);
    const products = new Int32Array(probes);
    const rows = { values: this.#centroids, width: this.space.width };
    productsKernel(this.#content.parts.kernel).orderInto(rows, query, order, products);
    return { order, products };
  }

  visit(partitions: Uint32Array, search: HitSearch): number {
    this.#refuseMissing(partitions);
    let codes = 0;
    for (const partition of partitions) {
      for (const { first, count } of this.#cache.runsOf(partition)) {
        search.range(first, first + count);
        codes += count;
      }
    }
    return codes;
  }

  ranges(query: Int16Array, probes: number): Uint32Array {
    const { order, products } = this.nearest(query, probes);
    this.#refuseMissing(order);
    const numbers: number[] = [];
    const owners: number[] = [];
    const more: number[] = [];
    order.forEach((partition, i) => {
      for (const { first, count } of this.#cache.runsOf(partition)) {
        numbers.push(first, first, count, 0);
        // As in Partitions.ranges: the product with the shortened centroid.
        more.push((this.#nearness * products[i] * ONE_WEIGHT) / (UNIT * UNIT));
        owners.push(i);
      }
    });
    const ranges = Uint32Array.from(numbers);
    const floats = new Float32Array(ranges.buffer);
    more.forEach((product, i) => {
      floats[RANGE * i + 3] = product;
    });
    this.#rangeOwners = owners;
    this.#lastRanges = ranges;
    return ranges;
  }

  #refuseMissing(partitions: Uint32Array): void {
    if (!this.#cache.has(partitions)) throw new MissingPartitions(partitions);
  }

  search(query: Float64Array, want: number, gap: number): ResidualSearch {
    const rows = this.#cache.residuals as ResidualRows;
    const tables = (this.residualCodes as ResidualCodes).tablesOf(query);
    return residualKernel(this.#content.parts.kernel).search(rows, tables, want, gap);
  }

  visitedOf(ranges: number): { codes: number; visited: number } {
    let codes = 0;
    for (let i = 0; i < ranges; i++) codes += this.#lastRanges[RANGE * i + 2];
    return { codes, visited: ranges === 0 ? 0 : this.#rangeOwners[ranges - 1] + 1 };
  }
}
