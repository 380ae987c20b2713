/**
 * A dedup plan as rows that people read and edit, one a row of the source: row, id, group, action,
 * duplicate_of, distance, cosine or jaccard, and check, in any format that rows have. Read back,
 * each row of the source must be there once, in any order, and its action be "keep" or "drop".
 */

import { checkOptions, wrongValue } from '../base/check';
import { FormatError } from '../base/format-error';
import { checkIds, type Ids } from '../base/ids';
import { noColumn } from '../base/nearest-name';
import { RowBatch } from '../table/row-batch';
import { batchRanges } from '../table/sealed/sealed-table';
import type { DedupPlan } from './dedup';

/** What a plan's rows have besides the plan. */
export interface PlanTableOptions {
  /** The ids of the rows, for people who read the plan. */
  ids?: Ids | readonly number[];
  /** By row 1 where a person has looked at its group: the column `reviewed`. */
  reviewed?: Uint8Array;
}

/** Columns of integers that a plan must have, and the largest value of each. */
const INTEGERS = {
  row: 0xffff_ffff,
  group: 0xffff_ffff,
  duplicate_of: 0xffff_ffff,
  distance: 0xffff,
  check: 0xffff_ffff,
} as const;

/** Columns that a plan must have, and all that are read. */
const NEEDED_COLUMNS = ['action', ...Object.keys(INTEGERS)];
export const PLAN_COLUMNS = [...NEEDED_COLUMNS, 'cosine', 'jaccard'];

/** Action of a row by its `kept`. */
const ACTIONS = ['drop', 'keep'] as const;

/** Some rows of a plan: those of the source with these numbers, whose ids are `ids`. */
export function planBatch(plan: DedupPlan, rows: Uint32Array, ids: Ids | null): RowBatch {
  const { groups, kept, duplicateOf, distances, cosines, jaccards, checks } = plan;
  return RowBatch.of({
    row: rows,
    ...(ids !== null && { id: ids }),
    group: rows.map((row) => groups[row]),
    action: Array.from(rows, (row) => ACTIONS[kept[row]]),
    duplicate_of: rows.map((row) => duplicateOf[row]),
    distance: Uint16Array.from(rows, (row) => distances[row]),
    ...(cosines !== null && { cosine: Float64Array.from(rows, (row) => cosines[row]) }),
    ...(jaccards !== null && { jaccard: Float64Array.from(rows, (row) => jaccards[row]) }),
    check: rows.map((row) => checks[row]),
  });
}

/** All rows of a plan, batch by batch; a plan without rows is one empty batch. */
export function* planBatches(plan: DedupPlan, options?: PlanTableOptions): Generator<RowBatch> {
  const given = checkOptions('options', options, ['ids', 'reviewed']);
  const { reviewed } = given;
  if (reviewed !== undefined && reviewed.length !== plan.count) {
    throw wrongValue('reviewed', `one for each of ${plan.count} rows`, reviewed.length);
  }
  const ids = given.ids === undefined ? null : checkIds(given.ids, plan.count);
  for (const [first, end] of batchRanges(plan.count)) {
    const rows = Uint32Array.from({ length: end - first }, (_, i) => first + i);
    const batch = planBatch(plan, rows, ids?.slice(first, end) ?? null);
    const marks = reviewed && Array.from(rows, (row) => reviewed[row] === 1);
    yield marks === undefined ? batch : batch.with({ reviewed: marks });
  }
}

/** The plan of rows as `planBatches` makes them, edited or not; `file` is named in errors. */
export function planOf(batches: readonly RowBatch[], file: string): DedupPlan {
  const names = batches[0].columns.map(({ name }) => name);
  for (const name of NEEDED_COLUMNS) {
    if (!names.includes(name)) throw new FormatError(noColumn(name, names).message, file);
  }
  const valuesOf = (name: string) => batches.flatMap((batch) => batch.values(name));
  const integers = (name: keyof typeof INTEGERS) =>
    Uint32Array.from(valuesOf(name), (value, i) => {
      const integer = numberOf(value);
      if (Number.isInteger(integer) && integer >= 0 && integer <= INTEGERS[name]) return integer;
      const expected = `"${name}" expected an integer in 0..${INTEGERS[name]}`;
      throw new FormatError(`record ${i}: ${expected}, got ${value}`, file);
    });
  const lines = linesOf(integers('row'), file);
  const inOrder = <T>(values: ArrayLike<T>) => Array.from(lines, (line) => values[line]);
  const count = lines.length;
  const actions = inOrder(valuesOf('action'));
  const kept = Uint8Array.from(actions, (action, row) => {
    if (action === 'keep' || action === 'drop') return Number(action === 'keep');
    const expected = `"action" expected "keep" or "drop", got "${action}"`;
    throw new FormatError(`row ${row}: ${expected}`, file);
  });
  // A row that someone decided to keep duplicates none.
  const ofDropped = (values: ArrayLike<number>, own: (row: number) => number) =>
    inOrder(values).map((value, row) => (kept[row] === 1 ? own(row) : value));
  const duplicateOf = Uint32Array.from(ofDropped(integers('duplicate_of'), (row) => row));
  const beyond = duplicateOf.findIndex((other) => other >= count);
  if (beyond >= 0) {
    throw new FormatError(`row ${beyond} duplicates row ${duplicateOf[beyond]} of ${count}`, file);
  }
  const similarities = (name: string) => {
    const found = names.includes(name) ? valuesOf(name).map(numberOf) : [];
    const isThere = count > 0 && found.length === count && found.every(Number.isFinite);
    return isThere ? Float64Array.from(ofDropped(found, () => 1)) : null;
  };
  return {
    ...{ count, kept, duplicateOf },
    groups: Uint32Array.from(inOrder(integers('group'))),
    checks: Uint32Array.from(inOrder(integers('check'))),
    distances: Uint16Array.from(ofDropped(integers('distance'), () => 0)),
    cosines: similarities('cosine'),
    jaccards: similarities('jaccard'),
  };
}

/** Programs may have turned a column of numbers into texts. NaN for what is no number. */
function numberOf(value: unknown): number {
  if (typeof value === 'string' && value.trim() === '') return Number.NaN;
  return value === null ? Number.NaN : Number(value);
}

/** For each row of the source, where it is among the lines of the plan. */
function linesOf(rows: Uint32Array, file: string): Int32Array {
  const lines = new Int32Array(rows.length).fill(-1);
  rows.forEach((row, line) => {
    if (row >= rows.length) {
      throw new FormatError(`row ${row} of a plan for ${rows.length} rows`, file);
    }
    if (lines[row] >= 0) throw new FormatError(`row ${row} is there twice`, file);
    lines[row] = line;
  });
  return lines;
}
