/** Saves an index in memory to a folder as one new generation, and loads it. */

import { wrongType } from '../base/check';
import type { LongCall } from '../base/long-work';
import { coreOf, type SimHashIndex } from '../index/simhash-index';
import { pathOf } from './folder-facts';
import { FolderPlace } from './folder-place';
import { GenerationWriter, newestManifest, prepareFolder } from './generations';
import { loadIndex } from './load-index';
import type { Manifest } from './manifest';
import { withPlace } from './place';
import {
  checkSaveOptions,
  noteOrigin,
  originOf,
  type SaveIndexOptions,
  writeIndex,
} from './write-index';

/**
 * Saves an index to a folder, all or nothing. Writes only what changed where the index was opened
 * from or saved to this folder.
 */
export async function saveIndex(
  index: SimHashIndex,
  folder: string,
  options?: SaveIndexOptions,
): Promise<void> {
  const core = coreOf(index);
  if (typeof folder !== 'string') throw wrongType('folder', 'a path', folder);
  core.refuseIfBusy();
  const given = checkSaveOptions(options, index.count);
  await prepareFolder(folder);
  const base = await newestManifest(folder);
  const path = await pathOf(folder);
  const origin = originOf(index, { name: folder, path }, base, given.replace === true);
  const writer = new GenerationWriter(folder, base);
  await writer.run(() =>
    withPlace(new FolderPlace(folder), (place) =>
      writeIndex(writer, index, path, { origin, place }, given),
    ),
  );
}

/** Loads the index of a folder's generation. */
export async function loadFolder(
  folder: string,
  manifest: Manifest,
  call: LongCall,
): Promise<SimHashIndex> {
  const index = await loadIndex(new FolderPlace(folder), manifest, call);
  noteOrigin(index, await pathOf(folder), manifest);
  return index;
}
