/**
 * Opens an index whose rows stay where they are. If files disappear meanwhile because newer
 * generations were saved or published, it opens the newest generation instead.
 */

import { checkByteCount } from '../base/arguments';
import { checkInteger, checkOptions, wrongType } from '../base/check';
import { checkLongCall, type LongCall } from '../base/long-work';
import type { Id } from '../index/ids';
import { BytePlace, type FilesAtHand } from './byte-place';
import { type Content, contentOf, noManifest, type SegmentRange } from './content';
import { HttpPlace } from './http-place';
import type { FoundManifest, Place } from './place';
import { StoredIndex } from './stored-index';

/** How often opening starts again with a newer generation. */
const TRIES = 5;

/** How an index is opened whose rows stay where they are. */
export interface OpenStoredOptions {
  /**
   * Memory for rows: bytes, or a text such as '2GB'. Searches of an index that fits are as fast as
   * in memory.
   */
  memory: number | string;
  /** An older generation; the newest by default. */
  generation?: number | undefined;
  /**
   * Opens these segments alone, so that several machines divide an index. Files of others need not
   * be there. All by default.
   */
  segments?: readonly [first: number, last: number] | undefined;
  /** Stops opening. */
  signal?: AbortSignal;
}

/** How an index on a web host is opened. */
export interface OpenUrlOptions extends Omit<OpenStoredOptions, 'segments'> {
  /** Ends a request after so long without progress; 30,000 by default. */
  timeoutMs?: number | undefined;
}

/**
 * Opens a copy of an index folder on a web host that answers range requests. Reads `manifest.json`,
 * centroids and the places of rows; searches read what they visit, at most six requests at a time,
 * and hold it up to the limit `memory`. A request that fails for a while is tried again. Results
 * equal those of the index in memory. An index that is published again stays as it was opened, or
 * its searches fail with an error that says so.
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
  options: OpenUrlOptions,
): Promise<StoredIndex<I>> {
  const known = ['memory', 'generation', 'signal', 'timeoutMs'];
  const { timeoutMs, ...given } = checkOptions('options', options, known);
  checkLongCall({ signal: given.signal } as LongCall);
  const place =
    url instanceof Map ? new BytePlace(url) : new HttpPlace(url as string | URL, timeoutMs);
  return (await openStored(place, given)) as StoredIndex<I>;
}

/** Opens the index of a place, and closes it where it cannot be opened. */
export async function openStored(
  place: Place,
  { memory, generation, segments, signal }: OpenStoredOptions,
): Promise<StoredIndex> {
  try {
    const limit = checkByteCount('memory', memory);
    const range = checkRange(segments);
    const found = await place.manifest(generation, signal);
    if (found === null) throw noManifest(place);
    const isNewest = generation === undefined;
    return new StoredIndex(await opened(place, found, { isNewest, range, signal }), limit);
  } catch (error) {
    await place.close();
    throw error;
  }
}

function checkRange(range: OpenStoredOptions['segments']): SegmentRange {
  if (range === undefined) return undefined;
  if (!Array.isArray(range)) throw wrongType('segments', 'two integers', range);
  const first = checkInteger('segments[0]', range[0], 0, 2 ** 32);
  return [first, checkInteger('segments[1]', range[1], first, 2 ** 32)];
}

/** The content of a generation, or of a newer one if its files were replaced meanwhile. */
async function opened(
  place: Place,
  first: FoundManifest,
  how: { isNewest: boolean; range: SegmentRange; signal: AbortSignal | undefined },
): Promise<Content> {
  let found = first;
  for (let left = TRIES; ; left--) {
    try {
      return await contentOf(place, found, how);
    } catch (error) {
      if (!how.isNewest || left === 0) throw error;
      const now = await place.manifest(undefined, how.signal).catch(() => null);
      if (now === null || now.generation === found.generation) throw error;
      found = now;
    }
  }
}
