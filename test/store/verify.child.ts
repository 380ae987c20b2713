/** Verifies a folder, and prints how much memory the process took for it. */

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { IndexFolder } from '../../src/store/index-folder';

export interface Reading {
  readonly rows: number;
  readonly problems: readonly unknown[];
  /** Of all files. */
  readonly bytes: number;
  /** Most memory that was in use, beyond what it held before. */
  readonly peakBytes: number;
}

const [folder] = process.argv.slice(2);
const bytes = readdirSync(folder).reduce((sum, one) => sum + statSync(join(folder, one)).size, 0);
const held = () => {
  globalThis.gc?.(); // what is garbage counts for nothing
  return process.memoryUsage.rss();
};
const before = held();
let peakBytes = 0;
const onProgress = () => {
  peakBytes = Math.max(peakBytes, held() - before);
};
const { rows, problems } = await IndexFolder.verify(folder, { onProgress });
const reading: Reading = { rows, problems, bytes, peakBytes };
process.stdout.write(JSON.stringify(reading));
