/**
 * An index in a folder, opened: the manifest first, everything else when it is asked for. A reader
 * stays with its generation as long as its files are there: until two more were saved. A change
 * opens the newest generation and commits the next one, all or nothing.
 */

import { join } from 'node:path';
import { checkBoolean, checkByteCount, checkInteger, checkOptions, wrongType } from '../base/check';
import { LONG_CALL, type LongCall, LongWork } from '../base/long-work';
import type { Codes } from '../codes/codes';
import type { Id } from '../index/ids';
import { IndexCore } from '../index/index-core';
import {
  checkIndexOptions,
  OPTIMIZE_OPTIONS,
  type OptimizeOptions,
  type RecallReport,
  type SimHashIndexOptions,
} from '../index/index-options';
import { MemoryIndex } from '../index/memory-index';
import { checkWanted, optimize as optimizeInMemory } from '../index/optimize';
import { coreOf, type IdList, type SimHashIndex } from '../index/simhash-index';
import { checkBatch, type RowBatch } from '../table/row-batch';
import { frequenciesFromArrow } from '../text/frequency-file';
import type { FrequencyTable } from '../text/frequency-table';
import type { TextModel, VectorBatch } from '../vectors/vectors';
import { FolderChange, type NewBatch } from './change';
import { StoredColumns } from './columns';
import { openRowless, wholeFile, withNewest } from './content';
import { FolderFacts, pathOf, readFolder } from './folder-facts';
import { FolderPlace, withContent } from './folder-place';
import {
  GenerationWriter,
  neededManifest,
  newestManifest,
  prepareFolder,
  prepareNew,
} from './generations';
import { findRows } from './id-hashes';
import { loadIndex } from './load-index';
import { type Manifest, optionsOf, type TextSettings } from './manifest';
import { type MergeOptions, mergeFolders } from './merge-folders';
import { checkWantedInFiles, optimizeStored } from './optimize-stored';
import { withPlace } from './place';
import { Reader } from './reader';
import { type OpenStoredOptions, openStored, type StoredIndex } from './stored-index';
import { type FolderHealth, verifyFolder } from './verify';
import {
  checkSaveOptions,
  noteOrigin,
  originOf,
  type SaveIndexOptions,
  writeFrequencies,
  writeIndex,
  writeSpace,
} from './write-index';

const TRIES = 5;
/** How many other writers may be first, one after another, before a change gives up. */
const MAX_WRITERS = 20;
/** Bytes that a change holds, where no limit is given. */
const USUAL_MEMORY = 2 ** 29;

export interface AppendOptions extends LongCall {
  /** The carried columns of the new rows. */
  columns?: RowBatch;
  /** Replaces rows of the same ids. */
  replace?: boolean;
}

export interface FolderOptimizeOptions extends OptimizeOptions, LongCall {
  /** Memory for rows: bytes, or a text such as '2GB'. The index is loaded without. */
  memory?: number | string;
}

/**
 * Loads the index of a folder; with `memory` leaves rows in their files and holds up to this limit
 * of what searches read.
 *
 * @example
 * const index = new SimHashIndex<string>();
 * index.add([1, 0], 'a');
 * await saveIndex(index, 'docs.hs');
 * console.log((await openIndex('docs.hs')).search([1, 0]).ids); // [ 'a' ]
 */
export function openIndex(
  folder: string,
  options: LongCall & OpenStoredOptions,
): Promise<StoredIndex>;
export function openIndex(folder: string, options?: LongCall): Promise<SimHashIndex>;
export async function openIndex(
  folder: string,
  options?: LongCall & Partial<OpenStoredOptions>,
): Promise<SimHashIndex | StoredIndex> {
  const known = { ...LONG_CALL, memory: null, segments: null };
  const { memory, segments, ...call } = checkOptions(options, known);
  if (segments && memory === undefined) throw wrongType('memory', 'a limit of bytes', memory);
  const { path } = await readFolder(folder);
  if (memory !== undefined) {
    const place = new FolderPlace(path);
    const opened = await openStored(place, { memory, segments, signal: call.signal });
    call.onProgress?.(1, 1);
    return opened;
  }
  return withNewest(
    () => neededManifest(path),
    TRIES,
    (manifest) => loadFolder(path, manifest, call),
  );
}

