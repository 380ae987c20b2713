import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { onTestFinished } from 'vitest';

const executable = process.env.CHROMIUM ?? '/usr/bin/chromium';

/** Whether there is a Chromium to open pages in; `apt-get install chromium` gives one. */
export const hasChromium = existsSync(executable);

const ARGUMENTS = [
  '--no-sandbox', // Chromium refuses to run as root with its sandbox, and CI is root
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export interface OpenPage {
  readonly page: Page;
  /** What the page asked for, itself left out. */
  readonly requests: readonly string[];
  /** Errors and warnings of its console, and dialogs that it opened. */
  readonly problems: readonly string[];
}

/** Opens a page of a file, cut off from any network. */
export async function openPage(path: string, colorScheme?: 'light' | 'dark'): Promise<OpenPage> {
  const browser: Browser = await chromium.launch({
    ...{ executablePath: executable, args: ARGUMENTS },
  });
  onTestFinished(() => browser.close());
  const context = await browser.newContext({
    ...{ offline: true, viewport: { width: 1200, height: 2400 } },
    ...(colorScheme !== undefined && { colorScheme }),
  });
  const page = await context.newPage();
  const url = pathToFileURL(path).href;
  const requests: string[] = [];
  const problems: string[] = [];
  page.on('request', (request) => {
    if (request.url() !== url) requests.push(request.url());
  });
  page.on('console', (message) => problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.goto(url);
  return { page, requests, problems };
}

/** Texts of a chart, or of the rows of a table, that lie on each other. */
export function overlappingTexts(page: Page, selector: string): Promise<string[]> {
  return page.evaluate((where) => {
    const found: string[] = [];
    for (const chart of document.querySelectorAll(where)) {
      const boxes = [...chart.querySelectorAll('text')].map((text) => {
        return { text: text.textContent, box: text.getBoundingClientRect() };
      });
      const frame = chart.getBoundingClientRect();
      boxes.forEach(({ text, box }, i) => {
        if (box.left < frame.left - 1 || box.right > frame.right + 1) {
          found.push(`${chart.id}: "${text}" sticks out`);
        }
        for (const other of boxes.slice(i + 1)) {
          const across = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
          const up = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
          if (across > 1 && up > 3) found.push(`${chart.id}: "${text}" on "${other.text}"`);
        }
      });
    }
    return found;
  }, selector);
}
