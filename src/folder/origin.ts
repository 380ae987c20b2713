/** Where an index came from, or was saved to last: what a save needs to write only what changed. */

import { realpath } from 'node:fs/promises';
import { ignore } from '../formats/file-io';
import { partsOf, type SimHashIndex } from '../index/simhash-index';
import type { Manifest } from '../stored/manifest';
import type { RowSet } from '../stored/row-set';

export interface Origin {
  readonly path: string;
  readonly manifest: Manifest;
  /** Rows that the files have, removed ones included. */
  readonly held: RowSet;
  /** The partitions' centroids: others mean that all rows were grouped again. */
  readonly centroids: Int16Array | null;
  /** False when rows have other numbers in the files. */
  readonly isAligned: boolean;
}

const origins = new WeakMap<SimHashIndex, Origin & { numbering: number }>();

export function originOf(index: SimHashIndex): Origin | undefined {
  const origin = origins.get(index);
  return origin && partsOf(index).numbering !== origin.numbering
    ? { ...origin, isAligned: false }
    : origin;
}

export function setOrigin(index: SimHashIndex, origin: Origin): void {
  origins.set(index, { ...origin, numbering: partsOf(index).numbering });
}

/** One name for a folder, by whatever way it is reached; null where there is none. */
export function folderPath(folder: string): Promise<string | null> {
  return realpath(folder).catch(ignore(['ENOENT']));
}
