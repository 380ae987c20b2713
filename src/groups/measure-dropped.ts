/**
 * How far the rows that a plan drops are from the rows that they duplicate: distances of all, and
 * exact similarities where the plan has them.
 */

import { sortedInSteps } from '../base/sort-steps';
import type { Steps } from '../base/steps';
import { exactMeasure, similaritiesInSteps } from '../join/exact';
import type { Rows } from '../join/source';
import { distance } from '../kernels/hamming/hamming.scalar';
import type { DedupPlan } from './plan';

/** Rows of a source; the first of them is row `first` of the plan. */
interface PlanRows {
  readonly rows: Rows;
  readonly first: number;
}

/** The columns of a plan that measure dropped rows. */
type Measured = Pick<DedupPlan, 'duplicateOf' | 'distances' | 'cosines' | 'jaccards'>;

/** Rows measured between two steps. */
const STEP_ROWS = 2 ** 15;

/**
 * Writes the distances and similarities of the `dropped` rows of one source to the rows of the same
 * or another source that they duplicate. Rows are those of the plan.
 */
export function* measureDropped(
  { duplicateOf, distances, cosines, jaccards }: Measured,
  dropped: Uint32Array,
  from: PlanRows,
  to: PlanRows,
): Steps<void> {
  const { bytes, bytesPerCode } = from.rows.codes;
  const others = to.rows.codes.bytes;
  for (let i = 0; i < dropped.length; i++) {
    const row = dropped[i];
    const at = (row - from.first) * bytesPerCode;
    const code = bytes.subarray(at, at + bytesPerCode);
    distances[row] = distance(code, others, (duplicateOf[row] - to.first) * bytesPerCode);
    if (i % STEP_ROWS === STEP_ROWS - 1) yield undefined;
  }
  const exact = cosines ?? jaccards;
  const measure = exactMeasure(from.rows);
  if (exact === null || measure === null) return;
  // Cosines are fastest where the duplicates of one row follow each other.
  const order = yield* sortedInSteps(dropped, (a, b) => duplicateOf[a] - duplicateOf[b] || a - b);
  const a = order.map((row) => duplicateOf[row] - to.first);
  const b = order.map((row) => row - from.first);
  const found = yield* similaritiesInSteps(measure, [to.rows, from.rows], { a, b });
  found.forEach((similarity, i) => {
    exact[order[i]] = similarity;
  });
}
