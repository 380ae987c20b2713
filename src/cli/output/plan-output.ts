/**
 * Writes the plan of `dedup`: as lines of the groups for people, most doubtful group first, with
 * the beginning of each text; or as Arrow with a line for each row, for programs.
 */

import { idsAt } from '../../base/ids';
import { isRounded } from '../../formats/plan-file';
import { doubtfulRows, planBatch } from '../../near/plan-table';
import type { DedupPlan, RowWriter } from '../../node';
import type { Call } from '../call';
import { type Collection, inBlocks } from '../input/collection';
import type { SourceMarks } from '../input/plan-source';
import { EXCERPT_CHARACTERS } from '../input/texts';
import { excerpt } from './figures';
import { isForPeople, openOutput, outputFormat } from './rows';

/** A plan and the rows that it is for. */
interface Planned {
  readonly plan: DedupPlan;
  readonly rows: Collection;
  /** With --against, by row the id of the old row that it is near to, null for none. */
  readonly near?: readonly (string | null)[];
  /** Marks of the rows' files, for the column `source`; null where the input has none. */
  readonly marks: SourceMarks | null;
}

/**
 * Refuses an output that cannot be written before the work. Null where a person gets the summary
 * alone. `files` are the inputs, which are never replaced.
 */
export async function openPlan(call: Call, files: readonly string[]): Promise<RowWriter | null> {
  return isForPeople(call) ? null : openOutput(call, { inputs: files, header: { kind: 'plan' } });
}

/**
 * Writes the plan. Returns texts by row: whole ones of the rows of `shown`, and the beginnings that
 * were written.
 */
export async function writePlan(
  call: Call,
  writer: RowWriter,
  { plan, rows, near, marks }: Planned,
  shown: readonly number[] = [],
): Promise<ReadonlyMap<number, string>> {
  const format = outputFormat(call);
  // These formats have a line for each row in place of those of groups, and no texts.
  const isOfAll = format === 'arrow' || format === 'arrows';
  const listed = isOfAll ? rows.rows : doubtfulRows(plan);
  const wanted = isOfAll ? shown : [...new Set([...shown, ...listed])];
  const whole = new Set(shown);
  const beginningOf = (text: string) => excerpt(text, EXCERPT_CHARACTERS);
  const texts = await rows.texts.of(wanted, (row, text) =>
    whole.has(row) ? text : beginningOf(text),
  );
  const hasTexts = !isOfAll && texts.size > 0;
  for (const block of inBlocks(listed)) {
    const lines = planBatch(plan, block, {
      ids: rows.ids && idsAt(rows.ids, block),
      isRounded: isRounded(format),
      ...(marks && { sources: Array.from(block, (row) => marks.markOf(rows.fileAt(row))) }),
      ...(near && { near: Array.from(block, (row) => near[row]) }),
      ...(hasTexts && { texts: Array.from(block, (row) => beginningOf(texts.get(row) ?? '')) }),
    });
    await writer.write(lines);
  }
  await writer.close();
  return texts;
}
