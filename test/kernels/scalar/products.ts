/** Integer products in plain loops: what the kernel must equal. */

import { type Groups, type ProductsKernel, product, UNIT } from '../../../src/kernels/products';

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

  nearest({ values, width }, vectors, groups) {
    const nearest = new Uint32Array(vectors.length / width);
    const largest = new Float64Array(nearest.length).fill(-Infinity);
    eachPair(groups, nearest.length, (vector, row) => {
      const value = product(values, row * width, vectors, vector * width, width);
      if (value <= largest[vector]) return;
      largest[vector] = value;
      nearest[vector] = row;
    });
    return nearest;
  },

  nearestLists({ values, width }, vectors, most) {
    const lists: number[] = [];
    for (let at = 0; at < vectors.length; at += width) {
      const products = Array.from({ length: values.length / width }, (_, row) =>
        product(values, row * width, vectors, at, width),
      );
      const order = [...products.keys()].sort((a, b) => products[b] - products[a] || a - b);
      lists.push(...order.slice(0, most));
    }
    return Uint32Array.from(lists);
  },

  addRows({ values, width }, list, sums) {
    for (const row of list) {
      for (let i = 0; i < sums.length; i++) sums[i] += values[row * width + i];
    }
  },

  highRows({ values, width }, vectors, least) {
    const places: number[] = [];
    const ends = least.map((bound, vector) => {
      for (let row = 0; row * width < values.length; row++) {
        const value = product(values, row * width, vectors, vector * width, width);
        if (value >= bound) places.push(row);
      }
      return places.length;
    });
    return { ends: Uint32Array.from(ends), places: Uint32Array.from(places) };
  },
};

/** Each vector with each row of its groups, in their order. */
function eachPair(
  { starts, near }: Groups,
  vectors: number,
  take: (vector: number, row: number) => void,
): void {
  for (const [i, group] of near.entries()) {
    const vector = Math.floor((i * vectors) / near.length);
    for (let row = starts[group]; row < starts[group + 1]; row++) take(vector, row);
  }
}

/** The second rows that `PairedRows` finds: every operation rounded to float32. */
export function scalarSeconds(
  { values, width }: { values: Int16Array; width: number },
  vectors: Int16Array,
  own: Uint32Array,
  groups: Groups,
): Uint32Array {
  const { fround } = Math;
  const short = fround(0.5 / UNIT ** 2);
  const pairUnit = fround(0.25 / 127);
  const seconds = own.slice();
  const losses = new Float32Array(own.length).fill(Number.POSITIVE_INFINITY);
  eachPair(groups, own.length, (vector, row) => {
    if (row === own[vector]) return;
    const shortened = (one: number) =>
      fround(fround(product(values, one * width, vectors, vector * width, width)) * short);
    const first = shortened(own[vector]);
    const next = shortened(row);
    const pair = product(values, row * width, values, own[vector] * width, width);
    const rounded = fround(Math.floor((127 * pair) / UNIT ** 2 + 0.5) * pairUnit);
    const both = fround(fround(fround(1 - first) - next) + rounded);
    const along = fround(1.5 / fround(1.25 - fround(2 * first)));
    const loss = fround(fround(fround(along * both) * both) - fround(next + next));
    if (loss >= losses[vector]) return;
    losses[vector] = loss;
    seconds[vector] = row;
  });
  return seconds;
}
