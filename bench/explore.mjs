// How soon does the page of `halfspace explore` show its first paint and the map of 100,000 and of
// 1,000,000 rows, how many frames a second does it draw while it moves, and does anything jump? In
// Chromium without a graphics card. Run after `npm run build`; browser and server share the core, or
// have two with BENCH_CORE=0-1. `--rows 100000` takes one size only, `--keep FOLDER` the indexes of an
// earlier run.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import { SimHashIndex, saveIndex } from '../dist/node.js';
import { args, executablePath } from '../scripts/lib/chromium.mjs';
import { announce, printTable, short, sized } from './lib/bench.mjs';
import { generator } from './lib/random.mjs';

const { values: given } = parseArgs({
  options: {
    rows: { type: 'string', multiple: true },
    keep: { type: 'string' },
    small: { type: 'boolean' },
  },
});
const SIZES = (given.rows ?? sized(['100000', '1000000'], ['3000'])).map(Number);
const [DIMENSIONS, CENTRES, BLOCK] = [32, 200, 50_000];
const MOVING_SECONDS = 4;
const OPENINGS = sized(3, 1);
const dist = new URL('../dist/', import.meta.url);

const folder = given.keep ?? (await mkdtemp(join(tmpdir(), 'halfspace-explore-')));
await mkdir(folder, { recursive: true });

/** Clustered rows as an index folder of codes. */
async function indexOf(rows) {
  const path = join(folder, `rows-${rows}.hs`);
  if (existsSync(path)) return path;
  const { normal, below } = generator(rows);
  const centres = Float32Array.from({ length: CENTRES * DIMENSIONS }, normal);
  const index = new SimHashIndex({ bits: 128, dimensions: DIMENSIONS });
  for (let first = 0; first < rows; first += BLOCK) {
    const values = new Float32Array(Math.min(BLOCK, rows - first) * DIMENSIONS);
    for (let at = 0; at < values.length; at += DIMENSIONS) {
      const from = DIMENSIONS * below(CENTRES);
      for (let i = 0; i < DIMENSIONS; i++) values[at + i] = centres[from + i] + 0.6 * normal();
    }
    await index.addAll({ values, dimensions: DIMENSIONS });
  }
  await saveIndex(index, path);
  return path;
}

/** The command, serving a folder; `ready` resolves when it has opened it. */
async function serve(path) {
  const words = [new URL('cli.js', dist).pathname, 'explore', path, '-q'];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  const address = String(await new Promise((resolve) => child.stdout.once('data', resolve))).trim();
  return { child, address };
}

/** In the page: frames a second while the view is dragged and zoomed, one event a frame. */
async function framesMoving(seconds) {
  const map = document.querySelector('.map');
  const { left, top, width, height } = map.getBoundingClientRect();
  const [x, y] = [left + width / 2, top + height / 2];
  const send = (type, Event, options) =>
    map.dispatchEvent(new Event(type, { bubbles: true, cancelable: true, ...options }));
  map.setPointerCapture = () => undefined; // of no real pointer
  const pointer = { pointerId: 1, button: 0, clientX: x, clientY: y };
  send('pointerdown', PointerEvent, pointer);
  const start = performance.now();
  let frames = 0;
  while (performance.now() - start < 1000 * seconds) {
    const [dx, dy] = [60 * Math.sin(frames / 7), 40 * Math.cos(frames / 11)];
    send('pointermove', PointerEvent, { ...pointer, clientX: x + dx, clientY: y + dy });
    const deltaY = 30 * Math.sin(frames / 13);
    send('wheel', WheelEvent, { deltaY, clientX: x, clientY: y });
    await new Promise(requestAnimationFrame);
    frames++;
  }
  const rate = (1000 * frames) / (performance.now() - start);
  send('pointerup', PointerEvent, pointer);
  return rate;
}

/** Opens the page once, and measures it: `map` is when it shows one. */
async function opened(browser, address) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.addInitScript(() => {
    globalThis.jumps = 0;
    new PerformanceObserver((list) => {
      for (const { value } of list.getEntries()) globalThis.jumps += value;
    }).observe({ type: 'layout-shift', buffered: true });
    const seen = new MutationObserver(() => {
      if (document.querySelector('.legend') === null) return;
      seen.disconnect();
      requestAnimationFrame(() => requestAnimationFrame(() => performance.mark('map')));
    });
    seen.observe(document, { childList: true, subtree: true });
  });
  await page.goto(address);
  await page.waitForFunction(() => performance.getEntriesByName('map').length > 0, null, {
    timeout: 600_000,
  });
  const times = await page.evaluate(() => ({
    paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
    map: performance.getEntriesByName('map')[0].startTime,
    jumps: globalThis.jumps,
  }));
  const frames = await page.evaluate(framesMoving, MOVING_SECONDS);
  await context.close();
  return { ...times, frames };
}

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

await announce();
const names = ['explorer.js', 'explorer-style.css'];
const bytes = gzipSync(names.map((name) => readFileSync(new URL(name, dist), 'utf8')).join('\n'));
const browser = await chromium.launch({ executablePath, args });
const rows = [];
try {
  for (const size of SIZES) {
    const path = await indexOf(size);
    const found = [];
    for (let i = 0; i < OPENINGS; i++) {
      const { child, address } = await serve(path);
      found.push(await opened(browser, address));
      const ended = once(child, 'exit');
      child.kill('SIGINT');
      await ended;
    }
    const of = (name) => median(found.map((one) => one[name]));
    rows.push([
      size.toLocaleString('en'),
      ...['paint', 'map', 'frames'].map((name) => short(of(name))),
      of('jumps').toFixed(3),
    ]);
  }
} finally {
  await browser.close();
  if (given.keep === undefined) await rm(folder, { recursive: true });
}
printTable(
  `The page of explore, ${short(bytes.length / 1000)} KB gzip; medians of ${OPENINGS} openings`,
  ['rows', 'first paint, ms', 'map, ms', 'frames/s moving', 'layout shift'],
  rows,
);
