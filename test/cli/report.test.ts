import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Held } from '../../src/explorer/messages';
import { SimHashIndex } from '../../src/index';
import { IndexFolder, saveIndex } from '../../src/node';
import { Draws } from '../reference/random';
import { quickIf } from '../reference/tags';
import { expectAccessible, hasChromium, openPage, overflow } from './explore/browser';
import { ownFolder, run } from './run';

const folder = mkdtempSync(join(tmpdir(), 'halfspace-report-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);

const WILD = '<script>alert(1)</script>';
const ROWS = 300;
const draws = new Draws('report pages');
const centres = Array.from({ length: 6 }, () => draws.gaussians(10));

function index(keep: 'float32' | 'none', rows = ROWS): SimHashIndex {
  const made = new SimHashIndex({
    bits: 128,
    dimensions: 10,
    projection: 'hadamard',
    vectors: keep,
  });
  for (let i = 0; i < rows; i++) {
    const vector = centres[i % 6].map((value) => value + 0.4 * draws.gaussian());
    made.add(vector, i < 6 ? `${WILD}${i}` : `row ${i}`);
  }
  return made;
}

beforeAll(async () => {
  await saveIndex(index('float32'), at('vectors.hs'));
  await saveIndex(index('none'), at('codes.hs'));
  await saveIndex(index('float32', 1), at('one.hs'));
  await saveIndex(index('float32', 1), at('empty.hs'));
  await (await IndexFolder.open(at('empty.hs'))).remove([`${WILD}0`]);
  const lines = Array.from({ length: 90 }, (_, i) => {
    const words = Array.from({ length: 30 }, () => `w${draws.integer(40) + 40 * (i % 3)}`);
    return JSON.stringify({ id: i, title: `${WILD} & "title" ${i}`, body: words.join(' ') });
  });
  writeFileSync(at('docs.jsonl'), `${lines.join('\n')}\n`);
  const made = await run(['index', at('docs.jsonl'), '--text', 'body', '-o', at('docs.hs')]);
  if (made.code !== 0) throw new Error(made.stderr);
});

interface Told {
  facts: Record<string, string>;
  problems: object[];
  report: {
    rows: number;
    sampled: number;
    tally: { pairs: number[]; nearest: number[] } | null;
    curve: { points: { recall: number }[] } | null;
    groups: { sizes: { size: number; groups: number }[] } | null;
  } | null;
}

interface Made {
  readonly html: string;
  readonly text: string;
}

const made = new Map<string, Promise<Made>>();

/** The page of an index, made once for all tests. */
function reported(name: string, words: readonly string[] = []): Promise<Made> {
  const key = [name, ...words].join(' ');
  const again = made.get(key);
  if (again !== undefined) return again;
  const html = at(`${made.size}.html`);
  const page = run(['report', at(name), '-o', html, ...words]).then(({ code, stdout }) => {
    expect([code, stdout]).toEqual([0, '']);
    return { html, text: readFileSync(html, 'utf8') };
  });
  made.set(key, page);
  return page;
}

/** The same as data. */
async function told(name: string, words: readonly string[] = []): Promise<Told> {
  const own = await ownFolder();
  const outcome = await run(['report', at(name), '-o', join(own, 'report.json'), ...words]);
  expect(outcome.code).toBe(0);
  expect(readdirSync(own)).toEqual(['report.json']);
  return JSON.parse(readFileSync(join(own, 'report.json'), 'utf8'));
}

/** What a page holds. */
const heldIn = (text: string): Held =>
  JSON.parse(/<script type="application\/json" id="held">(.*?)<\/script>/s.exec(text)?.[1] ?? '');

const has = (value: unknown) => value !== null && value !== undefined;

/** What a page says of recall and speed. */
const speedIn = (text: string) =>
  heldIn(text).health.sections.find(({ name }) => name === 'speed')?.sentences ?? [];

describe.each([
  ['vectors.hs', 'with kept vectors', { rows: ROWS, curve: true, charts: 6 }],
  ['codes.hs', 'of codes alone', { rows: ROWS, curve: true, charts: 3 }],
  ['docs.hs', 'of texts with carried columns', { rows: 90, curve: true, charts: 3 }],
  ['one.hs', 'of one row', { rows: 1, curve: false, charts: 0 }],
  ['empty.hs', 'without rows', { rows: 0, curve: false, charts: 0 }],
])('a report of %s, an index %s', (name, _, expected) => {
  it(
    'is whole: its numbers add up, and nothing of them is missing',
    quickIf(/docs|empty/.test(name)),
    async () => {
      const { text } = await reported(name);
      const { problems, facts, report } = await told(name);
      expect([problems, facts.rows]).toEqual([[], String(expected.rows)]);
      if (report === null) throw new Error('a sound index has a report');
      expect([report.rows, report.sampled]).toEqual([expected.rows, expected.rows]);
      expect(has(report.curve)).toBe(expected.curve);
      const { health, map, cards } = heldIn(text);
      expect(JSON.stringify(heldIn(text))).not.toMatch(/NaN|undefined|Infinity/);
      const charts = health.sections.flatMap(({ chart }) => (chart === undefined ? [] : [chart]));
      expect(charts).toHaveLength(expected.charts);
      expect(text).toContain('Sound: every checksum');
      expect(cards).toHaveLength(expected.rows);
      const clusters = map?.clusters.map(({ size }) => size) ?? [];
      expect(clusters.reduce((all, one) => all + one, 0)).toBe(expected.rows);
      if (expected.rows < 2) return;
      const sum = (counts: readonly number[] = []) => counts.reduce((all, one) => all + one, 0);
      expect(sum(report.tally?.pairs)).toBe((expected.rows * (expected.rows - 1)) / 2);
      expect(sum(report.tally?.nearest)).toBe(expected.rows);
      const sizes = report.groups?.sizes ?? [];
      expect(sum(sizes.map(({ size, groups }) => size * groups))).toBe(expected.rows);
      expect(charts.at(-1)?.x).toEqual(sizes.map(({ size }) => size));
    },
  );

  it('holds what users wrote as text, never as markup', quickIf(name === 'docs.hs'), async () => {
    const { text } = await reported(name);
    expect(text.match(/<script/g)).toHaveLength(2);
    expect(text).not.toContain('<script>alert(1)');
    expect(heldIn(text).cards.some((card) => JSON.stringify(card).includes(WILD))).toBe(
      expected.rows > 0,
    );
  });

  it.skipIf(!hasChromium)(
    'opens without network and errors, light and dark',
    quickIf(name === 'docs.hs'),
    async () => {
      const { html } = await reported(name);
      const { page, requests, problems } = await openPage(html);
      if (expected.rows > 0) {
        await page.waitForSelector('.legend li');
        expect(await page.locator('table.rows tbody tr').count()).toBe(
          Math.min(100, expected.rows),
        );
        await page.locator('table.rows button').first().click();
        await page.waitForSelector('.found b');
        expect(await page.locator('.hits li').count()).toBe(Math.min(25, expected.rows - 1));
        await page.click('nav >> text=Figures');
      }
      await page.waitForSelector('.figures section');
      expect(await page.locator('.plot').count()).toBe(expected.charts);
      expect(await page.locator('.plot canvas').count()).toBe(expected.charts);
      for (const width of [390, 1200]) {
        await page.setViewportSize({ width, height: 800 });
        expect([width, await overflow(page)]).toEqual([width, 0]);
      }
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        const [ink, paper] = await page.evaluate(() => {
          const { color, backgroundColor } = getComputedStyle(document.body);
          return [color, backgroundColor].map((one) => Number(one.match(/\d+/)?.[0]));
        });
        expect(ink < paper).toBe(colorScheme === 'light');
        await expectAccessible(page);
      }
      expect([requests, problems]).toEqual([[], []]);
    },
  );
});

describe('report', () => {
  it('shows the texts of the first carried column, or of the one that is named', async () => {
    const { text } = await reported('docs.hs', ['--no-times', '--text', 'title']);
    expect(heldIn(text).cards[3].text).toBe(`${WILD} & "title" 3`);
    const wrong = await run(['report', at('docs.hs'), '-o', at('x.html'), '--text', 'titel']);
    expect([wrong.code, wrong.stderr.includes('does not carry a column "titel"')]).toEqual([
      1,
      true,
    ]);
  });

  it('takes a least similarity of the measure of its codes only', async () => {
    const words = ['report', at('docs.hs'), '-o', at('x.html'), '--min-jaccard', '0.5'];
    const { code, stderr } = await run(words);
    expect(code).toBe(2);
    expect(stderr).toContain('--min-jaccard needs codes made by --measure jaccard, not cosine');
  });

  it('measures recall with the queries of a file, and says how they differ from rows', {
    tags: 'thorough',
  }, async () => {
    const queries = Array.from({ length: 80 }, () => draws.gaussians(10));
    const lines = queries.map((vector) => JSON.stringify({ vector: [...vector] }));
    writeFileSync(at('queries.jsonl'), lines.join('\n'));
    const words = ['--queries', at('queries.jsonl')];
    const made = index('float32');
    made.optimize();
    await saveIndex(made, at('measured.hs'));
    const { text } = await reported('measured.hs', words);
    const [sentence, note] = speedIn(text);
    expect(sentence).toMatch(/of the true 10 nearest by exact cosine \(95 %: .*, 80 queries\)/);
    const report = made.remeasure({ queries });
    const [cosine, ofRows] = [report.kthCosine, report.byRows?.kthCosine];
    expect(note).toBe(
      'Note: the 80 queries lie farther from the rows than held-out rows do: row 10 of their ' +
        `answers has a mean cosine of ${cosine?.toFixed(3)}, of rows ${ofRows?.toFixed(3)}.`,
    );
    expect((await IndexFolder.open(at('measured.hs'))).report?.source).toBe('rows');
    await saveIndex(made, at('measured.hs'));
    const { stdout } = await run(['info', at('measured.hs')]);
    expect(stdout).toMatch(/^warning +the 80 queries lie farther from the rows than held-out/m);
    const codes = index('none');
    codes.optimize();
    await saveIndex(codes, at('measured-codes.hs'));
    const hashing = ['--bits', '128', '--projection', 'hadamard', '-o', at('queries.arrow')];
    await run(['fingerprint', at('queries.jsonl'), ...hashing]);
    const ofCodes = await reported('measured-codes.hs', ['--queries', at('queries.arrow')]);
    expect(speedIn(ofCodes.text)[0]).toMatch(
      /of the true 10 nearest by distance of codes \(95 %: .*, 80 queries\)/,
    );
    const page = ['-o', at('x.html'), ...words];
    const plain = await run(['report', at('vectors.hs'), ...page]);
    expect([plain.code, plain.stderr]).toEqual([1, expect.stringContaining('--optimize')]);
    const untimed = await run(['report', at('measured.hs'), ...page, '--no-times']);
    expect([untimed.code, untimed.stderr]).toEqual([2, expect.stringContaining('--no-times')]);
  });

  it('is the same page twice where nothing is timed', { tags: 'thorough' }, async () => {
    const [first, again] = [at('first.html'), at('again.html')];
    for (const target of [first, again]) {
      const words = ['--no-times', '--sample', '50', '--seed', '3', '-o', target];
      expect((await run(['report', at('vectors.hs'), ...words])).code).toBe(0);
    }
    expect(readFileSync(again, 'utf8')).toBe(readFileSync(first, 'utf8'));
    expect(readFileSync(first, 'utf8')).toContain('50 of 300 rows, drawn at random (seed 3)');
  });

  it('groups within the distance that is asked for', async () => {
    const words = ['--no-times', '--max-distance', '0'];
    const { report } = await told('codes.hs', words);
    expect(report?.groups?.sizes[0]).toEqual({ size: 1, groups: ROWS });
    expect((await reported('codes.hs', words)).text).toContain(
      'Within 0 of 128 bits, as asked for',
    );
  });

  it('says what is broken in a damaged index, and ends with 1', async () => {
    const damaged = at('damaged.hs');
    await saveIndex(index('none'), damaged);
    const [file] = readdirSync(damaged).filter((name) => name.startsWith('rows'));
    const bytes = readFileSync(join(damaged, file));
    bytes[bytes.length >> 1] ^= 1;
    writeFileSync(join(damaged, file), bytes);
    const target = join(await ownFolder(), 'report.html');
    const { code, stderr } = await run(['report', damaged, '-o', target]);
    expect([code, stderr.includes('damaged')]).toEqual([1, true]);
    const text = readFileSync(target, 'utf8');
    expect(text).toContain('Damaged: ');
    expect(text).toContain(file);
  });

  it.each([
    [[at('vectors.hs')], 2, 'an output is missing: -o report.html'],
    [[at('vectors.hs'), '-o', at('x.pdf')], 2, '.html or .json'],
    [[at('vectors.hs'), '-o', at('x.html'), '--clusters', '0'], 2, '--clusters expected'],
    [[at('vectors.hs'), '-o', at('x.html'), '--max-distance', '129'], 2, 'in 0..128, got 129'],
    [[folder, '-o', at('x.html')], 1, 'is no index folder'],
    [[at('nothing.hs'), '-o', at('x.html')], 1, 'no such file or folder'],
  ])('refuses %j', async (words, code, message) => {
    const outcome = await run(['report', ...words]);
    expect(outcome.code).toBe(code);
    expect(outcome.stderr).toContain(message);
    expect(readdirSync(folder)).not.toContain('x.html');
  });

  it('refuses an output that exists, unless it is forced', async () => {
    const target = join(await ownFolder(), 'report.html');
    writeFileSync(target, 'mine');
    const refused = await run(['report', at('one.hs'), '-o', target]);
    expect([refused.code, readFileSync(target, 'utf8')]).toEqual([1, 'mine']);
    const forced = await run(['report', at('one.hs'), '-o', target, '--force']);
    expect([forced.code, readFileSync(target, 'utf8').includes('</html>')]).toEqual([0, true]);
  });
});
