/**
 * The generations of an index folder. A save writes files under names that no other writer uses,
 * then hard-links its manifest to the name of the generation. A link fails where the name exists,
 * so that a writer learns that another was first; a rename would replace the other manifest without
 * an error. So a folder is always one whole generation: the one whose manifest has the highest
 * number.
 */

import {
  constants,
  copyFile,
  type FileHandle,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { join } from 'node:path';
import { FormatError } from '../base/check';
import { checksumOf, ignore, syncFolder, writeAll, writeSynced } from '../formats/file-io';
import { FileChecksum, PIECE_BYTES } from '../table/sealed/seal';
import type { FileWriter, OpenFile } from './blocks';
import { LostError } from './content';
import {
  checkFileChecksum,
  type FileKind,
  FileNames,
  type FolderFile,
  generationOf,
  type Manifest,
  manifestGeneration,
  manifestName,
  type NewContent,
  namesOf,
  newManifest,
  parseManifest,
} from './manifest';
import { MissingFileError, neededAt } from './place';

/** A copy of the newest manifest, for people and other programs. */
export const COPY = 'manifest.json';
/** Error codes of `link` on file systems without hard links. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL'];
/** How often the folder is listed again because manifests vanished in the meantime. */
const TRIES = 5;

/** The generations whose manifests are in a folder, ascending. */
export async function generationsIn(folder: string): Promise<number[]> {
  const names = await readdir(folder);
  const found = names.map(manifestGeneration).filter((one): one is number => one !== null);
  return found.sort((a, b) => a - b);
}

/**
 * True for a folder that has a manifest, sound or not; false for a folder without, a file and a
 * missing path. Throws where it cannot be read.
 */
export async function isIndexFolder(path: string): Promise<boolean> {
  const names = await readdir(path).catch(ignore(['ENOENT', 'ENOTDIR']));
  return names?.some((name) => name === COPY || manifestGeneration(name) !== null) ?? false;
}

/**
 * The manifest of the newest generation; null where there is none, or no folder. One that vanishes
 * after the folder was listed was replaced by newer ones, so the folder is listed again.
 */
export async function newestManifest(folder: string): Promise<Manifest | null> {
  for (let left = TRIES; ; left--) {
    const generation = (await generationsIn(folder).catch(ignore(['ENOENT'])))?.at(-1);
    if (generation === undefined) return null;
    const manifest = await readManifest(folder, generation).catch(ignore(['ENOENT']));
    if (manifest !== null) return manifest;
    if (left === 0) throw new Error(`${folder}: generations come and go too fast to be read`);
  }
}

/** The same of a folder that has one; throws a FormatError where there is none. */
export function neededManifest(folder: string): Promise<Manifest> {
  return neededAt({ name: folder, manifest: () => newestManifest(folder) });
}

/**
 * The manifest of a generation, checked. Throws ENOENT if it is missing, a FormatError if it is
 * damaged.
 */
async function readManifest(folder: string, generation: number): Promise<Manifest> {
  const path = join(folder, manifestName(generation));
  return parseManifest(await readFile(path), path, generation);
}

/**
 * Checks `manifest.json` if it exists: it must be sound, and not newer than the newest generation.
 */
export async function checkCopy(folder: string, newest: Manifest): Promise<void> {
  const path = join(folder, COPY);
  const bytes = await readFile(path).catch(ignore(['ENOENT']));
  if (bytes === null) return;
  const { generation } = parseManifest(bytes, path);
  if (generation <= newest.generation) return;
  throw new FormatError(`generation ${generation}, newer than any there is`, path);
}

/**
 * Makes a folder ready for an index: creates it, or accepts it if it is empty or has an index.
 * Throws otherwise.
 */
export async function prepareFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch(ignore(['ENOENT']));
  if (found === null) {
    await mkdir(folder);
    await syncFolder(join(folder, '..'));
    return;
  }
  if (!found.isDirectory()) throw new Error(`${folder} is a file, an index needs a folder`);
  const names = await readdir(folder);
  const isOurs = names.some((name) => generationOf(name) !== null);
  if (names.length === 0 || isOurs) return;
  throw new Error(`${folder} holds other files and no index: name an empty folder`);
}

/**
 * Makes a folder ready for a new index; returns the manifest that it replaces, null where there is
 * none. Throws where there is one, unless `replace`.
 */
