/**
 * `halfspace dedup`: a plan of which rows to keep, a line for each row that has a near one, and a
 * review for the person who decides. Nothing is dropped here, and the input is only read; `--apply`
 * is in dedup-apply.ts, plans next to older rows in dedup-old.ts.
 */

import { stat } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import { isMatch, shardsOf } from '../../formats/shards';
import { checksum, checksumText } from '../../kernels/xxhash';
import { type DedupPlan, dedup, type Grouping, type Keep, type RowBatch } from '../../node';
import type { Call } from '../call';
import {
  allRows,
  type Collection,
  type CollectionNeeds,
  readCollection,
} from '../input/collection';
import type { InputRows } from '../input/input-rows';
import { bandsOf, checkNearness, nearnessOf, Within } from '../input/near';
import { columnOf, type Input, nameOfInput } from '../input/open-input';
import { marksOf } from '../input/plan-source';
import { commandLine, counted, similarityWords } from '../output/figures';
import { PlanOutput } from '../output/plan-output';
import { type Review, reviewOf, reviewText, shownRows } from '../output/plan-summary';
import { applyPlanOf, readPlanFor } from './dedup-apply';
import { extension, planAgainst } from './dedup-old';

/** Names of plans that --apply and --extend read, and of a page that saves one. */
const PLAN_NAME = /\.(jsonl|csv|arrow|html)$/i;
const isPageName = (name = '') => /\.html$/i.test(name);

/** Makes a plan, or with --apply writes what a plan keeps. */
export async function run(call: Call): Promise<0> {
  const input = call.args.length > 1 ? call.args : call.onlyInput();
  return call.has('apply') ? applyPlanOf(call, input) : makePlan(call, input);
}

