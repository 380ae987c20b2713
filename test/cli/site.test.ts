// @module-tag full

import { execFileSync } from 'node:child_process';
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createRows, RowBatch } from '../../src/node';
import { root } from '../docs/examples';
import { expectAccessible, hasChromium, openAddress, overflow } from './explore/browser';

/** The site, built as `npm run site` builds it, in a real browser. */

const dist = join(root, 'site/dist');
const MAX_SCRIPT_BYTES = 150_000;
const TYPES: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
};

let server: Server;
let origin: string;
/** Paths that were asked for. */
let asked: string[] = [];

beforeAll(async () => {
  const run = (program: string, ...words: string[]) =>
    execFileSync(program, words, { cwd: root, stdio: 'ignore' });
  run('npm', 'ci', '--prefix', 'site');
  run(process.execPath, 'site/build.mjs', '--command', inject('command'));
  server = createServer(({ url = '/', headers }, response) => {
    const path = decodeURIComponent(new URL(url, 'http://h').pathname);
    asked.push(path);
    const file = join(dist, path.endsWith('/') ? `${path}index.html` : path);
    if (!existsSync(file)) return response.writeHead(404).end();
    const { size } = statSync(file);
    const type = { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' };
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
    if (last === undefined) {
      response.writeHead(200, { ...type, 'content-length': size });
      return createReadStream(file).pipe(response);
    }
    response.writeHead(206, { ...type, 'content-range': `bytes ${first}-${last}/${size}` });
    return createReadStream(file, { start: Number(first), end: Number(last) }).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}, 600_000);
afterAll(() => server?.close());

/** Bytes of the demo's own scripts that were asked for: not those of every page, nor of threads. */
function scriptBytes(): number {
  const own = new Set(asked.filter((path) => path.startsWith('/assets/chunks/')));
  const isShared = (path: string) => /\/(theme|framework|worker\.generated)\./.test(path);
  const sizes = [...own]
    .filter((path) => !isShared(path))
    .map((path) => {
      return gzipSync(readFileSync(join(dist, path)), { level: 9 }).length;
    });
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}

async function expectGood(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.waitForTimeout(500); // colours fade
    await expectAccessible(page);
  }
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    expect([width, await overflow(page)]).toEqual([width, 0]);
  }
}

const pages = () =>
  readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.html'));

it('has no link to a page, a file or a heading that is not there', () => {
  const texts = new Map(
    pages().map((page) => [`/${page}`, readFileSync(join(dist, page), 'utf8')]),
  );
  const dead: string[] = [];
  let links = 0;
  for (const [page, text] of texts) {
    for (const [, href] of text.matchAll(/<a [^>]*href="([^"]*)"/g)) {
      if (/^[a-z]+:/.test(href)) continue;
      links++;
      const [path, hash] = new URL(href, `http://h${page}`).href
        .slice('http://h'.length)
        .split('#');
      const file = path.endsWith('/') ? `${path}index.html` : path;
      const target = texts.get(file);
      const isThere = target !== undefined || existsSync(join(dist, decodeURI(file)));
      const hasHeading = !hash || target?.includes(` id="${decodeURIComponent(hash)}"`);
      if (!isThere || !hasHeading) dead.push(`${page}: ${href}`);
    }
  }
  expect(links).toBeGreaterThan(500);
  expect(dead).toEqual([]);
});

