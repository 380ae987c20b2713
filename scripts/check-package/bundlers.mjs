// The page and the program of the package check as Vite, webpack and Rollup bundle them, with the
// options that they have by default but minifying, which esbuild checks.

import { cp, readdir, readFile } from 'node:fs/promises';
import { createRequire, isBuiltin } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { run } from '../lib/checks.mjs';

/** What a page loads for each bundler: its script `page.js`, and the chunks that this asks for. */
export const BUNDLERS = {
  vite: { bundle: withVite, script: '<script type="module" src="/vite/page.js"></script>' },
  webpack: { bundle: withWebpack, script: '<script defer src="/webpack/page.js"></script>' },
  rollup: { bundle: withRollup, script: '<script type="module" src="/rollup/page.js"></script>' },
};

/** Bundles an entry of the consumer's folder into `outdir`; returns the files by path there. */
async function withVite(consumer, { entry, outdir, isNode }) {
  // Vite is vitest's own.
  const vitest = createRequire(import.meta.resolve('vitest'));
  const { build } = await import(pathToFileURL(vitest.resolve('vite')));
  const output = { entryFileNames: isNode ? 'page.mjs' : 'page.js' };
  await build({
    ...{ root: consumer, base: './', configFile: false, logLevel: 'silent' },
    ...(isNode && { ssr: { noExternal: true } }),
    build: {
      ...{ outDir: outdir, minify: false, ssr: isNode },
      rollupOptions: { input: join(consumer, entry), output },
    },
  });
  return filesIn(outdir);
}

async function withWebpack(consumer, { entry, outdir, isNode }) {
  const webpack = (await installed(consumer))('webpack');
  const output = { path: outdir, filename: isNode ? 'page.cjs' : 'page.js' };
  await new Promise((resolve, reject) => {
    const options = {
      ...{ mode: 'production', target: isNode ? 'node' : 'web', context: consumer },
      ...{ entry: `./${entry}`, output, optimization: { minimize: false } },
      performance: { hints: false },
    };
    webpack(options, (error, stats) => {
      const text = stats?.toString({ all: false, errors: true, warnings: true });
      if (error || text) reject(error ?? new Error(text));
      else resolve();
    });
  });
  return filesIn(outdir);
}

async function withRollup(consumer, { entry, outdir, isNode }) {
  // Rollup is tsup's own.
  const { rollup } = createRequire(import.meta.resolve('tsup'))('rollup');
  const { nodeResolve } = (await installed(consumer))('@rollup/plugin-node-resolve');
  const bundle = await rollup({
    input: join(consumer, entry),
    external: (id) => isBuiltin(id),
    plugins: [nodeResolve({ browser: !isNode, ...(isNode && { exportConditions: ['node'] }) })],
    logLevel: 'silent',
  });
  await bundle.write({ dir: outdir, entryFileNames: isNode ? 'page.mjs' : 'page.js' });
  return filesIn(outdir);
}

let installing;

/** What requires the packages of bundlers/, which are installed the first time. */
function installed(consumer) {
  installing ??= (async () => {
    const folder = join(consumer, '../bundlers');
    await cp(fileURLToPath(new URL('bundlers/', import.meta.url)), folder, { recursive: true });
    await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder });
    return createRequire(join(folder, 'package.json'));
  })();
  return installing;
}

async function filesIn(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile());
  return new Map(
    await Promise.all(
      paths.map(async ({ parentPath, name }) => {
        const path = join(parentPath, name);
        return [path.slice(folder.length + 1), await readFile(path)];
      }),
    ),
  );
}
