/**
 * An index in a folder, opened: the manifest first, everything else when it is asked for. A reader
 * stays with its generation as long as its files are there: until two more were saved. A change
 * opens the newest generation and commits the next one, all or nothing.
 */

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { checkInteger, checkOptions, wrongType, wrongValue } from '../base/check';
import { asFormatError, FormatError } from '../base/format-error';
import { checkLongCall, LONG_CALL, type LongCall } from '../base/long-work';
import type { Codes } from '../codes/codes';
import { ignore } from '../formats/file-io';
import type { Id, IdKind } from '../index/id-table';
import type { RecallReport, SimHashIndexOptions } from '../index/index-options';
import { checkReport, optionsOf } from '../index/saved-header';
import type { IdList, SimHashIndex } from '../index/simhash-index';
import {
  type FolderFile,
  filesOf,
  type Manifest,
  manifestName,
  type TextSettings,
} from '../stored/manifest';
import { type OpenStoredOptions, openStored, type StoredIndex } from '../stored/open-stored';
import type { ColumnInfo } from '../table/columns/types';
import { RowBatch } from '../table/row-batch';
import { columnsFromArrow } from '../table/sealed/carried-columns';
import { frequenciesFromArrow } from '../text/frequency-file';
import type { FrequencyTable } from '../text/frequency-table';
import type { VectorBatch } from '../vectors/vectors';
import { type BuildOptions, buildStored } from './build-index';
import { canStream, type NewBatch } from './folder-change';
import { FolderFiles } from './folder-files';
import {
  GoneError,
  LostError,
  missingFile,
  newestManifest,
  readFolderFile,
  readManifest,
} from './generations';
import { carriedColumns, loadIndex, type OpenedFolder } from './load-index';
import { type MergeOptions, mergeStored } from './merge-folders';
import { changeNewest, MAX_WRITERS } from './newest';
import { checkFolderOptimize, type FolderOptimizeOptions, optimizeStored } from './optimize-stored';
import { folderPath, originOf } from './origin';
import { save } from './save-index';
import {
  type AppendOptions,
  appendStored,
  compactStored,
  removeStored,
  type StoredAppend,
} from './stored-operations';
import {
  type FolderHealth,
  type OpenIndexOptions,
  type RepairOptions,
  repairFolder,
  verifyFolder,
} from './verify-index';
import type { Commit } from './write-generation';

const TRIES = 5;

/**
 * Opens the index of a folder, of its newest generation or an older one: loads all of it into
 * memory, or with `memory` leaves the rows in their files and holds what searches read, up to this
 * limit.
 *
 * @example
 * const index = new SimHashIndex<string>();
 * index.add([1, 0], 'a');
 * await saveIndex(index, 'docs.hs');
 * console.log((await openIndex('docs.hs')).search([1, 0]).ids); // [ 'a' ]
 */
export function openIndex(
  folder: string,
  options: OpenIndexOptions & OpenStoredOptions,
): Promise<StoredIndex>;
export function openIndex(folder: string, options?: OpenIndexOptions): Promise<SimHashIndex>;
export async function openIndex(
  folder: string,
  options?: OpenIndexOptions & Partial<OpenStoredOptions>,
): Promise<SimHashIndex | StoredIndex> {
  const known = [...LONG_CALL, 'generation', 'memory', 'segments'];
  const { generation, memory, segments, ...call } = checkOptions('options', options, known);
  if (segments && memory === undefined) throw wrongType('memory', 'a limit of bytes', memory);
  for (let left = TRIES; ; left--) {
    const opened = await IndexFolder.open(folder, { generation });
    try {
      if (memory === undefined) return await opened.index(call);
      const { signal } = checkLongCall(call);
      const own = { memory, generation, segments, ...(signal && { signal }) };
      return await openStored(new FolderFiles(opened.path), own);
    } catch (error) {
      if (!(error instanceof GoneError) || left === 0 || generation !== undefined) throw error;
    }
  }
}

/**
 * An index in a folder: reads its manifest, and the rest when it is asked for; changes the folder
 * by whole generations.
 *
 * @example
 * const index = new SimHashIndex<string>();
 * index.add([1, 0], 'a');
 * await saveIndex(index, 'docs.hs');
 * const folder = await IndexFolder.open('docs.hs');
 * await folder.append([[0, 1]], ['b']);
 * console.log(folder.rowCount, (await IndexFolder.verify('docs.hs')).problems); // 2 []
 */
export class IndexFolder {
  /** Path of the folder. */
  readonly path: string;
  #manifest: Manifest;

  private constructor(path: string, manifest: Manifest) {
    this.path = path;
    this.#manifest = manifest;
  }

