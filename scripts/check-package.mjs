// Packs the library as npm would publish it, installs the tarball into an empty folder and uses it as
// users do: ES modules, CommonJS, TypeScript, a browser. Everywhere the golden digests must be equal
// to the committed ones. Stops at the first check that fails. One bundler; with `--nightly` all, Next.js,
// other runtimes and Firefox.

import assert from 'node:assert/strict';
import { access, cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { checkChromium, openBrowser } from './check-package/browser.mjs';
import { BUNDLERS } from './check-package/bundlers.mjs';
import { startNext } from './check-package/next.mjs';
import { RUNTIMES } from './check-package/runtimes.mjs';
import { check, root, run, runChecks } from './lib/checks.mjs';
import { openFirefox } from './lib/firefox.mjs';
import { checkTarball, installInto, kilobytes, packInto, tool } from './lib/packed.mjs';

// esbuild is tsup's own: the same version that built the package.
const esbuild = createRequire(import.meta.resolve('tsup'))('esbuild');

const isNightly = process.argv.includes('--nightly');

const goldenSource = join(root, 'test/hashing/golden.ts');
const goldenFile = join(root, 'test/hashing/golden.json');
const KERNELS = ['scalar', 'popcnt64', 'popcnt8'];

/** Every file of the tarball but the modules and chunks. */
const FILES = [
  'CHANGELOG.md',
  'LICENSE',
  'README.md',
  'THIRD-PARTY-NOTICES',
  ...['index', 'node'].flatMap((entry) =>
    ['cjs', 'd.cts', 'd.ts'].map((ending) => `dist/${entry}.${ending}`),
  ),
  ...['library.js', 'node.js'].map((file) => `dist/${file}`), // for Node
  ...['cli.js', 'explorer.js', 'explorer-style.css'].map((file) => `dist/${file}`),
  ...['browser.js', 'workerd.js', 'hash.wasm', 'products.wasm', 'search.wasm'].map(
    (file) => `dist/${file}`,
  ),
  ...['README.md', 'docs.jsonl'].map((file) => `datasets/sample/${file}`),
  'docs/format.md',
  'package.json',
];
/** What several entries of one format share, named by its content. */
const CHUNK = /^dist\/[a-z-]+-[\w-]{8}\.(js|cjs|d\.ts|d\.cts)$/;

/**
 * The most that importing these names may add to a web page: KiB of minified and gzipped script, without
 * apache-arrow and what is loaded when the first threads start. Only what reads or writes Arrow may
 * import that package.
 */
const BUNDLES = [
  { names: '{ estimateAngle }', limit: 2, arrow: false },
  { names: '{ SimHasher, scan }', limit: 23.5, arrow: false }, // 22 is wanted
  { names: '{ SimHashIndex }', limit: 72, arrow: false }, // 60 is wanted
  { names: '{ openIndexUrl }', limit: 86, arrow: true },
  { names: '*', limit: 152, arrow: true }, // 110 is wanted
];
/** The same of what is loaded when the first threads start. */
const THREADS_LIMIT = 65;

/** A page without a bundler: the golden codes, and codes that threads make. */
const BARE_PAGE = `
import * as library from '/bare/browser.js';
import { goldenDigests } from '/bare/golden.mjs';
const rows = { values: new Float32Array(300_000).fill(0.5), dimensions: 3 };
const { count } = await new library.SimHasher({ bits: 64 }).hashAll(rows, { threads: 2 });
globalThis.packed = { digests: await goldenDigests(library), count };`;

const folder = await mkdtemp(join(tmpdir(), 'halfspace-package-'));
const consumer = join(folder, 'consumer');
let tarball;
let golden;
let expected;
let browser;
let firefox;

/** What main.mjs or main.cjs computes with the package in Node: digests and results. */
async function reportOf(script, kernel = 'auto') {
  const file = join(folder, `${script}-${kernel}.arrow`);
  const env = { HALFSPACE_KERNEL: kernel };
  return JSON.parse(await run(process.execPath, [script, file], { cwd: consumer, env }));
}

/** Runs a script that prints what threads come to. */
async function checkThreads(script) {
  const found = JSON.parse(await run(process.execPath, [script], { cwd: consumer }));
  assert.deepEqual(found, { isEqual: true, workers: 3 });
}

/** In a browser the same as in Node, of what there is in a browser. */
function checkReport(report, problems = [], digests = golden) {
  assert.deepEqual(problems, [], 'the page has errors');
  assert.deepEqual(report.digests, digests, 'other digests than test/hashing/golden.json');
  assert.deepEqual(report.job, expected.job, 'other results than in Node');
}

/** The ES modules of the library in a tarball: its entry, and all that this imports. */
async function moduleFiles() {
  await run('tar', ['-xzf', tarball, '-C', folder]);
  const files = new Set(['dist/index.js']);
  for (const file of files) {
    const text = await readFile(join(folder, 'package', file), 'utf8');
    for (const [, from] of text.matchAll(/(?:\bfrom|\bimport\(?) ?"(\.[^"]+)"/g)) {
      files.add(join(file, '..', from));
    }
  }
  return [...files];
}

/** Bundles an import of these names as a web page would, and returns a sentence with its size. */
async function checkBundle({ names, limit, arrow }) {
  const { outputFiles, metafile } = await esbuild.build({
    stdin: { contents: `export ${names} from 'halfspace';`, resolveDir: consumer },
    external: ['apache-arrow'],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    metafile: true,
    write: false,
    splitting: true,
    outdir: consumer,
    logLevel: 'silent',
  });
  const outputs = new Map(Object.entries(metafile.outputs));
  const entry = [...outputs.keys()].find((path) => outputs.get(path).entryPoint === '<stdin>');
  /** The files that the browser loads before the page's script runs. */
  const atOnce = new Set([entry]);
  for (const path of atOnce) {
    const { imports } = outputs.get(path);
    if (!arrow)
      assert.ok(!imports.some((one) => one.external), 'the bundle imports other packages');
    for (const one of imports) {
      if (one.kind === 'import-statement' && !one.external) atOnce.add(one.path);
    }
  }
  const sizes = { atOnce: 0, later: 0 };
  for (const [i, path] of [...outputs.keys()].entries()) {
    sizes[atOnce.has(path) ? 'atOnce' : 'later'] += gzipSync(outputFiles[i].contents).length;
  }
  const { atOnce: size, later } = sizes;
  assert.ok(size <= limit * 1024, `${kilobytes(size)}, more than ${limit} KB`);
  assert.ok(later <= THREADS_LIMIT * 1024, `${kilobytes(later)} for threads`);
  return `${kilobytes(size)} of ${limit}, and ${kilobytes(later)} when threads start`;
}

async function checkTypes(files, options) {
  const common = ['--noEmit', '--strict', '--target', 'es2022', '--skipLibCheck', 'false'];
  common.push('--skipDefaultLibCheck'); // TypeScript's own are not ours to check
  await run(tool('tsc'), [...common, ...options, ...files], { cwd: consumer });
}

/** Runs the example of docs/index.md that opens an index on a web host, and returns what it cost. */
async function searchHost(page) {
  const outfile = join(consumer, 'web-host.mjs');
  const from = join(root, 'test/store/web-host.ts');
  const common = { bundle: true, format: 'esm', logLevel: 'silent' };
  await esbuild.build({ ...common, entryPoints: [from], outfile, platform: 'node' });
  const { startHost } = await import(outfile);
  const published = join(folder, 'nouns.hs');
  const nouns = join(root, 'datasets/nouns/nouns.arrow');
  const options = '--vector vector --id word --vectors float32 --optimize'.split(' ');
  await run('npx', ['halfspace', 'index', nouns, ...options, '-o', published], { cwd: consumer });
  const host = await startHost(published, { 'access-control-allow-origin': '*' });
  try {
    const docs = await readFile(join(root, 'docs/index.md'), 'utf8');
    const [, code] = /```ts\n([^`]*openIndexUrl.*?)```/s.exec(docs);
    const contents = code
      .replace('https://example.com/nouns.hs/', host.url)
      .replace(/console\.log\((.*)\); \/\/ .*/, 'globalThis.found = $1;');
    const stdin = { contents, loader: 'ts', resolveDir: consumer };
    const { outputFiles } = await esbuild.build({ ...common, stdin, write: false });
    await page.addScriptTag({ content: outputFiles[0].text, type: 'module' });
    await page.waitForFunction(() => globalThis.found !== undefined);
    const found = await page.evaluate(() => globalThis.found);
    assert.equal(`[ ${found.map((id) => `'${id}'`).join(', ')} ]`, /\/\/ (\[.*\])/.exec(code)[1]);
    return `${host.asked.length} requests, ${kilobytes(host.bytes)}`;
  } finally {
    await host.close();
  }
}

async function main() {
  await check('the golden digests are there', async () => {
    for (const file of [goldenSource, goldenFile]) {
      await access(file).catch(() => {
        throw new Error(`${file} is missing: without it no engine can be checked`);
      });
    }
    golden = JSON.parse(await readFile(goldenFile, 'utf8'));
    const count = Object.keys(golden).length;
    assert.ok(count > 0, `${goldenFile} is empty`);
    return `${count} of them`;
  });

  await check('there is a Chromium', checkChromium);

  tarball = await packInto(folder);

  await check('the tarball has the files it should have and no others', async () => {
    const listing = (await run('tar', ['-tzf', tarball])).trim().split('\n');
    const files = listing.map((path) => path.replace(/^package\//, '')).sort();
    const modules = await moduleFiles();
    const chunks = files.filter((file) => CHUNK.test(file) && !modules.includes(file));
    assert.deepEqual(
      files.filter((file) => !chunks.includes(file)),
      [...FILES, ...modules].sort(),
    );
    return `${FILES.length}, ${modules.length} modules and ${chunks.length} chunks`;
  });

  await checkTarball(tarball);

  await check('installs into an empty folder', async () => {
    await cp(join(root, 'scripts/check-package/consumer'), consumer, { recursive: true });
    const packages = await installInto(consumer, tarball);
    for (const [name, source] of [
      ['golden', goldenSource],
      ['job', join(consumer, 'job.mjs')],
      ['threads', join(consumer, 'threads.mjs')],
    ]) {
      for (const [format, ending] of [
        ['esm', 'mjs'],
        ['cjs', 'cjs'],
      ]) {
        const outfile = join(consumer, `${name}.${ending}`);
        if (outfile === source) continue;
        await esbuild.build({
          entryPoints: [source],
          outfile,
          format,
          bundle: true,
          logLevel: 'silent',
        });
      }
    }
    return `with ${packages.size - 1} packages below it, each once`;
  });

  await check('shows the demo, without a clone', async () => {
    const start = performance.now();
    const shown = await run('npx', ['halfspace', 'demo'], { cwd: consumer });
    assert.match(shown, /"id":"tea-1"/);
    assert.match(shown, /\$ halfspace explore docs.jsonl --text body -o page.html\n$/);
    return `${((performance.now() - start) / 1000).toFixed(1)} s`;
  });

  await check('works with import', async () => {
    expected = await reportOf('main.mjs');
    assert.deepEqual(expected.digests, golden, 'other digests than test/hashing/golden.json');
    return `Node ${process.versions.node}`;
  });
  await check('works with require, with equal results', async () => {
    assert.deepEqual(await reportOf('main.cjs'), expected);
  });
  for (const kernel of KERNELS) {
    await check(`gives equal results in Node with the kernel '${kernel}'`, async () => {
      assert.deepEqual(await reportOf('main.mjs', kernel), expected);
    });
  }

  for (const [name, search] of Object.entries(isNightly ? RUNTIMES : {})) {
    await check(`makes the golden code and searches in ${name}`, () => search(consumer, golden));
  }

  for (const script of ['threads-main.mjs', 'threads-main.cjs']) {
    await check(`gives equal results on three threads in Node: ${script}`, () =>
      checkThreads(script),
    );
  }

  const types = join(consumer, 'types.ts');
  await cp(types, join(consumer, 'types.mts'));
  await cp(types, join(consumer, 'types.cts'));
  await check('types: node16, ES module and CommonJS', () =>
    checkTypes(['types.mts', 'types.cts'], ['--module', 'node16']),
  );
  await check('types: bundler', () =>
    checkTypes(['types.ts'], ['--module', 'esnext', '--moduleResolution', 'bundler']),
  );

  for (const bundle of BUNDLES) {
    await check(`the size of a bundle of ${bundle.names}`, () => checkBundle(bundle));
  }
  await check('only what reads or writes Arrow imports apache-arrow', async () => {
    const all = Object.keys(await import(join(consumer, 'node_modules/halfspace/dist/index.js')));
    const others = all.filter((name) => !/Arrow|RowBatch|IndexUrl/.test(name));
    return checkBundle({ names: `{ ${others.join()} }`, limit: 108, arrow: false });
  });

  let script;
  await check('is bundled for browsers', async () => {
    const { outputFiles } = await esbuild.build({
      entryPoints: [join(consumer, 'page.mjs')],
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'browser',
      write: false,
      logLevel: 'silent',
    });
    script = outputFiles[0].contents;
    return `${kilobytes(script.length)} minified`;
  });
  await check('starts in a headless Chromium', async () => {
    browser = await openBrowser(script);
    return browser.version;
  });
  const { page, strictPage, problems, requests } = browser;
  await check('gives equal results in a page', async () => {
    checkReport(await page.evaluate(() => globalThis.packed.report()), problems);
  });
  await check('gives equal results in a Web Worker', async () => {
    checkReport(await page.evaluate(() => globalThis.packed.reportOfWorker()), problems);
  });
  await check('gives equal results where a page forbids WebAssembly', async () => {
    const said = await strictPage.evaluate(() => globalThis.packed.missing());
    assert.match(said, /needs WebAssembly/, 'the policy does not forbid WebAssembly');
    const withoutSets = Object.entries(golden).filter(([name]) => !name.startsWith('minwise'));
    const report = await strictPage.evaluate(() => globalThis.packed.report(false));
    checkReport(report, [], Object.fromEntries(withoutSets));
  });
  // Shared memory, none, and a policy that forbids workers.
  for (const [path, isIsolated] of [
    ['/isolated', true],
    ['/', false],
    ['/no-workers', false],
  ]) {
    await check(`gives equal results on three threads in Chromium: ${path}`, async () => {
      const { page: one } = await browser.open(path);
      const found = await one.evaluate(() => globalThis.packed.threads());
      assert.deepEqual(found, { isEqual: true, workers: 3, isIsolated });
    });
  }
  await check(
    'gives equal results in Chromium without Workers, refuses wrong numbers',
    async () => {
      const { page: one } = await browser.open('/');
      const found = await one.evaluate(() => {
        delete globalThis.Worker;
        return Promise.all([globalThis.packed.threads(), globalThis.packed.refusals()]);
      });
      const integer = (got) => `"threads" expected an integer in 1..256, got ${got}`;
      assert.deepEqual(found, [
        { isEqual: true, workers: 0, isIsolated: false },
        [
          ...[0, -1].map(integer),
          `"threads" expected 'auto' or an integer in 1..256, got "many"`,
          integer(10_000),
        ],
      ]);
    },
  );
  await check('requests only the page and its script', async () => {
    const paths = ['/', '/isolated', '/no-workers', '/page.js', '/strict'];
    assert.deepEqual([...new Set(requests)].sort(), paths);
  });
  await check('is one file for a page without a bundler, and one more for threads', async () => {
    const installed = join(consumer, 'node_modules/halfspace');
    const { jsdelivr } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
    const worker = 'threads/worker.generated.js';
    const served = new Map([
      ['browser.js', await readFile(join(installed, jsdelivr))],
      [worker, await readFile(join(installed, 'dist', worker))],
      ['golden.mjs', await readFile(join(consumer, 'golden.mjs'))],
    ]);
    browser.serve('bare', served, `<script type="module">${BARE_PAGE}</script>`);
    const before = requests.length;
    const { page: one, problems: own } = await browser.open('/bare');
    const { digests, count } = await one.evaluate(() => globalThis.packed);
    assert.deepEqual([digests, count, own], [golden, 100_000, []]);
    const files = ['browser.js', 'golden.mjs', worker].map((file) => `/bare/${file}`);
    assert.deepEqual(requests.slice(before), ['/bare', ...files]);
  });
  if (isNightly) {
    await check('gives equal results in a headless Firefox, bundled and bare', async () => {
      firefox = await openFirefox();
      const { origin } = browser;
      checkReport(await firefox.run(`${origin}/`, 'packed.report()'));
      const threads = await firefox.run(`${origin}/`, 'packed.threads()');
      assert.deepEqual(threads, { isEqual: true, workers: 3, isIsolated: false });
      const { digests, count } = await firefox.run(`${origin}/bare`, 'packed');
      assert.deepEqual([digests, count], [golden, 100_000]);
      return firefox.version;
    });
  }
  const bundlers = Object.entries(BUNDLERS).slice(0, isNightly ? undefined : 1);
  for (const [name, { bundle, script: tag }] of bundlers) {
    await check(
      `gives equal results on three threads as ${name} bundles it for pages`,
      async () => {
        const outdir = join(folder, name);
        const files = await bundle(consumer, { entry: 'page.mjs', outdir, isNode: false });
        browser.serve(name, files, tag);
        const { page: one, problems: own } = await browser.open(`/${name}`);
        const found = await one.evaluate(() => globalThis.packed.threads());
        assert.deepEqual(found, { isEqual: true, workers: 3, isIsolated: false });
        assert.deepEqual(own, []);
        return `${files.size} files`;
      },
    );
    await check(`gives equal results on three threads as ${name} bundles it for Node`, async () => {
      const outdir = join(folder, `${name}-node`);
      const files = await bundle(consumer, { entry: 'threads-main.mjs', outdir, isNode: true });
      await checkThreads(
        join(
          outdir,
          [...files.keys()].find((path) => path.startsWith('page.')),
        ),
      );
    });
  }
  if (isNightly) {
    await check('gives equal results on the server and in the page of Next.js', async () => {
      const { origin, close } = await startNext(consumer);
      try {
        const { page: one, problems: own } = await browser.open(`${origin}/`);
        const served = JSON.parse(await one.locator('pre').textContent());
        assert.deepEqual(served, { digests: golden, id: 'b' });
        assert.deepEqual(await one.evaluate(() => globalThis.packed.report()), served);
        const found = await one.evaluate(() => globalThis.packed.threads());
        assert.deepEqual(found, { isEqual: true, workers: 3, isIsolated: false });
        assert.deepEqual(own, []);
      } finally {
        close();
      }
    });
  }
  await check('the page of docs/index.md searches a folder on another host', () =>
    searchHost(page),
  );
}

await runChecks(main, async () => {
  await firefox?.close();
  await browser?.close();
  await rm(folder, { recursive: true, force: true });
});