/**
 * Saves an index to a folder, all or nothing. Writes only what changed where the index was opened
 * from or saved to this folder.
 */
export async function saveIndex(
  index: SimHashIndex,
  folder: string,
  options?: SaveIndexOptions,
): Promise<void> {
  const core = coreOf(index);
  if (typeof folder !== 'string') throw wrongType('folder', 'a path', folder);
  core.refuseIfBusy();
  const given = checkSaveOptions(options, index.count);
  await prepareFolder(folder);
  const base = await newestManifest(folder);
  const path = await pathOf(folder);
  const origin = originOf(index, { name: folder, path }, base, given.replace === true);
  const writer = new GenerationWriter(folder, base);
  await writer.run(() =>
    withPlace(new FolderPlace(folder), (place) =>
      writeIndex(writer, index, path, { origin, place }, given),
    ),
  );
}

/** Loads the index of a folder's generation. */
export async function loadFolder(
  folder: string,
  manifest: Manifest,
  call: LongCall,
): Promise<SimHashIndex> {
  const index = await loadIndex(new FolderPlace(folder), manifest, call);
  noteOrigin(index, await pathOf(folder), manifest);
  return index;
}

/**
 * An index in a folder. Its manifest is read at once; changes save whole generations.
 *
 * @example
 * const index = new SimHashIndex<string>();
 * index.add([1, 0], 'a');
 * await saveIndex(index, 'docs.hs');
 * const folder = await IndexFolder.open('docs.hs');
 * await folder.append([[0, 1]], ['b']);
 * console.log(folder.rowCount, (await IndexFolder.verify('docs.hs')).problems); // 2 []
 */
export class IndexFolder extends FolderFacts {
  /** Reads the manifest of the newest generation. */
  static async open(folder: string): Promise<IndexFolder> {
    const { path, manifest } = await readFolder(folder);
    return new IndexFolder(path, manifest);
  }

  /**
   * Builds an index of more rows than memory holds from batches, each of which is read once. A
   * refused row and any failure leave the folder as it was. With `optimize` rows are partitioned as
   * by `SimHashIndex.optimize`, and recall is measured by searches of the folder.
   */
  static async build(
    folder: string,
    rows: Iterable<NewBatch> | AsyncIterable<NewBatch>,
    options: BuildOptions,
  ): Promise<IndexFolder> {
    if (typeof options !== 'object' || options === null) {
      throw wrongType('options', 'an object', options);
    }
    const { memory: limit, optimize, replace = false, like, firstRow = 0, ...rest } = options;
    const { text, frequencies, signal, onProgress, threads, ...ofIndex } = rest;
    const call = checkOptions({ signal, onProgress, threads } as LongCall, LONG_CALL);
    checkOptions(optimize, OPTIMIZE_OPTIONS, 'optimize');
    const own = Object.entries({ ...ofIndex, optimize }).find(([, value]) => value !== undefined);
    if (like !== undefined && own !== undefined) {
      throw new TypeError(`"like" takes all options of its folder: leave out "${own[0]}"`);
    }
    if (typeof folder !== 'string') throw wrongType('folder', 'a path', folder);
    const memory = checkByteCount('memory', limit);
    checkBoolean('replace', replace);
    checkInteger('firstRow', firstRow, 0, 2 ** 31 - 1);
    // Of the folder that it is like a build takes no row.
    const model =
      like === undefined
        ? null
        : await openRowless(new FolderPlace(like), await neededManifest(like));
    const taken = model === null ? ofIndex : optionsOf(model.manifest.index);
    const core = new IndexCore(checkIndexOptions(taken));
    core.rows = new MemoryIndex(core.rows.options, model?.space ?? null, firstRow);
    if (optimize !== undefined) checkOptimize(core, optimize);
    const base = await prepareNew(folder, replace);
    await FolderChange.fresh(folder, base, core, { memory, call }, async (change) => {
      if (model?.space) change.files.space = await writeSpace(change.writer, model.space);
      for await (const batch of rows) await change.add(batch, false);
      let report = null;
      const isInMemory = change.segments.length === 0;
      if (optimize !== undefined && change.added > 0 && isInMemory) {
        report = await optimizeInMemory(core, checkWanted(core, optimize), new LongWork(call));
        change.files.space = await writeSpace(change.writer, core.rows.space);
      }
      await change.flush();
      await change.checkNewIds();
      if (optimize !== undefined && change.added > 0 && report === null) {
        const wanted = checkWantedInFiles(core, optimize);
        report = await optimizeStored(change, wanted);
      }
      const counted = model?.manifest.files.frequencies;
      if (frequencies)
        change.files.frequencies = await writeFrequencies(change.writer, frequencies);
      else if (model && counted) {
        change.files.frequencies = await change.writer.take(counted, model.place.name);
      }
      change.text = text ?? model?.manifest.text ?? null;
      await change.publish(report);
    });
    return IndexFolder.open(folder);
  }

