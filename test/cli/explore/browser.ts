import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import * as quiet from '../../../scripts/lib/chromium.mjs';

/** Whether there is a Chromium to open pages in; `apt-get install chromium` gives one. */
export const hasChromium = existsSync(quiet.executablePath);

export interface OpenPage {
  readonly page: Page;
  /** What the page asked of anything but its own address. */
  readonly requests: readonly string[];
  /** Errors and warnings of its console, and dialogs that it opened. */
  readonly problems: readonly string[];
}

let shared: Browser | null = null;

/** A browser that the tests of a file share, each with a context of its own. */
async function sharedBrowser(): Promise<Browser> {
  shared ??= await chromium.launch({ executablePath: quiet.executablePath, args: [...quiet.args] });
  return shared;
}

/** Ends it, after the tests of a file that open pages. */
export async function closeBrowser(): Promise<void> {
  await shared?.close();
  shared = null;
}

/** Opens an address in a context of its own; with further arguments in a browser of its own. */
export async function openAddress(
  address: string,
  { args, ...options }: BrowserContextOptions & { readonly args?: readonly string[] } = {},
): Promise<OpenPage> {
  const { executablePath } = quiet;
  const browser = args
    ? await chromium.launch({ executablePath, args: [...quiet.args, ...args] })
    : await sharedBrowser();
  const context = await browser.newContext({
    ...{ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' },
    ...options,
  });
  onTestFinished(() => (args ? browser.close() : context.close()));
  context.setDefaultTimeout(40_000);
  const page = await context.newPage();
  return { page, ...(await watched(page, address)) };
}

/** Opens an address in a page, and watches what it does. */
export async function watched(page: Page, address: string): Promise<Omit<OpenPage, 'page'>> {
  const requests: string[] = [];
  const problems: string[] = [];
  const [own] = address.split('#');
  page.on('request', (request) => {
    const url = request.url();
    const isOwn = own.startsWith('http') ? url.startsWith(own) : url.split('#')[0] === own;
    if (!isOwn && !url.startsWith('data:')) requests.push(url);
  });
  page.on('console', (message) => {
    // The software renderer of a machine without a graphics card says that it is slow.
    if (!/GPU stall|GL Driver Message/.test(message.text())) problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.goto(address);
  return { requests, problems };
}

/** Opens a page of a file, cut off from any network. */
export function openPage(path: string, options: BrowserContextOptions = {}): Promise<OpenPage> {
  return openAddress(pathToFileURL(path).href, { offline: true, ...options });
}

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** Nothing that axe-core finds wrong for people who read with other means. */
export async function expectAccessible(page: Page): Promise<void> {
  // The page forbids scripts of others: this one is run by the browser's own tools.
  const { readFile } = await import('node:fs/promises');
  await page.evaluate(await readFile(axe, 'utf8'));
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    const { violations } = await axe.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  });
  expect(found).toEqual([]);
}

/** What sticks out of the page to the side, in pixels. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return scrollWidth - clientWidth;
  });
}

/** How far parts of the page have jumped since it was opened, but by what a person did. */
export function layoutShift(page: Page): Promise<number> {
  return page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        new PerformanceObserver((list) => {
          const shifts = list.getEntries() as (PerformanceEntry & { value: number })[];
          resolve(shifts.reduce((sum, { value }) => sum + value, 0));
        }).observe({ type: 'layout-shift', buffered: true });
        setTimeout(() => resolve(0), 500); // there was none
      }),
  );
}
