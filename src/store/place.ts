/**
 * The files of an index whose rows stay where they are: in a folder or on a web host. A stored
 * index reads only through this interface, so the same search works everywhere. The caller compares
 * what it reads with checksums; implementations do not.
 */

import { FormatError } from '../base/check';
import type { ByteRange } from '../table/arrow/messages';
import type { Manifest } from './manifest';

/** A file as the manifest names it. */
export interface NamedFile {
  readonly name: string;
  /** Its size. */
  readonly bytes: number;
}

/** A range of a file, and where its bytes go in a memory. */
export interface TargetRange extends ByteRange {
  readonly to: number;
}

export interface Place {
  /** The folder or address; errors name a file as `${place.name}/${name}`. */
  readonly name: string;
  /** True where bytes cost more than reads, as on a web host. */
  readonly isFar?: boolean;
  /** The manifest of the newest generation, checked; null if there is none. */
  manifest(signal?: AbortSignal): Promise<Manifest | null>;
  /**
   * Reads ranges of a file into memory, which does not change any more once it resolves or rejects.
   * Reads in parallel and may join ranges close to each other. Throws a FormatError with the file's
   * name if the file is missing, ends early, or has another size than the manifest states.
   */
  read(
    file: NamedFile,
    ranges: readonly TargetRange[],
    memory: Uint8Array,
    signal?: AbortSignal,
  ): Promise<void>;
  /** Frees open resources. Running reads may fail. */
  close(): Promise<void>;
}

/** Runs work that reads a place, and closes this at the end, also after an error. */
export async function withPlace<P extends Place, T>(
  place: P,
  work: (place: P) => Promise<T>,
): Promise<T> {
  try {
    return await work(place);
  } finally {
    await place.close();
  }
}

/** The manifest of the newest generation of an index that must be there. */
export async function neededAt(
  place: Pick<Place, 'name' | 'manifest'>,
  signal?: AbortSignal,
): Promise<Manifest> {
  const manifest = await place.manifest(signal);
  if (manifest === null) throw new FormatError('no index: it has no manifest', place.name);
  return manifest;
}

/** The error for a file that is not there; `now` is the generation that was saved since. */
export class MissingFileError extends FormatError {
  constructor(path: string, now?: number) {
    const why = now && `generation ${now} was saved since: open the index again`;
    super(['it is missing, the manifest names it', why].filter(Boolean).join('; '), path);
  }
}

/**
 * What is read of a file of a generation. Where it is missing since another generation was saved,
 * the error says so: whoever saves deletes files of older ones.
 */
export async function explained<T>(
  place: Place,
  generation: number,
  reading: Promise<T>,
): Promise<T> {
  return reading.catch(async (error) => {
    const isMissing = error instanceof MissingFileError;
    const now = isMissing ? await place.manifest().catch(() => null) : null;
    if (now === null || now.generation === generation) throw error;
    throw new MissingFileError(error.file, now.generation);
  });
}

/** Waits until all reads have ended, then throws the first error. */
export async function allEnded(reads: readonly Promise<void>[]): Promise<void> {
  for (const one of await Promise.allSettled(reads)) {
    if (one.status === 'rejected') throw one.reason;
  }
}

/** Joined ranges have at most this many bytes: longer ones are faster in parallel. */
const MAX_JOINED = 2 ** 22;

/** Several ranges that are read as one. */
interface Joined extends ByteRange {
  /** The original ranges in it, by index. */
  readonly parts: readonly number[];
}

/**
 * Joins ranges with at most `maxGap` bytes between them. The result is ascending, without empty
 * ranges.
 */
function joinedRanges(ranges: readonly ByteRange[], maxGap: number): Joined[] {
  const order = ranges.map((_, i) => i).filter((i) => ranges[i].length > 0);
  order.sort((a, b) => ranges[a].at - ranges[b].at);
  const found: { at: number; length: number; parts: number[] }[] = [];
  for (const i of order) {
    const { at, length } = ranges[i];
    const last = found.at(-1);
    const all = last === undefined ? 0 : Math.max(last.length, at + length - last.at);
    if (last && at <= last.at + last.length + maxGap && all <= Math.max(MAX_JOINED, last.length)) {
      last.length = all;
      last.parts.push(i);
    } else found.push({ at, length, parts: [i] });
  }
  return found;
}

/** Reads ranges, of which those at most `maxGap` bytes apart are read as one by `read`. */
export async function readJoined(
  ranges: readonly ByteRange[],
  maxGap: number,
  read: (joined: readonly ByteRange[]) => Promise<readonly Uint8Array[]>,
): Promise<Uint8Array[]> {
  const joined = joinedRanges(ranges, maxGap);
  const bodies = await read(joined);
  const results: Uint8Array[] = ranges.map(() => new Uint8Array());
  for (const [i, { at, parts }] of joined.entries()) {
    for (const part of parts) {
      const from = ranges[part].at - at;
      results[part] = bodies[i].subarray(from, from + ranges[part].length);
    }
  }
  return results;
}
