/**
 * A dedup plan as a table that people read and edit: a line a row, with row, id, group, action,
 * duplicate_of, distance, cosine and check; as Arrow, CSV or JSON lines. Read back, each row of the
 * source must be there once, in any order, and its action be "keep" or "drop".
 */

import { checkOneOf, checkOptions, wrongType } from '../base/check';
import { FormatError } from '../base/format-error';
import { checkIds, type Ids } from '../base/ids';
import type { ArrowSource } from '../table/arrow/source';
import * as arrow from '../table/sealed/plan';
import type { DedupPlan } from './dedup';

export interface PlanTableOptions {
  /** The rows' own names, for whoever reads the plan. */
  ids?: Ids | readonly number[];
}

const ACTIONS = ['drop', 'keep'] as const;
const TEXT_FORMATS = ['csv', 'jsonl'] as const;
export type TextFormat = (typeof TEXT_FORMATS)[number];

/** The plan as the bytes of an Arrow file. */
export function planToArrow(plan: DedupPlan, options?: PlanTableOptions): Uint8Array {
  return arrow.planToArrow(columnsOf(plan), idsOf(plan, options));
}

/** A plan that `planToArrow` wrote, edited by whatever program or not. */
export function planFromArrow(source: ArrowSource, options?: { file?: string }): DedupPlan {
  const { file } = checkOptions('options', options, ['file']);
  return planOf(arrow.planFromArrow(source, file), file);
}

/** The plan as text, a line a row. */
export function planToText(
  plan: DedupPlan,
  format: TextFormat,
  options?: PlanTableOptions,
): string {
  checkOneOf('format', format, TEXT_FORMATS);
  const ids = idsOf(plan, options);
  const { cosines } = plan;
  const lines: string[] = [];
  const names = ['row', 'group', 'action', 'duplicate_of', 'distance', 'cosine', 'check'];
  if (format === 'csv') lines.push((ids ? ['row', 'id', ...names.slice(1)] : names).join(','));
  for (let row = 0; row < plan.count; row++) {
    const values: Record<string, string | number> = {
      row,
      ...(ids && { id: typeof ids[row] === 'bigint' ? String(ids[row]) : (ids[row] as string) }),
      group: plan.groups[row],
      action: ACTIONS[plan.kept[row]],
      duplicate_of: plan.keepers[row],
      distance: plan.distances[row],
      cosine: cosines === null ? '' : Number(cosines[row].toFixed(6)),
      check: plan.checks[row],
    };
    if (format === 'csv') lines.push(Object.values(values).map(cellOf).join(','));
    else {
      if (cosines === null) delete values.cosine;
      lines.push(JSON.stringify(values));
    }
  }
  return `${lines.join('\n')}\n`;
}

/** A plan that `planToText` wrote, edited or not; a line that is broken is named. */
export function planFromText(
  text: string,
  format: TextFormat,
  options?: { file?: string },
): DedupPlan {
  if (typeof text !== 'string') throw wrongType('text', 'a string', text);
  checkOneOf('format', format, TEXT_FORMATS);
  const { file } = checkOptions('options', options, ['file']);
  const rows = format === 'csv' ? [...csvRecords(text, file)] : [...jsonRecords(text, file)];
  const integers = (name: string) =>
    Uint32Array.from(rows, (row, i) => {
      const value = /^\s*\d+\s*$/.test(String(row[name])) ? Number(row[name]) : Number.NaN;
      if (value <= (name === 'distance' ? 0xffff : 0xffff_ffff)) return value;
      throw new FormatError(`record ${i}: "${name}" expected an integer, got ${row[name]}`, file);
    });
  const hasCosines = rows.length > 0 && rows.every(({ cosine }) => Number.isFinite(parse(cosine)));
  const columns = {
    ...{ rows: integers('row'), groups: integers('group'), keepers: integers('duplicate_of') },
    actions: rows.map(({ action }) => String(action)),
    distances: Uint16Array.from(integers('distance')),
    cosines: hasCosines ? Float64Array.from(rows, ({ cosine }) => parse(cosine)) : null,
    checks: integers('check'),
  };
  return planOf(columns, file);
}

