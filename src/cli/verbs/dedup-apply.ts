/**
 * `halfspace dedup --apply PLAN`: the rows that a reviewed plan keeps, as a new file or folder. The
 * input is only read. Files that were changed since the plan was made are refused, as far as its
 * lines have their checksums.
 */

import { stat } from 'node:fs/promises';
import { applyChecked } from '../../formats/apply-plan';
import { shardsOf } from '../../formats/shards';
import { isAddress, stateOf } from '../../formats/web-source';
import { type DedupPlan, type RowFormat, type RowReader, readPlan } from '../../node';
import { isIndexFolder } from '../../store/generations';
import type { Call } from '../call';
import { chooseId } from '../input/columns';
import {
  type Input,
  nameOfInput,
  openInput,
  readingOptions,
  saySkipped,
} from '../input/open-input';
import { linesOfPlan, marksOf } from '../input/plan-source';
import { counted, grouped } from '../output/figures';

/** Rows for each byte of a file, at most: gzip makes no file smaller than by this. */
const MAX_PACKING = 1032;
/** What a file counts whose host does not say its size. */
const UNKNOWN_BYTES = 2 ** 21;

export async function applyPlanOf(call: Call, input: Input): Promise<0> {
  const output = call.text('output');
  if (output === undefined) call.misuse('--apply PLAN writes the kept rows: -o OUT is missing');
  if (input === '-') call.misuse('--apply reads a file, not stdin');
  if (typeof input === 'string' && (await isIndexFolder(input))) {
    call.misuse(`${input} is an index: drop ids from it by halfspace index ${input} --remove IDS`);
  }
  const planPath = call.text('apply') as string;
  const { plan, reader } = await readPlanFor(call, planPath, input);
  const { ids: planned, marks } = await linesOfPlan(planPath, plan.count);
  const sums = marks.size > 0 ? await marksOf(call, input) : null;
  sums?.check(marks, planPath);
  const column = chooseId(call, reader);
  const areCompared = planned !== null && column !== null;
  if (!areCompared) {
    const name = nameOfInput(input);
    const which = planned === null ? planPath : name;
    call.say(`${which} has no ids: rows of the plan and of ${name} are matched by their numbers`);
  }
  const options = {
    ...readingOptions(call, input),
    outputFormat: call.text('to') as RowFormat | undefined,
    column: call.has('text') || call.has('vector') ? null : call.text('code'),
    bits: call.number('bits'),
    force: call.has('force'),
    inputs: [planPath],
    ids: areCompared ? { column, values: planned } : undefined,
    unchanged: sums?.sums,
    states: call.fileStates,
  };
  const applied = await call.long('copying', (long) =>
    applyChecked(plan, input, output, { ...options, ...long }),
  );
  saySkipped(call, applied);
  const kept = plan.kept.reduce((sum, one) => sum + one, 0);
  call.say(
    `${counted(plan.count, 'row')}: ${grouped(kept)} kept in ${output}, ` +
      `${grouped(plan.count - kept)} left out`,
  );
  return 0;
}

/**
 * Reads the plan in `path` for an input, whose header it reads too. Refuses a plan of more rows
 * than the input can have: its own count, or else one a byte; so a wrong count in a plan does not
 * take any amount of memory.
 */
export async function readPlanFor(
  call: Call,
  path: string,
  input: Input,
): Promise<{ plan: DedupPlan; reader: RowReader }> {
  const reader = await openInput(call, input);
  await reader.close();
  const files = (await shardsOf(input)) ?? [input].flat();
  const sizeOf = async (file: string) =>
    isAddress(file)
      ? ((await stateOf(file, call.fileStates)).size ?? UNKNOWN_BYTES)
      : (await stat(file)).size;
  const sizes = await Promise.all(files.map(sizeOf));
  const mostByBytes = MAX_PACKING * sizes.reduce((sum, size) => sum + size, 0);
  const plan = await readPlan(path, { maxRows: reader.rowCount ?? mostByBytes });
  return { plan, reader };
}
