// A real headless Chromium and the tiny server whose pages it opens. Nothing but pages and their scripts
// is served, and every request is recorded.

import { access, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { args, executablePath } from '../lib/chromium.mjs';

/** A policy under which scripts of the page's origin run and WebAssembly does not compile. */
const WITHOUT_WASM = "default-src 'self'; img-src data:";

/** Headers of each page. */
const PAGES = {
  '/': {},
  '/strict': { 'content-security-policy': WITHOUT_WASM },
  '/isolated': {
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-embedder-policy': 'require-corp',
  },
  '/no-workers': {
    'content-security-policy': "default-src 'self' 'wasm-unsafe-eval'; img-src data:",
  },
};

const SCRIPT = '<script type="module" src="/page.js"></script>';
const pageOf = (script) => `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<title>halfspace</title>${script}`;

/** Throws a sentence when there is no Chromium. */
export async function checkChromium() {
  await access(executablePath).catch(() => {
    throw new Error(
      `no Chromium at ${executablePath}: install it with "apt-get install chromium", or name another one in the environment variable CHROMIUM`,
    );
  });
}

/**
 * Serves `script` as the script of pages and opens two of them: `page` allows WebAssembly, `strictPage`
 * does not. `requests` are the paths asked for, `problems` the errors on the console of `page`.
 */
export async function openBrowser(script) {
  const requests = [];
  const scripts = new Map([['/page.js', script]]);
  const pages = new Map(Object.keys(PAGES).map((path) => [path, pageOf(SCRIPT)]));
  const server = createServer(({ url }, response) => {
    requests.push(url);
    if (scripts.has(url)) {
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(scripts.get(url));
    } else if (pages.has(url)) {
      response.writeHead(200, { 'content-type': 'text/html', ...PAGES[url] }).end(pages.get(url));
    } else {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  const profile = await mkdtemp(join(tmpdir(), 'halfspace-chromium-'));
  let context;

  async function close() {
    await context?.close();
    server.closeAllConnections();
    server.close();
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Serves the files of a bundler below `/NAME/`, and at `/NAME` a page that loads its script. */
  function serve(name, files, tag) {
    for (const [path, bytes] of files) scripts.set(`/${name}/${path}`, bytes);
    pages.set(`/${name}`, pageOf(tag));
  }

  /** Opens a page, of another origin by its address, and waits for its script; requests to other servers are recorded too. */
  async function open(path) {
    const page = await context.newPage();
    const problems = [];
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(origin) && !url.startsWith('blob:')) requests.push(url);
    });
    await page.goto(new URL(path, origin).href);
    await page
      .waitForFunction(() => globalThis.packed !== undefined)
      .catch((error) => {
        throw new Error(`${path} did not start: ${problems.join('; ') || error.message}`);
      });
    return { page, problems };
  }

  try {
    context = await chromium.launchPersistentContext(profile, {
      executablePath,
      args,
      headless: true,
    });
    const version = context.browser()?.version() ?? 'of unknown version';
    const { page, problems } = await open('/');
    const { page: strictPage } = await open('/strict');
    return { version, origin, page, problems, strictPage, requests, open, serve, close };
  } catch (error) {
    await close();
    throw error;
  }
}
