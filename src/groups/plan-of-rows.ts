/**
 * Fits a plan that was read from a file to the index that it was made for. Checksums of codes make
 * sure that the rows are the same.
 */

import type { SimHashIndex } from '../index/simhash-index';
import { rowsOf } from '../join/source';
import { checkPlan, checksOf, type DedupPlan, NULL_CHECK } from './plan';

/** For each row of an index the checksum of its code; `NULL_CHECK` for a row without one. */
export function checksOfRows(index: SimHashIndex): Uint32Array {
  return checksOf(rowsOf('index', index).codes);
}

/**
 * The plan with an entry for each row of the index: rows beyond its last one are kept, as for rows
 * that the index had removed when it was made. Throws if the plan is of other rows.
 */
export function planOfRows(plan: DedupPlan, index: SimHashIndex): DedupPlan {
  const checks = checksOfRows(index);
  const all = widened(plan, checks.length);
  checkPlan(all, checks);
  return all;
}

/** A plan of `count` rows: further rows are kept, alone, and have no checksum. */
function widened(plan: DedupPlan, count: number): DedupPlan {
  if (plan.count >= count) return plan;
  const wider = <T extends Uint8Array | Uint16Array | Uint32Array | Float64Array>(
    values: T,
    own: (row: number) => number,
  ): T => {
    const all = new (values.constructor as new (length: number) => T)(count);
    all.set(values);
    for (let row = plan.count; row < count; row++) all[row] = own(row);
    return all;
  };
  const exact = (values: Float64Array | null) => values && wider(values, () => 1);
  return {
    ...{ count, groups: wider(plan.groups, (row) => row), kept: wider(plan.kept, () => 1) },
    duplicateOf: wider(plan.duplicateOf, (row) => row),
    distances: wider(plan.distances, () => 0),
    ...{ cosines: exact(plan.cosines), jaccards: exact(plan.jaccards) },
    checks: wider(plan.checks, () => NULL_CHECK),
    ...(plan.reviewed && { reviewed: wider(plan.reviewed, () => 0) }),
  };
}