/** The output is opened first: what cannot be written is refused before the work. */
async function makePlan(call: Call, input: Input): Promise<0> {
  refusePlanWithin(call, input);
  refuseOptions(call);
  const rule = new KeepRule(call);
  const within = call.has('within') ? new Within(call) : null;
  const output = await PlanOutput.open(call, [input].flat());
  const marks = output === null ? null : await marksOf(call, input);
  /** Of each text a hash of 53 bits, to count exact copies. */
  const hashes: number[] = [];
  let textColumn: string | null = null;
  const needs: CollectionNeeds = {
    hold: call.has('min-cosine') ? 'vectors' : undefined,
    areTextsSets: true,
    bands: bandsOf(call),
    begin(rows) {
      if (!call.has('against')) checkNearness(call, rows);
      if (rows?.choice.kind === 'text') [textColumn] = rows.choice.columns;
      rule.check(call, rows);
      within?.check(rows);
    },
    columns: () => [rule.column, within?.column].flatMap((name) => name ?? []),
    take(batch) {
      for (const text of textColumn ? batch.texts(textColumn) : []) hashes.push(hashOf(text));
      rule.take(batch);
      within?.take(batch);
    },
  };
  if (call.has('against')) {
    const made = await planAgainst(call, input, needs, () => rule.keep());
    await output?.write({ input, ...made, marks });
    return 0;
  }
  const extend = call.text('extend');
  const old = extend === undefined ? null : (await readPlanFor(call, extend, input)).plan;
  const rows = await readCollection(call, input, needs);
  const extended = old === null ? null : extension(call, rows, old);
  const { known, ...near } = await nearnessOf(call, rows, old?.count);
  const options = {
    ...near,
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
  const review = reviewOf(plan, allRows(rows).length, textColumn && hashes);
  const shown = call.has('quiet') ? [] : shownRows(plan, review);
  const made = { input, plan, rows, marks };
  const texts = output === null ? await rows.texts.of(shown) : await output.write(made, shown);
  if (!call.has('quiet')) await sayReview(call, { ...made, review, texts });
  return 0;
}

/** Refuses options that exclude each other, and a plan of a name that --apply would not read. */
function refuseOptions(call: Call): void {
  const others = ['extend', 'against'].find((name) => call.has(name));
  const only = ['within', 'keep-at-most', 'target-rows'].find((name) => call.has(name));
  if (only && others) call.misuse(`--${only} does not go with --${others}`);
  const target = call.text('output');
  if (target !== undefined && target !== '-' && !PLAN_NAME.test(target)) {
    call.misuse(
      `--output expected a plan's name, one in .jsonl, .csv, .arrow or .html, got "${target}"`,
    );
  }
}

const encoder = new TextEncoder();
const hashOf = (text: string | null) => Number(checksum(encoder.encode(text ?? '')) >> 11n);

/** Within a folder of texts the plan would be one of the texts when it is applied. */
function refusePlanWithin(call: Call, input: Input): void {
  const target = call.text('output');
  if (target === undefined || target === '-' || input === '-') return;
  const place = [input]
    .flat()
    .find((one) => resolve(target).startsWith(resolve(one) + sep) || isMatch(one, target));
  if (place === undefined) return;
  call.misuse(`the plan ${target} would be one of the files of ${place}: name another place`);
}

/** A plan with its review, and texts of the rows that this shows. */
interface Reviewed {
  readonly input: Input;
  readonly plan: DedupPlan;
  readonly rows: Collection;
  readonly review: Review;
  readonly texts: ReadonlyMap<number, string>;
}

/** Shows what would go, and the command that makes it so. */
async function sayReview(call: Call, reviewed: Reviewed): Promise<void> {
  const { input, plan, rows, review, texts } = reviewed;
  const { ids } = rows;
  const nameOf = (row: number) => (ids === null ? `row ${row}` : `${ids[row]} (row ${row})`);
  call.say(`\n${reviewText(plan, review, { ...rows, nameOf, texts })}\n`);
  sayTarget(call, reviewed);
  if (review.dropped === 0) return;
  const { buffer, byteOffset, byteLength } = plan.duplicateOf;
  const digest = checksumText(checksum(new Uint8Array(buffer, byteOffset, byteLength)));
  call.say(`Digest of this answer: ${digest}. The same rows and options give it each time.`);
  const target = call.text('output');
  if (target === undefined || target === '-') {
    call.say(
      'Nothing is changed; -o plan.jsonl writes the plan, a line for each row of these groups.',
    );
  } else if (rows.isIndex) {
    call.say(`Nothing is changed. ${target} says which ids to remove from ${nameOfInput(input)}.`);
  } else {
    const [first] = [input].flat();
    const isFolder = (await stat(first).catch(() => null))?.isDirectory() === true;
    const shards = input === '-' ? null : await shardsOf(input);
    const name = shards === null ? keptName(first, isFolder) : keptFolder(first);
    // What came by stdin is in a file of a name that is not known here.
    const [files, kept] = input === '-' ? [['IN'], 'OUT'] : [[input].flat(), name];
    const made = isPageName(target) ? 'plan.jsonl' : target;
    const from = call.text('from');
    const reading = from === undefined ? [] : ['--from', from];
    const words = ['halfspace', 'dedup', ...files, ...reading, '--apply', made, '-o', kept];
    call.say(
      isPageName(target)
        ? `Nothing is changed. Open ${target} in a browser, decide, save plan.jsonl, then:` +
            `\n  ${commandLine(words)}`
        : `Nothing is changed. Read ${target}, turn "drop" to "keep" or delete lines where you ` +
            `think otherwise, then:\n  ${commandLine(words)}`,
    );
  }
}

/** Says whether as many rows stay as are wanted, and how near those are that go for it. */
function sayTarget(call: Call, { plan, rows: { bits, measure }, review }: Reviewed): void {
  const target = call.number('target-rows');
  if (target === undefined) return;
  const { rows, dropped, byDistance } = review;
  const stay = rows - dropped;
  const exact = plan.cosines ?? plan.jaccards;
  // Of rows that stay it is 1.
  const least = exact?.reduce((least, one) => Math.min(least, one), 1).toFixed(2);
  const near =
    least === undefined
      ? `at most ${byDistance.length - 1} of ${bits} bits differ`
      : `the ${similarityWords(measure)} is ${least} or more`;
  const advice = 'a larger --max-distance, or a lower --min-jaccard or --min-cosine, finds more';
  const counts = `--target-rows ${target}: ${counted(stay, 'row')} stay`;
  if (stay > target) call.say(`${counts}, although all duplicates go: ${advice}`);
  else if (dropped === 0) call.say(`${counts}, since there are no more`);
  else call.say(`${counts}; between a row that goes and the one kept for it ${near}`);
}

/** `docs.jsonl` as `docs-kept.jsonl`; of formats that are not written, as JSONL or Arrow. */
function keptName(input: string, isFolder: boolean): string {
  if (isFolder) return `${input.replace(/[/\\]+$/, '')}-kept.jsonl`;
  const named = input.replace(/\.npy$/, '.arrow').replace(/\.zst$/, '.gz');
  return named.replace(/(\.[^./\\]+)?(\.gz)?$/, '-kept$1$2');
}

/** `data/*.jsonl`, `data/a.jsonl` and `data` as `data-kept`. */
function keptFolder(input: string): string {
  const folder = input
    .replace(/\/?[^/]*[*?].*$/, '')
    .replace(/\/?[^/]*\.[^/]+$/, '')
    .replace(/\/+$/, '');
  return `${folder || 'rows'}-kept`;
}

type Value = string | number | bigint | null;

const FORMS =
  'first, last, random, random:SEED, longest, longest:COLUMN, lowest:COLUMN or highest:COLUMN';
/** A kind, and after a colon its seed or column. */
const FORM = /^(?:(first|last)|(random)(?::(\d{1,15}))?|(longest|lowest|highest)(?::(.*))?)$/s;

/** A rule, and the values that it needs; `take` must see all rows, in their order. */
class KeepRule {
  /** The column that must be read, for `take`; null for rules that need none. */
  column: string | null;
  readonly #kind: string;
  readonly #seed: number;
  readonly #values: Value[] = [];

  /** By the option `--keep`. */
  constructor(call: Call) {
    const given = call.text('keep') ?? 'first';
    const [isKnown, plain, random, seed, byColumn, column] = FORM.exec(given) ?? [];
    if (isKnown === undefined) call.misuse(`--keep expected ${FORMS}, got "${given}"`);
    this.#kind = plain ?? random ?? byColumn;
    if (byColumn !== undefined && byColumn !== 'longest' && !column) {
      call.misuse(`--keep ${byColumn} expected a column: --keep ${byColumn}:COLUMN`);
    }
    this.#seed = Number(seed ?? 0);
    this.column = column || null;
  }

  /**
   * Fails where the input has no such column; an index folder, null, has none. The
   * longest text is one of the column that is hashed, where no other is named.
   */
  check(call: Call, rows: InputRows | null): void {
    if (this.#kind === 'longest' && this.column === null) {
      if (rows?.choice.kind !== 'text') {
        call.misuse('--keep longest expected texts, or a column: longest:COLUMN');
      }
      this.column = rows.choice.columns[0];
    }
    if (this.column === null) return;
    if (rows === null) {
      call.misuse('--keep by a column needs a file, an index has its codes only');
    }
    columnOf(call, rows.reader, this.column);
  }

  /** Takes the values of the next rows. Of texts it holds the lengths, not the texts. */
  take(batch: RowBatch): void {
    const { column } = this;
    if (column === null) return;
    const isLength = this.#kind === 'longest';
    const values: readonly unknown[] = isLength
      ? batch.texts(column).map((text) => text?.length ?? null)
      : batch.values(column);
    for (const value of values) this.#values.push(comparable(value, column));
  }

  /** The rule for the rows from `first` on. */
  keep(first = 0): Keep {
    if (this.#kind === 'random') return { random: this.#seed };
    if (this.column === null) return this.#kind as Extract<Keep, string>;
    const values = first === 0 ? this.#values : this.#values.slice(first);
    switch (this.#kind) {
      case 'lowest':
        return { lowest: values };
      case 'highest':
      case 'longest': // its values are lengths, see `take`
        return { highest: values };
      default:
        throw new Error(`--keep ${this.#kind} has no rule`);
    }
  }
}

/** A value of a column as one that has an order; nested values have none. */
function comparable(value: unknown, column: string): Value {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return Number(value);
  if (value instanceof Date) return value.getTime();
  if (typeof value === 'object') {
    throw new TypeError(
      `column "${column}" expected numbers or strings to go by, got nested values`,
    );
  }
  return value as Value;
}
