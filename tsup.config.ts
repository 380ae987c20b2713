// The package's files: the library as ES modules, one for each source file, so that bundlers take only
// what a page imports; as few files, with the command, for Node, Bun and Deno; as CommonJS; and as one
// file for pages without a bundler. `--no-dts` leaves out declarations.

import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { relative, resolve } from 'node:path';
import { defineConfig, type Options } from 'tsup';
import { minified } from './scripts/lib/minify.mjs';
import { noticesPlugin } from './scripts/lib/notices.mjs';

const require = createRequire(import.meta.url);
// esbuild is tsup's own.
const esbuild: typeof import('esbuild') = createRequire(require.resolve('tsup'))('esbuild');

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

const library = { index: 'src/index.ts', node: 'src/node.ts' };

const shared: Options = {
  target: 'es2022',
  platform: 'neutral',
  external: [/^node:/],
  noExternal: ['seedrandom'], // CommonJS, which browsers cannot import
  silent: true,
  plugins: [
    {
      name: 'smaller',
      renderChunk(code, { path }) {
        const isScript = this.options.minify && path.endsWith('js');
        return isScript ? { code: minified(code, path, this.format !== 'iife') } : undefined;
      },
    },
  ],
};
/**
 * Written once, as those of CommonJS: ES modules may import from there, the other way is an error.
 * The compiler that writes them still sets an option that TypeScript 6 deprecates.
 */
const declarations: Options = {
  dts: { entry: library, compilerOptions: { ignoreDeprecations: '6.0', stripInternal: true } },
};
/** Many source files in one output file, and what several of them need in chunks. */
const bundled: Options = { ...shared, splitting: true };

type Plugin = NonNullable<Options['esbuildPlugins']>[number];

/** What every build of the package shares. */
const plugins: Plugin[] = [noticesPlugin('THIRD-PARTY-NOTICES')];

/** Leaves the imports of a module as they are, with the file ending that Node and browsers want. */
const oneModulePerFile: Plugin = {
  name: 'one-module-per-file',
  setup(build) {
    build.onResolve({ filter: /^\./ }, ({ path, kind }) =>
      kind === 'entry-point' ? undefined : { path: `${path}.js`, external: true },
    );
  },
};

/** Leaves a long text in the file that has it as an ES module, next to whatever is built into dist/. */
const left = (name: string): Plugin => ({
  name: `left-${name}`,
  setup(build) {
    const filter = new RegExp(`/${name}\\.generated$`);
    build.onResolve({ filter }, ({ resolveDir, path }) => {
      const file = relative(resolve('src'), resolve(resolveDir, path)).replaceAll('\\', '/');
      return { path: `./${file}.js`, external: true };
    });
  },
});

/**
 * Takes apache-arrow without its streams for browsers, which we do not use and which keep all of its
 * builders from being left out.
 */
const arrowWithoutStreams: Plugin = {
  name: 'arrow-without-streams',
  setup(build) {
    const path = resolve('node_modules/apache-arrow/Arrow.mjs');
    build.onResolve({ filter: /^apache-arrow$/ }, () => ({ path, sideEffects: false }));
  },
};

/** Leaves out libzstd, which is as large as half of all else, where a page would load it. */
const withoutZstd: Plugin = {
  name: 'without-zstd',
  setup(build) {
    const contents = 'export const zstdModule = null;';
    build.onLoad({ filter: /zstd\.generated\.ts$/ }, () => ({ contents }));
  },
};

/** The command's entry begins with a line for the shell; nothing else does. */
const shebang = {
  name: 'shebang',
  renderChunk(code: string, { path }: { path: string }) {
    return /\bcli\.js$/.test(path) ? { code: `#!/usr/bin/env node\n${code}` } : undefined;
  },
};

/** A module that CommonJS cannot be, as text: what the package has besides what is compiled. */
const WRITTEN = {
  // Types of ES modules are those of CommonJS.
  'index.d.ts': "export * from './index.cjs';\n",
  'node.d.ts': "export * from './node.cjs';\n",
  // Workers of Cloudflare compile no WebAssembly at run time, but import it compiled.
  'workerd.js': `import hash from './hash.wasm';
import products from './products.wasm';
import search from './search.wasm';
import { adoptModules } from './kernels/memory.js';
const [shared, plain] = [null, { hash, products, search }];
for (const name of Object.keys(plain)) adoptModules({ [name]: { plain: plain[name], shared } });
export * from './index.js';
`,
};

/** The source files that an entry imports, however far one goes. */
function modulesOf(entry: string): string[] {
  const options = { bundle: true, write: false, metafile: true, packages: 'external' } as const;
  const { metafile } = esbuild.buildSync({ ...options, entryPoints: [entry], format: 'esm' });
  return Object.keys(metafile.inputs).filter((path) => path.startsWith('src/'));
}

const modules: Options = {
  ...shared,
  entry: modulesOf(library.index),
  format: 'esm',
  splitting: false,
  esbuildPlugins: [...plugins, oneModulePerFile, withoutZstd],
  minify: true,
  clean: true,
  onSuccess: async () => {
    for (const [name, text] of Object.entries(WRITTEN)) writeFileSync(`dist/${name}`, text);
    for (const name of ['hash', 'products', 'search']) {
      copyFileSync(`src/kernels/${name}.generated.wasm`, `dist/${name}.wasm`);
    }
  },
};

const commonjs: Options = {
  ...bundled,
  ...declarations,
  entry: library,
  format: 'cjs',
  treeshake: true, // by Rollup: without it tsup's own step breaks `(await a())?.b`
  minify: true,
  esbuildPlugins: [...plugins, left('worker')],
};

export const command: Options = {
  ...bundled,
  entry: { cli: 'src/cli/main.ts' },
  format: 'esm',
  define: { HALFSPACE_VERSION: JSON.stringify(version) },
  plugins: [...(shared.plugins ?? []), shebang],
};

/** The command, and the library for engines that load files one by one: what both need is there once. */
const node: Options = {
  ...command,
  entry: {
    cli: 'src/cli/main.ts',
    library: library.index,
    node: library.node,
  },
  minify: true,
  esbuildPlugins: [...plugins, left('worker'), left('hash'), left('search')],
};

/** The library in one file, for pages without a bundler; threads load a second one. */
const browser: Options = {
  ...shared,
  entry: { browser: library.index },
  format: 'esm',
  platform: 'browser',
  splitting: false,
  noExternal: [/.*/],
  minify: true,
  esbuildPlugins: [...plugins, left('worker'), arrowWithoutStreams, withoutZstd],
  esbuildOptions: (options) => {
    options.legalComments = 'none'; // THIRD-PARTY-NOTICES has them
  },
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

export default defineConfig([
  modules,
  commonjs,
  node,
  browser,
  { ...page, esbuildPlugins: plugins },
]);
