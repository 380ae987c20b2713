/**
 * An index in a directory of a browser: of its own file system (OPFS), or one that a person has
 * chosen. The files are those of an index folder. There are no links, so one writer at a time holds
 * a Web Lock. A file that is made is empty for a moment, so a manifest counts once it has its last
 * line, the checksum: without it, its page ended before the save did. (On a disk that is damage:
 * there a manifest gets its name when it is whole.)
 */

import { concatenated } from '../base/arrays';
import { checkOptions, FormatError, wrongType } from '../base/check';
import { LONG_CALL, type LongCall } from '../base/long-work';
import type { Id } from '../index/ids';
import { coreOf, type SimHashIndex } from '../index/simhash-index';
import { checkFileSize, fileChecksum } from '../table/sealed/seal';
import type { OpenFile } from './blocks';
import { loadIndex } from './load-index';
import {
  type FileKind,
  FileNames,
  type FolderFile,
  generationOf,
  isEnded,
  type Manifest,
  manifestGeneration,
  manifestName,
  type NewContent,
  namesOf,
  newManifest,
  parseManifest,
} from './manifest';
import { MissingFileError, type NamedFile, neededAt, type Place, type TargetRange } from './place';
import { type OpenStoredOptions, openStored, type StoredIndex } from './stored-index';
import {
  checkSaveOptions,
  type GenerationFiles,
  noteOrigin,
  originOf,
  type SaveIndexOptions,
  writeIndex,
} from './write-index';

/** What is used of a `FileSystemDirectoryHandle`. */
export interface Directory {
  readonly name: string;
  keys(): AsyncIterable<string>;
  getFileHandle(
    name: string,
    options?: { create?: boolean },
  ): Promise<{ getFile(): Promise<Blob>; createWritable(): Promise<DirectoryStream> }>;
  removeEntry(name: string): Promise<void>;
}

interface DirectoryStream {
  write(bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  close(): Promise<void>;
  abort(): Promise<void>;
}

/**
 * Loads the index of a browser's directory; with `memory` leaves rows in their files and holds up
 * to this limit of what searches read. A manifest whose save did not end is passed over.
 */
export function openIndexDirectory<I extends Id = Id>(
  directory: Directory,
  options: LongCall & Pick<OpenStoredOptions, 'memory'>,
): Promise<StoredIndex<I>>;
export function openIndexDirectory<I extends Id = Id>(
  directory: Directory,
  options?: LongCall,
): Promise<SimHashIndex<I>>;
export async function openIndexDirectory(
  directory: Directory,
  options?: LongCall & Partial<Pick<OpenStoredOptions, 'memory'>>,
): Promise<SimHashIndex | StoredIndex> {
  const { memory, ...call } = checkOptions(options, { memory: null, ...LONG_CALL });
  checkDirectory(directory);
  const place = new DirectoryPlace(directory.name, await filesIn(directory));
  if (memory !== undefined) return openStored(place, { memory, signal: call.signal });
  const manifest = await neededAt(place);
  const index = await loadIndex(place, manifest, call);
  noteOrigin(index, null, manifest);
  return index;
}

/**
 * Saves an index to a browser's directory as its next generation, all or nothing. Waits for other
 * writers of the directory, of any page; throws where one of them has saved a generation that this
 * index does not know.
 *
 * @example
 * const index = new SimHashIndex<string>();
 * index.add([1, 0], 'a');
 * const directory = await globalThis.navigator?.storage?.getDirectory(); // there is none in Node
 * if (directory) await saveIndexDirectory(index, directory);
 * if (directory) console.log((await openIndexDirectory(directory)).search([1, 0]).ids);
 * console.log(index.count); // 1
 */
export async function saveIndexDirectory(
  index: SimHashIndex,
  directory: Directory,
  options?: SaveIndexOptions,
): Promise<void> {
  const { rows } = coreOf(index);
  checkDirectory(directory);
  const given = checkSaveOptions(options, rows.count);
  await alone(directory, async () => {
    const files = await filesIn(directory);
    const place = new DirectoryPlace(directory.name, files);
    const base = await place.manifest();
    const home = { name: directory.name, path: null };
    const origin = originOf(index, home, base, given.replace === true);
    const writer = new DirectoryWriter(directory, base);
    await writeIndex(writer, index, null, { origin, place }, given).catch(async (error) => {
      await writer.abandon();
      throw error;
    });
    // The generation before stays for its readers.
    const needed = new Set([...writer.needed, ...(base === null ? [] : namesOf(base))]);
    const others = [...files.keys()].filter((name) => !needed.has(name));
    await removeAll(directory, others);
  });
}

function checkDirectory(directory: Directory): void {
  if (typeof directory?.getFileHandle === 'function') return;
  throw wrongType('directory', 'a FileSystemDirectoryHandle', directory);
}

/** Runs the work of a writer while no other, in any page of this origin, writes the directory. */
async function alone(directory: Directory, work: () => Promise<void>): Promise<void> {
  const { locks, storage } = navigator;
  const root = await storage.getDirectory();
  // Null for a directory outside of OPFS, which then shares a lock with others of its name.
  const path = await root.resolve(directory as FileSystemDirectoryHandle);
  await locks.request(`halfspace ${path?.join('/') ?? directory.name}`, work);
}

/** Our files, without manifests that have no end. */
async function filesIn(directory: Directory): Promise<ReadonlyMap<string, Blob>> {
  const files = new Map<string, Blob>();
  for await (const name of directory.keys()) {
    if (generationOf(name) === null) continue;
    // A later save may delete it meanwhile.
    const get = async () => (await directory.getFileHandle(name)).getFile();
    const file = await get().catch(() => null);
    if (file === null) continue;
    const isManifest = manifestGeneration(name) !== null;
    if (!isManifest || isEnded(await bytesOf(file))) files.set(name, file);
  }
  return files;
}

/** Our files in a directory, for loading and for a stored index. */
export class DirectoryPlace implements Place {
  readonly name: string;
  readonly #files: ReadonlyMap<string, Blob>;