export async function prepareNew(folder: string, replace: boolean): Promise<Manifest | null> {
  await prepareFolder(folder);
  const base = await newestManifest(folder);
  if (base === null || replace) return base;
  throw holdsIndex(folder);
}

/** The error for a folder whose index would be replaced without being asked for. */
export function holdsIndex(folder: string): Error {
  return new Error(
    `${folder} holds an index, "replace: true" (--force) puts this one in its place`,
  );
}

/** Compares the size and checksum of a file with the manifest; throws what is wrong. */
export async function checkFile(
  folder: string,
  file: FolderFile,
  passed: (bytes: number) => void = () => undefined,
): Promise<void> {
  const path = join(folder, file.name);
  checkFileChecksum(await checksumOf(path, file.bytes, passed), file, path);
}

/** One save: its files first, then its manifest, which makes all of them the index at once. */
export class GenerationWriter implements FileWriter {
  readonly generation: number;
  /** Those given before the commit are deleted after an error. */
  readonly #names: FileNames;
  /** Files that are open, to be closed after an error. */
  readonly #open = new Set<FileHandle>();

  /** Writes the generation after `base`, the newest one; null where there is none. */
  constructor(
    private readonly folder: string,
    private readonly base: Manifest | null,
  ) {
    this.generation = (base?.generation ?? 0) + 1;
    this.#names = new FileNames(this.generation);
  }

  /** Writes a whole file of this generation. */
  async add(kind: FileKind, bytes: Uint8Array): Promise<FolderFile> {
    const file = await this.create(kind);
    await file.write([bytes]);
    return file.end();
  }

  /**
   * Takes a file of another folder, whose checksum is compared: by a hard link, or by a synced copy
   * where links fail.
   */
  async take(file: FolderFile, folder: string): Promise<FolderFile> {
    const name = this.#names.next(file.kind);
    const [from, to] = [join(folder, file.name), join(this.folder, name)];
    await link(from, to).catch(async (error) => {
      if (![...NO_LINKS, 'EXDEV', 'EMLINK'].includes(error.code)) throw error;
      await copyFile(from, to, constants.COPYFILE_EXCL);
      const copy = await open(to, 'r+');
      await copy.sync().finally(() => copy.close());
    });
    const taken = { ...file, name };
    await checkFile(this.folder, taken);
    return taken;
  }

  /** Begins a file of this generation that is written in pieces. */
  async create(kind: FileKind): Promise<OpenFile> {
    const name = this.#names.next(kind);
    const handle = await open(join(this.folder, name), 'wx'); // no file of this name exists
    this.#open.add(handle);
    return writtenInPieces(handle, (bytes, checksum) => {
      this.#open.delete(handle);
      return { name, kind, bytes, checksum };
    });
  }

  /**
   * Makes this the newest generation, or throws and leaves the folder as it was. A crash at any
   * moment leaves the old generation or the new one.
   */
  async commit(content: NewContent): Promise<Manifest> {
    const { generation } = this;
    const previous = this.base?.checksum ?? null;
    const { bytes, manifest } = newManifest({ generation, previous, ...content });
    const temporary = await this.#addTemporary(bytes);
    // All files have their names on disk before the manifest gets its own.
    await syncFolder(this.folder);
    await this.#claim(temporary, manifest);
    await syncFolder(this.folder);
    await this.#tidy(bytes, manifest);
    return manifest;
  }

  /** Writes and syncs bytes under a temporary name; returns its path. */
  async #addTemporary(bytes: Uint8Array): Promise<string> {
    const path = join(this.folder, this.#names.next('manifest'));
    await writeSynced(path, bytes);
    return path;
  }

