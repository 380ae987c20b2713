/**
 * Writes the plan of `dedup`: as lines of the groups for people, most doubtful group first, with
 * the beginning of each text; as Arrow with a line for each row, for programs; or as a page on
 * which the groups are reviewed.
 */

import { basename } from 'node:path';
import { idsAt } from '../../base/ids';
import { heldPlan, rowsToShow, singlePage } from '../../explore/server/pages';
import { isRounded } from '../../formats/plan-file';
import { doubtfulRows, planBatch } from '../../near/plan-table';
import type { DedupPlan, RowBatch, RowWriter } from '../../node';
import type { Call } from '../call';
import { allRows, type Collection, inBlocks } from '../input/collection';
import { type Input, nameOfInput } from '../input/open-input';
import type { SourceMarks } from '../input/plan-source';
import { EXCERPT_CHARACTERS } from '../input/texts';
import { excerpt, similarityWords } from './figures';
import { isForPeople, openOutput, outputFormat, PageFile } from './rows';

/** Characters of a text on a page. */
const PAGE_CHARACTERS = 20_000;

/** A plan and the rows that it is for. */
interface Planned {
  readonly input: Input;
  readonly plan: DedupPlan;
  readonly rows: Collection;
  /** With --against, by row the id of the old row that it is near to, null for none. */
  readonly near?: readonly (string | null)[];
  /** Marks of the rows' files, for the column `source`; null where the input has none. */
  readonly marks: SourceMarks | null;
}

/** Where a plan goes. */
export class PlanOutput {
  private constructor(
    private readonly call: Call,
    private readonly target: PageFile | RowWriter,
  ) {}

  /**
   * Refuses an output that cannot be written before the work. Null where a person gets the summary
   * alone. `files` are the inputs, which are never replaced.
   */
  static async open(call: Call, files: readonly string[]): Promise<PlanOutput | null> {
    if (isForPeople(call)) return null;
    const page = /\.html$/i.test(call.text('output') ?? '') && (await PageFile.named(call, files));
    const header = { kind: 'plan' } as const;
    return new PlanOutput(call, page || (await openOutput(call, { inputs: files, header })));
  }

  /**
   * Writes the plan. Returns texts by row: whole ones of the rows of `shown`, and the beginnings
   * that were written.
   */
  async write(
    planned: Planned,
    shown: readonly number[] = [],
  ): Promise<ReadonlyMap<number, string>> {
    const { plan, rows } = planned;
    const { call, target } = this;
    const page = target instanceof PageFile ? target : null;
    const isOfAll = page === null && isOfAllRows(call);
    const listed = isOfAll ? allRows(rows) : doubtfulRows(plan);
    const seen = page ? rowsToShow(plan) : isOfAll ? [] : [...listed];
    const whole = new Set(shown);
    const texts = await rows.texts.of([...new Set([...shown, ...seen])], (row, text) => {
      if (whole.has(row)) return text;
      return page ? text.slice(0, PAGE_CHARACTERS) : excerpt(text, EXCERPT_CHARACTERS);
    });
    const blocks = inBlocks(listed);
    if (target instanceof PageFile) {
      // A page saves its plan as JSON lines.
      const batches = blocks.map((block) => linesOf(planned, block, texts, true));
      await target.write(await pageOf(planned, batches, texts, seen));
      return texts;
    }
    const areRounded = isRounded(outputFormat(call));
    for (const block of blocks) {
      await target.write(linesOf(planned, block, isOfAll ? null : texts, areRounded));
    }
    await target.close();
    return texts;
  }
}

/** True for the formats that have a line for each row in place of those of groups. */
function isOfAllRows(call: Call): boolean {
  return ['arrow', 'arrows'].includes(outputFormat(call) ?? '');
}

/** The lines of some rows; without texts where these are null, with rounded similarities or not. */
function linesOf(
  { plan, rows, near, marks }: Planned,
  block: Uint32Array,
  texts: ReadonlyMap<number, string> | null,
  areRounded: boolean,
): RowBatch {
  const excerptOf = (row: number) => excerpt(texts?.get(row) ?? '', EXCERPT_CHARACTERS);
  return planBatch(plan, block, {
    ids: rows.ids && idsAt(rows.ids, block),
    isRounded: areRounded,
    ...(marks && { sources: Array.from(block, (row) => marks.markOf(rows.fileAt(row))) }),
    ...(near && { near: Array.from(block, (row) => near[row]) }),
    ...(texts && texts.size > 0 && { texts: Array.from(block, excerptOf) }),
  });
}

/**
 * The page of a plan. It holds all lines, so that the plan it saves is complete, and texts of the
 * rows of `seen`: only groups with texts are shown.
 */
async function pageOf(
  { input, plan, rows }: Planned,
  batches: readonly RowBatch[],
  texts: ReadonlyMap<number, string>,
  seen: readonly number[],
): Promise<string> {
  const held = seen.map((row) => [row, texts.get(row) ?? ''] as const);
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
    plan: await heldPlan(plan.count, { batches, source: rows.source, texts: held }),
  });
}
