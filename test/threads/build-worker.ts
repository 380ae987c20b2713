import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Bundles the script of worker threads again, so that tests run the sources as they are. */
export default function setup(): void {
  const script = fileURLToPath(new URL('../../scripts/build-worker.mjs', import.meta.url));
  execFileSync(process.execPath, [script], { stdio: 'pipe' });
}
