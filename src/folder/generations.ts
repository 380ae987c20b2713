/**
 * The generations of an index folder. A save writes files under names of their own, then links its
 * manifest to the generation's name: a link fails where another writer was first, which a rename
 * would not tell. So a folder always is one whole generation, the one whose manifest has the
 * highest number.
 */

import { randomBytes } from 'node:crypto';
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
import { FormatError } from '../base/format-error';
import { ignore, readExactly, syncFolder, writeSynced } from '../formats/file-io';
import {
  type FileKind,
  type FolderFile,
  fileChecksum,
  fileName,
  generationOf,
  type Manifest,
  manifestGeneration,
  manifestName,
  manifestText,
  parseManifest,
  temporaryName,
} from '../stored/manifest';
import { GenerationFile } from './generation-file';

/** A copy of the newest manifest, for people and other programs. */
const COPY = 'manifest.json';
/** Where a file system has no hard links. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL'];
const TRIES = 5;

/** Another writer was first: nothing was written, and what was changed may be tried again. */
export class LostError extends Error {}

/** A generation whose files were deleted: there are newer ones. */
export class GoneError extends Error {}

/** Numbers of the manifests in a folder, ascending. */
export async function generationsIn(folder: string): Promise<number[]> {
  const names = await readdir(folder);
  const found = names.map(manifestGeneration).filter((one): one is number => one !== null);
  return found.sort((a, b) => a - b);
}

/** The newest generation; null where there is none, or no folder. */
export async function newestManifest(folder: string): Promise<Manifest | null> {
  for (let left = TRIES; ; left--) {
    const generations = await generationsIn(folder).catch(ignore(['ENOENT']));
    const generation = generations?.at(-1);
    if (generation === undefined) return null;
    const manifest = await readManifest(folder, generation).catch(ignore(['ENOENT']));
    if (manifest !== null) return manifest;
    if (left === 0) throw new Error(`${folder}: generations come and go too fast to be read`);
  }
}

export async function readManifest(folder: string, generation: number): Promise<Manifest> {
  const path = join(folder, manifestName(generation));
  return parseManifest(await readFile(path), path, generation);
}

/** The copy for people may be missing; else it says what some generation said. */
export async function checkCopy(folder: string, newest: Manifest): Promise<void> {
  const path = join(folder, COPY);
  const bytes = await readFile(path).catch(ignore(['ENOENT']));
  if (bytes === null) return;
  const generation = Number(/"generation": (\d+)/.exec(bytes.toString('latin1'))?.[1]);
  parseManifest(bytes, path, generation);
  if (generation <= newest.generation) return;
  throw new FormatError(`generation ${generation}, newer than any there is`, path);
}

/** The bytes of a file: its size and its checksum are those of the manifest. */
export async function readFolderFile(folder: string, file: FolderFile): Promise<Uint8Array> {
  const path = join(folder, file.name);
  const bytes = await readExactly(path, file.bytes);
  if (fileChecksum(bytes) === file.checksum) return bytes;
  throw new FormatError('damaged: it fails its checksum', path);
}

/** The error for a file of a generation that is not there: perhaps newer ones were saved since. */
export async function missingFile(
  folder: string,
  generation: number | null,
  name: string,
): Promise<Error> {
  const newest = await newestManifest(folder);
  if (newest === null || newest.generation <= (generation ?? Number.POSITIVE_INFINITY)) {
    return new FormatError('it is missing, the manifest names it', join(folder, name));
  }
  const now = newest.generation;
  return new GoneError(
    `generation ${generation} of ${folder} is gone, it is at ${now}: open it again`,
  );
}

/**
 * Sets the manifest of a damaged generation aside, under a name that readers leave alone. The copy
 * for people goes: it may be of that generation.
 */
export async function setAside(folder: string, generation: number): Promise<void> {
  const path = join(folder, manifestName(generation));
  await rename(path, `${path}.damaged`);
  await rm(join(folder, COPY), { force: true });
  await syncFolder(folder);
}

/** A folder that can take an index: new, empty, or an index already. */
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

/** Prepares a folder for a new index; returns the generation in whose place it will be. */
export async function prepareNew(folder: string, replace: boolean): Promise<Manifest | null> {
  await prepareFolder(folder);
  const base = await newestManifest(folder);
  if (base === null || replace) return base;
  throw new Error(`${folder} holds an index, "replace: true" puts this one in its place`);
}

/** A file of a generation that is being written. */
export interface OpenFile {
  write(chunks: readonly Uint8Array[]): Promise<void>;
  /** Ends it; it has so many rows. */
  end(rows: number): Promise<FolderFile>;
}

/** One save: its files, then all at once its manifest. */
export class GenerationWriter {
  readonly generation: number;
  readonly #folder: string;
  readonly #base: Manifest | null;
  readonly #token = randomBytes(6).toString('hex');
  readonly #written: string[] = [];
  /** Files that are being written. */
  readonly #open = new Set<Pick<GenerationFile, 'abandon'>>();
  /** The files of this generation so far. */
  readonly added: FolderFile[] = [];

  /** The generation after `base`, the newest that there is. */
  constructor(folder: string, base: Manifest | null) {
    this.#folder = folder;
    this.#base = base;
    this.generation = (base?.generation ?? 0) + 1;
  }

  /** Writes a file of this generation. */
  async add(kind: FileKind, bytes: Uint8Array, rows: number): Promise<FolderFile> {
    const file = await this.create(kind);
    await file.write([bytes]);
    return file.end(rows);
  }

