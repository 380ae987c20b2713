/** Plans and pairs as files: rows like others, in the formats that rows have. */

import { checkArguments, checkDeclared } from '../base/arguments';
import { checkIds } from '../base/ids';
import { checkPlanShape, type DedupPlan } from '../groups/plan';
import {
  doubtfulRows,
  listedRows,
  PLAN_COLUMNS,
  type PlanPart,
  type PlanTableOptions,
  planBatches,
  planOf,
} from '../groups/plan-table';
import { noPairs, type PairBatch, type Pairs } from '../join/pairs';
import type { KindHeader } from '../table/arrow/writer';
import { RowBatch } from '../table/row-batch';
import { batchRanges } from '../table/sealed/sealed-table';
import { type CreateRowsOptions, createRows, encoderOf } from './create-rows';
import { openOutput } from './file-io';
import { openRecords, openRows } from './open-rows';
import { formatOfPath, type RowFormat } from './row-format';

/**
 * Writes pairs as a sealed Arrow stream of a, b, distance and, if known, cosine or jaccard, in the
 * memory of one batch.
 *
 * @example
 * const codes = new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * await writePairs('pairs.arrow', pairs(codes, { maxDistance: 10 }));
 * for await (const batch of await openRows('pairs.arrow')) {
 *   console.log(batch.values('a'), batch.values('b')); // [ 0 ] [ 1 ]
 * }
 */
export async function writePairs(path: string, found: Pairs): Promise<void> {
  checkArguments({ path, found }, { path: 'path', found: 'batches' });
  await writeRows(path, { format: 'arrows', header: { kind: 'pairs' } }, pairRows(found));
}

async function* pairRows(found: Pairs): AsyncGenerator<RowBatch> {
  let isEmpty = true;
  for await (const batch of found) {
    yield pairRow(batch);
    isEmpty = false;
  }
  if (!isEmpty) return;
  yield pairRow(noPairs(found));
}

function pairRow({ a, b, distances, cosines, jaccards }: PairBatch): RowBatch {
  return RowBatch.of({
    ...{ a, b, distance: distances },
    ...(cosines !== null && { cosine: cosines }),
    ...(jaccards !== null && { jaccard: jaccards }),
  });
}

/**
 * Writes a plan, a line for each row, in the format of the path: .arrow, .parquet, .csv, .jsonl and
 * others.
 *
 * @example
 * const codes = new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * await writePlan('plan.csv', dedup(codes, { maxDistance: 10 }), { ids: ['a', 'b', 'c'] });
 * console.log((await readPlan('plan.csv')).count); // 3
 */
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

/** Rows that are encoded and held together: a decision encodes all of them again. */
const KEPT_ROWS = 2048;

interface SavePlanOptions extends PlanTableOptions, Pick<PlanPart, 'sourceOf'> {
  /**
   * Encoded rows of earlier saves, by `blockOf`; this save adds those that are missing. The caller
   * takes out the blocks whose rows changed, so that saving a plan often costs little more than
   * writing its bytes.
   */
  blocks?: (readonly Uint8Array[] | undefined)[];
}

/** The index of the block that has a row, encoded. */
export const blockOf = (row: number) => Math.floor(row / KEPT_ROWS);

/** `writePlan` with what earlier saves have encoded. */
export async function savePlan(
  path: string,
  plan: DedupPlan,
  { ids: given, sourceOf, blocks, rows: which = 'all' }: SavePlanOptions,
): Promise<void> {
  const ids = given && checkIds(given, plan.count);
  const format = formatOfPath(path);
  // Of these formats the bytes of a row do not depend on the rows before it.
  const kept = format === 'csv' || format === 'jsonl' ? blocks : undefined;
  const isArrow = format === 'arrow' || format === 'arrows';
  const header = isArrow ? planHeader(plan) : undefined;
  if (kept === undefined) {
    const rows = which === 'groups' ? doubtfulRows(plan) : listedRows(plan);
    await writeRows(path, { format, header }, planRows(plan, format, { ids, sourceOf, rows }));
    return;
  }
  const output = await openOutput(path, { force: true, inputs: [] });
  try {
    for (const [first, end] of batchRanges(plan.count, KEPT_ROWS)) {
      const at = blockOf(first);
      if (kept[at] === undefined) {
        const encoder = await encoderOf(format as 'csv' | 'jsonl', { formulas: 'text' });
        const rows = listedRows(plan, [first, end]);
        const [batch] = planRows(plan, format, { ids, sourceOf, rows });
        // The first part is what stands before all rows.
        kept[at] = (await encoder.encode(batch)).slice(at === 0 ? 0 : 1);
      }
      await output.write(kept[at]);
    }
    await output.close();
  } catch (error) {
    await output.abort();
    throw error;
  }
}

/** The header that seals a plan as Arrow. */
export function planHeader({ codes, near }: Pick<DedupPlan, 'codes' | 'near'>): KindHeader {
  const made = codes && { bits: codes.bits, ...codes.origin };
  return { kind: 'plan', ...made, ...(near !== undefined && { near }) };
}

/** True for formats in which the similarities of a plan have six digits, and rows no codes. */
export const isRounded = (format: RowFormat | null) =>
  ['csv', 'jsonl', 'json'].includes(format ?? '');

function planRows(plan: DedupPlan, format: RowFormat | null, part: PlanPart): Generator<RowBatch> {
  return planBatches(plan, { ...part, isRounded: isRounded(format) });
}

async function writeRows(
  path: string,
  { format, header }: { format: RowFormat | null; header?: CreateRowsOptions['header'] },
  batches: AsyncIterable<RowBatch> | Iterable<RowBatch>,
): Promise<void> {
  const options = { force: true, formulas: 'text', header, ...(format && { format }) } as const;
  const writer = await createRows(path, options);
  try {
    for await (const batch of batches) await writer.write(batch);
    await writer.close();
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

/** How a plan is read. */
export interface ReadPlanOptions {
  /**
   * Rows of the source, as far as it is known: a plan for more is refused, since all rows without
   * a line take memory too.
   * @default 2 ** 22, or 64 for each line
   */
  maxRows?: number;
}

/**
 * Reads a plan that `writePlan` wrote, as it is or edited: lines in any order, `action` changed.
 *
 * @example
 * const codes = new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * await writePlan('plan.csv', dedup(codes, { maxDistance: 10 }));
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
  const plan = planOf(batches, path, maxRows);
  // The reading of the rows has checked the header.
  const { near } = JSON.parse(file.header ?? '{}') as Partial<KindHeader>;
  return near === undefined ? plan : { ...plan, near: String(near) };
}
