/** Products of points in plain loops: what the kernel must equal. */

import {
  errorOf,
  type Groups,
  type PointRows,
  pointWidth,
  product,
  type productsKernel,
  scaleOf,
  valuesIn,
} from '../../../src/kernels/products';

const { fround } = Math;
/** Steps of a coarse order, and rows that are summed in float32. */
const STEPS = 1024;
const ADDED = 1024;

/** Vectors as points, one after another. */
export function pointsFrom(vectors: readonly ArrayLike<number>[]): PointRows {
  const width = pointWidth(vectors[0].length);
  const points = { values: new Int8Array(vectors.length * width), width };
  for (const [i, vector] of vectors.entries()) writePoint(vector, points, i * width);
  return points;
}

/** The point of a vector: integers up to 63, their scale, 64 times their sum, and the error. */
function writePoint(vector: ArrayLike<number>, { values, width }: PointRows, at: number): void {
  const peak = Array.from(vector).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const factor = peak > 0 ? Math.min(63, Math.floor(2 ** 24 / vector.length)) / peak : 0;
  const lost = [0, 0];
  let [sum, square] = [0, 0];
  for (let i = 0; i < vector.length; i++) {
    const scaled = vector[i] * factor + 0.5;
    const value = Math.floor(scaled);
    values[at + i] = value;
    sum += value;
    square += value * value;
    lost[i & 1] += (scaled - value - 0.5) ** 2;
  }
  const scale = square > 0 ? 1 / Math.sqrt(square) : 0;
  const error = Math.sqrt(lost[0] + lost[1]) * scale;
  const tail = new DataView(values.buffer, values.byteOffset + at + valuesIn(width), 12);
  tail.setFloat32(0, scale, true);
  tail.setInt32(4, 64 * sum, true);
  tail.setFloat32(8, error < 1 && width < 2 ** 24 ? error / (1 - error / 2) + 1e-5 : 2, true);
}

/** Writes the numbers of the largest products to `order`, and these to `products`. */
function orderOf(all: Float32Array, order: Uint32Array, products: Float32Array): void {
  const [most, least] = [Math.max(...all), Math.min(...all)];
  const factor = most > least ? fround((STEPS - 1) / fround(most - least)) : 0;
  const steps = Array.from(all, (one) => Math.floor(fround(fround(most - one) * factor)));
  const sorted = Uint32Array.from(steps.keys()).sort((a, b) => steps[a] - steps[b] || a - b);
  order.set(sorted.subarray(0, order.length));
  for (let i = 0; i < order.length; i++) products[i] = all[order[i]];
}

export const scalarProducts: typeof productsKernel = {
  productsInto({ values, width }, query, out) {
    for (let row = 0; row * width < values.length; row++) {
      out[row] = product(values, row * width, query, 0, width);
    }
  },

  orderInto({ values, width }, ranges, query, order, products) {
    const rows = ranges.flatMap(({ first, end }) =>
      Array.from({ length: end - first }, (_, i) => first + i),
    );
    const all = Float32Array.from(rows, (row) => product(values, row * width, query, 0, width));
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
    for (let first = 0; first < list.length; first += ADDED) {
      const some = list.subarray(first, first + ADDED);
      for (let i = 0; i < Math.min(sums.length, valuesIn(width)); i++) {
        let sum = 0;
        for (const row of some) {
          const scale = scaleOf(values, row * width, width);
          sum = fround(sum + fround(values[row * width + i] * scale));
        }
        sums[i] += sum;
      }
    }
  },

  highRows({ values, width }, vectors, least) {
    const places: number[] = [];
    const ends = least.map((bound, vector) => {
      for (let row = 0; row * width < values.length; row++) {
        const value = product(values, row * width, vectors, vector * width, width);
        const error = errorOf(values, row * width, width);
        if (fround(value + error) >= bound) places.push(row);
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
  { values, width }: PointRows,
  vectors: Int8Array,
  own: Uint32Array,
  groups: Groups,
): Uint32Array {
  const short = 0.5;
  const pairUnit = fround(0.25 / 127);
  const seconds = own.slice();
  const losses = new Float32Array(own.length).fill(Number.POSITIVE_INFINITY);
  eachPair(groups, own.length, (vector, row) => {
    if (row === own[vector]) return;
    const shortened = (one: number) =>
      fround(product(values, one * width, vectors, vector * width, width) * short);
    const first = shortened(own[vector]);
    const next = shortened(row);
    const pair = product(values, row * width, values, own[vector] * width, width);
    const rounded = fround(Math.floor(127 * pair + 0.5) * pairUnit);
    const both = fround(fround(fround(1 - first) - next) + rounded);
    const along = fround(1.5 / fround(1.25 - fround(2 * first)));
    const loss = fround(fround(fround(along * both) * both) - fround(next + next));
    if (loss >= losses[vector]) return;
    losses[vector] = loss;
    seconds[vector] = row;
  });
  return seconds;
}