  /** Takes a file of another folder: by a hard link, or as a copy where there are none. */
  async take(file: FolderFile, folder: string): Promise<FolderFile> {
    const name = this.#nameOf(file.kind);
    const [from, to] = [join(folder, file.name), join(this.#folder, name)];
    await link(from, to).catch(async (error) => {
      if (![...NO_LINKS, 'EXDEV', 'EMLINK'].includes(error.code)) throw error;
      await copyFile(from, to, constants.COPYFILE_EXCL);
      const copy = await open(to, 'r+');
      await copy.sync().finally(() => copy.close());
    });
    const taken = { ...file, name };
    this.added.push(taken);
    return taken;
  }

  #nameOf(kind: FileKind): string {
    const [{ generation }, token] = [this, this.#token];
    const name = fileName({ kind, generation, part: this.#written.length, token });
    this.#written.push(name);
    return name;
  }

  /** Begins a file of this generation. */
  async create(kind: FileKind): Promise<OpenFile> {
    const name = this.#nameOf(kind);
    const file = await GenerationFile.create(join(this.#folder, name));
    this.#open.add(file);
    return {
      write: (chunks) => file.write(chunks),
      end: async (rows) => {
        const checksum = await file.end();
        this.#open.delete(file);
        const made = { name, kind, rows, bytes: file.bytes, checksum };
        this.added.push(made);
        return made;
      },
    };
  }

  /** Creates a file that is gone before the commit. */
  async temporary(): Promise<{ handle: FileHandle; name: string }> {
    const { generation } = this;
    const name = temporaryName({ generation, part: this.#written.length, token: this.#token });
    this.#written.push(name);
    const handle = await open(join(this.#folder, name), 'wx+');
    this.#open.add({ abandon: () => handle.close().catch(() => undefined) });
    return { handle, name };
  }

  async removeTemporary({ handle, name }: { handle: FileHandle; name: string }): Promise<void> {
    await handle.close();
    await rm(join(this.#folder, name), { force: true });
  }

  /** Makes this the newest generation, or throws and leaves the folder as it was. */
  async commit(
    content: Omit<Manifest, 'version' | 'generation' | 'previous' | 'checksum'>,
  ): Promise<Manifest> {
    const { generation } = this;
    const previous = this.#base?.checksum ?? null;
    const bytes = new TextEncoder().encode(manifestText({ generation, previous, ...content }));
    const manifest = parseManifest(bytes, manifestName(generation), generation);
    const temporary = await this.#addTemporary(bytes);
    await syncFolder(this.#folder);
    await this.#claim(temporary, manifest);
    await syncFolder(this.#folder);
    await this.#tidy(bytes, manifest);
    return manifest;
  }

  async #addTemporary(bytes: Uint8Array): Promise<string> {
    const { generation } = this;
    const name = temporaryName({ generation, part: this.#written.length, token: this.#token });
    this.#written.push(name);
    await writeSynced(join(this.#folder, name), bytes);
    return join(this.#folder, name);
  }

  async #claim(from: string, manifest: Manifest): Promise<void> {
    const to = join(this.#folder, manifestName(this.generation));
    try {
      await link(from, to);
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') throw this.#lost();
      if (!NO_LINKS.includes(code)) throw error;
      if ((await stat(to).catch(ignore(['ENOENT']))) !== null) throw this.#lost();
      await rename(from, to);
    }
    this.#written.length = 0; // they belong to the folder now
    await rm(from, { force: true }).catch(() => undefined);
    // After two more generations the name is free again, and whoever is as late has lost too.
    const later = (await generationsIn(this.#folder)).find((one) => one > this.generation);
    if (later === undefined) return;
    const next = await readManifest(this.#folder, later).catch(ignore(['ENOENT']));
    if (next?.previous === manifest.checksum) return;
    await rm(to);
    throw this.#lost();
  }

  #lost(): LostError {
    const { generation } = this;
    const what = `another writer saved generation ${generation} meanwhile`;
    return new LostError(`${this.#folder}: ${what}, nothing was written`);
  }

  /**
   * The copy for people, and the removal of what is not needed: files of older generations but the
   * one before, and of writers that came to nothing. The save is done: what fails here is left to
   * the next one.
   */
  async #tidy(bytes: Uint8Array, manifest: Manifest): Promise<void> {
    const quietly = () => undefined;
    await this.#addTemporary(bytes)
      .then((temporary) => rename(temporary, join(this.#folder, COPY)))
      .catch(quietly);
    const needed = new Set([manifestName(this.generation)]);
    if (this.#base !== null) needed.add(manifestName(this.#base.generation));
    for (const { name } of [...manifest.files, ...(this.#base?.files ?? [])]) needed.add(name);
    for (const name of await readdir(this.#folder).catch(() => [])) {
      const generation = generationOf(name);
      if (generation === null || generation > this.generation || needed.has(name)) continue;
      await rm(join(this.#folder, name), { force: true }).catch(quietly);
    }
    await syncFolder(this.#folder).catch(quietly);
  }

  /** Takes back what was written; returns what to tell of the failure. */
  async abandon(error: unknown): Promise<unknown> {
    for (const file of this.#open) await file.abandon();
    for (const name of this.#written) {
      await rm(join(this.#folder, name), { force: true }).catch(() => undefined);
    }
    if ((error as NodeJS.ErrnoException)?.code !== 'ENOENT') return error;
    // The files of a writer that has lost already are cleared away by the one that has won.
    const generations = await generationsIn(this.#folder).catch(() => []);
    return (generations.at(-1) ?? 0) >= this.generation ? this.#lost() : error;
  }
}
