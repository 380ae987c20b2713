/** Changes of the newest generation of a folder, again where another writer is first. */

import { FormatError } from '../base/format-error';
import type { Manifest } from '../stored/manifest';
import { canStream } from './folder-change';
import { GoneError, LostError, newestManifest } from './generations';

/** So many others may be first, one after another, before a change gives up. */
export const MAX_WRITERS = 20;

/**
 * Changes the newest generation of a folder where it is; or `inMemory`, where its format is too old
 * for that, or where `work` returns null.
 */
export async function changeNewest<T>(
  path: string,
  work: (base: Manifest) => Promise<T | null>,
  inMemory: () => Promise<T>,
  tries = MAX_WRITERS,
): Promise<T> {
  for (let left = tries; ; left--) {
    const base = await newestManifest(path);
    if (base === null || !canStream(base)) return inMemory();
    try {
      return (await work(base)) ?? (await inMemory());
    } catch (error) {
      // Files are missing where another writer has saved twice meanwhile.
      const isMissing = error instanceof FormatError || error instanceof GoneError;
      const now = isMissing ? await newestManifest(path).catch(() => base) : base;
      const isLate = error instanceof LostError || now?.checksum !== base.checksum;
      if (!isLate || left === 0) throw error;
    }
  }
}
