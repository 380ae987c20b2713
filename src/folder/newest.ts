/** Changes the newest generation of a folder, and the next one where another writer was first. */

import { FormatError } from '../base/format-error';
import type { Manifest } from '../stored/manifest';
import { canStream } from './folder-change';
import { GoneError, LostError, newestManifest } from './generations';

/** How many other writers may be first, one after another, before a change gives up. */
export const MAX_WRITERS = 20;

/**
 * Runs `work` on the newest generation. Runs `inMemory` in its place where the format is too old to
 * be changed on disk, or where `work` returns null. Tries again where another writer has committed
 * meanwhile, at most `tries` times.
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
      // Files of `base` are deleted once another writer has saved twice: no damage, but too late.
      const isMissing = error instanceof FormatError || error instanceof GoneError;
      const now = isMissing ? await newestManifest(path).catch(() => base) : base;
      const isLate = error instanceof LostError || now?.checksum !== base.checksum;
      if (!isLate || left === 0) throw error;
    }
  }
}
