/** A file and all that it imports as one module that Node runs: `child.mjs` in a folder. */

import { fileURLToPath } from 'node:url';
import { build } from 'tsup';

export async function bundleInto(folder: string, file: URL): Promise<void> {
  await build({
    entry: { child: fileURLToPath(file) },
    outDir: folder,
    outExtension: () => ({ js: '.mjs' }),
    format: ['esm'],
    target: 'node20',
    noExternal: [/./],
    config: false,
    silent: true,
    clean: false,
  });
}
