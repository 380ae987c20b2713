/**
 * `halfspace dedup`: a plan of which rows to keep, a line for each row that has a near one, and a
 * review for the person who decides. Nothing is dropped here, and the input is only read; `--apply`
 * is in dedup-apply.ts, plans next to older rows in dedup-old.ts.
 */

import { readFile, stat } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import { LongWork } from '../../base/long-work';
import { JACCARD } from '../../codes/measure';
import { isMatch, shardsOf } from '../../formats/shards';
import { isAddress, localName } from '../../formats/web-source';
import type { SparseVectors } from '../../index/vectors/sparse-vectors';
import type { ColumnValues } from '../../near/keep';
import { rowsOf, withVectors } from '../../near/rows';
import { countTemplates } from '../../near/templates';
import { type DedupPlan, dedup, type Grouping, type Keep, type RowBatch } from '../../node';
import type { Call } from '../call';
import {
  type Collection,
  type CollectionNeeds,
  readCollection,
  type TakenColumn,
} from '../input/collection';
import type { InputRows } from '../input/input-rows';
import { bandsOf, checkNearness, nearnessOf, Within } from '../input/near';
import { type Input, nameOfInput } from '../input/open-input';
import { marksOf } from '../input/plan-source';
import { commandLine, counted, grouped } from '../output/figures';
import {
  checkPlanName,
  openPlan,
  type PlanSummary,
  shownRows,
  summaryOf,
  summaryText,
  writePlan,
} from '../output/plan';
import { applyPlanOf, readPlanFor } from './dedup-apply';
import { extension, planAgainst } from './dedup-old';

export async function run(call: Call): Promise<0> {
  const input = call.args.length > 1 ? call.args : call.onlyInput();
  return call.has('apply') ? applyPlanOf(call, input) : makePlan(call, input);
}

/** The output is opened first: what cannot be written is refused before the work. */
async function makePlan(call: Call, input: Input): Promise<0> {
  refuseTarget(call, input);
  const rule = new KeepRule(call);
  const within = Within.of(call);
  const writer = await openPlan(call, [input].flat());
  const marks = writer === null ? null : await marksOf(call, input);
  const needs: CollectionNeeds = {
    hold: call.has('min-cosine') ? 'vectors' : undefined,
    areTextsSets: true,
    bands: bandsOf(call),
    begin(rows) {
      if (!call.has('against')) checkNearness(call, rows);
      return [...rule.taken(call, rows), ...(within === null ? [] : [within])];
    },
  };
  if (call.has('against')) {
    const made = await planAgainst(call, input, needs, () => rule.keep());
    if (writer !== null) await writePlan(call, writer, { ...made, marks });
    return 0;
  }
  const extend = call.text('extend');
  const old = extend === undefined ? null : (await readPlanFor(call, extend, input)).plan;
  const rows = await readCollection(call, input, needs);
  const extended = old === null ? null : extension(call, rows, old);
  const { known, ...near } = await nearnessOf(call, rows, old?.count);
  const options = {
    ...near,
    common: await commonOf(call, rows),
    group: within?.ofRows,
    grouping: call.text('grouping') as Grouping,
    keep: rule.keep(old?.count),
    keepAtMost: call.number('keep-at-most'),
    targetRows: call.number('target-rows'),
    extend: extended === null ? undefined : { ...extended.extend, vectors: known },
  };
  const plan = await call.long('grouping', (work) =>
    dedup(extended?.source ?? rows.source, { ...options, ...work }),
  );
  const summary = summaryOf(plan, rows.rows.length);
  const shown = call.has('quiet') ? [] : shownRows(plan, summary);
  if (!call.has('quiet')) await sayTemplates(call, plan, rows, options.vectors);
  const texts = await (writer === null
    ? rows.texts.of(shown)
    : writePlan(call, writer, { plan, rows, marks }, shown));
  if (!call.has('quiet')) await saySummary(call, { input, plan, rows, summary, texts });
  return 0;
}

/** Says which option keeps fillings of templates apart, where groups look like these. */
async function sayTemplates(
  call: Call,
  plan: DedupPlan,
  { source }: Collection,
  sets: SparseVectors | undefined,
): Promise<void> {
  const isSaid = ['common', 'extend'].some((name) => call.has(name));
  if (isSaid || sets === undefined || plan.jaccards === null) return;
  const held = withVectors(rowsOf('rows', source), sets);
  const found = await call.long('looking for templates', (work) =>
    countTemplates(plan, held, new LongWork(work)),
  );
  if (found.groups === 0) return;
  call.say(
    `${counted(found.groups, 'group')} (${grouped(found.rows)} rows) look like one template, ` +
      'filled in differently: --common auto leaves the text of templates out of the comparison; ' +
      'reprints that only add text are kept apart too',
  );
}

/** Refuses a plan that --apply would not read, or would read as one of the texts. */
function refuseTarget(call: Call, input: Input): void {
  const target = call.text('output') ?? '-';
  if (target === '-') return;
  checkPlanName(call, 'output', target);
  // Within a folder of texts the plan would be one of the texts when it is applied.
  const place = [input]
    .flat()
    .find((one) => resolve(target).startsWith(resolve(one) + sep) || isMatch(one, target));
  if (place === undefined || place === '-') return;
  call.misuse(`the plan ${target} would be one of the files of ${place}: name another place`);
}

/**
 * `--common` for `dedup`: 'auto', which finds the text of templates; or the members of the set of
 * a text in a file.
 */
