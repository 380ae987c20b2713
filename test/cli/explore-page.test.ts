import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Held } from '../../src/explore/messages';
import { SimHashIndex } from '../../src/index';
import { IndexFolder, saveIndex } from '../../src/node';
import { Draws } from '../reference/random';
import { quickIf } from '../reference/tags';
import { closeBrowser, expectAccessible, hasChromium, openPage, overflow } from './explore/browser';
import { ownFolder, run } from './run';

/** `explore -o page.html`: the page as one file. */

const folder = mkdtempSync(join(tmpdir(), 'halfspace-page-'));
afterAll(() => rmSync(folder, { recursive: true }));
afterAll(closeBrowser);
const at = (name: string) => join(folder, name);

const WILD = '<script>alert(1)</script>';
const ROWS = 300;
const draws = new Draws('explore pages');
const centres = Array.from({ length: 6 }, () => draws.gaussians(10));

function index(vectors: 'float32' | 'none', rows = ROWS): SimHashIndex {
  const made = new SimHashIndex({ bits: 128, dimensions: 10, vectors });
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
});

const made = new Map<string, Promise<string>>();

/** The path of the page of an input, made once for all tests. */
function pageOf(words: readonly string[]): Promise<string> {
  const key = words.join(' ');
  const again = made.get(key);
  if (again !== undefined) return again;
  const target = at(`${made.size}.html`);
  const page = run(['explore', ...words, '-o', target], { cwd: folder }).then((outcome) => {
    expect([outcome.code, outcome.stdout]).toEqual([0, '']);
    return target;
  });
  made.set(key, page);
  return page;
}

/** What a page holds. */
function heldIn(path: string): Held {
  const text = readFileSync(path, 'utf8');
  return JSON.parse(
    /<script type="application\/json" id="held">(.*?)<\/script>/s.exec(text)?.[1] ?? '',
  );
}

const DOCS = ['docs.jsonl', '--text', 'body'];

describe.each([
  [['vectors.hs'], ROWS],
  [['codes.hs'], ROWS],
  [DOCS, 90],
  [['one.hs'], 1],
  [['empty.hs'], 0],
] as const)('the page of %j', (words, rows) => {
  const isQuick = quickIf(words === DOCS || rows === 0);

  it('holds every row, as text and never as markup', isQuick, async () => {
    const path = await pageOf(words);
    const { about, map } = heldIn(path);
    expect([about.rows, map?.cards.length ?? 0]).toEqual([rows, rows]);
    const sizes = map?.clusters.map(({ size }) => size) ?? [];
    expect(sizes.reduce((all, one) => all + one, 0)).toBe(rows);
    expect(JSON.stringify(heldIn(path))).not.toMatch(/NaN|undefined|Infinity/);
    const text = readFileSync(path, 'utf8');
    expect(text.match(/<script/g)).toHaveLength(2);
    expect(text).not.toContain('<script>alert(1)');
    expect(JSON.stringify(map?.cards ?? []).includes(WILD)).toBe(rows > 0);
  });

  const isShown = quickIf(words === DOCS);
  it.skipIf(!hasChromium)('opens without network and errors, light and dark', isShown, async () => {
    const { page, requests, problems } = await openPage(await pageOf(words));
    await page.waitForSelector('.found, .making');
    if (rows > 0) {
      await page.waitForSelector('.legend li');
      expect(await page.locator('.list li').count()).toBe(Math.min(100, rows));
      expect(await page.locator('.search .note').textContent()).toContain('halfspace explore');
      expect(await page.locator('#query, .list li button').count()).toBe(0);
    }
    for (const width of [390, 1200]) {
      await page.setViewportSize({ width, height: 800 });
      expect([width, await overflow(page)]).toEqual([width, 0]);
    }
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await expectAccessible(page);
    }
    expect([requests, problems]).toEqual([[], []]);
  });
});

describe('explore -o', () => {
  it('is the same page twice', { tags: 'thorough' }, async () => {
    const again = at('again.html');
    expect((await run(['explore', at('codes.hs'), '-o', again])).code).toBe(0);
    expect(readFileSync(again, 'utf8')).toBe(readFileSync(await pageOf(['codes.hs']), 'utf8'));
  });

  it.each([
    [['vectors.hs', '-o', 'x.pdf'], 2, 'a name that ends in .html'],
    [['vectors.hs', '-o', '-'], 2, 'a name that ends in .html'],
    [['vectors.hs', '-o', 'x.html', '--port', '0'], 2, '--output does not go with --port'],
    [['vectors.hs', '-o', 'x.html', '--plan', 'p.jsonl'], 2, '--plan: that is for the server'],
    [['vectors.hs', '-o', 'x.html', '--bits', '7'], 1, 'leave out --bits'],
    [['nothing.hs', '-o', 'x.html'], 1, 'no such file or folder'],
  ])('refuses %j', async (words, code, message) => {
    const outcome = await run(['explore', ...words], { cwd: folder });
    expect([outcome.code, outcome.stderr]).toEqual([code, expect.stringContaining(message)]);
    expect(readdirSync(folder)).not.toContain('x.html');
  });

  it('refuses an output that exists, unless it is forced', async () => {
    const target = join(await ownFolder(), 'page.html');
    writeFileSync(target, 'mine');
    const refused = await run(['explore', at('one.hs'), '-o', target]);
    expect([refused.code, readFileSync(target, 'utf8')]).toEqual([1, 'mine']);
    const forced = await run(['explore', at('one.hs'), '-o', target, '--force']);
    expect([forced.code, readFileSync(target, 'utf8').includes('</html>')]).toEqual([0, true]);
  });
});
