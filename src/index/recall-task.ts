/** The task by which threads search for some evaluation queries; recall.ts makes its jobs. */

import { runSteps } from '../base/steps';
import type { Task } from '../threads/job';
import {
  type Evaluated,
  inMemory,
  type MeasuringState,
  type Results,
  SEARCHES,
  type Search,
} from './recall';
import { partsOver } from './search-task';

/** A part is some queries; its result has what the search named by the state finds for each. */
export const MEASURING: Task<MeasuringState, readonly Evaluated[], Results[keyof Results][]> = {
  name: 'measuring',
  open({ index, name, how }) {
    const measured = inMemory(partsOver(index));
    const search: Search<Results[keyof Results]> = SEARCHES[name];
    return (asked) => asked.map((one) => runSteps(search(measured, one, how), {}));
  },
};