  /**
   * Merges folders that were built `like` one, whose rows follow one another. Links or copies their
   * files. Throws where an id is in two.
   */
  static async merge(
    folder: string,
    parts: readonly string[],
    options?: MergeOptions,
  ): Promise<IndexFolder> {
    await mergeFolders(folder, parts, options);
    return IndexFolder.open(folder);
  }

  /**
   * Compares every file and block of a folder with its checksum, and every row with what other
   * files say of it. Lists the problems by file and changes nothing.
   */
  static verify(folder: string, options?: LongCall): Promise<FolderHealth> {
    return verifyFolder(folder, options);
  }

  /** The index, loaded. */
  async index(options?: LongCall): Promise<SimHashIndex> {
    const call = checkOptions(options, LONG_CALL);
    return loadFolder(this.path, this.manifest, call);
  }

  /**
   * Appends rows and saves; returns the row of the first. Where another writer is first, they are
   * appended to its generation. A program that holds the index already adds to it and calls
   * `saveIndex` instead.
   */
  async append(batch: VectorBatch | Codes, ids?: IdList, options?: AppendOptions): Promise<number> {
    const known = { columns: checkBatch, replace: checkBoolean, ...LONG_CALL };
    const { columns, replace = false, ...call } = checkOptions(options, known);
    return this.appendAll([{ vectors: batch, ids, columns }], { replace, ...call });
  }

