// Makes a script that esbuild has minified some 3 % smaller, packed: by the minifier of Vite, which is
// vitest's own.

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

// Tests load this too, where `import.meta.resolve` is not there.
const { resolve } = createRequire(import.meta.url);
const vite = createRequire(resolve('vitest')).resolve('vite');
const { minifySync } = await import(pathToFileURL(vite));

/** Leaves the import of a name that is a variable to the engine; minifiers drop it. */
const LEFT = '/* @vite-ignore */ /* webpackIgnore: true */';

/** The names at the top of a script that is no module stay: other scripts may use them. */
export function minified(code, path, isModule = true) {
  const options = { compress: { target: 'es2022' }, mangle: { toplevel: isModule } };
  const { code: text, errors } = minifySync(path, code, { module: isModule, ...options });
  if (errors.length > 0) throw new Error(`${path}: ${errors[0].message}`);
  return text
    .replaceAll(/\bimport\(`([^`$\\]+)`\)/g, 'import("$1")') // programs look for imports in quotes
    .replaceAll(/\bimport\((\w+)\)/g, `import(${LEFT}$1)`);
}
