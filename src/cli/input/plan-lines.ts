/** What a plan's file says besides the plan: the ids of its rows, and marks of their files. */

import { textOfFormula } from '../../formats/csv/csv-text';
import { openRows } from '../../node';

/** What the lines of a plan have besides the plan. */
export interface PlanLines {
  /** By row its id, undefined without a line; null where lines have no ids. */
  readonly ids: (string | null | undefined)[] | null;
  /** Of the files that the plan was made of; none in plans of before. */
  readonly marks: ReadonlySet<string>;
}

/** Reads them. */
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
      ids[Number(row)] = id === null || plan.format !== 'csv' ? id : textOfFormula(id);
    });
  }
  return { ids, marks };
}
