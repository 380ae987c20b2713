/**
 * Makes `toEqual` fast: what node:util finds deeply equal is not walked through again, value by value
 * (3 µs an element of a typed array in place of .05). What it finds different is left to vitest, which
 * compares less strictly and shows the difference, so no comparison has another outcome.
 */

import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';

const state = globalThis as { hasFastEquality?: boolean };

// Files that share modules run this once each.
if (state.hasFastEquality !== true) {
  state.hasFastEquality = true;
  expect.addEqualityTesters([
    (a: unknown, b: unknown) => {
      const areObjects = typeof a === 'object' && typeof b === 'object';
      return areObjects && isDeepStrictEqual(a, b) ? true : undefined;
    },
  ]);
}
