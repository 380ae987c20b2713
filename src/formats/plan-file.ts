/** Dedup plans and pairs as files: rows like others, in the formats that rows have. */

import type { DedupPlan } from '../groups/dedup';
import { PLAN_COLUMNS, type PlanTableOptions, planBatches, planOf } from '../groups/plan-table';
import { noPairs, type PairBatch, type Pairs } from '../join/pairs';
import { RowBatch } from '../table/row-batch';
import { type CreateRowsOptions, createRows } from './create-rows';
import { openRows } from './open-rows';
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
  const format = formatOfPath(path);
  const isArrow = format === 'arrow' || format === 'arrows';
  const header = isArrow ? ({ kind: 'plan' } as const) : undefined;
  await writeRows(path, { format, header }, planRows(plan, format, options));
}

/** Texts have six digits, and CSV has a column `cosine` also where no similarity is known. */
function* planRows(
  plan: DedupPlan,
  format: RowFormat | null,
  options?: PlanTableOptions,
): Generator<RowBatch> {
  const isText = format === 'csv' || format === 'jsonl' || format === 'json';
  const rounded = (exact: Float64Array | null) =>
    exact?.map((similarity) => Number(similarity.toFixed(6))) ?? null;
  const [cosines, jaccards] = [rounded(plan.cosines), rounded(plan.jaccards)];
  for (const batch of planBatches(isText ? { ...plan, cosines, jaccards } : plan, options)) {
    if (cosines !== null || jaccards !== null || format !== 'csv') yield batch;
    else {
      const checks = Uint32Array.from(batch.values('check') as number[]);
      const none = new Array<null>(batch.count).fill(null);
      yield batch.without(['check']).with({ cosine: none, check: checks });
    }
  }
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

/**
 * Reads a plan that `writePlan` wrote, as it is or edited: lines in any order, `action` changed.
 *
 * @example
 * const codes = new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * await writePlan('plan.csv', dedup(codes, { maxDistance: 10 }));
 * console.log((await readPlan('plan.csv')).kept); // Uint8Array(3) [ 1, 0, 1 ]
 */
export async function readPlan(path: string): Promise<DedupPlan> {
  const columns = await columnsOfPlan(path);
  const batches: RowBatch[] = [];
  for await (const batch of await openRows(path, { columns })) batches.push(batch);
  return planOf(batches, path);
}

/** What else the file has is not read: it may hold anything. */
async function columnsOfPlan(path: string): Promise<string[]> {
  const reader = await openRows(path);
  await reader.close();
  const names = reader.columns.map(({ name }) => name);
  return PLAN_COLUMNS.filter((name) => names.includes(name));
}
