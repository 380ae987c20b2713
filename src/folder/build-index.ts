/**
 * Builds an index in a folder from more rows than memory holds, as one generation. Rows are hashed
 * batch by batch and wait in a temporary file; a sample of them trains the centroids, as `optimize`
 * does; each row goes to its partition, and the partitions become segments. Recall is measured in
 * the finished files before the generation is published.
 */

import { join } from 'node:path';
import { checkByteCount } from '../base/byte-count';
import { checkInteger, checkOptions, wrongType } from '../base/check';
import { FormatError } from '../base/format-error';
import { checkLongCall, type LongCall } from '../base/long-work';
import type { OptimizeOptions, SimHashIndexOptions } from '../index/index-options';
import { checkIndexOptions } from '../index/index-options';
import { IndexParts } from '../index/index-parts';
import { optionsOf } from '../index/saved-header';
import { contentNamed, type StoredContent } from '../stored/content';
import {
  type FolderFile,
  type Manifest,
  manifestName,
  type TextSettings,
} from '../stored/manifest';
import { frequenciesToArrow } from '../text/frequency-file';
import type { FrequencyTable } from '../text/frequency-table';
import { NewColumns } from './column-stream';
import { replacedRows } from './compared-rows';
import { type Content, FolderChange, type NewBatch } from './folder-change';
import { FolderFiles } from './folder-files';
import { newestManifest, prepareNew } from './generations';
import { NewRows } from './new-rows';
import type { NewSegments } from './new-segments';
import {
  checkDisk,
  checkWantedInFiles,
  DISK_TIMES,
  type Made,
  publishRows,
  rowBytesOf,
} from './publish-rows';
import { centroidsOf, cutsOf, othersOf } from './stored-operations';

/** How an index is built in a folder. */
export interface BuildOptions extends SimHashIndexOptions, LongCall {
  /** The most memory that rows may take: bytes, or a text such as '2GB'. */
  readonly memory: number | string;
  /**
   * Makes searches fast at a recall, and measures it. Without it rows stay in their order, unless
   * `like` gives centroids.
   */
  readonly optimize?: OptimizeOptions | undefined;
  /** True to replace an index that the folder holds already. */
  readonly replace?: boolean | undefined;
  /** How texts became vectors, so that the text of a query can become one too. */
  readonly text?: TextSettings | undefined;
  /** The document frequencies that weighted the texts. */
  readonly frequencies?: FrequencyTable | undefined;
  /**
   * Takes options, centroids and text settings from the index in this folder, in place of options,
   * so that folders which are built apart can be merged. `optimize` then chooses a setting for
   * these centroids.
   */
  readonly like?: string | undefined;
  /**
   * The number of the first row, 0 by default. Folders that will be merged need numbers that do not
   * overlap.
   */
  readonly firstRow?: number | undefined;
  /**
   * How many rows will come, where that is known: without room for them on the disk the build fails
   * before it reads a row.
   */
  readonly expectedRows?: number | undefined;
}

/** Checks the options, and separates those of the index, of the call and of the build. */
function split(given: BuildOptions) {
  if (typeof given !== 'object' || given === null) throw wrongType('options', 'an object', given);
  const { memory: _, optimize, replace, like, firstRow, expectedRows, ...rest } = given;
  const { text, frequencies, signal, onProgress, threads, ...options } = rest;
  const call: LongCall = {
    ...(signal && { signal }),
    ...(onProgress && { onProgress }),
    ...(threads !== undefined && { threads }),
  };
  checkLongCall(call);
  if (like !== undefined) checkOptions('options of a build "like" a folder', options, []);
  return { options, call, optimize, replace, text, frequencies, like, firstRow, expectedRows };
}

/**
 * Opens what folders that are built like `folder` take from it: options, centroids, frequencies;
 * none of its rows. Throws a FormatError where it has no manifest.
 */
async function modelIn(folder: string): Promise<StoredContent> {
  const manifest = await newestManifest(folder);
  if (manifest === null) throw new FormatError('no index: it has no manifest', folder);
  const path = join(folder, manifestName(manifest.generation));
  const files = new FolderFiles(folder, manifest.generation);
  const rowless = { ...manifest, files: othersOf(manifest) };
  return contentNamed(files, rowless, { path }).finally(() => files.close());
}

/**
 * Builds the index of a folder from batches, each of which is read once; returns the manifest of
 * the new generation. A refused row and any failure leave the folder as it was and delete the
 * temporary files.
 */
