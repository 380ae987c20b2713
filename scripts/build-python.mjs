// Puts the command into the Python package, without imports of other packages: a task of a cluster
// starts it without an installation, and reads the parts of the verb that it runs.

import { readFileSync } from 'node:fs';
import { build } from 'tsup';
import { noticesPlugin } from './lib/notices.mjs';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const outDir = 'python/src/halfspace/node';

await build({
  ...{ config: false, silent: true, clean: true, splitting: true, minify: true, dts: false },
  ...{ entry: { command: 'src/cli/main.ts' }, format: 'esm', target: 'es2022', platform: 'node' },
  outDir,
  esbuildPlugins: [noticesPlugin(`${outDir}/THIRD-PARTY-NOTICES`)],
  outExtension: () => ({ js: '.mjs' }),
  define: { HALFSPACE_VERSION: JSON.stringify(version) },
  noExternal: [/^(?!node:)/],
});
