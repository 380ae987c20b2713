/**
 * What a plan's file says besides the plan itself, which `readPlan` reads: the ids of its rows, and
 * the marks of the files that they came from (source-marks.ts).
 */

import { textOfFormula } from '../../formats/csv/csv-text';
import { openRows } from '../../node';

/** Columns of a plan's file that the plan does not hold. */
export interface PlanLines {
  /** By row its id as text, undefined for a row without a line; null if lines have no ids. */
  readonly ids: (string | null | undefined)[] | null;
  /** The marks of the files of the rows, each once; none in older plans. */
  readonly marks: ReadonlySet<string>;
}

/** Reads the ids and marks of a plan for `count` rows; lines may be in any order. */
export async function linesOfPlan(path: string, count: number): Promise<PlanLines> {
  const plan = await openRows(path);
  await plan.close();
  const has = (column: string) => plan.columns.some(({ name }) => name === column);
  const ids: PlanLines['ids'] = has('id') ? Array(count).fill(undefined) : null;
  const marks = new Set<string>();
  const columns = ['row', 'id', 'source'].filter(has);
  if (columns.length === 1) return { ids, marks };
  const types: Record<string, 'text'> = ids === null ? {} : { id: 'text' };
  for await (const batch of await openRows(path, { columns, types })) {
    const own = has('source') ? batch.values('source') : [];
    for (const mark of own) if (mark !== null && mark !== '') marks.add(String(mark));
    if (ids === null) continue;
    const names = batch.values('id');
    batch.values('row').forEach((row, i) => {
      const id = names[i] === null ? null : String(names[i]);
      // In CSV a text that a spreadsheet could run has an apostrophe in front.
      ids[Number(row)] = id === null || plan.format !== 'csv' ? id : textOfFormula(id);
    });
  }
  return { ids, marks };
}