describe.skipIf(!hasChromium)('the site in Chromium', () => {
  it.each(['/', '/text.html', '/api.html', '/performance.html'])(
    '%s opens without errors, light and dark',
    async (path) => {
      const { page, problems } = await openAddress(origin + path);
      await expectGood(page);
      expect(problems).toEqual([]);
    },
  );

  it('draws the figures of the benches, and says of which machine they are', async () => {
    const { page } = await openAddress(`${origin}/performance.html`);
    expect(await page.locator('.figures svg').count()).toBeGreaterThan(20);
    const last = page.locator('h2', { hasText: 'All figures' }).locator('~ p').first();
    expect(await last.textContent()).toMatch(
      / cores, .*, Node \d+.*, commit \w+.*, \d{4}-\d\d-\d\d$/,
    );
  });

  it('finds a word of the docs', async () => {
    const { page } = await openAddress(origin);
    await page.getByRole('button', { name: 'Search' }).first().click();
    await page.getByRole('searchbox').fill('minwise');
    await page.locator('#localsearch-list a').first().click();
    await page.waitForURL(/\.html/);
    expect(await page.locator('main').textContent()).toContain('minwise');
  });

  it('searches the nouns by range requests, and says what that took', async () => {
    asked = [];
    const { page, problems } = await openAddress(`${origin}/try-search.html`);
    await page.getByRole('button', { name: 'guitar' }).click();
    await page.waitForSelector('.hits');
    const names = await page.locator('.hits tbody td:first-child').allTextContents();
    expect(names.slice(0, 4)).toEqual(['guitar', 'harmonica', 'acoustic', 'saxophone']);
    const status = page.getByRole('status');
    expect(await status.textContent()).toMatch(/[\d.]+ [KM]B in \d+ requests, \d+ round trips/);
    const sum = page.locator('.costs tbody tr:last-child td');
    const figures = async () =>
      (await sum.allTextContents()).map((text) => Number.parseFloat(text));
    const [first] = await figures();
    expect(first).toBe(asked.filter((path) => path.startsWith('/nouns.hs/')).length);
    await page.getByRole('button', { name: 'monday' }).click();
    await page.waitForSelector('.hits button:text("tuesday")');
    const [again] = await figures();
    expect(again).toBeLessThan(first);
    await page.getByLabel('word').fill('<b>xyzzy</b>');
    await page.getByRole('button', { name: 'Search', exact: true }).last().click();
    await page.waitForSelector('text=No row is called');
    await expectGood(page);
    expect(scriptBytes()).toBeLessThan(MAX_SCRIPT_BYTES);
    expect(problems).toEqual([]);
  });

  it('finds duplicates in a file, and draws its rows', async () => {
    asked = [];
    const { page, problems } = await openAddress(`${origin}/try-file.html`);
    await page.getByRole('button', { name: 'Try 40' }).click();
    await page.waitForSelector('.one-group');
    expect(await page.getByRole('status').textContent()).toMatch(/^\s*40 rows, \d+ groups/);
    await page.waitForFunction(() => {
      const canvas = document.querySelector('canvas');
      const pixels = canvas?.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height);
      return pixels?.data.some((byte) => byte !== 0) ?? false;
    });
    await expectGood(page);
    expect(scriptBytes()).toBeLessThan(MAX_SCRIPT_BYTES);
    expect(problems).toEqual([]);
  });

  const texts = ['a cup of green tea', 'rain in the night', 'a cup of green tea', null, 'a dog'];

  it.each(['csv', 'jsonl', 'parquet', 'arrow', 'csv.gz', 'jsonl.gz'])(
    'reads a file of %s',
    async (ending) => {
      const path = join(dist, `small.${ending}`);
      const rows = await createRows(path);
      await rows.write(RowBatch.of({ id: Int32Array.of(1, 2, 3, 4, 5), text: texts }));
      await rows.close();
      const { page, requests } = await openAddress(`${origin}/try-file.html`);
      await page.getByLabel('Drop a file here').setInputFiles(path);
      await page.waitForSelector('.one-group');
      expect(await page.getByRole('status').textContent()).toMatch(
        /5 rows, 1 groups, 1 duplicates/,
      );
      const shown = await page.locator('.one-group td:first-child').allTextContents();
      expect(shown).toEqual(['0', '2']);
      expect(requests.filter((url) => !url.startsWith(origin))).toEqual([]);
    },
  );

  it.each([
    ['docs.csv', 'id,text\n1,a cup\n2,"tea', /docs\.csv: line 3: a broken quote/],
    ['docs.csv', 'id,text\n1,a cup\n2\n', /docs\.csv: line 3: 1 cells, but 2 columns/],
    ['docs.jsonl', '{"text":"a cup"}\n{"text":\n', /docs\.jsonl: line 2: /],
    ['docs.parquet', 'PAR1 and nothing else', /docs\.parquet: cannot be read as Parquet/],
    ['docs.arrow', 'ARROW1 and nothing else', /docs\.arrow: /],
    ['docs.csv', '', /docs\.csv: empty/],
    ['docs.csv', 'a,b\n1,2\n', /no column has texts or vectors/],
  ])('says what is wrong with %s: %j', async (name, content, message) => {
    const { page, problems } = await openAddress(`${origin}/try-file.html`);
    const buffer = Buffer.from(content);
    const mimeType = 'application/octet-stream';
    await page.getByLabel('Drop a file here').setInputFiles({ name, mimeType, buffer });
    expect(await page.getByRole('alert').textContent()).toMatch(message);
    expect(problems).toEqual([]);
  });
});
