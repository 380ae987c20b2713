/** Everything that is fuzzed, by name, and targets that are broken on purpose. */

import { ANSWERS } from './answers';
import { CALLS } from './calls';
import { check, checkError } from './check';
import { COMMAND } from './command';
import { FOLDERS } from './folders';
import { HOSTILE_FOLDERS } from './hostile-folders';
import { type MakeTarget, READERS, type Run } from './readers';

export const TARGETS: Record<string, MakeTarget> = {
  ...READERS,
  ...FOLDERS,
  ...HOSTILE_FOLDERS,
  ...ANSWERS,
  ...CALLS,
  ...COMMAND,
};

const held: unknown[] = [];

/** What the driver must notice at input 3. */
const BROKEN: Record<string, () => unknown> = {
  hang: () => {
    for (;;);
  },
  crash: () => process.abort(),
  heap: () => {
    for (;;) held.push(new Array(1000).fill('x'));
  },
  memory: () => new Uint8Array(2 ** 29),
  answer: () => check(false, 'one in place of two'),
  error: () => {
    try {
      return (undefined as unknown as { bits: number }).bits;
    } catch (error) {
      return checkError(error, 'reading');
    }
  },
};

/** A target by its name; `broken-hang` and the like are for the test of the driver. */
export function targetOf(name: string): Run {
  const fault = BROKEN[name.replace(/^broken-/, '')];
  if (fault === undefined || name in TARGETS) return TARGETS[name]();
  let input = 0;
  return () => void (input++ === 3 && fault());
}
