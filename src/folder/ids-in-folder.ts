/** Which ids the rows of a folder have, without loading the index where its format allows that. */

import type { Id } from '../index/id-table';
import { openIndex } from './index-folder';
import { changeNewest } from './newest';
import { idsAmong } from './stored-operations';

/**
 * Those of some ids that rows of the newest generation have. Loads the index of a folder without
 * look-up tables.
 */
export async function idsInFolder(folder: string, ids: readonly Id[]): Promise<ReadonlySet<Id>> {
  const found = await changeNewest(
    folder,
    (base) => idsAmong(folder, base, ids),
    async () => {
      const index = await openIndex(folder);
      return ids.filter((id) => index.has(id));
    },
  );
  return new Set(found);
}
