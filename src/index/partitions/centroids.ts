/** The centroids of partitions: vectors of 16-bit integers, to the nearest of which queries go. */

import { type KernelName, productsKernel } from '../../kernels/kernels';

/** Partitions nearest to queries, nearest first, and the products with their centroids. */
export interface Routes {
  readonly order: Uint32Array;
  readonly products: Int32Array;
}

export class Centroids {
  readonly count: number;
  /** One after another, `width` integers each. */
  readonly values: Int16Array;
  readonly width: number;
  readonly #kernel: KernelName | undefined;
  /** Space for the routes of one query. */
  readonly #order: Uint32Array;
  readonly #products: Int32Array;

  constructor(values: Int16Array, width: number, kernel: KernelName | undefined) {
    this.count = values.length / width;
    this.values = values;
    this.width = width;
    this.#kernel = kernel;
    this.#order = new Uint32Array(this.count);
    this.#products = new Int32Array(this.count);
  }

  at(p: number): Int16Array {
    return this.values.subarray(p * this.width, (p + 1) * this.width);
  }

  /** The partition of the nearest centroid. */
  nearestTo(vector: Int16Array): number {
    const nearest = new Uint32Array(1);
    productsKernel(this.#kernel).nearestInto(this, vector, nearest);
    return nearest[0];
  }

  /** The partitions nearest to a query. Valid until the next call. */
  nearest(query: Int16Array, probes: number): Routes {
    const order = this.#order.subarray(0, probes);
    const products = this.#products.subarray(0, probes);
    productsKernel(this.#kernel).orderInto(this, query, order, products);
    return { order, products };
  }

  /** The same of several queries, one after another in new arrays. */
  nearestOfMany(queries: Int16Array, probes: number): Routes {
    const total = (queries.length / this.width) * probes;
    const [order, products] = [new Uint32Array(total), new Int32Array(total)];
    productsKernel(this.#kernel).orderInto(this, queries, order, products);
    return { order, products };
  }
}
