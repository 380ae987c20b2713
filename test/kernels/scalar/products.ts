/** Integer products in plain loops: what the kernel must equal. */

import { type ProductsKernel, product } from '../../../src/kernels/products';

/** Leading zeros of the largest difference, 1,023, that needs no shift to have 1,024 steps. */
const ORDER_BITS = 22;

/** Writes the numbers of the largest products to `order`, and these to `products`. */
function orderOf(all: Int32Array, order: Uint32Array, products: Int32Array): void {
  let most = all[0];
  let least = all[0];
  for (const one of all) {
    most = Math.max(most, one);
    least = Math.min(least, one);
  }
  const shift = Math.max(0, ORDER_BITS - Math.clz32(most - least));
  const steps = all.map((one) => (most - one) >>> shift);
  const sorted = Uint32Array.from(steps.keys()).sort((a, b) => steps[a] - steps[b] || a - b);
  order.set(sorted.subarray(0, order.length));
  for (let i = 0; i < order.length; i++) products[i] = all[order[i]];
}

export const scalarProducts: ProductsKernel = {
  productsInto({ values, width }, query, out) {
    for (let row = 0; row * width < values.length; row++) {
      out[row] = product(values, row * width, query, 0, width);
    }
  },

  orderInto({ values, width }, ranges, query, order, products) {
    const rows = ranges.flatMap(({ first, end }) =>
      Array.from({ length: end - first }, (_, i) => first + i),
    );
    const all = Int32Array.from(rows, (row) => product(values, row * width, query, 0, width));
    orderOf(all, order, products);
    for (let i = 0; i < order.length; i++) order[i] = rows[order[i]];
  },

  nearestInto({ values, width }, queries, out) {
    for (let query = 0; query * width < queries.length; query++) {
      let largest = -Infinity;
      for (let row = 0; row * width < values.length; row++) {
        const value = product(values, row * width, queries, query * width, width);
        if (value <= largest) continue;
        largest = value;
        out[query] = row;
      }
    }
  },

  productsOfMany({ values, width }, first, end, queries, least, take) {
    const products = new Int32Array(end - first);
    for (let query = 0; query * width < queries.length; query++) {
      for (let row = first; row < end; row++) {
        products[row - first] = product(values, row * width, queries, query * width, width);
      }
      if (products.some((one) => one >= least[query])) {
        take(first, end - first, query, products, 0);
      }
    }
  },
};
