/**
 * Deduplication: groups near rows and plans which of them to keep. With `extend` a plan grows with
 * its collection, and what was decided before stays as it is.
 */

import { checkOptions } from '../base/check';
import { asyncForm, type Steps, syncForm } from '../base/steps';
import { NONE } from '../join/distinct';
import { type RowSource, type Rows, rowsOf } from '../join/source';
import { checksOf, type DedupPlan, measureDropped } from './dedup-plan';
import { type Extension, extending } from './extend-plan';
import { GROUP_OPTIONS, type GroupOptions, groupSteps, type RowGroups } from './row-groups';

export interface DedupOptions extends GroupOptions {
  /** A checksum of each row, for rows that are identified by more than their code. */
  checks?: Uint32Array;
  /**
   * The plan that was made before, and the rows that it was made for. The source then has the rows
   * that come behind these; `checks` are of all rows.
   */
  extend?: Extension;
}

const OPTIONS = [...GROUP_OPTIONS, 'checks', 'extend'];

/**
 * Plans which rows to keep and which to drop as duplicates; changes nothing. Null rows are kept.
 * With `extend` the plan covers the rows of an earlier plan and, behind them, those of `source`.
 *
 * @example
 * const codes = new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * const plan = dedup(codes, { maxDistance: 10, keep: 'first' });
 * console.log(plan.kept); // Uint8Array(3) [ 1, 0, 1 ]
 */
export const dedup = /* @__PURE__ */ syncForm(planning);
/**
 * `dedup` with pauses for the event loop. Here it extends a plan by rows that came later.
 *
 * @example
 * const codes = new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * const plan = dedup(codes, { maxDistance: 10 });
 * const added = new SimHasher({ bits: 64 }).hashAll([[0, 2], [1, 1]]);
 * const options = { maxDistance: 10, extend: { plan, source: codes } };
 * console.log((await dedupAsync(added, options)).kept); // Uint8Array(5) [ 1, 0, 1, 0, 1 ]
 */
export const dedupAsync = /* @__PURE__ */ asyncForm(planning);

function* planning(source: RowSource, options: DedupOptions): Steps<DedupPlan> {
  const { checks, extend, ...given } = checkOptions('options', options, OPTIONS);
  const rows = rowsOf('source', source);
  if (extend !== undefined) return yield* extending(extend, rows, given, checks);
  return planOf(rows, yield* groupSteps(rows, given), checksOf(rows.codes, checks));
}

function planOf(rows: Rows, { groupOf, groups }: RowGroups, checks: Uint32Array): DedupPlan {
  const { count } = rows.codes;
  const keepers = Uint32Array.from({ length: count }, (_, row) => row);
  for (const group of groups) for (const row of group.rows) keepers[row] = group.keeper;
  const plan = {
    ...{ count, keepers, checks },
    groups: groupOf.map((name, row) => (name === NONE ? row : name)),
    kept: Uint8Array.from(keepers, (keeper, row) => Number(keeper === row)),
    distances: new Uint16Array(count),
    cosines: rows.vectors === null ? null : new Float64Array(count).fill(1),
  };
  const dropped = keepers.map((_, row) => row).filter((row) => plan.kept[row] === 0);
  measureDropped(plan, dropped, { rows, first: 0 }, { rows, first: 0 });
  return plan;
}
