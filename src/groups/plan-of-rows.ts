/**
 * A plan that was read, for the rows that it was made for: an index as it is now. By a checksum of
 * each code a plan of other rows is refused.
 */

import type { SimHashIndex } from '../index/simhash-index';
import { rowsOf } from '../join/source';
import { checkPlan, checksOf, type DedupPlan, NULL_CHECK } from './plan';

/** By row of an index the checksum of its code; rows without a code share `NULL_CHECK`. */
export function checksOfRows(index: SimHashIndex): Uint32Array {
  return checksOf(rowsOf('index', index).codes);
}

/**
 * The plan with a place for each row of the index: rows behind its last one are kept, as an index
 * has them where it has removed them. Throws where it is of other rows.
 */
export function planOfRows(plan: DedupPlan, index: SimHashIndex): DedupPlan {
  const checks = checksOfRows(index);
  const all = widened(plan, checks.length);
  checkPlan(all, checks);
  return all;
}

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