  /**
   * The same of many batches, one after another: memory holds a part of them. They are read again
   * where another writer is first, unless they can be read once only. @internal
   */
  async appendAll(
    batches: Iterable<NewBatch> | AsyncIterable<NewBatch>,
    { replace, memory = USUAL_MEMORY, ...call }: LongCall & { replace: boolean; memory?: number },
  ): Promise<number> {
    const tries = Array.isArray(batches) ? MAX_WRITERS : 0;
    return this.#change({ memory, call, tries }, async (change) => {
      const firstRow = change.core.rows.nextRow;
      for await (const batch of batches) await change.add(batch, replace);
      await change.flush();
      await change.checkNewIds();
      await change.merge('usual');
      this.manifest = await change.publish();
      return firstRow;
    });
  }

  /** Removes rows and saves; returns how many were there. */
  async remove(ids: Iterable<Id>): Promise<number> {
    const all = [...ids];
    return this.#change({ memory: USUAL_MEMORY, call: {} }, async (change) => {
      const count = await change.removeIds(all);
      if (count === 0) {
        this.manifest = change.base as Manifest;
        return 0;
      }
      await change.merge('usual');
      this.manifest = await change.publish();
      return count;
    });
  }

  /** Merges segments, and drops removed rows from the files. */
  async compact(options?: LongCall): Promise<void> {
    const call = checkOptions(options, LONG_CALL);
    await this.#change({ memory: USUAL_MEMORY, call }, async (change) => {
      await change.merge('whole');
      this.manifest = await change.publish();
    });
  }

  /**
   * As `SimHashIndex.optimize`, and saves. Loads the index; with `memory` the rows stay on disk,
   * and dense vectors are needed.
   */
  async optimize(options?: FolderOptimizeOptions): Promise<RecallReport> {
    const known = { memory: null, ...OPTIMIZE_OPTIONS, ...LONG_CALL };
    const { memory, signal, onProgress, threads, ...optimize } = checkOptions(options, known);
    const call = { signal, onProgress, threads };
    if (memory === undefined) return this.#optimizeInMemory(optimize, call);
    const limit = checkByteCount('memory', memory);
    await this.#change({ memory: limit, call }, async (change) => {
      const wanted = checkWantedInFiles(change.core, optimize);
      const report = await optimizeStored(change, wanted);
      this.manifest = await change.publish(report);
    });
    return this.report as RecallReport;
  }

  async #optimizeInMemory(optimize: OptimizeOptions, call: LongCall): Promise<RecallReport> {
    const own = call.signal && { signal: call.signal };
    const newest = () => neededManifest(this.path);
    const report = await withNewest(newest, MAX_WRITERS, async (manifest) => {
      const index = await loadFolder(this.path, manifest, { ...own });
      const measured = await index.optimize({ ...optimize, ...call });
      await saveIndex(index, this.path, own);
      return measured;
    });
    this.manifest = await newest();
    return report;
  }

  /** Changes the newest generation, and the next one where another writer was first. */
  #change<T>(
    { memory, call, tries = MAX_WRITERS }: { memory: number; call: LongCall; tries?: number },
    work: (change: FolderChange) => Promise<T>,
  ): Promise<T> {
    const newest = () => neededManifest(this.path);
    return withNewest(newest, tries, (base) =>
      FolderChange.of(this.path, base, { memory, call }, work),
    );
  }

  /** Carried columns, in the order of rows; null where there are none. */
  async columns(names?: readonly string[]): Promise<RowBatch | null> {
    const wanted = names ?? this.columnInfo.map(({ name }) => name);
    if (wanted.length === 0 && this.columnInfo.length === 0) return null;
    return withContent(this.path, this.manifest, async (content) => {
      const stored = new StoredColumns(new Reader(content));
      return stored.batchOf(wanted, await stored.rows());
    });
  }

  /** The table that weighted the texts, if there is one. */
  async frequencies(): Promise<FrequencyTable | null> {
    const file = this.manifest.files.frequencies;
    if (file === undefined) return null;
    const place = new FolderPlace(this.path);
    const bytes = await withPlace(place, () => wholeFile(place, this.manifest, file));
    return frequenciesFromArrow(bytes, { file: join(this.path, file.name) });
  }

  /** Which of these ids the rows have. @internal */
  idsAmong(ids: readonly Id[]): Promise<Id[]> {
    return withContent(this.path, this.manifest, async (content) => {
      const found = await findRows(new Reader(content), ids);
      return ids.filter((_, i) => found[i] !== undefined);
    });
  }
}

/** How an index is built in a folder. */
export interface BuildOptions extends SimHashIndexOptions, LongCall {
  /** Memory for rows: bytes, or a text such as '2GB'. */
  readonly memory: number | string;
  /**
   * Makes searches fast, and measures recall. Without it rows stay in their order, unless `like`
   * gives a space.
   */
  readonly optimize?: OptimizeOptions | undefined;
  /** Replaces the index of the folder. */
  readonly replace?: boolean | undefined;
  /** How texts became vectors, for texts as queries. */
  readonly text?: TextSettings | TextModel | undefined;
  /** The table that weighted the texts. */
  readonly frequencies?: FrequencyTable | undefined;
  /** Takes options and centroids from this folder, so that folders can be merged. */
  readonly like?: string | undefined;
  /**
   * Number of the first row; 0 by default. Folders that will be merged need numbers that do not
   * overlap.
   */
  readonly firstRow?: number | undefined;
}

/** Where all rows stay in memory any index can be optimized; in files dense vectors are needed. */
function checkOptimize(core: IndexCore, optimize: OptimizeOptions): void {
  if (core.dense === null) checkWanted(core, optimize);
  else checkWantedInFiles(core, optimize);
}