function parse(value: unknown): number {
  const isGiven = typeof value === 'number' || (typeof value === 'string' && value.trim() !== '');
  return isGiven ? Number(value) : Number.NaN;
}

function columnsOf(plan: DedupPlan): arrow.PlanColumns {
  const { count, groups, kept, keepers, distances, cosines, checks } = plan;
  return {
    rows: Uint32Array.from({ length: count }, (_, row) => row),
    actions: Array.from(kept, (isKept) => ACTIONS[isKept]),
    ...{ groups, keepers, distances, cosines, checks },
  };
}

function idsOf(plan: DedupPlan, options: PlanTableOptions | undefined): Ids | null {
  const { ids } = checkOptions('options', options, ['ids']);
  return ids === undefined ? null : checkIds(ids, plan.count);
}

/** From lines in any order to rows in theirs. */
function planOf(columns: arrow.PlanColumns, file: string | undefined): DedupPlan {
  const count = columns.rows.length;
  const lineOf = new Int32Array(count).fill(-1);
  columns.rows.forEach((row, line) => {
    if (row >= count) throw new FormatError(`row ${row} of a plan for ${count} rows`, file);
    if (lineOf[row] >= 0) throw new FormatError(`row ${row} is there twice`, file);
    lineOf[row] = line;
  });
  const kept = new Uint8Array(count);
  const keepers = new Uint32Array(count);
  for (let row = 0; row < count; row++) {
    const action = columns.actions[lineOf[row]];
    if (action !== 'keep' && action !== 'drop') {
      throw new FormatError(
        `row ${row}: "action" expected "keep" or "drop", got "${action}"`,
        file,
      );
    }
    kept[row] = Number(action === 'keep');
    keepers[row] = kept[row] === 1 ? row : columns.keepers[lineOf[row]];
    if (keepers[row] < count) continue;
    throw new FormatError(`row ${row} duplicates row ${keepers[row]} of ${count}`, file);
  }
  const inOrder = <T extends Uint32Array | Uint16Array | Float64Array>(values: T): T =>
    values.map((_, row) => values[lineOf[row]]) as T;
  const { groups, checks } = columns;
  // A row that someone decided to keep duplicates none.
  const distances = inOrder(columns.distances).map((value, row) => (kept[row] === 1 ? 0 : value));
  const cosines =
    columns.cosines && inOrder(columns.cosines).map((value, row) => (kept[row] === 1 ? 1 : value));
  const read = { count, kept, keepers, groups: inOrder(groups), checks: inOrder(checks) };
  return { ...read, distances, cosines };
}

/** Quoted where a comma, quote or line break would cut it (RFC 4180). */
function cellOf(value: string | number): string {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The records behind the header, each with a cell for each of its names. */
function* csvRecords(text: string, file: string | undefined): Generator<Record<string, string>> {
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y;
  let header: string[] | null = null;
  let cells: string[] = [];
  for (let line = 1; cell.lastIndex < text.length || cells.length > 0; ) {
    const match = cell.exec(text);
    if (match === null) throw new FormatError(`line ${line}: a broken quote`, file);
    cells.push(match[1] === undefined ? match[2] : match[1].replaceAll('""', '"'));
    if (match[3] === ',') continue;
    if (header === null) header = cells;
    else if (cells.length === header.length) {
      yield Object.fromEntries(header.map((name, i) => [name, cells[i]]));
    } else if (cells.length > 1 || cells[0] !== '') {
      throw new FormatError(`line ${line}: ${cells.length} cells of ${header.length}`, file);
    }
    line += match[0].split('\n').length - 1;
    cells = [];
  }
}

function* jsonRecords(text: string, file: string | undefined): Generator<Record<string, unknown>> {
  const lines = text.split(/\r?\n/);
  for (let i = 0; i < lines.length; i++) {
    if (lines[i].trim() === '') continue;
    let value: unknown = null;
    try {
      value = JSON.parse(lines[i]);
    } catch {
      // Told of below.
    }
    if (typeof value !== 'object' || value === null) {
      throw new FormatError(`line ${i + 1}: not a JSON object`, file);
    }
    yield value as Record<string, unknown>;
  }
}
