/**
 * Remembers where an index came from, or was saved to last: what a save needs to write only what
 * changed.
 */

import { realpath } from 'node:fs/promises';
import { ignore } from '../formats/file-io';
import { partsOf, type SimHashIndex } from '../index/simhash-index';
import type { Manifest } from '../stored/manifest';
import type { RowSet } from '../stored/row-set';

/** A generation of a folder that has the same rows as an index in memory, but for later changes. */
export interface Origin {
  /** The real path of the folder. */
  readonly path: string;
  readonly manifest: Manifest;
  /** Numbers of the rows in its files, removed ones included. */
  readonly held: RowSet;
  /** The centroids in its files: others mean that all rows were assigned to partitions again. */
  readonly centroids: Int16Array | null;
  /** False where the files and the index number rows differently. */
  readonly isAligned: boolean;
}

/** Does not keep indexes alive. `numbering` is that of the index when its origin was set. */
const origins = new WeakMap<SimHashIndex, Origin & { numbering: number }>();

/** The origin of an index; not aligned where the index has renumbered its rows since. */
export function originOf(index: SimHashIndex): Origin | undefined {
  const origin = origins.get(index);
  return origin && partsOf(index).numbering !== origin.numbering
    ? { ...origin, isAligned: false }
    : origin;
}

/** Sets the origin of an index that was loaded, or saved, just now. */
export function setOrigin(index: SimHashIndex, origin: Origin): void {
  origins.set(index, { ...origin, numbering: partsOf(index).numbering });
}

/** The real path of a folder, one for all names that it has; null where there is none. */
export function folderPath(folder: string): Promise<string | null> {
  return realpath(folder).catch(ignore(['ENOENT']));
}