  /**
   * Reads the manifest of the newest generation, and nothing else; or that of `generation`, which
   * is there until two more were saved.
   */
  static async open(
    folder: string,
    options?: { generation?: number | undefined },
  ): Promise<IndexFolder> {
    if (typeof folder !== 'string') throw wrongType('folder', 'a path', folder);
    const { generation } = checkOptions('options', options, ['generation']);
    if (generation !== undefined)
      checkInteger('generation', generation, 1, Number.MAX_SAFE_INTEGER);
    const found = await stat(folder).catch(ignore(['ENOENT', 'ENOTDIR']));
    if (found === null) throw new Error(`there is no folder ${folder}`);
    if (!found.isDirectory()) throw new FormatError('a file, not the folder of an index', folder);
    const manifest =
      generation === undefined
        ? await newestManifest(folder)
        : await readManifest(folder, generation).catch(ignore(['ENOENT']));
    if (manifest === null) {
      const missing = generation === undefined ? 'manifest' : `generation ${generation}`;
      throw new FormatError(`no index: it has no ${missing}`, folder);
    }
    return new IndexFolder((await folderPath(folder)) ?? folder, manifest);
  }

  /**
   * Builds an index in a folder of more rows than memory holds, batch by batch, all or nothing;
   * takes the options of `SimHashIndex` and a limit of memory. With `optimize` rows are partitioned
   * as by `SimHashIndex.optimize`, and recall is measured by searches of the folder.
   */
  static async build(
    folder: string,
    rows: Iterable<NewBatch> | AsyncIterable<NewBatch>,
    options: BuildOptions,
  ): Promise<IndexFolder> {
    await buildStored(folder, rows, options);
    return IndexFolder.open(folder);
  }

  /**
   * Merges folders built `like` one folder, with rows that follow one another: links or copies
   * files, and measures all rows where the parts were. Throws where an id or a code is in two.
   */
  static async merge(
    folder: string,
    parts: readonly string[],
    options?: MergeOptions,
  ): Promise<IndexFolder> {
    await mergeStored(folder, parts, options);
    return IndexFolder.open(folder);
  }

  /**
   * Checks an index folder: every checksum of files, batches and columns, and every invariant that
   * opening relies on. Lists the problems by file and changes nothing.
   */
  static verify(folder: string, options?: LongCall): Promise<FolderHealth> {
    return verifyFolder(folder, options);
  }

  /**
   * Goes back to the newest generation that is sound, and sets the manifests of newer ones aside
   * (`manifest-000007.json.damaged`). Returns its health, with what was wrong with the others. Only
   * generations with damaged or missing bytes are set aside, after `confirm` has returned true, if
   * given. Throws, and changes nothing, where no generation is sound.
   */
  static repair(folder: string, options?: RepairOptions): Promise<FolderHealth> {
    return repairFolder(folder, options);
  }

  /** The generation that was opened, or that the last change of this object has written. */
  get generation(): number {
    return this.#manifest.generation;
  }

  /** Rows that are there. */
  get rowCount(): number {
    return this.#manifest.rows;
  }

  /** The options of the index. */
  get options(): SimHashIndexOptions {
    return this.#sound(() => optionsOf({ header: this.#manifest.index }));
  }

  /** What `optimize` measured; null before. */
  get report(): RecallReport | null {
    const { report } = this.#manifest.index;
    return report && this.#sound(() => checkReport(report));
  }

  /** What kind of ids the rows have; null where there never was a row. @internal */
  get idKind(): IdKind | null {
    return this.#manifest.index.ids;
  }

  /** How texts became vectors; null where that was not saved. */
  get text(): TextSettings | null {
    return this.#manifest.text;
  }

  /** The files of this generation. */
  get files(): readonly FolderFile[] {
    return this.#manifest.files;
  }

  /** The columns that are carried next to the rows. */
  get columnInfo(): readonly ColumnInfo[] {
    return this.#manifest.columns;
  }

