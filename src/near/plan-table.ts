/**
 * A plan as lines that people read and edit, in any format of rows: row, id, group, action,
 * duplicate_of, distance, cosine or jaccard, perhaps rest and common, text, check, rows (how many
 * the source has), perhaps reviewed. Lines may be read back in any order. Rows of the source
 * without a line are kept: a person deleted the line, or an index has removed it.
 */

import { ascending, idsAt } from '../base/arrays';
import { FormatError, type Ids, noColumn } from '../base/check';
import { RowBatch } from '../table/row-batch';
import { batchRanges } from '../table/sealed/sealed-table';
import type { Send } from './pair-order';
import { type DedupPlan, keptAlone, MEASURES } from './plan';

/** Options of writing a plan. */
export interface PlanTableOptions {
  /** The ids of the rows. */
  ids?: Ids | readonly number[];
  /** All in their order, or groups of two or more, the most doubtful first. */
  rows?: 'all' | 'groups';
}

/** Integer columns that a plan must have, with their largest values. */
const INTEGERS = {
  row: 0xffff_ffff,
  group: 0xffff_ffff,
  duplicate_of: 0xffff_ffff,
  distance: 0xffff,
  check: 0xffff_ffff,
  rows: 0xffff_ffff,
} as const;

/** Columns that a plan must have, and all that are read. */
const NEEDED_COLUMNS = ['action', ...Object.keys(INTEGERS)];
/** All columns that are read; other columns are ignored. */
export const PLAN_COLUMNS = [...NEEDED_COLUMNS, ...MEASURES, 'rest', 'common', 'reviewed'];
/** Rows that a plan may be for, for each of its lines; more where `maxRows` allows them. */
const MAX_ROWS_PER_LINE = 64;
/** Rows that a plan of few lines may be for, where callers do not know how many the source has. */
const MAX_UNLISTED = 2 ** 22;

/** The action of a row by its `kept`. */
const ACTIONS: readonly string[] = ['drop', 'keep'];

/** What to write of a plan; the functions are called with rows of the source. */
export interface PlanPart {
  /** The rows to write, in this order; by default all that the plan lists. */
  readonly rows?: Uint32Array;
  /** The ids of all rows of the plan. */
  readonly ids?: Ids | null | undefined;
  readonly textOf?: ((row: number) => string) | undefined;
  /** The id of the row of an older collection that a row is near to. */
  readonly nearOf?: ((row: number) => string | null) | undefined;
  /** The checksum of the files that the rows come from. */
  readonly source?: string | undefined;
}

/** The columns of lines of some rows of a plan, in this order. */
export function planColumns(plan: DedupPlan, rows: Uint32Array, part: PlanPart) {
  const { count, groups, kept, duplicateOf, distances, checks, reviewed } = plan;
  const { ids, textOf, nearOf, source } = part;
  const rounded = (exact: Float64Array) =>
    Float64Array.from(rows, (row) => Number(exact[row].toFixed(6)));
  return {
    row: rows,
    ...(ids && { id: idsAt(ids, rows) }),
    group: rows.map((row) => groups[row]),
    action: Array.from(rows, (row) => ACTIONS[kept[row]]),
    duplicate_of: rows.map((row) => duplicateOf[row]),
    distance: Uint16Array.from(rows, (row) => distances[row]),
    ...(plan.measure && plan.similarities && { [plan.measure]: rounded(plan.similarities) }),
    ...(plan.rests && {
      rest: Array.from(rounded(plan.rests), (rest) => (Number.isNaN(rest) ? null : rest)),
    }),
    ...(plan.commons && { common: rounded(plan.commons) }),
    ...(nearOf && { near_to: Array.from(rows, nearOf) }),
    ...(textOf && { text: Array.from(rows, textOf) }),
    check: rows.map((row) => checks[row]),
    rows: rows.map(() => count),
    ...(source && { source: Array(rows.length).fill(source) }),
    ...(reviewed !== undefined && { reviewed: Array.from(rows, (row) => reviewed[row] === 1) }),
  };
}

/** Passes on the lines of a plan in batches; one empty batch for a plan without lines. */
export async function eachPlanBatch(
  plan: DedupPlan,
  part: PlanPart,
  send: Send<RowBatch>,
): Promise<void> {
  const { rows = listedRows(plan) } = part;
  for (const [first, end] of batchRanges(rows.length)) {
    await send(RowBatch.of(planColumns(plan, rows.subarray(first, end), part)));
  }
}

/** The rows of a plan that it lists, ascending. */
export function listedRows({ count, listed }: DedupPlan): Uint32Array {
  const all = ascending(count);
  return listed === undefined ? all : all.filter((row) => listed[row] === 1);
}

/**
 * The rows of groups of two or more, group by group: first the group whose dropped rows have the
 * lowest similarity or, where it is unknown, the largest distance. Within a group kept rows come
 * first, then the others by doubt. For a plan without groups the row `only`, so that its line says
 * how many rows there are.
 */
