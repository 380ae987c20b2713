/**
 * Opens an index whose rows stay where they are. If files disappear meanwhile because newer
 * generations were saved or published, it opens the newest generation instead.
 */

import { checkByteCount, checkInteger, checkOptions, wrongType } from '../base/check';
import { LONG_CALL } from '../base/long-work';
import type { Id } from '../index/ids';
import { countLive, openContent, withNewest } from './content';
import { HttpPlace } from './http-place';
import type { Manifest } from './manifest';
import { neededAt, type Place } from './place';
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
  /**
   * Opens these segments alone, so that several machines divide an index. Files of others need not
   * be there. All by default.
   */
  segments?: readonly [first: number, last: number] | undefined;
  /** Stops opening. */
  signal?: AbortSignal | undefined;
}

/** How an index on a web host is opened. */
export interface OpenUrlOptions extends Omit<OpenStoredOptions, 'segments'> {
  /** Ends a request after so long without progress; 30,000 by default. */
  timeoutMs?: number | undefined;
}

/**
 * Opens a copy of an index folder on a web host that answers range requests. Reads `manifest.json`,
 * centroids and the places of rows; searches read what they visit, at most 32 requests at a time,
 * and hold it up to the limit `memory`. A request that fails for a while is tried again. Results
 * equal those of the index in memory. An index that is published again stays as it was opened, or
 * its searches fail with an error that says so.
 *
 * @example
 * const opening = openIndexUrl('http://127.0.0.1:9/docs.hs/', { memory: '64MB' });
 * await opening.catch(({ message }) => {
 *   console.log(message.slice(0, 41)); // http://127.0.0.1:9/docs.hs/manifest.json:
 * });
 */
export async function openIndexUrl<I extends Id = Id>(
  url: string | URL,
  options: OpenUrlOptions,
): Promise<StoredIndex<I>> {
  const { timeoutMs, ...given } = checkOptions(options, OPTIONS);
  return (await openStored(new HttpPlace(url, timeoutMs), given)) as StoredIndex<I>;
}

const OPTIONS = { memory: null, signal: LONG_CALL.signal, timeoutMs: null };

/** Opens the index of a place, and closes it where it cannot be opened. */
export async function openStored(
  place: Place,
  { memory, segments, signal }: OpenStoredOptions,
): Promise<StoredIndex> {
  try {
    const limit = checkByteCount('memory', memory);
    const newest = () => neededAt(place, signal);
    const open = async (newest: Manifest) => {
      const content = await openContent(place, partOf(newest, segments), signal);
      const rows = countLive(content.segments, content.removed);
      return { ...content, manifest: { ...content.manifest, rows } };
    };
    return new StoredIndex(await withNewest(newest, TRIES, open), limit);
  } catch (error) {
    await place.close();
    throw error;
  }
}

/** A generation with these segments alone. */
function partOf(manifest: Manifest, range: OpenStoredOptions['segments']): Manifest {
  if (range === undefined) return manifest;
  if (!Array.isArray(range)) throw wrongType('segments', 'two integers', range);
  const { segments: all } = manifest;
  const first = checkInteger('segments[0]', range[0], 0, all.length - 1);
  const last = checkInteger('segments[1]', range[1], first, all.length - 1);
  return { ...manifest, segments: all.slice(first, last + 1) };
}
