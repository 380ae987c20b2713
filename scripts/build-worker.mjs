// Bundles src/worker.ts, what a worker thread runs, to one script and writes it as a text to
// src/threads/worker.generated.ts. The kernels are left out: the calling thread sends them compiled.

import { readFile, rename, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { minified } from './lib/minify.mjs';

// esbuild is tsup's own: the same version that builds the package.
const esbuild = createRequire(import.meta.resolve('tsup'))('esbuild');
const src = fileURLToPath(new URL('../src/', import.meta.url));
const target = `${src}threads/worker.generated.ts`;

/** What a worker never runs: the text of the kernels, and the threads that it would start itself. */
const leaveOut = {
  name: 'leave-out',
  setup(build) {
    build.onLoad({ filter: /(hash|search)\.generated\.ts$/ }, ({ path }) => {
      const [, name] = /(\w+)\.generated\.ts$/.exec(path);
      return {
        contents: `export const ${name}Module = { name: '${name}', limitsAt: 0, text: '' };`,
      };
    });
    build.onLoad({ filter: /threads.pool\.ts$/ }, () => ({ contents: 'export {};' }));
  },
};

const { outputFiles } = await esbuild.build({
  entryPoints: [`${src}worker.ts`],
  bundle: true,
  minify: true,
  format: 'iife',
  platform: 'neutral',
  target: 'es2022',
  write: false,
  plugins: [leaveOut],
  logLevel: 'error',
});
const script = minified(outputFiles[0].text, 'worker.js', false);
const text = `// Made by scripts/build-worker.mjs from src/worker.ts.
export const WORKER_SCRIPT =
  ${JSON.stringify(script)};
`;
if ((await readFile(target, 'utf8').catch(() => '')) !== text) {
  await writeFile(`${target}.${process.pid}`, text);
  await rename(`${target}.${process.pid}`, target);
}
process.stderr.write(`worker: ${script.length} bytes of script\n`);
