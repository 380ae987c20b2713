/**
 * The files of an index that is read where it is: a folder, or a web host. A stored index reads
 * nothing but by this interface, so that the same search runs over all places. What is read is
 * compared with checksums by the caller, never here.
 */

/** Bytes `at` to `at + length - 1` of a file. */
export interface ByteRange {
  readonly at: number;
  readonly length: number;
}

/** A file as the manifest names it. */
export interface NamedFile {
  readonly name: string;
  /** Its size. */
  readonly bytes: number;
}

/** A manifest that was read, and not yet checked. */
export interface FoundManifest {
  readonly name: string;
  readonly generation: number;
  readonly bytes: Uint8Array;
}

export interface StoredFiles {
  /** The folder or address, by which errors name files: `${place}/${name}`. */
  readonly place: string;
  /** True where bytes cost more than reads, as on a web host. */
  readonly isFar?: boolean;
  /**
   * The newest manifest, or that of a generation; null where there is none. `generation` is the one
   * by the name of the file, which must be that in the manifest.
   */
  manifest(generation: number | undefined, signal?: AbortSignal): Promise<FoundManifest | null>;
  /**
   * Ranges of a file, in the order given; each has exactly its length. Reads in parallel, and may
   * join ranges that are near each other. Throws a FormatError that names the file where it has
   * another size than the manifest says, is missing, or ends early.
   */
  read(file: NamedFile, ranges: readonly ByteRange[], signal?: AbortSignal): Promise<Uint8Array[]>;
  /** Frees what is open. Reads that have begun may fail. */
  close(): Promise<void>;
}

/** Joined ranges have at most this many bytes: longer ones are quicker in parallel. */
const MAX_JOINED = 2 ** 22;

interface Joined extends ByteRange {
  /** The ranges within, by their position in what was asked for. */
  readonly parts: readonly number[];
}

/** Ranges with at most `maxGap` bytes between them as one, ascending; without empty ones. */
export function joined(ranges: readonly ByteRange[], maxGap: number): Joined[] {
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