export async function buildStored(
  folder: string,
  batches: Iterable<NewBatch> | AsyncIterable<NewBatch>,
  given: BuildOptions,
): Promise<Manifest> {
  const {
    options,
    call,
    optimize,
    replace = false,
    text = null,
    frequencies,
    like,
    firstRow = 0,
    expectedRows,
  } = split(given);
  if (typeof folder !== 'string') throw wrongType('folder', 'a path', folder);
  const memory = checkByteCount('memory', given.memory);
  checkInteger('firstRow', firstRow, 0, 2 ** 31 - 1);
  const model = like === undefined ? null : await modelIn(like);
  const parts = IndexParts.of(checkIndexOptions(model === null ? options : optionsOf(model)));
  if (model !== null && optimize?.partitions !== undefined) {
    throw wrongType('partitions', `nothing: those of ${like} are taken`, optimize.partitions);
  }
  if (model !== null && optimize?.copies !== undefined) {
    throw wrongType('copies', `nothing: rows go where those of ${like} do`, optimize.copies);
  }
  const wanted = optimize === undefined ? null : checkWantedInFiles(parts, optimize);
  const base = await prepareNew(folder, replace);
  const rowBytes = rowBytesOf(parts);
  if (expectedRows !== undefined)
    await checkDisk(folder, DISK_TIMES * expectedRows * rowBytes, 'building');
  const { signal } = call;
  const start = {
    ...{ folder, base, old: null, parts, memory },
    ...(signal && { call: { signal } }),
  };
  return FolderChange.run(start, async (change) => {
    const rows = new NewRows(change.writer, { parts, ids: null, firstRow, memory });
    const columns = new NewColumns(change.writer, [], null);
    for await (const batch of batches) {
      const before = rows.count;
      await rows.add(batch.vectors, batch.ids, call);
      await columns.add(batch.columns, rows.count - before);
    }
    // The waiting rows, counted in DISK_TIMES once, are on the disk by now.
    await checkDisk(folder, (DISK_TIMES - 1) * rows.count * rowBytes, 'building');
    // Throws where an id occurs twice; nothing is replaced, since no old rows stay.
    await replacedRows(rows, null, false);
    const { given, taken } = await takenFrom(change, model);
    const words = model === null ? text : model.manifest.text;
    const read = { rows, columns, text: words, frequencies, taken, call };
    return publishRows(change, {
      ...{ rows, wanted, memory, call, given },
      write: (segments, made) => writeRead(change, read, segments, made),
    });
  });
}

/**
 * Takes the files of a model into this generation, by links or copies: centroids, if it has some,
 * and frequencies.
 */
async function takenFrom({ writer }: FolderChange, model: StoredContent | null) {
  const taken: FolderFile[] = [];
  for (const file of model === null ? [] : othersOf(model.manifest)) {
    taken.push(await writer.take(file, (model as StoredContent).files.place));
  }
  const centroids = model && centroidsOf(model);
  // `othersOf` lists the file of the centroids first.
  const file = centroids === null ? undefined : taken.shift();
  const like = model?.files.place ?? '';
  return { given: centroids && file ? { centroids, file, like } : null, taken };
}

/** The rows of a build that wait, and what is written with them. */
interface ReadRows {
  readonly rows: NewRows;
  readonly columns: NewColumns;
  readonly text: TextSettings | null;
  readonly frequencies: FrequencyTable | undefined;
  /** Files that a model gave, other than its centroids. */
  readonly taken: readonly FolderFile[];
  readonly call: LongCall;
}

/**
 * Writes the waiting rows as segments, and what is carried with them; returns the manifest's
 * content.
 */
async function writeRead(
  change: FolderChange,
  { rows, columns, text, frequencies, taken, call }: ReadRows,
  segments: NewSegments,
  { index, centroids }: Made,
): Promise<Content> {
  const { writer } = change;
  const others = [...centroids, ...taken];
  if (frequencies !== undefined) {
    const bytes = frequenciesToArrow(frequencies);
    others.push(await writer.add('frequencies', bytes, frequencies.size));
  }
  const cuts = cutsOf(rows, change.rowsPerFile(segments.layout));
  await segments.assign(cuts, call);
  const outcome = {
    ...{ index, columns: columns.columns, text, others },
    ...{ rowsAdded: rows.count, removed: new Uint32Array() },
  };
  const content = await change.write(outcome, { incoming: { segments, columns, cuts } });
  await columns.close();
  return content;
}