export function doubtfulRows(plan: DedupPlan, only = 0): Uint32Array {
  const { count, groups, kept, distances, similarities: exact } = plan;
  const doubtOf = (row: number) => {
    if (kept[row] === 1) return Number.NEGATIVE_INFINITY;
    return exact === null ? distances[row] : -exact[row];
  };
  // By group; a Map holds 2^24 groups at most.
  const sizes = new Uint32Array(count);
  const doubts = new Float64Array(count).fill(Number.NEGATIVE_INFINITY);
  for (let row = 0; row < count; row++) {
    const group = groups[row];
    sizes[group]++;
    doubts[group] = Math.max(doubts[group], doubtOf(row));
  }
  const doubtOfGroup = (row: number) => doubts[groups[row]];
  const order = (a: number, b: number) => Number(a > b) - Number(a < b);
  const isShown = (row: number) => kept[row] === 0 || sizes[groups[row]] > 1;
  const rows = ascending(count).filter(isShown);
  if (rows.length === 0) return Uint32Array.from(count > 0 ? [only] : []);
  return rows.sort(
    (a, b) =>
      order(doubtOfGroup(b), doubtOfGroup(a)) ||
      groups[a] - groups[b] ||
      kept[b] - kept[a] ||
      order(doubtOf(b), doubtOf(a)) ||
      a - b,
  );
}

/**
 * The plan of lines that `eachPlanBatch` passed on, edited or not. Errors name `file`. A plan for
 * more than `maxRows` rows is refused before memory is allocated for them.
 */
export function planOf(
  batches: readonly RowBatch[],
  file: string,
  maxRows = MAX_UNLISTED,
): DedupPlan {
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
  const rows = integers('row');
  const count = countOf(integers('rows'), file);
  const listed = listedIn(rows, count, { file, maxRows });
  const put = putOf(rows);
  const actions = valuesOf('action').map((action, i) => keptBy(action, rows[i], file));
  // A row whose action was changed to "keep" duplicates no row.
  const isDropped = (line: number) => actions[line] === 0;
  const plan = keptAlone(count, null);
  put(plan.duplicateOf, integers('duplicate_of'), isDropped);
  const wrong = plan.duplicateOf.findIndex((other) => other >= count);
  const other = plan.duplicateOf[wrong];
  if (wrong >= 0) throw new FormatError(`row ${wrong} duplicates row ${other} of ${count}`, file);
  const numbers = (name: string) => (names.includes(name) ? valuesOf(name).map(numberOf) : []);
  const finite = (name: string) => {
    const found = numbers(name);
    return found.length > 0 && found.every(Number.isFinite) ? found : null;
  };
  const shares = (found: number[] | null) =>
    found && put(new Float64Array(count).fill(1), found, isDropped);
  const measure = MEASURES.find((name) => finite(name) !== null) ?? null;
  const [rests, commons] = [numbers('rest'), finite('common')];
  // Spreadsheets write TRUE.
  const isMark = (mark: unknown) => Number(mark === 1 || String(mark).toLowerCase() === 'true');
  return {
    count,
    kept: put(plan.kept, actions),
    duplicateOf: plan.duplicateOf,
    groups: put(plan.groups, integers('group')),
    checks: put(plan.checks, integers('check')),
    distances: put(plan.distances, integers('distance'), isDropped),
    similarities: measure && shares(finite(measure)),
    measure,
    ...(rests.some(Number.isFinite) && { rests: shares(rests) as Float64Array }),
    ...(commons && { commons: put(new Float64Array(count), commons) }),
    ...(rows.length < count && { listed }),
    ...(names.includes('reviewed') && {
      reviewed: put(new Uint8Array(count), valuesOf('reviewed').map(isMark)),
    }),
  };
}

type Numbers = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** Returns a function that writes values of lines by row; other rows keep what is there. */
function putOf(rows: Uint32Array) {
  return <A extends Numbers>(
    into: A,
    values: ArrayLike<number>,
    isWanted = (_line: number) => true,
  ): A => {
    for (let i = 0; i < rows.length; i++) if (isWanted(i)) into[rows[i]] = values[i];
    return into;
  };
}

/** 1 for the action "keep", 0 for "drop", also with capitals and blanks; throws for others. */
function keptBy(action: unknown, row: number, file: string): number {
  const kept = ACTIONS.indexOf(String(action).trim().toLowerCase());
  if (kept >= 0) return kept;
  const expected = `"action" expected "keep" or "drop", got "${action}"`;
  throw new FormatError(`row ${row}: ${expected}`, file);
}

/** How many rows the source has: the value that every line must state. */
function countOf(counts: Uint32Array, file: string): number {
  if (counts.length === 0) throw new FormatError('no line is left: it would keep all rows', file);
  const other = counts.findIndex((count) => count !== counts[0]);
  if (other < 0) return counts[0];
  const found = `"rows" is ${counts[other]}, and ${counts[0]} in the first`;
  throw new FormatError(`record ${other}: ${found}`, file);
}

/** A number, also from a text, since programs may have converted the column; else NaN. */
function numberOf(value: unknown): number {
  if (typeof value === 'string' && value.trim() === '') return Number.NaN;
  return value === null ? Number.NaN : Number(value);
}

/** For each row of the source 1 if it has a line, else 0. */
function listedIn(
  rows: Uint32Array,
  count: number,
  { file, maxRows }: { file: string; maxRows: number },
): Uint8Array {
  if (count > Math.max(MAX_ROWS_PER_LINE * rows.length, maxRows)) {
    const found = `${rows.length} lines say that they are of ${count} rows`;
    throw new FormatError(`${found}, the source can have at most ${maxRows}`, file);
  }
  const listed = new Uint8Array(count);
  for (const row of rows) {
    if (row >= count) throw new FormatError(`row ${row} of a plan for ${count} rows`, file);
    if (listed[row] === 1) throw new FormatError(`row ${row} is there twice`, file);
    listed[row] = 1;
  }
  return listed;
}
