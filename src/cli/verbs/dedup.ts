/**
 * `halfspace dedup`: a plan of which rows to keep, a line for each row that has a near one, and a
 * review for the person who decides. The input is only read; `--apply PLAN` writes the rows that a
 * reviewed plan keeps as a new file or folder, and refuses files that were changed since the plan
 * was made, as far as its lines have their checksums. `--against OLD` plans new rows next to those
 * of an index, all of which stay: only the new rows are read, and hashed as the old ones were; the
 * plan is for them alone. With `--extend PLAN` the input has new rows behind those of an older
 * plan, which go into it too.
 */

import { stat } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import { asFormatError } from '../../base/check';
import { applyChecked, readPlanLines } from '../../formats/plan-file';
import { shardsOf } from '../../formats/shards';
import { isAddress, stateOf } from '../../formats/web-source';
import type { ColumnValues } from '../../near/groups';
import { checkPlan, checksOf } from '../../near/plan';
import { rowsOf } from '../../near/rows';
import {
  dedup,
  type Grouping,
  type Keep,
  pairs,
  type RowBatch,
  type RowFormat,
  type SimHashIndex,
} from '../../node';
import { isIndexFolder } from '../../store/generations';
import type { Call } from '../call';
import {
  type Collection,
  type CollectionNeeds,
  readCollection,
  type TakenColumn,
} from '../input/collection';
import { comparable } from '../input/filter-text';
import type { InputRows } from '../input/input-rows';
import {
  bandsOf,
  checkNearness,
  commonOf,
  estimatedNearness,
  nearnessOf,
  withinOf,
} from '../input/near';
import { chooseId, type Input, nameOfInput, openInput, readingOptions } from '../input/open-input';
import { counted, grouped } from '../output/figures';
import { checkSource, droppedOf, sourceOf, summaryText, writePlan } from '../output/plan';
import { isForPeople, openOutput } from '../output/rows';

export async function run(call: Call): Promise<0> {
  const input = call.args.length > 1 ? call.args : call.onlyInput();
  return call.has('apply') ? applyPlanOf(call, input) : makePlan(call, input);
}

/** The output is opened first: what cannot be written is refused before the work. */
async function makePlan(call: Call, input: Input): Promise<0> {
  refuseTarget(call, input);
  const rule = keepRule(call);
  const within = withinOf(call);
  // A person gets the summary alone.
  const writer = isForPeople(call)
    ? null
    : await openOutput(call, { inputs: [input].flat(), header: { kind: 'plan' } });
  const needs: CollectionNeeds = {
    hold: call.has('min-cosine') ? 'vectors' : undefined,
    areTextsSets: true,
    bands: bandsOf(call),
    begin(rows) {
      if (!call.has('against')) checkNearness(call, rows);
      return [...rule.taken(rows), ...(within === null ? [] : [within])];
    },
  };
  if (call.has('against')) {
    const made = await planAgainst(call, input, needs, () => rule.keep());
    if (writer !== null) {
      await writePlan(call, writer, { ...made, source: await sourceOf(call, input) });
    }
    return 0;
  }
  const extend = call.text('extend');
  const old = extend === undefined ? null : (await readPlanFor(call, extend, input)).plan;
  if (old?.commons !== undefined) {
    call.say(
      `${extend} was made without common text. --extend compares whole texts, so a new row may ` +
        'go for another one of its template: to keep these apart, plan all rows again',
    );
  }
  const rows = await readCollection(call, input, needs);
  if (old !== null) {
    const checks = await checksOf(rowsOf('rows', rows.source).codes);
    const problem = `not the rows of ${extend} with new ones behind`;
    const check = () => checkPlan(old, checks.subarray(0, old.count));
    asFormatError(nameOfInput(input), check, problem);
  }
  const options = {
    ...(await nearnessOf(call, rows)),
    common: await commonOf(call, rows),
    group: within?.ofRows(),
    grouping: call.text('grouping') as Grouping,
    keep: rule.keep(),
    keepAtMost: call.number('keep-at-most'),
    targetRows: call.number('target-rows'),
    extend: old ?? undefined,
  };
  const plan = await call.long('grouping', (work) => dedup(rows.source, { ...options, ...work }));
  if (writer !== null) {
    await writePlan(call, writer, { plan, rows, source: await sourceOf(call, input) });
  }
  call.say(summaryText(plan, rows.rows.length));
  sayNext(call, rows, droppedOf(plan));
  return 0;
}

