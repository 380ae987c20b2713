/**
 * An index that a page opens: on a web host by its address, or from files at hand. Files are those
 * of an index folder, and are read by ranges as searches need them. Safe in a browser.
 */

import { checkOptions } from '../base/check';
import { checkLongCall } from '../base/long-work';
import type { Id } from '../index/id-table';
import { ByteFiles, type FilesAtHand } from './byte-files';
import { HttpFiles } from './http-files';
import { type OpenStoredOptions, openStored } from './open-stored';
import type { StoredIndex } from './stored-index';

/**
 * Opens the index at an address, which is that of a copy of an index folder on any web host that
 * answers range requests. Reads `manifest.json`, centroids and the places of rows; searches read
 * what they visit, at most six requests at a time, and hold it up to the limit `memory`. A request
 * that fails for a while is tried again. Results equal those of the index in memory. An index that
 * is published again stays as it was opened, or its searches fail with an error that says so.
 *
 * In place of an address it takes the files themselves, by their names: bytes, or the `File`s of a
 * folder that a person has chosen.
 *
 * @example
 * const opening = openIndexUrl('http://127.0.0.1:9/docs.hs/', { memory: '64MB' });
 * await opening.catch(({ message }) => {
 *   console.log(message.slice(0, 41)); // http://127.0.0.1:9/docs.hs/manifest.json:
 * });
 */
export async function openIndexUrl<I extends Id = Id>(
  url: string | URL | FilesAtHand,
  options: OpenStoredOptions,
): Promise<StoredIndex<I>> {
  const given = checkOptions('options', options, ['memory', 'generation', 'signal']);
  checkLongCall({ signal: given.signal } as never);
  const files = url instanceof Map ? new ByteFiles(url) : new HttpFiles(url as string | URL);
  return (await openStored(files, given)) as StoredIndex<I>;
}
