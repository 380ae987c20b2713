import { join } from 'node:path';
import { expect, it } from 'vitest';
import { IndexFolder } from '../../src/folder/index-folder';
import { saveIndex } from '../../src/folder/save-index';
import { SimHashIndex } from '../../src/index/simhash-index';
import { temporaryFolder } from './collection';

it('a stop while the index is opened is no damage', async () => {
  const folder = join(await temporaryFolder(), 'some.hs');
  const index = new SimHashIndex({ bits: 64 });
  index.addAll(
    [
      [1, 2],
      [2, 1],
    ].map((values) => ({ indices: [0, 1], values })),
  );
  await saveIndex(index, folder);
  const stop = new AbortController();
  // Stops after the last file, when only opening the index is left.
  const onProgress = (done: number, total: number) => done === total - 1 && stop.abort();
  const work = IndexFolder.verify(folder, { signal: stop.signal, onProgress: onProgress as never });
  await expect(work).rejects.toThrow(/abort/i);
  expect((await IndexFolder.verify(folder)).problems).toEqual([]);
});
