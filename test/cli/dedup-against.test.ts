import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Codes,
  createRows,
  openRows,
  RowBatch,
  readPlan,
  shingles,
  TextHasher,
  writePlan,
} from '../../src/node';
import { Draws } from '../reference/random';
import { run } from './run';

/** A plan that has the codes of its rows: later rows are planned against it, without old texts. */

const folder = mkdtempSync(join(tmpdir(), 'halfspace-against-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);

const OLD = 60;
const COUNT = 120;
const draws = new Draws(11);
const words = () => Array.from({ length: 60 }, () => `w${draws.integer(5000)}`);
const first = Array.from({ length: 40 }, words);
/** Versions of forty texts, with 0, 2, 4 … words changed. */
const texts = Array.from({ length: COUNT }, (_, row) => {
  const own = [...first[draws.integer(40)]];
  for (let i = draws.integer(5); i > 0; i--) own[draws.integer(60)] = `x${row}${i}`;
  return own.join(' ');
});
const WITHIN = 40;
const near = ['--max-distance', String(WITHIN), '--measure', 'jaccard'];
const lines = (from: number, end: number) =>
  texts
    .slice(from, end)
    .map((text, i) => `${JSON.stringify({ id: `d${from + i}`, text })}\n`)
    .join('');
const dedup = (input: string, output: string, ...more: string[]) =>
  run(['dedup', at(input), '--text', 'text', '--all-rows', '-o', at(output), '--force', ...more]);
const against = (old: string, ...more: string[]) =>
  dedup('new.jsonl', 'found.jsonl', '--against', at(old), ...more);
interface Line {
  readonly id: string;
  readonly action: string;
  readonly near_to: string | null;
  readonly distance: number;
}
const found = () =>
  readFileSync(at('found.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

const oldRows = Array.from({ length: OLD }, (_, row) => row);
let codes: Codes;
beforeAll(async () => {
  writeFileSync(at('old.jsonl'), lines(0, OLD));
  writeFileSync(at('new.jsonl'), lines(OLD, COUNT));
  writeFileSync(at('all.jsonl'), lines(0, COUNT));
  const made = [
    await dedup('old.jsonl', 'old.arrow', ...near),
    await dedup('all.jsonl', 'all.jsonl.arrow', ...near),
    await run(
      ['index', at('old.jsonl'), '--measure', 'jaccard', '--text', 'text', '--tokens'].concat(
        'shingles:2',
        '-o',
        at('old.hs'),
      ),
    ),
  ];
  expect(made.map(({ code, stderr }) => (code === 0 ? 0 : stderr))).toEqual([0, 0, 0]);
  rmSync(at('old.jsonl'));
  codes = new TextHasher({
    ...{ bits: 256, tokens: shingles(2), projection: 'minwise' },
  }).hashAll(texts);
});

it('an Arrow plan of all rows has their codes, and how they were made and compared', async () => {
  const plan = await readPlan(at('old.arrow'));
  expect(Buffer.compare(plan.codes?.bytes as Uint8Array, codes.bytes.slice(0, 32 * OLD))).toBe(0);
  expect(plan.codes?.origin).toEqual(codes.origin);
  expect(plan.near).toBe(`within ${WITHIN} of 256 bits`);
  await writePlan(at('again.arrow'), plan);
  expect(await readPlan(at('again.arrow'))).toEqual(plan);
  await writePlan(at('again.csv'), plan);
  expect((await readPlan(at('again.csv'))).codes).toBeUndefined();
  // Lines in another order, as a program that sorts them leaves them.
  const { value: batch } = await (await openRows(at('old.arrow')))[Symbol.asyncIterator]().next();
  const order = Array.from({ length: OLD }, (_, i) => (i * 7) % OLD);
  const output = await createRows(at('sorted.arrow'));
  await output.write(batch.select(order));
  await output.close();
  expect((await readPlan(at('sorted.arrow'))).codes?.bytes).toEqual(plan.codes?.bytes);
});

describe('new rows against a plan', () => {
  it('are decided as in one plan of all rows, where they are near a kept row or none', async () => {
    expect((await against('old.arrow', ...near)).code).toBe(0);
    const all = await readPlan(at('all.jsonl.arrow'));
    const old = await readPlan(at('old.arrow'));
    expect(all.kept.subarray(0, OLD)).toEqual(old.kept);
    const plan = found();
    const isNear = (row: number, other: number) => codes.distance(row, other) <= WITHIN;
    let [known, onlyDropped, alone] = [0, 0, 0];
    for (let row = OLD; row < COUNT; row++) {
      const { id, action, near_to, distance } = plan[row - OLD];
      expect(id).toBe(`d${row}`);
      const others = oldRows.filter((other) => isNear(row, other));
      if (others.length === 0) {
        // Near to new rows alone: as if there were no old ones.
        expect([near_to, action]).toEqual([null, all.kept[row] === 1 ? 'keep' : 'drop']);
        alone++;
        continue;
      }
      expect(action).toBe('drop');
      // The nearest old row, or the one that was kept for it.
      const least = Math.min(...others.map((other) => codes.distance(row, other)));
      const nearest = others.find((other) => codes.distance(row, other) === least) as number;
      const stays = old.duplicateOf[nearest];
      expect(old.kept[stays]).toBe(1);
      expect([near_to, distance]).toEqual([`d${stays}`, codes.distance(row, stays)]);
      if (others.some((other) => old.kept[other] === 1)) {
        expect(all.kept[row]).toBe(0);
        known++;
      } else onlyDropped++;
    }
    expect([known > 20, onlyDropped > 0, alone > 3]).toEqual([true, true, true]);
  });

  it('are as against an index of the same rows, but for which row is named', async () => {
    expect((await against('old.arrow', ...near)).code).toBe(0);
    const byPlan = found();
    const byIndex = await against('old.hs', '--max-distance', String(WITHIN));
    expect(byIndex.code).toBe(0);
    const decided = (all: Line[]) => all.map(({ action, near_to }) => [action, near_to === null]);
    expect(decided(found())).toEqual(decided(byPlan));
  });

  it('keep to the decisions of the review, and name the row that stays', async () => {
    const old = await readPlan(at('old.arrow'));
    expect((await against('old.arrow', ...near)).code).toBe(0);
    const asBefore = found();
    // In a group of two or more another row stays; and a row alone goes, as one that nobody wants.
    const dropped = old.kept.findIndex(
      (kept, row) =>
        kept === 0 && asBefore.some(({ near_to }) => near_to === `d${old.duplicateOf[row]}`),
    );
    const before = old.duplicateOf[dropped];
    const groupSize = (row: number) => old.groups.filter((one) => one === old.groups[row]).length;
    const unwanted = old.kept.findIndex(
      (kept, row) =>
        kept === 1 && groupSize(row) === 1 && asBefore.some(({ near_to }) => near_to === `d${row}`),
    );
    expect(unwanted).toBeGreaterThan(-1);
    old.kept[before] = 0;
    old.kept[dropped] = 1;
    old.kept[unwanted] = 0;
    await writePlan(at('reviewed.arrow'), old, { ids: oldRows.map((row) => `d${row}`) });
    expect((await against('reviewed.arrow', ...near)).code).toBe(0);
    const now = found();
    expect(now.map(({ action }) => action)).toEqual(asBefore.map(({ action }) => action));
    const moved = asBefore.map(({ near_to }) =>
      near_to === `d${before}` ? `d${dropped}` : near_to,
    );
    expect(now.map(({ near_to }) => near_to)).toEqual(moved);
    expect(now.some(({ near_to }) => near_to === `d${dropped}`)).toBe(true);
    expect(now.some(({ near_to }) => near_to === `d${unwanted}`)).toBe(true);
  });

  it('by the usual options need none, and are refused by others, with the sentence', async () => {
    writeFileSync(at('few.jsonl'), lines(0, OLD));
    expect((await dedup('few.jsonl', 'usual.arrow', '--id', 'none')).code).toBe(0);
    const made = await against('usual.arrow', '--id', 'none');
    expect([made.code, made.stderr]).toEqual([0, expect.stringContaining('60 new rows')]);
    for (const [options, sentence] of [
      [['--bits', '64'], 'was made with --bits 256, not 64'],
      [['--seed', '3'], 'was made with --seed 0, not 3'],
      [['--measure', 'cosine'], 'was made with --measure jaccard, not cosine'],
      [['--tokens', 'words'], /read by: shingles\(2, words\); got those read by: words/],
      [['--normalize', 'html'], /read by: shingles\(2, words\); got .* without html/],
      [['--min-jaccard', '0.8'], 'near by: Jaccard similarity 0.6 or more; got: Jaccard'],
      [['--max-distance', '9'], 'got: within 9 of 256 bits'],
      [['--extend', 'p.csv'], '--against does not go with --extend'],
    ] as const) {
      const refused = await against('usual.arrow', ...options);
      expect(refused.code).toBeGreaterThan(0);
      expect(refused.stderr).toMatch(sentence);
    }
  });

  it('by weights of words need the same frequencies', async () => {
    const cosine = ['--max-distance', '40', '--tokens', 'words'];
    expect((await dedup('few.jsonl', 'weighed.arrow', '--tf-idf', ...cosine)).code).toBe(0);
    const refused = await against('weighed.arrow', '--tf-idf', ...cosine);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/frequencies of 60 documents \(\w+\); got .*frequencies of 60/s),
    ]);
    await run(['frequencies', at('few.jsonl'), '--text', 'text', '-o', at('table.arrow')]);
    const same = ['--frequencies', at('table.arrow'), ...cosine];
    const made = await against('weighed.arrow', ...same);
    expect([made.code, made.stderr]).toEqual([0, expect.stringContaining('60 new rows')]);
  });

  it('are refused where a plan cannot say what is near', async () => {
    const old = await readPlan(at('old.arrow'));
    const { codes: _, near: _near, ...bare } = old;
    await writePlan(at('bare.arrow'), bare);
    await writePlan(at('bare.csv'), bare);
    await writePlan(at('unsaid.arrow'), { ...old, near: undefined } as never);
    await writePlan(at('part.arrow'), { ...old, listed: Uint8Array.from(old.kept) });
    const output = await createRows(at('other.arrow'));
    await output.write(RowBatch.of({ a: [1] }));
    await output.close();
    for (const [name, sentence] of [
      ['bare.arrow', /an Arrow plan with codes, got .*bare.arrow: make it by dedup --all-rows/],
      ['bare.csv', /an Arrow plan with codes/],
      ['other.arrow', /an Arrow plan with codes/],
      ['unsaid.arrow', /does not say how its codes were made and compared/],
      ['part.arrow', /row \d+ has no line, and so no code: turn "drop" to "keep"/],
    ] as const) {
      const { code, stderr } = await against(name, ...near);
      expect([code === 0, stderr]).toEqual([false, expect.stringMatching(sentence)]);
    }
  });
});
