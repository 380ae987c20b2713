/**
 * Saves an index in memory to a folder as one new generation: all of it, or only what changed since
 * it was opened from or saved to this folder. A save over a newer generation than the index knows
 * is refused.
 */

import { checkOptions, wrongType, wrongValue } from '../base/check';
import { checkLongCall, LONG_CALL } from '../base/long-work';
import { partsOf, SimHashIndex } from '../index/simhash-index';
import type { Manifest } from '../stored/manifest';
import { RowBatch } from '../table/row-batch';
import { FrequencyTable } from '../text/frequency-table';
import { newestManifest, prepareFolder } from './generations';
import { folderPath, type Origin, originOf, setOrigin } from './origin';
import type { SaveIndexOptions, SaveRequest } from './write-generation';
import { writeGeneration } from './write-generation';

const OPTIONS = ['columns', 'text', 'frequencies', 'replace', ...LONG_CALL];

/**
 * Saves an index to a folder, all or nothing. Writes only what changed where the index was opened
 * from or saved to this folder.
 *
 * @example
 * const index = new SimHashIndex<string>();
 * index.add([1, 0], 'a');
 * await saveIndex(index, 'docs.hs');
 * console.log((await openIndex('docs.hs')).count); // 1
 */
export async function saveIndex(
  index: SimHashIndex,
  folder: string,
  options?: SaveIndexOptions,
): Promise<void> {
  if (!(index instanceof SimHashIndex)) throw wrongType('index', 'a SimHashIndex', index);
  if (typeof folder !== 'string') throw wrongType('folder', 'a path', folder);
  partsOf(index).refuseIfBusy();
  const given = checkLongCall(checkOptions('options', options, OPTIONS));
  checkCarried(given, index.count);
  await prepareFolder(folder);
  const base = await newestManifest(folder);
  const origin = originIn(index, { path: await pathOf(folder), base, folder, given });
  await save(index, { folder, base, origin, given });
}

/** Writes the next generation and returns its manifest, which becomes the origin of the index. */
export async function save(index: SimHashIndex, request: SaveRequest): Promise<Manifest> {
  const written = await writeGeneration(index, request);
  setOrigin(index, { path: await pathOf(request.folder), ...written });
  return written.manifest;
}

async function pathOf(folder: string): Promise<string> {
  return (await folderPath(folder)) ?? folder;
}

function checkCarried({ columns, text, frequencies, replace }: SaveIndexOptions, count: number) {
  if (columns !== undefined && !(columns instanceof RowBatch)) {
    throw wrongType('columns', 'a RowBatch', columns);
  }
  if (columns !== undefined && columns.count !== count) {
    throw wrongValue('columns', `${count} rows, as the index has`, columns.count);
  }
  if (text !== undefined && typeof text?.tokens !== 'string') {
    throw wrongType('text', 'an object with "tokens"', text);
  }
  if (frequencies !== undefined && !(frequencies instanceof FrequencyTable)) {
    throw wrongType('frequencies', 'a FrequencyTable', frequencies);
  }
  if (replace !== undefined && typeof replace !== 'boolean') {
    throw wrongType('replace', 'true or false', replace);
  }
}

/**
 * The origin of the index where it is the newest generation of this folder; null where all rows are
 * written. Throws where the folder has another index or a newer generation, unless `replace`.
 */
function originIn(
  index: SimHashIndex,
  {
    path,
    base,
    folder,
    given,
  }: { path: string; base: Manifest | null; folder: string; given: SaveIndexOptions },
): Origin | null {
  if (base === null) return null;
  const origin = originOf(index);
  if (origin?.path === path) {
    if (!origin.isAligned) {
      throw new Error(
        'the rows of this index were numbered again: open the folder again, or save to another',
      );
    }
    if (origin.manifest.checksum === base.checksum) return origin;
    if (given.replace === true) return null;
    const [own, newest] = [origin.manifest.generation, base.generation];
    throw new Error(
      `${folder} is at generation ${newest}, this index is of generation ${own}: open it again`,
    );
  }
  if (given.replace === true) return null;
  throw new Error(`${folder} holds an index, "replace: true" puts this one in its place`);
}
