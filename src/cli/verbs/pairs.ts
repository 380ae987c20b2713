/** `halfspace pairs`: all pairs of rows that are near, of one collection or between two. */

import { NEAR_HASHING_OPTIONS, NEAR_OPTIONS } from '../near-options';
import { OUTPUT_OPTIONS } from '../shared-options';
import type { Verb } from '../verb';

export const verb: Verb = {
  name: 'pairs',
  summary: 'all pairs of rows within a distance',
  usage: 'IN|DIR [IN|DIR] -o OUT',
  options: [
    ...NEAR_OPTIONS,
    {
      name: 'first-equal',
      help: 'Of rows with equal codes only the first is paired with others, and they with it',
    },
    ...NEAR_HASHING_OPTIONS,
    ...OUTPUT_OPTIONS,
  ],
  example: 'halfspace pairs datasets/sample/docs.jsonl --text body',
  run: async (call) => (await import('./find-pairs')).findPairs(call),
};
