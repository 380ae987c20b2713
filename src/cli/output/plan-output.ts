/**
 * Writes the plan of `dedup`: for people the lines of groups, most doubtful group first, with the
 * beginning of each text; for programs, with --all-rows, a line for each row; or a page on which
 * the groups are reviewed.
 */

import { basename } from 'node:path';
import { idsAt } from '../../base/ids';
import { heldPlan, rowsToShow, singlePage } from '../../explore/server/pages';
import { isRounded, planHeader } from '../../formats/plan-file';
import { doubtfulRows, planBatch } from '../../groups/plan-table';
import { rowsOf } from '../../join/source';
import type { DedupPlan, RowBatch, RowWriter } from '../../node';
import type { Call } from '../call';
import { type Collection, rowBlocks } from '../input/collection';
import { nearnessWords } from '../input/nearness';
import { type Input, nameOfInput } from '../input/open-input';
import type { SourceMarks } from '../input/source-marks';
import { textsOfRows } from '../input/texts';
import { excerpt, similarityWords } from './figures';
import { openOutput, outputFormat, PageFile } from './rows';

/** Characters of a text in a line of a plan, and on a page. */
const LINE_WIDTH = 160;
const PAGE_WIDTH = 20_000;
/** Lines of a batch. */
const BLOCK = 8192;

/** A plan and the rows that it is for. */
interface Planned {
  readonly input: Input;
  readonly plan: DedupPlan;
  readonly rows: Collection;
  /** With --against, by row the id of the old row that it is near to, null for none. */
  readonly near?: readonly (string | null)[];
  /** Marks of the rows' files, for the column `source`; null where the input has none. */
  readonly marks: SourceMarks | null;
  /** Rows whose texts the review shows, which are returned whole. */
  readonly shown: readonly number[];
}

/**
 * Writes the plan to `opened`, and closes it; null writes nothing. Returns texts by row: whole ones
 * of `planned.shown`, which the review shows, and the beginnings that were written. The input is
 * read once more for them.
 */
export async function writePlanned(
  call: Call,
  planned: Planned,
  opened: RowWriter | PageFile | null,
): Promise<ReadonlyMap<number, string>> {
  const { rows, near, marks } = planned;
  const { plan, target } = await withCodes(call, planned, opened);
  const shown = new Set(planned.shown);
  const blocks = target === null ? [] : [...blocksOf(call, planned)];
  const isPage = target instanceof PageFile;
  const withTexts = target !== null && (isPage || !call.has('all-rows'));
  const listed = isPage ? rowsToShow(plan) : blocks.flatMap((block) => [...block]);
  const seen = withTexts ? listed : [];
  const texts = await textsOfRows(call, rows, [...new Set([...shown, ...seen])], (row, text) => {
    if (shown.has(row)) return text;
    return isPage ? text.slice(0, PAGE_WIDTH) : excerpt(text, LINE_WIDTH);
  });
  const batchOf = (block: Uint32Array) => {
    const own = Array.from(block, (row) => excerpt(texts.get(row) ?? '', LINE_WIDTH));
    const ids = rows.ids && idsAt(rows.ids, block);
    return planBatch(plan, block, {
      ids,
      isRounded: isPage || isRounded(outputFormat(call)), // a page saves its plan as JSON lines
      ...(marks && { sources: Array.from(block, (row) => marks.markOf(rows.fileAt(row))) }),
      ...(near && { near: Array.from(block, (row) => near[row]) }),
      ...(withTexts && texts.size > 0 && { texts: own }),
    });
  };
  if (isPage) await target.write(await pageOf(planned, blocks.map(batchOf), { texts, seen }));
  else if (target !== null) {
    for (const block of blocks) await target.write(batchOf(block));
    await target.close();
  }
  return texts;
}

/**
 * Adds the codes of the rows to an Arrow plan of all rows, so that later rows can be planned
 * against it by --against. Its header describes the codes: the output is opened again for that.
 */
async function withCodes(
  call: Call,
  { input, plan: made, rows }: Planned,
  target: RowWriter | PageFile | null,
) {
  const isArrow = call.text('output')?.endsWith('.arrow') === true && !call.has('to');
  if (target === null || target instanceof PageFile || !isArrow) return { plan: made, target };
  if (!call.has('all-rows') || rows.isIndex || call.has('pairs')) return { plan: made, target };
  const { codes } = rowsOf('source', rows.source);
  const plan = { ...made, codes, near: nearnessWords(call, rows) };
  await target.abort(); // it was opened with a header without codes
  const inputs = [input].flat();
  return { plan, target: await openOutput(call, { inputs, header: planHeader(plan) }) };
}

/** The rows that get lines, batch by batch: with --all-rows all, else those of groups. */
function* blocksOf(call: Call, { plan, rows }: Planned): Generator<Uint32Array> {
  if (call.has('all-rows')) return yield* rowBlocks(rows);
  const all = doubtfulRows(plan);
  for (let at = 0; at === 0 || at < all.length; at += BLOCK) yield all.slice(at, at + BLOCK);
}

/**
 * The page of a plan. It holds all lines, so that the plan it saves is complete, and texts of the
 * rows of `seen`: only groups with texts are shown.
 */
async function pageOf(
  { input, plan, rows }: Planned,
  batches: readonly RowBatch[],
  { texts: known, seen }: { texts: ReadonlyMap<number, string>; seen: readonly number[] },
): Promise<string> {
  const texts = seen.map((row) => [row, known.get(row) ?? ''] as const);
  return singlePage({
    about: {
      title: `near-duplicates of ${basename(nameOfInput(input))}`,
      rows: plan.count,
      bits: rows.bits,
      measure: similarityWords(rows.measure),
      hasText: false,
      columns: [],
    },
    map: null,
    plan: heldPlan(plan.count, { batches, source: rows.source, texts }),
  });
}
