/** Merges folders into the first, says when half of the files are there, and then waits to be killed. */

import { writeSync } from 'node:fs';
import { IndexFolder } from '../../src/store/index-folder';

const [folder, ...parts] = process.argv.slice(2);
const onProgress = (done: number, total: number) => {
  if (done < total / 2) return;
  writeSync(1, 'half\n');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};
await IndexFolder.merge(folder, parts, { replace: true, onProgress });
