/** `halfspace dedup`: a plan of which rows to drop, for a person to review; and a plan applied. */

import { NEAR_HASHING_OPTIONS, NEAR_OPTIONS } from '../near-options';
import { OUTPUT_OPTIONS } from '../shared-options';
import type { Verb } from '../verb';

export const verb: Verb = {
  name: 'dedup',
  summary:
    'a plan of which rows to keep among those that are nearly the same; and the plan applied',
  usage: 'IN -o PLAN | IN --apply PLAN -o OUT',
  options: [
    ...NEAR_OPTIONS,
    {
      ...{ name: 'grouping', value: 'HOW', choices: ['star', 'components', 'complete'] },
      initial: 'star',
      help:
        'Which rows are one group: near the row that is kept (star), hanging together by a chain ' +
        'of near ones (components), or all near each other (complete)',
    },
    {
      ...{ name: 'keep', value: 'WHICH', initial: 'first' },
      help:
        'The row of a group that is kept: first, last, longest, lowest:COLUMN, highest:COLUMN, ' +
        'medoid or random:SEED',
    },
    {
      ...{ name: 'extend', value: 'PLAN' },
      help: 'Go on with a plan for the same file, which has new rows behind the old ones now',
    },
    {
      ...{ name: 'apply', value: 'PLAN' },
      help: 'Write the rows that a plan keeps to OUT, as they are in IN',
    },
    ...NEAR_HASHING_OPTIONS,
    ...OUTPUT_OPTIONS,
  ],
  example: 'halfspace dedup datasets/sample/docs.jsonl --text body -o plan.jsonl',
  run: async (call) => {
    const input = call.onlyInput();
    if (call.has('apply')) return (await import('./use-plan')).usePlan(call, input);
    return (await import('./make-plan')).makePlan(call, input);
  },
};
