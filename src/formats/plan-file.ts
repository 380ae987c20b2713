/** Plans and pairs as files: rows like others, in the formats that rows have. */

import { checkArguments, checkDeclared } from '../base/arguments';
import { checkIds } from '../base/ids';
import { noPairs, type PairBatch, type Pairs } from '../near/pairs';
import { checkPlanShape, type DedupPlan } from '../near/plan';
import {
  doubtfulRows,
  eachPlanBatch,
  listedRows,
  PLAN_COLUMNS,
  type PlanPart,
  type PlanTableOptions,
  planOf,
} from '../near/plan-table';
import { RowBatch } from '../table/row-batch';
import { type CreateRowsOptions, createRows, type RowWriter } from './create-rows';
import { openRecords, openRows } from './open-rows';
import { formatOfPath, type RowFormat } from './row-format';

/**
 * Writes pairs as an Arrow stream of a, b, distance and, if known, cosine or jaccard. Holds one
 * batch in memory.
 *
 * @example
 * const codes = await new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * await writePairs('pairs.arrow', pairs(codes, { maxDistance: 10 }));
 * for await (const batch of await openRows('pairs.arrow')) {
 *   console.log(batch.values('a'), batch.values('b')); // [ 0 ] [ 1 ]
 * }
 */
export async function writePairs(path: string, found: Pairs): Promise<void> {
  checkArguments({ path, found }, { path: 'path', found: 'batches' });
  await writeRows(path, { format: 'arrows', header: { kind: 'pairs' } }, async (writer) => {
    for await (const batch of found) await writer.write(rowsOf(batch));
    if (writer.rowCount === 0) await writer.write(rowsOf(noPairs(found)));
  });
}

function rowsOf({ a, b, distances, cosines, jaccards }: PairBatch): RowBatch {
  return RowBatch.of({
    a,
    b,
    distance: distances,
    ...(cosines !== null && { cosine: cosines }),
    ...(jaccards !== null && { jaccard: jaccards }),
  });
}

/** Writes a plan, a line for each row, in the format of the path. */
export async function writePlan(
  path: string,
  plan: DedupPlan,
  options?: PlanTableOptions,
): Promise<void> {
  const given = checkDeclared(options, { ids: 'any', rows: ['all', 'groups'] });
  checkArguments({ path }, { path: 'path' });
  checkPlanShape('plan', plan);
  await savePlan(path, plan, given);
}

/** `writePlan` for plans that are checked, with the marks of the files that rows came from. */
export async function savePlan(
  path: string,
  plan: DedupPlan,
  { ids: given, sourceOf, rows: which = 'all' }: PlanTableOptions & Pick<PlanPart, 'sourceOf'>,
): Promise<void> {
  const ids = given && checkIds(given, plan.count);
  const format = formatOfPath(path);
  const isArrow = format === 'arrow' || format === 'arrows';
  const header = isArrow ? ({ kind: 'plan' } as const) : undefined;
  const rows = which === 'groups' ? doubtfulRows(plan) : listedRows(plan);
  const part = { ids, sourceOf, rows, isRounded: isRounded(format) };
  await writeRows(path, { format, header }, (writer) =>
    eachPlanBatch(plan, part, (batch) => writer.write(batch)),
  );
}

/** True for formats in which the similarities of a plan have six digits. */
export const isRounded = (format: RowFormat | null) =>
  ['csv', 'jsonl', 'json'].includes(format ?? '');

async function writeRows(
  path: string,
  { format, header }: { format: RowFormat | null; header?: CreateRowsOptions['header'] },
  write: (writer: RowWriter) => Promise<void>,
): Promise<void> {
  const options = { force: true, formulas: 'text', header, ...(format && { format }) } as const;
  const writer = await createRows(path, options);
  try {
    await write(writer);
    await writer.close();
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

/** How a plan is read. */
export interface ReadPlanOptions {
  /**
   * Refuses a plan for more rows: those without a line take memory too.
   * @default 2 ** 22, or 64 for each line
   */
  maxRows?: number;
}

/**
 * Reads a plan that `writePlan` wrote, edited or not.
 *
 * @example
 * const codes = await new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * await writePlan('plan.csv', await dedup(codes, { maxDistance: 10 }));
 * console.log((await readPlan('plan.csv')).kept); // Uint8Array(3) [ 1, 0, 1 ]
 */
export async function readPlan(path: string, options?: ReadPlanOptions): Promise<DedupPlan> {
  const { maxRows } = checkDeclared(options, { maxRows: { min: 0 } });
  checkArguments({ path }, { path: 'path' });
  const file = await openRecords(path, {});
  await file.close();
  const names = file.columns.map(({ name }) => name);
  // Other columns are not read: they may have anything.
  const columns = PLAN_COLUMNS.filter((name) => names.includes(name));
  const batches: RowBatch[] = [];
  for await (const batch of await openRows(path, { columns })) batches.push(batch);
  return planOf(batches, path, maxRows);
}