  constructor(name: string, files: ReadonlyMap<string, Blob>) {
    this.name = name;
    this.#files = files;
  }

  async manifest(): Promise<Manifest | null> {
    // As in a folder, the manifest with the highest number is the index; 0 stands for none.
    const own = Array.from(this.#files.keys(), manifestGeneration).filter((one) => one !== null);
    const newest = Math.max(0, ...own);
    const file = this.#files.get(manifestName(newest));
    const path = `${this.name}/${manifestName(newest)}`;
    return file === undefined ? null : parseManifest(await bytesOf(file), path, newest);
  }

  async read(
    { name, bytes }: NamedFile,
    ranges: readonly TargetRange[],
    memory: Uint8Array,
    signal?: AbortSignal,
  ): Promise<void> {
    const path = `${this.name}/${name}`;
    const file = this.#files.get(name);
    if (file === undefined) throw new MissingFileError(path);
    checkFileSize(file.size, bytes, path);
    // A file that was changed or deleted since cannot be read any more.
    const read = ({ at, length }: TargetRange) =>
      bytesOf(file.slice(at, at + length)).catch((cause) => {
        throw new FormatError(`cannot be read: ${(cause as Error).message}`, path, { cause });
      });
    const results = await Promise.all(ranges.map(read));
    signal?.throwIfAborted();
    for (const [i, one] of results.entries()) memory.set(one, ranges[i].to);
  }

  /** Files at hand need no closing. */
  async close(): Promise<void> {}
}

const bytesOf = async (file: Blob) => new Uint8Array(await file.arrayBuffer());

/** One save of a directory: the files of its generation. */
class DirectoryWriter implements GenerationFiles {
  readonly #generation: number;
  readonly #names: FileNames;
  /** After the commit the names of all files of the generation. */
  needed: readonly string[] = [];

  constructor(
    private readonly directory: Directory,
    private readonly base: Manifest | null,
  ) {
    this.#generation = (base?.generation ?? 0) + 1;
    this.#names = new FileNames(this.#generation);
  }

  /** A file that is held until its end: its index is in memory as well. */
  async create(kind: FileKind): Promise<OpenFile> {
    const parts: Uint8Array[] = [];
    return {
      write: async (chunks) => {
        for (const chunk of chunks) parts.push(chunk.slice());
      },
      end: () => this.add(kind, concatenated(parts)),
    };
  }

  async add(kind: FileKind, bytes: Uint8Array): Promise<FolderFile> {
    const name = this.#names.next(kind);
    await this.#put(name, bytes);
    return { name, kind, bytes: bytes.length, checksum: fileChecksum(bytes) };
  }

  /** Writes the manifest, which makes the files the newest generation. */
  async commit(content: NewContent): Promise<Manifest> {
    const previous = this.base?.checksum ?? null;
    const { bytes, manifest } = newManifest({ generation: this.#generation, previous, ...content });
    await this.#put(manifestName(this.#generation), bytes);
    this.needed = namesOf(manifest);
    return manifest;
  }

  /** Writes a file, which is empty until its stream is closed. */
  async #put(name: string, bytes: Uint8Array): Promise<void> {
    const file = await this.directory.getFileHandle(name, { create: true });
    const stream = await file.createWritable();
    try {
      await stream.write(bytes as Uint8Array<ArrayBuffer>); // no file is made in shared memory
    } catch (error) {
      await stream.abort();
      throw error;
    }
    await stream.close();
  }

  /** Deletes what was written. */
  abandon(): Promise<void> {
    return removeAll(this.directory, [...this.#names.given, manifestName(this.#generation)]);
  }
}

/** Deletes files; what cannot be deleted stays until the next save. */
async function removeAll(directory: Directory, names: Iterable<string>): Promise<void> {
  for (const name of names) await directory.removeEntry(name).catch(() => undefined);
}
