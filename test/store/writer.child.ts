/**
 * One of two writers: opens the folder that is its argument, adds a row of its own, says 'ready',
 * waits for a line, and saves. Prints 'saved', or the error.
 */

import { writeSync } from 'node:fs';
import { openIndex, saveIndex } from '../../src/store/index-folder';

const [folder, id] = process.argv.slice(2);
for (;;) {
  const index = await openIndex(folder);
  const round = index.count;
  index.add(Uint8Array.of(1, 2, 3, 4, 5), `${id} ${round}`);
  writeSync(1, `ready ${round}\n`);
  await new Promise((resolve) => process.stdin.once('data', resolve));
  try {
    await saveIndex(index, folder);
    writeSync(1, `saved ${round}\n`);
  } catch (error) {
    writeSync(1, `refused ${round}: ${(error as Error).message}\n`);
  }
  // Until both are done: the next round begins where both see the same.
  await new Promise((resolve) => process.stdin.once('data', resolve));
}
