// Takes the pictures of docs/explore.md: builds nothing, opens `halfspace explore` in Chromium on the
// nouns and on the sample texts, and saves what a person would see. Run after `npm run build:js`.
//
// node scripts/explore-pictures.mjs [NAME]...

import { spawn } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { root, run } from './lib/checks.mjs';
import { args, executablePath } from './lib/chromium.mjs';

const cli = join(root, 'dist/cli.js');
const folder = await mkdtemp(join(tmpdir(), 'halfspace-pictures-'));
const WIDE = { width: 1280, height: 800 };

async function serve(words) {
  const child = spawn(process.execPath, [cli, 'explore', ...words, '-q'], { cwd: folder });
  const address = await new Promise((resolve) => child.stdout.once('data', resolve));
  return { child, address: String(address).trim() };
}

const browser = await chromium.launch({ executablePath, args });

/** Opens an address, does something with the page, and takes its picture. */
async function picture(name, { address, hash = '' }, act) {
  const wanted = process.argv.slice(2);
  if (wanted.length > 0 && !wanted.includes(name)) return;
  const context = await browser.newContext({ viewport: WIDE });
  const page = await context.newPage();
  await page.goto(`${address}${hash}`);
  await act(page);
  await page.waitForTimeout(700);
  await page.screenshot({ path: join(root, 'docs/pictures', `${name}.png`) });
  await context.close();
  console.log(name);
}

const map = (page) => page.waitForSelector('.legend', { timeout: 120_000 });
const near = async (page, id) => {
  await map(page);
  await page.fill('#query', id);
  await page.keyboard.press('Enter');
  await page.waitForSelector('.similarity');
};

try {
  await cp(join(root, 'datasets/nouns/nouns.arrow'), join(folder, 'nouns.arrow'));
  await cp(join(root, 'datasets/sample/docs.jsonl'), join(folder, 'docs.jsonl'));
  const columns = ['--vector', 'vector', '--id', 'word', '--vectors', 'float32'];
  const optimized = ['--optimize', '--recall', '0.95', '-o', 'nouns.hs', '-q'];
  const made = ['index', 'nouns.arrow', ...columns, ...optimized];
  await run(process.execPath, [cli, ...made], { cwd: folder });
  const nouns = await serve(['nouns.hs']);
  await picture('explore-map', nouns, map);
  await picture('explore-guitar', nouns, async (page) => {
    await near(page, 'guitar');
    await page.click('button[aria-label="Zoom in"]');
  });
  nouns.child.kill('SIGINT');
  const words = ['docs.jsonl', '--text', 'body'];
  const plan = ['dedup', ...words, '-o', 'docs-plan.jsonl', '-q'];
  await run(process.execPath, [cli, ...plan], { cwd: folder });
  const docs = await serve(words);
  await picture('explore-review', { ...docs, hash: '#review' }, async (page) => {
    await page.waitForSelector('.member');
    for (let i = 0; i < 4; i++) {
      const before = await page.locator('.status b').textContent();
      await page.keyboard.press('Enter');
      await page.waitForFunction(
        (text) => document.querySelector('.status b').textContent !== text,
        before,
      );
    }
  });
  docs.child.kill('SIGINT');
} finally {
  await browser.close();
  await rm(folder, { recursive: true });
}
