// Modules of the library's own source, for what the package does not export: bundled on the fly.

import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/**
 * What TypeScript code exports; its imports are relative to bench/lib. Throws where a module has no
 * export of that name, which the bundler takes for a type and leaves out.
 */
export async function fromSource(contents) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: fileURLToPath(new URL('.', import.meta.url)), loader: 'ts' },
    bundle: true,
    write: false,
    format: 'esm',
    target: 'node20',
  });
  const source = Buffer.from(outputFiles[0].contents).toString('base64');
  const exported = await import(`data:text/javascript;base64,${source}`);
  for (const [, names] of contents.matchAll(/export \{([^}]*)\} from/g)) {
    for (const name of names.split(',').map((one) => one.trim())) {
      if (!(name in exported)) throw new Error(`the sources export no "${name}"`);
    }
  }
  return exported;
}
