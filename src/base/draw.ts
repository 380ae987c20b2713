/** Rows drawn at random, by Fisher and Yates. */

import type { Steps } from './steps';

const STEP_ROWS = 2 ** 18;

/** Moves `count` values, drawn from all, to the front, in random order; or all of them. */
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

/** `count` of them in random order; all where there are no more. */
export function* drawn(from: Uint32Array, count: number, random: () => number): Steps<Uint32Array> {
  const values = from.slice();
  yield* drawToFront(values, count, random);
  return values.slice(0, Math.min(count, values.length));
}
