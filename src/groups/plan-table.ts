/**
 * A dedup plan as rows that people read and edit, one a row of the source: row, id, group, action,
 * duplicate_of, distance, cosine or jaccard, check and perhaps reviewed, in any format that rows
 * have. Read back, each row is there once, in any order, and its action is "keep" or "drop"; rows
 * between them that an index has removed are kept, and have no code.
 */

import { FormatError } from '../base/format-error';
import type { Ids } from '../base/ids';
import { noColumn } from '../base/nearest-name';
import { RowBatch } from '../table/row-batch';
import { batchRanges } from '../table/sealed/sealed-table';
import { type DedupPlan, NULL_CHECK } from './dedup';

/** What a plan's rows have besides the plan. */
export interface PlanTableOptions {
  /** The ids of the rows, for people who read the plan. */
  ids?: Ids | readonly number[];
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
export const PLAN_COLUMNS = [...NEEDED_COLUMNS, 'cosine', 'jaccard', 'reviewed'];
/** Rows of a plan for each of its lines: an index may have removed the others. */
const MAX_ROWS_PER_LINE = 64;

/** Action of a row by its `kept`. */
const ACTIONS = ['drop', 'keep'] as const;

/** How a plan's columns look. */
export interface PlanLook {
  /** Similarities have six digits. */
  readonly isText?: boolean;
  /** There is a column `cosine` also where no similarity is known. */
  readonly hasCosine?: boolean;
}

/** Some rows of a plan: those of the source with these numbers, whose ids are `ids`. */
export function planBatch(
  plan: DedupPlan,
  rows: Uint32Array,
  ids: Ids | null,
  { isText = false, hasCosine = false }: PlanLook = {},
): RowBatch {
  const { groups, kept, duplicateOf, distances, cosines, jaccards, checks, reviewed } = plan;
  const rounded = (exact: Float64Array) =>
    Float64Array.from(rows, (row) => (isText ? Number(exact[row].toFixed(6)) : exact[row]));
  const isUnknown = hasCosine && cosines === null && jaccards === null;
  return RowBatch.of({
    row: rows,
    ...(ids !== null && { id: ids }),
    group: rows.map((row) => groups[row]),
    action: Array.from(rows, (row) => ACTIONS[kept[row]]),
    duplicate_of: rows.map((row) => duplicateOf[row]),
    distance: Uint16Array.from(rows, (row) => distances[row]),
    ...(cosines !== null && { cosine: rounded(cosines) }),
    ...(jaccards !== null && { jaccard: rounded(jaccards) }),
    ...(isUnknown && { cosine: new Array<null>(rows.length).fill(null) }),
    check: rows.map((row) => checks[row]),
    ...(reviewed !== undefined && { reviewed: Array.from(rows, (row) => reviewed[row] === 1) }),
  });
}

/** A part of a plan's rows, by default all, and the ids of all rows. */
export interface PlanPart extends PlanLook {
  readonly ids?: Ids | undefined;
  readonly first?: number;
  readonly end?: number;
}

/** Rows of a plan, batch by batch; a plan without rows is one empty batch. */
export function* planBatches(
  plan: DedupPlan,
  { ids, first: from = 0, end: to = plan.count, ...look }: PlanPart = {},
): Generator<RowBatch> {
  for (const [first, end] of batchRanges(to - from)) {
    const rows = Uint32Array.from({ length: end - first }, (_, i) => from + first + i);
    yield planBatch(plan, rows, ids?.slice(from + first, from + end) ?? null, look);
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
  const count = lines.length;
  /** By row its value; of a row that is not there what `own` says. */
  const inOrder = <T>(values: ArrayLike<T>, own: (row: number) => T) =>
    Array.from(lines, (line, row) => (line < 0 ? own(row) : values[line]));
  const actions = inOrder(valuesOf('action'), () => 'keep');
  const kept = Uint8Array.from(actions, (action, row) => {
    if (action === 'keep' || action === 'drop') return Number(action === 'keep');
    const expected = `"action" expected "keep" or "drop", got "${action}"`;
    throw new FormatError(`row ${row}: ${expected}`, file);
  });
  // A row that someone decided to keep duplicates none.
  const ofDropped = (values: ArrayLike<number>, own: (row: number) => number) =>
    inOrder(values, own).map((value, row) => (kept[row] === 1 ? own(row) : value));
  const duplicateOf = Uint32Array.from(ofDropped(integers('duplicate_of'), (row) => row));
  const beyond = duplicateOf.findIndex((other) => other >= count);
  if (beyond >= 0) {
    throw new FormatError(`row ${beyond} duplicates row ${duplicateOf[beyond]} of ${count}`, file);
  }
  const similarities = (name: string) => {
    const found = names.includes(name) ? valuesOf(name).map(numberOf) : [];
    const isThere = found.length > 0 && found.every(Number.isFinite);
    return isThere ? Float64Array.from(ofDropped(found, () => 1)) : null;
  };
  const isMark = (mark: unknown) => Number(mark === true || mark === 'true' || mark === 1);
  return {
    ...{ count, kept, duplicateOf },
    groups: Uint32Array.from(inOrder(integers('group'), (row) => row)),
    checks: Uint32Array.from(inOrder(integers('check'), () => NULL_CHECK)),
    distances: Uint16Array.from(ofDropped(integers('distance'), () => 0)),
    cosines: similarities('cosine'),
    jaccards: similarities('jaccard'),
    ...(names.includes('reviewed') && {
      reviewed: Uint8Array.from(inOrder(valuesOf('reviewed').map(isMark), () => 0)),
    }),
  };
}

/** Programs may have turned a column of numbers into texts. NaN for what is no number. */
function numberOf(value: unknown): number {
  if (typeof value === 'string' && value.trim() === '') return Number.NaN;
  return value === null ? Number.NaN : Number(value);
}

/** For each row of the source, where it is among the lines of the plan; -1 where it is not. */
function linesOf(rows: Uint32Array, file: string): Int32Array {
  const count = rows.reduce((most, row) => Math.max(most, row + 1), 0);
  if (count > MAX_ROWS_PER_LINE * rows.length) {
    throw new FormatError(`row ${count - 1} of a plan of ${rows.length} lines`, file);
  }
  const lines = new Int32Array(count).fill(-1);
  rows.forEach((row, line) => {
    if (lines[row] >= 0) throw new FormatError(`row ${row} is there twice`, file);
    lines[row] = line;
  });
  return lines;
}