const PLAN_NAME = /\.(jsonl|csv|arrow)$/i;

/** Refuses a plan that --apply would not read, or would read as one of the texts. */
function refuseTarget(call: Call, input: Input): void {
  const target = call.text('output') ?? '-';
  if (target === '-') return;
  if (!PLAN_NAME.test(target)) {
    call.misuse(`--output expected a plan's name, one in .jsonl, .csv or .arrow, got "${target}"`);
  }
  const folder = [input].flat().find((one) => resolve(target).startsWith(resolve(one) + sep));
  if (folder === undefined) return;
  call.misuse(`the plan ${target} would be one of the files of ${folder}: name another place`);
}

/** Says what the plan is for, and where --target-rows was not reached. */
function sayNext(call: Call, { rows, input }: Collection, dropped: number): void {
  const wanted = call.number('target-rows');
  const stay = rows.length - dropped;
  if (wanted !== undefined && stay > wanted) {
    call.say(
      `${counted(stay, 'row')} stay, although all duplicates go: a larger --max-distance, or a ` +
        'lower --min-jaccard or --min-cosine, finds more',
    );
  }
  if (dropped === 0) return;
  const target = call.text('output') ?? '-';
  const next =
    target === '-'
      ? '-o plan.jsonl writes the plan'
      : input === null
        ? `${target} says which ids to remove from the index`
        : `read ${target}, turn "drop" to "keep" where you think otherwise, then --apply it`;
  call.say(`Nothing is changed: ${next}.`);
}

/**
 * Plans the rows of `input`, and says how many stay, and how many go for an old row or for another
 * new one; `near` is by row the id of the old row that it duplicates, null for none. `keep` is
 * called once they are read, for the rule which row of a group stays. Rows are near by distance
 * alone: of the old rows only the codes are compared. A row near an old one goes, and is a group
 * with others near the same; the rest are grouped as without these.
 */
async function planAgainst(call: Call, input: Input, needs: CollectionNeeds, keep: () => Keep) {
  const path = call.text('against') as string;
  if (!(await isIndexFolder(path))) {
    const advice = `make one by halfspace index ${path} -o DIR`;
    call.misuse(`--against expected an index folder, got ${path}: ${advice}`);
  }
  const { source, like } = await readCollection(call, path);
  const old = source as SimHashIndex;
  const rows = await readCollection(call, input, { ...needs, hold: undefined, like });
  // Only codes of sets have a default for what is near.
  if (rows.measure.name === 'cosine') checkNearness(call, null);
  const { maxDistance } = estimatedNearness(call, rows);
  const nearest = new Int32Array(rows.count).fill(-1);
  const distances = new Uint16Array(rows.count);
  await call.long('comparing', async (work) => {
    for await (const batch of pairs(rows.source, old, { maxDistance, ...work })) {
      batch.a.forEach((row, i) => {
        const distance = batch.distances[i];
        if (nearest[row] >= 0 && distances[row] <= distance) return;
        [nearest[row], distances[row]] = [batch.b[i], distance];
      });
    }
  });
  const group = nearest.map((row) => -Number(row >= 0));
  const plan = await call.long('grouping', (work) =>
    dedup(rows.source, { maxDistance, keep: keep(), group, ...work }),
  );
  const firsts = new Map<number, number>(); // by old row the first new one near it
  nearest.forEach((other, row) => {
    if (other < 0) return;
    if (!firsts.has(other)) firsts.set(other, row);
    plan.groups[row] = firsts.get(other) as number;
    [plan.kept[row], plan.distances[row]] = [0, distances[row]];
  });
  const near = Array.from(nearest, (row) => (row < 0 ? null : String(old.idOf(row))));
  const dropped = droppedOf(plan);
  const known = near.filter((id) => id !== null).length;
  const others = grouped(dropped - known);
  call.say(
    `${counted(plan.count, 'new row')}: ${grouped(plan.count - dropped)} to keep, ` +
      `${grouped(known)} to drop near rows of ${path}, ${others} near other new ones`,
  );
  return { rows, plan, near };
}

