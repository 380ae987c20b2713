import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/**
 * Bundles the script of worker threads again, so that tests run the sources as they are. In a fresh
 * clone the kernels are built first.
 */
export default function setup(): void {
  const isBuilt = existsSync(pathOf('src/kernels/text.generated.ts'));
  const script = isBuilt ? 'build-worker' : 'build-kernels'; // the second runs the first
  execFileSync(process.execPath, [pathOf(`scripts/${script}.mjs`)], { stdio: 'pipe' });
}
