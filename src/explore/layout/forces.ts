/**
 * Lays rows out on a plane, near rows near each other, by lists of the nearest rows: neighbours
 * attract and random rows repel, by the forces of UMAP for a = b = 1 (McInnes, Healy & Melville
 * 2018). All neighbours count alike, since weights change such layouts little (Damrich & Hamprecht
 * 2021). Equal lists, start and seed give equal places on every engine: only + - * / touch a float.
 */

import type { Steps } from '../../base/steps';

interface LayoutOptions {
  /** Seed of the random rows that repel. */
  readonly seed: number;
  /** Passes over all pairs of neighbours. */
  readonly epochs: number;
}

/** Random rows that repel a row, for each neighbour that attracts it. */
const REPELLING = 4;
/** Longest step along an axis; steps shrink in proportion to the epochs that are left. */
const MAX_STEP = 4;
/** Rows between two steps. */
const STEP_ROWS = 2 ** 10;

/**
 * Moves `places` (x and y of row after row) in place, by the neighbours of each row; a row without
 * any stays.
 */
export function* layoutSteps(
  neighbors: readonly Uint32Array[],
  places: Float32Array,
  { seed, epochs }: LayoutOptions,
): Steps<void> {
  const count = neighbors.length;
  const draw = drawer(seed, count);
  for (let epoch = 0; epoch < epochs; epoch++) {
    const rate = 1 - epoch / epochs;
    for (let row = 0; row < count; row++) {
      for (const other of neighbors[row]) {
        attract(places, 2 * row, 2 * other, rate);
        for (let i = 0; i < REPELLING; i++) repel(places, 2 * row, 2 * draw(), rate);
      }
      if (row % STEP_ROWS === STEP_ROWS - 1) yield [epoch * count + row, epochs * count];
    }
  }
}

/** Moves two neighbours towards each other: the list of one of them may lack the other. */
function attract(places: Float32Array, a: number, b: number, rate: number): void {
  const [x, y] = [places[a] - places[b], places[a + 1] - places[b + 1]];
  const pull = -2 / (1 + x * x + y * y);
  const [stepX, stepY] = [rate * limited(pull * x), rate * limited(pull * y)];
  places[a] += stepX;
  places[a + 1] += stepY;
  places[b] -= stepX;
  places[b + 1] -= stepY;
}

/** Moves row `a` away from row `b`. Rows in the same place are not parted by this. */
function repel(places: Float32Array, a: number, b: number, rate: number): void {
  const [x, y] = [places[a] - places[b], places[a + 1] - places[b + 1]];
  const square = x * x + y * y;
  const push = 2 / ((0.001 + square) * (1 + square));
  places[a] += rate * limited(push * x);
  places[a + 1] += rate * limited(push * y);
}

function limited(step: number): number {
  return step > MAX_STEP ? MAX_STEP : step < -MAX_STEP ? -MAX_STEP : step;
}

/**
 * Returns a function that draws integers below `count`, by a linear congruential generator
 * (Numerical Recipes). Only high bits are used; a layout needs cheap numbers, not good ones.
 */
function drawer(seed: number, count: number): () => number {
  let state = Math.imul(seed, 0x9e37_79b9) | 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return Math.floor(((state >>> 0) / 2 ** 32) * count);
  };
}