async function commonOf(
  call: Call,
  { measure, input, vectors }: Collection,
): Promise<'auto' | BigUint64Array | undefined> {
  const given = call.text('common');
  if (given === undefined) return undefined;
  if (measure !== JACCARD || (vectors === null && !input?.canReadAgain)) {
    call.misuse('--common needs texts in a file, compared as sets of their tokens');
  }
  if (given === 'auto') return given;
  const hasher = input?.textHasher ?? null;
  if (hasher === null) call.misuse('--common FILE needs texts; auto finds what rows share');
  const members = hasher.vectorize(await readFile(given, 'utf8')).indices as BigUint64Array;
  if (members.length === 0) call.fail(`${given}: no words`);
  return members;
}

interface Summarized {
  readonly input: Input;
  readonly plan: DedupPlan;
  readonly rows: Collection;
  readonly summary: PlanSummary;
  readonly texts: ReadonlyMap<number, string>;
}

/** Shows what would go, and the command that makes it so. */
async function saySummary(call: Call, summarized: Summarized): Promise<void> {
  const { input, plan, rows, summary, texts } = summarized;
  const { ids } = rows;
  const nameOf = (row: number) => (ids === null ? `row ${row}` : `${ids[row]} (row ${row})`);
  call.say(`\n${summaryText(plan, summary, { ...rows, nameOf, texts })}\n`);
  sayTarget(call, summary);
  if (summary.dropped === 0) return;
  const target = call.text('output');
  if (target === undefined || target === '-') {
    call.say(
      'Nothing is changed; -o plan.jsonl writes the plan, a line for each row of these groups.',
    );
  } else if (rows.input === null) {
    call.say(`Nothing is changed. ${target} says which ids to remove from ${nameOfInput(input)}.`);
  } else {
    const from = call.text('from');
    const reading = from === undefined ? [] : ['--from', from];
    // What came by stdin is in a file of a name that is not known here.
    const [files, kept] = input === '-' ? [['IN'], 'OUT'] : [[input].flat(), await keptName(input)];
    const words = ['halfspace', 'dedup', ...files, ...reading, '--apply', target, '-o', kept];
    call.say(
      `Nothing is changed. Read ${target}, turn "drop" to "keep" or delete lines where you think ` +
        `otherwise, then:\n  ${commandLine(words)}`,
    );
  }
}

function sayTarget(call: Call, { rows, dropped }: PlanSummary): void {
  const target = call.number('target-rows');
  if (target === undefined) return;
  const stay = rows - dropped;
  const advice = 'a larger --max-distance, or a lower --min-jaccard or --min-cosine, finds more';
  const why = stay > target ? `, although all duplicates go: ${advice}` : '';
  call.say(`--target-rows ${target}: ${counted(stay, 'row')} stay${why}`);
}

/**
 * A name for the rows that are kept: `docs-kept.jsonl` for `docs.jsonl`, of formats that are not
 * written JSONL or Arrow; for shards, as `data/*.jsonl`, a folder `data-kept`.
 */
async function keptName(input: Input): Promise<string> {
  const [path] = [input].flat();
  const first = localName(path);
  if ((await shardsOf(input)) !== null) {
    const folder = first.replace(/\/?[^/]*[*?].*$|\/?[^/]*\.[^/]+$|\/+$/g, '');
    return `${folder || 'rows'}-kept`;
  }
  if (!isAddress(path) && (await stat(first)).isDirectory())
    return `${first.replace(/[/\\]+$/, '')}-kept.jsonl`;
  const named = first.replace(/\.npy$/, '.arrow').replace(/\.zst$/, '.gz');
  return named.replace(/(\.[^./\\]+)?(\.gz)?$/, '-kept$1$2');
}

const FORMS =
  'first, last, random, random:SEED, longest, longest:COLUMN, lowest:COLUMN or highest:COLUMN';
/** A kind, and after a colon its seed or column. */
const FORM = /^(?:(first|last)|(random)(?::(\d{1,15}))?|(longest|lowest|highest)(?::(.*))?)$/s;

/** The rule of `--keep`, with the values of the column that it goes by. */
class KeepRule {
  readonly #kind: string;
  readonly #seed: number;
  /** Null for rules that need none, and for the longest of the texts that are hashed. */
  readonly #column: string | null;
  #values: unknown[] | null = null;

  constructor(call: Call) {
    const given = call.text('keep') ?? 'first';
    const [isKnown, plain, random, seed, byColumn, column] = FORM.exec(given) ?? [];
    if (isKnown === undefined) call.misuse(`--keep expected ${FORMS}, got "${given}"`);
    this.#kind = plain ?? random ?? byColumn;
    if (byColumn !== undefined && byColumn !== 'longest' && !column) {
      call.misuse(`--keep ${byColumn} expected a column: --keep ${byColumn}:COLUMN`);
    }
    this.#seed = Number(seed ?? 0);
    this.#column = column || null;
  }

  /** The column that must be read with the rows, if any; `rows` are null for an index folder. */
  taken(call: Call, rows: InputRows | null): readonly TakenColumn[] {
    const isLength = this.#kind === 'longest';
    if (!isLength && this.#column === null) return [];
    if (this.#column === null && rows?.choice.kind !== 'text') {
      call.misuse('--keep longest expected texts, or a column: longest:COLUMN');
    }
    const column = this.#column ?? (rows?.choice.columns[0] as string);
    const values: unknown[] = [];
    this.#values = values;
    // Of texts the lengths are held, not the texts.
    const valuesOf = (batch: RowBatch) =>
      isLength ? batch.texts(column).map((text) => text?.length ?? null) : batch.values(column);
    return [{ column, take: (batch) => values.push(...valuesOf(batch)) }];
  }

  /** The rule for the rows from `first` on. */
  keep(first = 0): Keep {
    if (this.#kind === 'random') return { random: this.#seed };
    if (this.#values === null) return this.#kind as Extract<Keep, string>;
    const values = this.#values.slice(first) as ColumnValues;
    return this.#kind === 'lowest' ? { lowest: values } : { highest: values };
  }
}
