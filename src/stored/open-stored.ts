/**
 * Opens an index whose rows stay in their files. If files disappear meanwhile because newer
 * generations were saved or published, it opens the newest generation instead.
 */

import { checkByteCount } from '../base/byte-count';
import { FormatError } from '../base/format-error';
import { contentOf, type StoredContent } from './content';
import type { FoundManifest, StoredFiles } from './stored-files';
import { StoredIndex } from './stored-index';

export type { StoredIndex };

/** How often opening starts again with a newer generation. */
const TRIES = 5;

/** How an index is opened whose rows stay where they are. */
export interface OpenStoredOptions {
  /**
   * The limit of what it holds in memory: bytes, or a text as '512MB'. Searches of an index that
   * fits are as fast as in memory.
   */
  memory: number | string;
  /** An older generation, while its files are there; the newest by default. */
  generation?: number | undefined;
  /**
   * The segments from `first` to `last` alone, by their places in the folder, so that several
   * machines divide an index; files of others need not be there. All by default.
   */
  segments?: readonly [first: number, last: number] | undefined;
  /** Stops opening. */
  signal?: AbortSignal;
}

/** Opens the index of these files, and closes them where it cannot be opened. */
export async function openStored(
  files: StoredFiles,
  { memory, generation, segments, signal }: OpenStoredOptions,
): Promise<StoredIndex> {
  try {
    const limit = checkByteCount('memory', memory);
    const found = await files.manifest(generation, signal);
    if (found === null) throw new FormatError('no index: it has no manifest', files.place);
    const isNewest = generation === undefined;
    return new StoredIndex(await opened(files, found, { isNewest, segments, signal }), limit);
  } catch (error) {
    await files.close();
    throw error;
  }
}

/** The content of a generation, or of a newer one if its files were replaced meanwhile. */
async function opened(
  files: StoredFiles,
  first: FoundManifest,
  { isNewest, segments, signal }: { isNewest: boolean } & Omit<OpenStoredOptions, 'memory'>,
): Promise<StoredContent> {
  let found = first;
  for (let left = TRIES; ; left--) {
    try {
      return await contentOf(files, found, { segments, signal });
    } catch (error) {
      if (!isNewest || left === 0) throw error;
      const now = await files.manifest(undefined, signal).catch(() => null);
      if (now === null || now.generation === found.generation) throw error;
      found = now;
    }
  }
}
