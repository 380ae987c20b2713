/** Rows drawn at random without repeats, by the shuffle of Fisher and Yates, in steps. */

import type { Steps } from './steps';

const STEP_ROWS = 2 ** 18;

/** Moves `count` of the values, drawn at random, to the front; shuffles all if there are fewer. */
export function* drawToFront(
  values: Uint32Array,
  count: number,
  random: () => number,
): Steps<void> {
  const most = Math.min(count, values.length);
  for (let i = 0; i < most; i++) {
    const other = i + Math.floor(random() * (values.length - i));
    [values[i], values[other]] = [values[other], values[i]];
    if (i % STEP_ROWS === STEP_ROWS - 1) yield undefined;
  }
}

/** A copy of `count` of the values in random order; of all of them if there are fewer. */
export function* drawn(from: Uint32Array, count: number, random: () => number): Steps<Uint32Array> {
  const values = from.slice();
  yield* drawToFront(values, count, random);
  return values.slice(0, Math.min(count, values.length));
}