const FORMS = 'first, last, longest, longest:COLUMN, lowest:COLUMN or highest:COLUMN';
/** A kind, and after a colon its column. */
const FORM = /^(?:(first|last)|(longest|lowest|highest)(?::(.*))?)$/s;

/**
 * The rule of `--keep`: `taken` gives the column that must be read with the rows, if any, where
 * `rows` are null for an index folder; `keep` the rule.
 */
function keepRule(call: Call) {
  const given = call.text('keep') ?? 'first';
  const [isKnown, plain, byColumn, named] = FORM.exec(given) ?? [];
  if (isKnown === undefined) call.misuse(`--keep expected ${FORMS}, got "${given}"`);
  const isLength = byColumn === 'longest';
  if (byColumn !== undefined && !isLength && !named) {
    call.misuse(`--keep ${byColumn} expected a column: --keep ${byColumn}:COLUMN`);
  }
  const values: unknown[] = [];
  // Of texts the lengths are held, not the texts.
  const valuesOf = (batch: RowBatch, column: string) =>
    isLength ? batch.texts(column).map((text) => text?.length ?? null) : comparable(batch, column);
  return {
    taken(rows: InputRows | null): readonly TakenColumn[] {
      if (byColumn === undefined) return [];
      const texts = rows?.choice.kind === 'text' ? rows.choice.columns[0] : undefined;
      const column = named || texts;
      if (!column) call.misuse('--keep longest expected texts, or a column: longest:COLUMN');
      return [{ column, take: (batch) => values.push(...valuesOf(batch, column)) }];
    },
    keep(): Keep {
      if (byColumn === undefined) return plain as Extract<Keep, string>;
      const own = values as ColumnValues;
      return byColumn === 'lowest' ? { lowest: own } : { highest: own };
    },
  };
}

/** Rows for each byte of a file, at most: gzip makes no file smaller than by this. */
const MAX_PACKING = 1032;
/** What a file counts whose host does not say its size. */
const UNKNOWN_BYTES = 2 ** 21;

async function applyPlanOf(call: Call, input: Input): Promise<0> {
  const output = call.text('output');
  if (output === undefined) call.misuse('--apply PLAN writes the kept rows: -o OUT is missing');
  if (input === '-') call.misuse('--apply reads a file, not stdin');
  if (output === '-') call.misuse('--apply writes a file, not stdout');
  if (typeof input === 'string' && (await isIndexFolder(input))) {
    call.misuse(`${input} is an index: drop ids from it by halfspace index ${input} --remove IDS`);
  }
  const planPath = call.text('apply') as string;
  const { plan, ids: planned, sources, reader } = await readPlanFor(call, planPath, input);
  const source = sources.size > 0 ? await sourceOf(call, input) : null;
  checkSource(input, source, sources, planPath);
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
    force: call.has('force'),
    inputs: [planPath],
    ids: areCompared ? { column, values: planned } : undefined,
    isUnchanged: source !== null,
    states: call.fileStates,
  };
  await call.long('copying', (long) => applyChecked(plan, input, output, { ...options, ...long }));
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
async function readPlanFor(call: Call, path: string, input: Input) {
  const reader = await openInput(call, input);
  await reader.close();
  const files = (await shardsOf(input)) ?? [input].flat();
  const sizeOf = async (file: string) =>
    isAddress(file)
      ? ((await stateOf(file, call.fileStates)).size ?? UNKNOWN_BYTES)
      : (await stat(file)).size;
  const sizes = await Promise.all(files.map(sizeOf));
  const mostByBytes = MAX_PACKING * sizes.reduce((sum, size) => sum + size, 0);
  return { ...(await readPlanLines(path, reader.rowCount ?? mostByBytes)), reader };
}
