import { readFileSync } from 'node:fs';
import { defineConfig, type Options } from 'tsup';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

const library = { index: 'src/index.ts', node: 'src/node.ts' };

const shared: Options = {
  target: 'es2022',
  platform: 'neutral',
  external: [/^node:/],
  splitting: true,
  treeshake: true,
  // The compiler that writes the .d.ts files still sets an option that TypeScript 6 deprecates.
  dts: { entry: library, compilerOptions: { ignoreDeprecations: '6.0' } },
};

/** The command's entry begins with a line for the shell; nothing else does. */
const shebang = {
  name: 'shebang',
  renderChunk(code: string, { path }: { path: string }) {
    return /\bcli\.js$/.test(path) ? { code: `#!/usr/bin/env node\n${code}` } : undefined;
  },
};

/** The library and the command as modules. */
export const modules: Options = {
  ...shared,
  entry: { ...library, cli: 'src/cli/main.ts' },
  format: 'esm',
  define: { HALFSPACE_VERSION: JSON.stringify(version) },
  plugins: [shebang],
  clean: true,
};

export default defineConfig([modules, { ...shared, entry: library, format: 'cjs' }]);
