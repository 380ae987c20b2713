// The package's files: the library as ES modules, one for each source file, so that bundlers take only
// what a program imports; the library as CommonJS; and the command. `--no-dts` leaves out declarations.

import { readFileSync } from 'node:fs';
import { defineConfig, type Options } from 'tsup';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

const library = { index: 'src/index.ts', node: 'src/node.ts' };

const shared: Options = {
  target: 'es2022',
  platform: 'neutral',
  external: [/^node:/],
  noExternal: ['seedrandom'], // CommonJS, which browsers cannot import
  silent: true,
};
const declarations: Options = {
  // The compiler that writes the .d.ts files still sets an option that TypeScript 6 deprecates.
  dts: { entry: library, compilerOptions: { ignoreDeprecations: '6.0' } },
};
/** Many source files in one output file, and what several of them need in chunks. */
const bundled: Options = { ...shared, splitting: true };

type Plugin = NonNullable<Options['esbuildPlugins']>[number];

/** Leaves the imports of a module as they are, with the file ending that Node and browsers want. */
const oneModulePerFile: Plugin = {
  name: 'one-module-per-file',
  setup(build) {
    build.onResolve({ filter: /^\./ }, ({ path, kind }) =>
      kind === 'entry-point' ? undefined : { path: `${path}.js`, external: true },
    );
  },
};

/** The command's entry begins with a line for the shell; nothing else does. */
const shebang = {
  name: 'shebang',
  renderChunk(code: string, { path }: { path: string }) {
    return /\bcli\.js$/.test(path) ? { code: `#!/usr/bin/env node\n${code}` } : undefined;
  },
};

const modules: Options = {
  ...shared,
  ...declarations,
  entry: [
    ...['src/**/*.ts', '!src/cli', '!src/explore', '!src/worker.ts'],
    ...['!src/**/*.assembly.ts', '!src/**/*.d.ts'],
  ],
  format: 'esm',
  splitting: false,
  esbuildPlugins: [oneModulePerFile],
  clean: true,
};

const commonjs: Options = {
  ...bundled,
  ...declarations,
  entry: library,
  format: 'cjs',
  treeshake: true, // by Rollup: without it tsup's own step breaks `a ?? (yield* b())`
};

export const command: Options = {
  ...bundled,
  entry: { cli: 'src/cli/main.ts' },
  format: 'esm',
  define: { HALFSPACE_VERSION: JSON.stringify(version) },
  plugins: [shebang],
};

/** The page that `explore` serves, with all that it needs: a script and a style next to the command. */
export const page: Options = {
  ...shared,
  entry: { explorer: 'src/explore/page/main.ts', 'explorer-style': 'src/explore/page/style.css' },
  format: 'iife',
  platform: 'browser',
  external: [],
  noExternal: [/.*/],
  minify: true,
  outExtension: () => ({ js: '.js' }),
};

export default defineConfig([modules, commonjs, command, page]);
