/**
 * The centroids of partitions: vectors of 16-bit integers, to the nearest of which queries go. Many
 * wide centroids are read by their codes first, an eighth of their bytes, and only those that may
 * be the nearest are compared themselves.
 */

import { productsKernel } from '../../kernels/products';
import type { ResidualMemory } from '../../kernels/residual-memory';
import { residualKernel } from '../../kernels/residual-search';
import { RANGE } from '../../kernels/residuals';
import type { ResidualCodes } from './residual-codes';
import type { RoutedQuery } from './space';

/** Partitions nearest to queries, nearest first, and the products with their centroids. */
export interface Routes {
  readonly order: Uint32Array;
  readonly products: Int32Array;
}

/** Values of all centroids from which on codes pay: below, they cost more than they save. */
const MIN_CODED_VALUES = 5 * 2 ** 17;
/** Centroids that are compared by code for each that is compared itself, at least. */
const CODES_A_CANDIDATE = 4;
/**
 * Candidates for each partition that is wanted, and at least so many: of 24 wanted among 1,024
 * random vectors of 784 dimensions 98 % are the nearest, and most others are next to them.
 */
const CANDIDATES_A_PROBE = 4;
const MIN_CANDIDATES = 64;

export class Centroids {
  readonly count: number;
  /** One after another, `width` integers each. */
  readonly values: Int16Array;
  readonly width: number;
  readonly #residualCodes: ResidualCodes | null;
  /** Made by the first query that needs them. */
  #codes: ResidualMemory | null = null;
  /** Space for the routes of one query. */
  readonly #order: Uint32Array;
  readonly #products: Int32Array;

  /** Without residual codes, whose rotation theirs have, centroids have no codes. */
  constructor(values: Int16Array, width: number, residualCodes: ResidualCodes | null) {
    this.count = values.length / width;
    this.values = values;
    this.width = width;
    this.#residualCodes = residualCodes;
    this.#order = new Uint32Array(this.count);
    this.#products = new Int32Array(this.count);
  }

  get bytes(): number {
    return this.values.byteLength + (this.#codes?.byteLength ?? 0);
  }

  at(p: number): Int16Array {
    return this.values.subarray(p * this.width, (p + 1) * this.width);
  }

  /** The partition of the nearest centroid. */
  nearestTo(vector: Int16Array): number {
    const nearest = new Uint32Array(1);
    productsKernel.nearestInto(this, vector, nearest);
    return nearest[0];
  }

  /** The partitions nearest to a query. Valid until the next call. */
  nearest(query: RoutedQuery, probes: number): Routes {
    const order = this.#order.subarray(0, probes);
    const products = this.#products.subarray(0, probes);
    this.#routeInto(query, order, products);
    return { order, products };
  }

  /**
   * The same of several queries, in new arrays, in their order. Each is routed when it is asked
   * for, so that a caller who then asks for its tables finds them made.
   */
  *nearestOfEach(queries: readonly RoutedQuery[], probes: number): Generator<Routes> {
    const { width } = this;
    const total = queries.length * probes;
    const [order, products] = [new Uint32Array(total), new Int32Array(total)];
    const isCoded = this.isCoded(probes);
    if (!isCoded) {
      const points = new Int16Array(queries.length * width);
      for (const [i, { point }] of queries.entries()) points.set(point, i * width);
      productsKernel.orderInto(this, points, order, products);
    }
    for (const [i, query] of queries.entries()) {
      const [from, end] = [i * probes, (i + 1) * probes];
      const own = { order: order.subarray(from, end), products: products.subarray(from, end) };
      if (isCoded) this.#routeInto(query, own.order, own.products);
      yield own;
    }
  }

  #routeInto({ point, unit }: RoutedQuery, order: Uint32Array, products: Int32Array): void {
    const candidates = this.#candidatesFor(order.length);
    if (candidates === null || unit === null)
      productsKernel.orderInto(this, point, order, products);
    else productsKernel.orderAmong(this, point, this.#likeliest(unit, candidates), order, products);
  }

  /** Whether queries with vectors are routed by codes, which gains nothing for many at once. */
  isCoded(probes: number): boolean {
    return this.#candidatesFor(probes) !== null;
  }

  /** How many centroids are compared themselves; null where all are. */
  #candidatesFor(probes: number): number | null {
    const candidates = Math.max(MIN_CANDIDATES, CANDIDATES_A_PROBE * probes);
    const isCoded = this.#residualCodes !== null && this.values.length >= MIN_CODED_VALUES;
    return isCoded && CODES_A_CANDIDATE * candidates <= this.count ? candidates : null;
  }

  /** At least `want` centroids that are nearest by their codes. */
  #likeliest(unit: Float64Array, want: number): Uint32Array {
    const residualCodes = this.#residualCodes as ResidualCodes;
    this.#codes ??= residualCodes.codesOf(this);
    const tables = residualCodes.tablesOf(unit);
    const search = residualKernel.search(this.#codes, tables, want);
    const all = new Uint32Array(RANGE);
    all[2] = this.count;
    search.ranges(all);
    const { codes, count } = search.hits();
    return codes.subarray(0, count);
  }
}