  /** The index, all of it. */
  async index(options?: LongCall): Promise<SimHashIndex> {
    const call = checkLongCall(checkOptions('options', options, LONG_CALL));
    return loadIndex(this.#opened, call);
  }

  /**
   * Appends rows to the newest generation and saves the next one; returns the row of the first.
   * Where another writer is first, they are appended to its generation. A program that holds the
   * index already adds to it and calls `saveIndex` instead.
   */
  async append(batch: VectorBatch | Codes, ids?: IdList, options?: AppendOptions): Promise<number> {
    const known = ['columns', 'replace', ...LONG_CALL];
    const { columns, replace = false, ...call } = checkOptions('options', options, known);
    checkLongCall(call);
    if (columns !== undefined && !(columns instanceof RowBatch)) {
      throw wrongType('columns', 'a RowBatch', columns);
    }
    const rows = [{ vectors: batch, ids, columns }];
    return this.appendAll(rows, { replace, ...call });
  }

  /**
   * The same of many batches, one after another: memory holds a part of them. They are read again
   * where another writer is first, unless they can be read once only. @internal
   */
  async appendAll(
    batches: Iterable<NewBatch> | AsyncIterable<NewBatch>,
    options: StoredAppend,
  ): Promise<number> {
    return changeNewest(
      this.path,
      async (base) => {
        const { manifest, firstRow } = await appendStored(this.path, base, batches, options);
        this.#manifest = manifest;
        return firstRow;
      },
      async () => {
        await this.change(options.signal, (_, commit) => commit({ isWhole: true }));
        return this.appendAll(batches, options);
      },
      Array.isArray(batches) ? MAX_WRITERS : 0,
    );
  }

  /** Removes rows of the newest generation by their ids; returns how many were there. */
  async remove(ids: Iterable<Id>): Promise<number> {
    const all = [...ids];
    return changeNewest(
      this.path,
      async (base) => {
        if (!canStream(base, Math.max(0, base.rows - all.length))) return null;
        const { manifest, count } = await removeStored(this.path, base, all);
        this.#manifest = manifest ?? base;
        return count;
      },
      () =>
        this.change(undefined, async (index, commit) => {
          let count = 0;
          for (const id of all) count += Number(index.remove(id));
          if (count > 0) await commit({});
          return count;
        }),
    );
  }

  /** Merges files, and writes those again that have removed rows, to as few as possible. */
  async compact(options?: LongCall): Promise<void> {
    const call = checkLongCall(checkOptions('options', options, LONG_CALL));
    await changeNewest(
      this.path,
      async (base) => {
        this.#manifest = await compactStored(this.path, base, call);
        return true;
      },
      async () => {
        await this.change(call.signal, (_, commit) => commit({ isWhole: true, given: call }));
        return true;
      },
    );
  }

  /**
   * Makes searches of the newest generation fast at a recall, measures it and saves the next one,
   * as `SimHashIndex.optimize` does it. Loads the index; with `memory` the rows stay on disk, dense
   * vectors are needed, and `queries` is a number.
   */
  async optimize(options?: FolderOptimizeOptions): Promise<RecallReport> {
    const { memory, call, optimize } = checkFolderOptimize(options);
    const inMemory = async () => {
      await this.change(call.signal, async (index, commit) => {
        await index.optimizeAsync({ ...optimize, ...call });
        await commit({ given: call });
      });
      return this.#manifest;
    };
    const inFiles = (limit: number) => (base: Manifest) =>
      optimizeStored(this.path, base, { memory: limit, call, optimize });
    this.#manifest =
      memory === null ? await inMemory() : await changeNewest(this.path, inFiles(memory), inMemory);
    return this.report as RecallReport;
  }

  /** Changes the index of the newest generation, again where another is first. @internal */
  async change<T>(
    signal: AbortSignal | undefined,
    work: (index: SimHashIndex, commit: Commit) => Promise<T>,
  ): Promise<T> {
    for (let left = MAX_WRITERS; ; left--) {
      const index = await openIndex(this.path, signal && { signal });
      const origin = originOf(index) ?? null;
      const state = { folder: this.path, base: origin?.manifest ?? null, origin, given: {} };
      const commit: Commit = async (changes) => {
        this.#manifest = await save(index, { ...state, ...changes });
      };
      try {
        return await work(index, commit);
      } catch (error) {
        if (!(error instanceof LostError) || left === 0) throw error;
      }
    }
  }

  get #opened(): OpenedFolder {
    return {
      ...{ path: this.path, manifest: this.#manifest },
      sound: (read) => this.#sound(read),
    };
  }

  /**
   * The carried columns, or some of them, of the rows that are there, in their order; null where
   * none are carried.
   */
  async columns(names?: readonly string[]): Promise<RowBatch | null> {
    const known = this.columnInfo.map(({ name }) => name);
    for (const name of names ?? []) {
      if (!known.includes(name)) throw wrongValue('names', `some of ${known.join(', ')}`, name);
    }
    return carriedColumns(this.#opened, async (file) => {
      const path = join(this.path, file.name);
      return columnsFromArrow(await this.#read(file), path, { names, isSound: true });
    });
  }

  /** The table of document frequencies; null where there is none. */
  async frequencies(): Promise<FrequencyTable | null> {
    const [file] = filesOf(this.#manifest, 'frequencies');
    if (file === undefined) return null;
    const path = join(this.path, file.name);
    return frequenciesFromArrow(await this.#read(file), { file: path });
  }

  /** The bytes of a file, which are those that were written. */
  async #read(file: FolderFile): Promise<Uint8Array> {
    const bytes = await readFolderFile(this.path, file).catch(ignore(['ENOENT']));
    if (bytes === null) throw await missingFile(this.path, this.generation, file.name);
    return bytes;
  }

  /** What the manifest says, where it cannot be. */
  #sound<T>(read: () => T): T {
    return asFormatError(join(this.path, manifestName(this.generation)), read);
  }
}
