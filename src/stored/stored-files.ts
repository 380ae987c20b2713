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
