/**
 * Checks an index folder: every checksum of files, batches and columns, and every invariant that
 * opening takes on trust. Problems are listed by file; nothing is changed. Files are read batch by
 * batch and block by block, so that memory holds no index.
 */

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { checkOptions, wrongType } from '../base/check';
import { FormatError, messageOf } from '../base/format-error';
import { checkLongCall, LONG_CALL, type LongCall } from '../base/long-work';
import { ByteSource } from '../formats/byte-source';
import { eachPiece } from '../formats/file-io';
import { contentNamed, type StoredContent } from '../stored/content';
import {
  checkFileChecksum,
  FileChecksum,
  type FolderFile,
  type Manifest,
  manifestName,
} from '../stored/manifest';
import { type ByteFile, openArrowFile } from '../table/arrow/batches';
import type { Span } from '../table/arrow/messages';
import { bucketsFromArrow } from '../table/sealed/look-up-tables';
import { blocksFromArrow, checkBlocks } from '../table/sealed/segment-tables';
import { centroidsFromArrow, removedFromArrow } from '../table/sealed/small-tables';
import { frequenciesFromArrow } from '../text/frequency-file';
import { FolderFiles } from './folder-files';
import {
  checkCopy,
  generationsIn,
  newestManifest,
  readFolderFile,
  readManifest,
  setAside,
} from './generations';
import { ContentCheck } from './verify-content';

/** Which generation is opened, and how. */
export interface OpenIndexOptions extends LongCall {
  /** An older generation, while its files are there; the newest by default. */
  generation?: number | undefined;
}

/** What a check has found. */
export interface FolderHealth {
  /** The newest generation; 0 where no manifest can be read. */
  readonly generation: number;
  /** Rows of the index by its manifest. */
  readonly rows: number;
  /** None where the folder is sound. */
  readonly problems: readonly FolderProblem[];
}

/** What going back to an older generation discards. */
export interface RepairLoss {
  /** The sound generation that becomes the newest. */
  readonly generation: number;
  /**
   * At most so many rows are discarded: those that were added or replaced since. Null where the
   * newest manifest cannot be read.
   */
  readonly rows: number | null;
}

export interface RepairOptions extends LongCall {
  /**
   * Asked before a generation is discarded; the folder stays as it is unless it returns true.
   * Without it, generations with damaged files are discarded.
   */
  confirm?: (loss: RepairLoss) => boolean | Promise<boolean>;
}

export interface FolderProblem {
  /** The file's name in the folder. */
  readonly file: string;
  readonly message: string;
}

/** Runs a check; an error becomes a problem of this file, and null is returned. */
type Attempt = <T>(file: string, work: () => T | Promise<T>) => Promise<T | null>;

/**
 * Checks all files of a generation, the newest by default. Where another process saves a generation
 * meanwhile, files of the one that was checked may be gone, so problems are looked for again in the
 * new one.
 */
export async function verifyFolder(
  folder: string,
  options: OpenIndexOptions | undefined,
): Promise<FolderHealth> {
  const { generation, call } = await checkVerify(folder, options);
  for (let left = MAX_TRIES; left > 0; left--) {
    const newest = (await generationsIn(folder)).at(-1);
    const { health } = await healthOf(folder, generation, call);
    if (health.problems.length === 0 || generation !== undefined) return health;
    if ((await generationsIn(folder)).at(-1) === newest) return health;
  }
  throw new Error(`${folder}: it changes too fast to be checked, try again later`);
}

/** A folder may change this often while it is checked. */
const MAX_TRIES = 20;

async function checkVerify(folder: string, options: OpenIndexOptions | undefined) {
  if (typeof folder !== 'string') throw wrongType('folder', 'a path', folder);
  const { generation, ...rest } = checkOptions('options', options, [...LONG_CALL, 'generation']);
  const call = checkLongCall(rest);
  if (!(await stat(folder)).isDirectory()) throw new FormatError('a file, not a folder', folder);
  return { generation, call };
}

/**
 * The health of one generation, the newest by default. `isReadable` is true where every file passes
 * its checksums: whatever problem there is, is one of what the files say of each other.
 */