  /** Gives the manifest its name; throws a LostError where another writer was first. */
  async #claim(from: string, manifest: Manifest): Promise<void> {
    const to = join(this.folder, manifestName(this.generation));
    try {
      await link(from, to);
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') throw this.#lost();
      if (!NO_LINKS.includes(code)) throw error;
      // Without hard links the writer looks for the name first. Two writers at the same moment may
      // both succeed.
      if ((await stat(to).catch(ignore(['ENOENT']))) !== null) throw this.#lost();
      await rename(from, to);
    }
    this.#names.given.length = 0; // they belong to the folder now
    await rm(from, { force: true }).catch(() => undefined);
    // After two more generations the name is free again. A writer that was delayed for so long
    // finds a later manifest that does not follow its own, and has lost too.
    const later = (await generationsIn(this.folder)).find((one) => one > this.generation);
    if (later === undefined) return;
    const next = await readManifest(this.folder, later).catch(ignore(['ENOENT']));
    if (next?.previous === manifest.checksum) return;
    // Where others have saved so often that they deleted this manifest, they may have followed it.
    const isThere = await rm(to).then(() => true, ignore(['ENOENT']));
    if (isThere || later === this.generation + 1) throw this.#lost();
    throw new Error(
      `${this.folder}: others saved several generations meanwhile, so it cannot be told whether ` +
        'this one is among them: open it again and look',
    );
  }

  #lost(): LostError {
    const { generation } = this;
    const what = `another writer saved generation ${generation} meanwhile`;
    return new LostError(`${this.folder}: ${what}, nothing was written`);
  }

  /**
   * Replaces `manifest.json` and deletes what neither this generation nor the previous one names:
   * files of older generations and of killed writers. The save is committed already, so errors are
   * ignored; the next save deletes what is left.
   */
  async #tidy(bytes: Uint8Array, manifest: Manifest): Promise<void> {
    const quietly = () => undefined;
    await this.#addTemporary(bytes)
      .then((temporary) => rename(temporary, join(this.folder, COPY)))
      .catch(quietly);
    const needed = new Set([manifest, this.base].flatMap((one) => (one ? namesOf(one) : [])));
    // Older manifests first: `#claim` relies on it.
    const names = await readdir(this.folder).catch(() => []);
    const order = (name: string) => manifestGeneration(name) ?? Number.MAX_SAFE_INTEGER;
    for (const name of names.sort((a, b) => order(a) - order(b))) {
      const generation = generationOf(name);
      // Skips files of other programs, of later writers, and files that are still needed.
      if (generation === null || generation > this.generation || needed.has(name)) continue;
      await rm(join(this.folder, name), { force: true }).catch(quietly);
    }
    await syncFolder(this.folder).catch(quietly);
  }

  /** Runs a save; an error deletes what was written. */
  async run<T>(save: () => Promise<T>): Promise<T> {
    try {
      return await save();
    } catch (error) {
      throw await this.#abandon(error);
    }
  }

  /** Deletes what was written after an error; returns the error to throw in its place. */
  async #abandon(error: unknown): Promise<unknown> {
    for (const handle of this.#open) await handle.close().catch(() => undefined);
    for (const name of this.#names.given) {
      await rm(join(this.folder, name), { force: true }).catch(() => undefined);
    }
    const isMissing = error instanceof MissingFileError;
    if (!isMissing && (error as NodeJS.ErrnoException)?.code !== 'ENOENT') return error;
    // The writer that won deletes the files of this one: it has lost where one of them is missing.
    const generations = await generationsIn(this.folder).catch(() => []);
    return (generations.at(-1) ?? 0) >= this.generation ? this.#lost() : error;
  }
}

/**
 * Writes a file in pieces of 1 MiB, each hashed first, so that memory holds one piece and the
 * checksum needs no second reading. `ended` is called once the file is synced and closed.
 */
function writtenInPieces(
  handle: FileHandle,
  ended: (bytes: number, checksum: string) => FolderFile,
): OpenFile {
  /** Bytes given so far: the size of the file at its end. */
  let bytes = 0;
  /** The bytes that wait. */
  const piece = new Uint8Array(PIECE_BYTES);
  const checksum = new FileChecksum();
  const put = (some: Uint8Array) => {
    checksum.add(some);
    return writeAll(handle, [some]);
  };
  return {
    async write(chunks) {
      for (const chunk of chunks) {
        for (let from = 0; from < chunk.length; ) {
          const filled = bytes % PIECE_BYTES;
          const some = chunk.subarray(from, from + PIECE_BYTES - filled);
          piece.set(some, filled);
          bytes += some.length;
          from += some.length;
          if (filled + some.length === PIECE_BYTES) await put(piece);
        }
      }
    },
    async end() {
      const rest = bytes % PIECE_BYTES;
      if (rest > 0) await put(piece.subarray(0, rest));
      await handle.sync();
      await handle.close();
      return ended(bytes, checksum.text);
    },
  };
}
