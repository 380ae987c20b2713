/**
 * Sorts in steps, between which the event loop may run: the engine sorts short runs, which are then
 * merged in pairs until one is left.
 */

import type { Steps } from './steps';

/** Values of a run, and values merged between two steps: some milliseconds of comparisons. */
const STEP_VALUES = 2 ** 13;

/** A copy of the values in the order of `compare`, which must not call two of them equal. */
export function* sortedInSteps(
  values: Uint32Array,
  compare: (a: number, b: number) => number,
): Steps<Uint32Array> {
  const { length } = values;
  let sorted = new Uint32Array(values);
  for (let start = 0; start < length; start += STEP_VALUES) {
    sorted.subarray(start, start + STEP_VALUES).sort(compare);
    yield undefined;
  }
  // Each pass merges neighbouring runs of `width` from `sorted` into `merged`, then swaps the two.
  let merged = new Uint32Array(length);
  for (let width = STEP_VALUES; width < length; width *= 2) {
    for (let start = 0; start < length; start += 2 * width) {
      const middle = Math.min(length, start + width);
      const end = Math.min(length, middle + width);
      for (let i = start, [a, b] = [start, middle]; i < end; i++) {
        const isFirst = b === end || (a < middle && compare(sorted[a], sorted[b]) < 0);
        merged[i] = isFirst ? sorted[a++] : sorted[b++];
        if (i % STEP_VALUES === 0) yield undefined;
      }
    }
    [sorted, merged] = [merged, sorted];
  }
  return sorted;
}