async function healthOf(
  folder: string,
  generation: number | undefined,
  call: LongCall,
): Promise<{ health: FolderHealth; manifest: Manifest | null; isReadable: boolean }> {
  const problems: FolderProblem[] = [];
  const attempt: Attempt = async (file, work) => {
    try {
      return await work();
    } catch (error) {
      call.signal?.throwIfAborted(); // a stop is no damage
      problems.push({ file, message: problemOf(error, join(folder, file)) });
      return null;
    }
  };
  const own = generation ?? (await generationsIn(folder)).at(-1) ?? 1;
  const manifest = await attempt(manifestName(own), () => wholeManifest(folder, generation));
  if (manifest === null) {
    return { health: { generation: 0, rows: 0, problems }, manifest, isReadable: false };
  }
  const progress = new Progress(manifest, call);
  const bodies: Bodies = new Map();
  for (const file of manifest.files) {
    await attempt(file.name, async () => {
      bodies.set(file.name, await checkFile(folder, file, progress.passed));
    });
  }
  // Relations between files are checked only if every file is sound.
  const isReadable = problems.length === 0;
  if (isReadable) {
    const content = await attempt(manifestName(own), () => contentIn(folder, manifest));
    if (content !== null) await checkContent(content, bodies, { attempt, progress });
  }
  if (generation === undefined) await attempt('manifest.json', () => checkCopy(folder, manifest));
  progress.end();
  const { rows } = manifest;
  return { health: { generation: manifest.generation, rows, problems }, manifest, isReadable };
}

/**
 * Goes back to the newest generation that is sound: the manifests of newer ones get another name.
 * Returns its health, with what was wrong with the newer ones as problems. A generation is
 * discarded only if the bytes of a file are damaged or missing: where all pass their checksums its
 * rows are there, whatever else is wrong, and going back would lose them. Throws then, where no
 * generation is sound, and where `confirm` returns false; nothing is changed.
 */
export async function repairFolder(
  folder: string,
  options: RepairOptions | undefined,
): Promise<FolderHealth> {
  const { confirm, ...rest } = checkOptions('options', options, [...LONG_CALL, 'confirm']);
  if (confirm !== undefined && typeof confirm !== 'function') {
    throw wrongType('confirm', 'a function', confirm);
  }
  const { call } = await checkVerify(folder, rest);
  const problems: FolderProblem[] = [];
  const damaged: number[] = [];
  let newest: Manifest | null | undefined;
  for (const generation of (await generationsIn(folder)).reverse()) {
    const { health, manifest, isReadable } = await healthOf(folder, generation, call);
    newest = newest === undefined ? manifest : newest;
    problems.push(...health.problems);
    if (manifest !== null && health.problems.length === 0) {
      if (damaged.length === 0) return { ...health, problems };
      const loss = { generation, rows: rowsSince(newest, manifest) };
      if (confirm !== undefined && (await confirm(loss)) !== true) {
        throw new Error(`${folder}: not repaired, since "confirm" did not return true`);
      }
      for (const one of damaged) await setAside(folder, one);
      return { ...health, problems };
    }
    if (isReadable) {
      const [{ file, message }] = health.problems;
      const why =
        'every file passes its checksums, so going back would discard rows that are there';
      throw new FormatError(`not repaired: ${why}; ${file}: ${message}`, folder);
    }
    damaged.push(generation);
  }
  const [first] = problems;
  const why = first === undefined ? 'it has no manifest' : `${first.file}: ${first.message}`;
  throw new FormatError(`no generation is sound: ${why}`, folder);
}

/** At most how many rows `newest` has that `sound` has not; null where `newest` is unreadable. */
function rowsSince(newest: Manifest | null | undefined, sound: Manifest): number | null {
  if (!newest) return null;
  const added = newest.index.nextRow - sound.index.nextRow;
  return Math.min(newest.rows, added >= 0 ? added : newest.rows); // fewer row numbers: all are new
}

/** The message of an error without the path, since problems name their file. */
function problemOf(error: unknown, path: string): string {
  if ((error as NodeJS.ErrnoException)?.code === 'ENOENT') return 'missing';
  const message = messageOf(error);
  return message.startsWith(`${path}: `) ? message.slice(path.length + 2) : message;
}

/** The manifest of a generation, the newest by default, checked; throws where there is none. */
async function wholeManifest(folder: string, generation: number | undefined): Promise<Manifest> {
  if (generation !== undefined) return readManifest(folder, generation);
  const manifest = await newestManifest(folder);
  if (manifest === null) throw new Error('there is no manifest, so this is no index');
  return manifest;
}

/** Files of any size, which are checked batch by batch, and the kinds that their schemas state. */
const STREAMED = {
  ...{ rows: 'segment', vectors: 'vectors', hashes: 'hashes', columns: 'columns' },
  copies: 'segment',
} as const;

/** By name of a file, where the bodies of its batches lie. */
type Bodies = Map<string, readonly Span[]>;

/** Progress by bytes read: those of segments are read three times, of carried columns twice. */
class Progress {
  #done = 0;
  readonly #total: number;

