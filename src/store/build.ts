/**
 * Builds an index in a folder, of more rows than memory holds, as one generation: rows are hashed
 * batch by batch and become segments; with `optimize` they are placed in a space that a sample of
 * them trains, and recall is measured before the generation is published.
 */

import { checkByteCount, checkInteger, checkOptions, wrongType } from '../base/check';
import { LONG_CALL, type LongCall, LongWork } from '../base/long-work';
import { IndexCore } from '../index/index-core';
import {
  checkIndexOptions,
  OPTIMIZE_OPTIONS,
  type OptimizeOptions,
  type SimHashIndexOptions,
} from '../index/index-options';
import { MemoryIndex } from '../index/memory-index';
import { checkWanted, optimize as optimizeInMemory } from '../index/optimize';
import { frequenciesToArrow } from '../text/frequency-file';
import type { FrequencyTable } from '../text/frequency-table';
import type { TextModel } from '../vectors/vectors';
import { FolderChange, type NewBatch } from './change';
import { type Content, openRowless } from './content';
import { FolderPlace } from './folder-place';
import { neededManifest, prepareNew } from './generations';
import { optionsOf } from './header';
import type { FileKind, FolderFile, Manifest, TextSettings } from './manifest';
import { checkWantedInFiles, optimizeStored } from './optimize-stored';

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

/** Checks the options, and separates those of the index, of the call and of the build. */
function split(given: BuildOptions) {
  if (typeof given !== 'object' || given === null) throw wrongType('options', 'an object', given);
  const { memory: _, optimize, replace, like, firstRow, ...rest } = given;
  const { text, frequencies, signal, onProgress, threads, ...options } = rest;
  const call: LongCall = {
    ...(signal && { signal }),
    ...(onProgress && { onProgress }),
    ...(threads !== undefined && { threads }),
  };
  checkOptions(call, LONG_CALL);
  checkOptions(optimize, OPTIMIZE_OPTIONS, 'optimize');
  const others = { ...options, ...(optimize && { optimize }) };
  if (like !== undefined) checkOptions<object>(others, {}, 'options of a build "like" a folder');
  return { options, call, optimize, replace, text, frequencies, like, firstRow };
}

/** What a build takes from the folder that it is like: none of its rows. */
async function modelIn(folder: string): Promise<Content> {
  const manifest = await neededManifest(folder);
  return openRowless(new FolderPlace(folder, manifest.generation), manifest);
}

/**
 * Builds the index of a folder from batches, each of which is read once; returns the manifest of
 * the new generation. A refused row and any failure leave the folder as it was.
 */
export async function buildFolder(
  folder: string,
  batches: Iterable<NewBatch> | AsyncIterable<NewBatch>,
  given: BuildOptions,
): Promise<Manifest> {
  const {
    options,
    call,
    optimize,
    replace = false,
    text,
    frequencies,
    like,
    firstRow = 0,
  } = split(given);
  if (typeof folder !== 'string') throw wrongType('folder', 'a path', folder);
  const memory = checkByteCount('memory', given.memory);
  checkInteger('firstRow', firstRow, 0, 2 ** 31 - 1);
  const model = like === undefined ? null : await modelIn(like);
  const own = model === null ? options : optionsOf(model.manifest.index);
  const core = new IndexCore(checkIndexOptions(own));
  const layout = { space: model?.space ?? null, hasCopies: model?.manifest.index.copies ?? false };
  core.rows = new MemoryIndex(core.rows.options, layout, firstRow);
  if (optimize !== undefined) checkOptimize(core, optimize);
  const base = await prepareNew(folder, replace);
  return FolderChange.fresh(folder, base, core, { memory, call }, async (change) => {
    if (model?.space) await change.writeSpace(model.space);
    for await (const batch of batches) await change.add(batch, false);
    change.checkNewIds();
    let report = null;
    const isInMemory = change.segments.length === 0;
    if (optimize !== undefined && change.added > 0 && isInMemory) {
      report = await optimizeInMemory(core, checkWanted(core, optimize), new LongWork(call));
      await change.writeSpace(core.rows.layout.space);
    }
    await change.flush();
    if (optimize !== undefined && change.added > 0 && report === null) {
      const wanted = checkWantedInFiles(core, optimize);
      report = await optimizeStored(change, wanted);
    }
    const files: { [kind in FileKind]?: FolderFile } = {};
    const counted = model?.manifest.files.frequencies;
    if (frequencies !== undefined) {
      const bytes = frequenciesToArrow(frequencies);
      files.frequencies = await change.writer.add('frequencies', bytes, frequencies.size);
    } else if (model && counted) {
      files.frequencies = await change.writer.take(counted, model.place.name);
    }
    return change.publish({ report, files, text: text ?? model?.manifest.text ?? null });
  });
}

/** Where all rows stay in memory any index can be optimized; in files dense vectors are needed. */
function checkOptimize(core: IndexCore, optimize: OptimizeOptions): void {
  if (core.dense === null) checkWanted(core, optimize);
  else checkWantedInFiles(core, optimize);
}
