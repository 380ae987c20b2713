/**
 * Saves generation after generation to the folder that is its argument, from the one that is there
 * on, until it is killed. Says 'ready', waits for a line, and prints each generation that is saved.
 */

import { existsSync, writeSync } from 'node:fs';
import { IndexFolder, openIndex } from '../../src/folder/index-folder';
import { saveIndex } from '../../src/folder/save-index';
import { Codes, SimHashIndex } from '../../src/index';
import { BITS, changeOf } from './crash-plan';

const [folder] = process.argv.slice(2);
writeSync(1, 'ready\n');
await new Promise((resolve) => process.stdin.once('data', resolve));

const isThere = existsSync(folder) && (await IndexFolder.open(folder).catch(() => null)) !== null;
let index = isThere ? await openIndex(folder) : new SimHashIndex({ bits: BITS });
let generation = isThere ? (await IndexFolder.open(folder)).generation : 0;
for (;;) {
  generation++;
  const { isCompaction, added, removed } = changeOf(generation);
  if (isCompaction) {
    await (await IndexFolder.open(folder)).compact();
    index = await openIndex(folder);
  } else {
    const bytes = Uint8Array.from(added.flatMap(({ code }) => [...code]));
    index.addAll(
      Codes.from(bytes, { bits: BITS }),
      added.map(({ id }) => id),
    );
    for (const id of removed) index.remove(id);
    await saveIndex(index, folder);
  }
  writeSync(1, `saved ${generation}\n`);
}
