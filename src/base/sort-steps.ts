/** Sorting in steps, between which the event loop may run: runs by the engine's sort, merged. */

import type { Steps } from './steps';

/** Values of a run, and values merged between two steps: some milliseconds of comparisons. */
const STEP_VALUES = 2 ** 13;

/** The values in the order of `compare`, in which no two may be equal. */
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
