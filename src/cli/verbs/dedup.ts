/**
 * `halfspace dedup`: a plan of which rows to keep, a line for each row, and a review for the person
 * who decides. Nothing is dropped here, and the input is only read; `--apply` is in apply-plan.ts.
 */

import { stat } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import { planBatch } from '../../groups/plan-table';
import {
  Codes,
  type DedupOptions,
  type DedupPlan,
  dedupAsync,
  type Grouping,
  type RowBatch,
  readPlan,
} from '../../node';
import type { Call } from '../call';
import { type Collection, readCollection } from '../input/collection';
import { columnOf } from '../input/columns';
import type { HashSource } from '../input/hashing';
import { idsAt, rowBlocks } from '../input/join';
import { KeepPolicy } from '../input/keep-policy';
import { checkNearness, nearnessOf } from '../input/nearness';
import { textsOfRows } from '../input/texts';
import { commandLine } from '../output/figures';
import { reviewOf, reviewText, shownRows } from '../output/review';
import { isForPeople, openOutput } from '../output/rows';
import { applyPlanOf } from './apply-plan';

/** Beside the codes: an order of the rows, groups, the plan, tables of the join. */
const PLAN_BYTES_PER_ROW = 80;
/** What --apply and --extend read. */
const PLAN_NAME = /\.(jsonl|csv|arrow)$/i;

export async function run(call: Call): Promise<0> {
  const input = call.onlyInput();
  return call.has('apply') ? applyPlanOf(call, input) : makePlan(call, input);
}

async function makePlan(call: Call, input: string): Promise<0> {
  refusePlanWithin(call, input);
  const policy = KeepPolicy.of(call);
  const target = call.text('output');
  if (target !== undefined && target !== '-' && !PLAN_NAME.test(target)) {
    call.misuse(`--output expected a plan's name, .jsonl, .csv or .arrow, got "${target}"`);
  }
  const writer = isForPeople(call) ? null : await openOutput(call, { inputs: [input] });
  const oldPath = call.text('extend');
  const old = oldPath === undefined ? null : await readPlan(oldPath);
  const rows = await readCollection(call, input, {
    hold: call.number('min-cosine') === undefined ? undefined : 'vectors',
    bytesPerRow: PLAN_BYTES_PER_ROW,
    begin: (source) => begin(call, source, policy),
    columns: () => (policy.column === null ? [] : [policy.column]),
    take: (batch) => policy.take(batch),
  });
  const options = {
    ...nearnessOf(call, rows),
    grouping: call.text('grouping') as Grouping,
  };
  const plan =
    old === null
      ? await call.long('grouping', (work) =>
          dedupAsync(rows.source, { ...options, ...work, keep: policy.keeper() }),
        )
      : await extended(call, rows, { old, options, policy });
  for (const batch of planRows(plan, rows)) await writer?.write(batch);
  await writer?.close();
  await sayReview(call, { input, plan, rows });
  return 0;
}

/** Within a folder of texts the plan would be one of the texts when it is applied. */
function refusePlanWithin(call: Call, input: string): void {
  const target = call.text('output');
  if (target === undefined || target === '-' || input === '-') return;
  if (!resolve(target).startsWith(resolve(input) + sep)) return;
  call.misuse(`the plan ${target} would be one of the files of ${input}: name another place`);
}

/** What can be refused before the rows are read. */
function begin(call: Call, source: HashSource | null, policy: KeepPolicy): void {
  const isText = source !== null && source.textHasher !== null;
  checkNearness(call, isText);
  policy.lookAt(call, isText ? source.source.columns[0] : null);
  if (policy.column === null) return;
  if (source === null) call.misuse('--keep by a column needs a file, an index has its codes only');
  columnOf(call, source.reader, policy.column);
}

interface Extension {
  readonly old: DedupPlan;
  readonly options: DedupOptions;
  readonly policy: KeepPolicy;
}

/** Extends the plan: the rows that it knows come first, and stay as they are. */
function extended(call: Call, rows: Collection, { old, options, policy }: Extension) {
  const { source } = rows;
  if (!(source instanceof Codes)) {
    call.misuse('--extend goes by distance: give --max-distance, and a file in place of an index');
  }
  if (old.count > rows.count) {
    call.fail(
      `the plan is for ${old.count} rows and ${rows.path} has ${rows.count}: --extend takes the ` +
        'file as it was then, with the new rows behind',
    );
  }
  const [known, added] = [part(source, 0, old.count), part(source, old.count, source.count)];
  return call.long('grouping', (work) =>
    dedupAsync(added, {
      ...{ ...options, ...work, keep: policy.keeper(old.count) },
      extend: { plan: old, source: known },
    }),
  );
}

function part(codes: Codes, from: number, to: number): Codes {
  const { bits, bytes, bytesPerCode, origin } = codes;
  const isNull = (row: number) => codes.isNull(from + row);
  const validity = new Uint8Array(Math.ceil((to - from) / 8));
  for (let row = 0; row < to - from; row++) if (!isNull(row)) validity[row >> 3] |= 1 << (row & 7);
  return Codes.from(bytes.subarray(from * bytesPerCode, to * bytesPerCode), {
    ...{ bits, validity: codes.validity && validity },
    ...(origin && { origin }),
  });
}

interface Made {
  readonly input: string;
  readonly plan: DedupPlan;
  readonly rows: Collection;
}

async function sayReview(call: Call, { input, plan, rows }: Made): Promise<void> {
  if (call.has('quiet')) return;
  const review = reviewOf(plan, rows.there?.length ?? rows.count);
  const texts = await textsOfRows(call, rows, shownRows(review));
  const { ids } = rows;
  const nameOf = (row: number) => (ids === null ? `row ${row}` : `${ids[row]} (row ${row})`);
  call.say(`\n${reviewText(review, { bits: rows.bits, nameOf, texts })}\n`);
  if (review.dropped === 0) return;
  const target = call.text('output');
  if (target === undefined || target === '-') {
    call.say('Nothing is changed; -o plan.jsonl writes the plan, a line for each row.');
  } else if (rows.isIndex) {
    call.say(`Nothing is changed. ${target} says which ids to remove from ${input}.`);
  } else {
    // What came by stdin is in a file of a name that is not known here.
    const isFolder = (await stat(input).catch(() => null))?.isDirectory() === true;
    const [file, kept] = input === '-' ? ['IN', 'OUT'] : [input, keptName(input, isFolder)];
    const words = ['halfspace', 'dedup', file, '--apply', target, '-o', kept];
    call.say(
      `Nothing is changed. Read ${target}, turn "drop" to "keep" where you think otherwise, then:` +
        `\n  ${commandLine(words)}`,
    );
  }
}

/** `docs.jsonl` as `docs-kept.jsonl`; of formats that are not written, as JSONL or Arrow. */
function keptName(input: string, isFolder: boolean): string {
  if (isFolder) return `${input.replace(/[/\\]+$/, '')}-kept.jsonl`;
  return input.replace(/\.npy$/, '.arrow').replace(/(\.[^./\\]+)?$/, '-kept$1');
}

const BATCH_ROWS = 8192;

/** A plan as rows, in the columns that `readPlan` of the library reads. */
function* planRows(plan: DedupPlan, rows: Collection): Generator<RowBatch> {
  const { ids } = rows;
  for (const row of rowBlocks(rows, BATCH_ROWS)) {
    yield planBatch(plan, row, ids === null ? null : idsAt(ids, row));
  }
}
