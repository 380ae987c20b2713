/** Which ids a folder has, without loading it where its format lets us. */

import type { Id } from '../index/id-table';
import { openIndex } from './index-folder';
import { changeNewest } from './newest';
import { idsAmong } from './stored-operations';

/** Those of these ids that rows of the newest generation have. */
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