  constructor(
    manifest: Manifest,
    readonly call: LongCall,
  ) {
    this.#total = manifest.files.reduce((sum, { kind, bytes }) => {
      return sum + bytes * (kind === 'columns' ? 2 : kind in STREAMED ? 3 : 1);
    }, 1);
  }

  /** Counts bytes that were read; throws where the call was stopped. */
  readonly passed = (bytes: number): void => {
    this.call.signal?.throwIfAborted();
    // At most all but one: only `end` reports the total.
    this.#done = Math.min(this.#done + bytes, this.#total - 1);
    this.call.onProgress?.(this.#done, this.#total);
  };

  end(): void {
    this.call.onProgress?.(this.#total, this.#total);
  }
}

/**
 * Checks the size and checksum of a file, those of its batches and columns, and its number of rows;
 * throws what is wrong. Returns where the bodies of its batches lie, if it is read batch by batch.
 */
export async function checkFile(
  folder: string,
  file: FolderFile,
  passed: (bytes: number) => void = () => undefined,
): Promise<readonly Span[]> {
  const path = join(folder, file.name);
  const isStreamed = file.kind in STREAMED;
  const { rows, bodies } = isStreamed
    ? await batchesOf(path, file, passed)
    : { rows: rowsIn(await readFolderFile(folder, file), file, path), bodies: [] };
  if (!isStreamed) passed(file.bytes);
  if (rows === file.rows) return bodies;
  throw new Error(`${rows} rows, the manifest says ${file.rows}`);
}

/**
 * Reads a file twice: for its checksum, then batch by batch for those of its columns. Memory holds
 * one batch.
 */
async function batchesOf(
  path: string,
  file: FolderFile,
  passed: (bytes: number) => void,
): Promise<{ rows: number; bodies: readonly Span[] }> {
  const checksum = new FileChecksum();
  await eachPiece(path, file.bytes, (piece) => {
    passed(piece.length);
    checksum.add(piece);
  });
  checkFileChecksum(checksum.text, file, path);
  const source = await ByteSource.open(path);
  try {
    const opened = await openArrowFile((await source?.randomAccess()) as ByteFile, path);
    const header = JSON.parse(opened.header ?? '{}');
    if (header.kind !== STREAMED[file.kind as 'rows']) {
      throw new FormatError(`it holds no ${file.kind}, its schema does not say so`, path);
    }
    let rows = 0;
    for await (const batch of opened.batches()) {
      rows += batch.count;
      passed((file.bytes * batch.count) / Math.max(1, file.rows));
    }
    return { rows, bodies: opened.bodies };
  } finally {
    await source?.close();
  }
}

function contentIn(folder: string, manifest: Manifest): Promise<StoredContent> {
  const { generation } = manifest;
  const path = join(folder, manifestName(generation));
  const files = new FolderFiles(folder, generation);
  return contentNamed(files, manifest, { path }).catch(async (error) => {
    await files.close();
    throw error;
  });
}

/**
 * Checks that the tables of blocks match the files, then the rows of each segment, and at last what
 * they say of each other, where all segments are sound.
 */
async function checkContent(
  content: StoredContent,
  bodies: Bodies,
  { attempt, progress }: { attempt: Attempt; progress: Progress },
): Promise<void> {
  try {
    const check = new ContentCheck(content, progress.passed);
    let isSound = true;
    for (const segment of content.segments) {
      const { table, rows, vectors, blocks } = segment;
      const found = await attempt(blocks.name, async () => {
        const own = { rows: bodies.get(rows.name) ?? [], vectors: null };
        checkBlocks(table, { ...own, ...(vectors && { vectors: bodies.get(vectors.name) ?? [] }) });
        const copies = content.copies.find(({ home }) => home === segment);
        const places = copies && { rows: bodies.get(copies.rows.name) ?? [], vectors: null };
        if (places) checkBlocks(copies.table, places);
        await check.segment(segment);
        return true;
      });
      isSound &&= found === true;
    }
    if (isSound) await attempt(manifestName(content.manifest.generation), () => check.whole());
  } finally {
    await content.files.close();
  }
}

/** How many rows a file has that is read as a whole; reading it compares its checksums. */
function rowsIn(bytes: Uint8Array, { kind, rows }: FolderFile, path: string): number {
  if (kind === 'blocks' || kind === 'places') return blocksFromArrow(bytes, path).count;
  if (kind === 'buckets') return bucketsFromArrow(bytes, path).rows.length;
  if (kind === 'removed') return removedFromArrow(bytes, path).length;
  if (kind === 'frequencies') return frequenciesFromArrow(bytes, { file: path }).size;
  // Their width is not known here: any number of integers that the count divides has that count.
  const { length } = centroidsFromArrow(bytes, path);
  return length % rows === 0 ? rows : length;
}
