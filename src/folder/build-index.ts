/**
 * An index in a folder, built of more rows than memory holds, in one generation: rows are hashed
 * and wait in a temporary file, a sample of them trains centroids as `optimize` does, each goes to
 * its partition, and the partitions become segments. What searches find is measured with the folder
 * as it will be, before it is published.
 */

import { statfs } from 'node:fs/promises';
import { checkByteCount } from '../base/byte-count';
import { checkOptions, wrongType, wrongValue } from '../base/check';
import { checkLongCall, type LongCall } from '../base/steps';
import type { OptimizeOptions, SimHashIndexOptions } from '../index/index-options';
import type { Wanted } from '../index/optimize';
import { checkWanted } from '../index/optimize-options';
import { savedReport } from '../index/saved-report';
import { partsOf, SimHashIndex } from '../index/simhash-index';
import { headerOf } from '../index/write-index';
import type { FolderFile, Manifest, TextSettings } from '../stored/manifest';
import { centroidsToArrow } from '../table/sealed/small-tables';
import { frequenciesToArrow } from '../text/frequency-file';
import type { FrequencyTable } from '../text/frequency-table';
import { Training } from './build-training';
import { measuredBuild } from './build-tuning';
import { NewColumns } from './column-stream';
import { replacedRows, sharedCodes } from './compared-rows';
import { FolderChange, type NewBatch } from './folder-change';
import { type GenerationWriter, newestManifest, prepareFolder } from './generations';
import { NewRows } from './new-rows';
import { NewSegments } from './new-segments';
import { cutsOf } from './stored-operations';

/** How an index is built in a folder. */
export interface BuildOptions extends SimHashIndexOptions, LongCall {
  /** What memory may hold of the rows: bytes, or a text as '2GB'. */
  readonly memory: number | string;
  /** Makes searches fast at a recall, and measures it; rows stay in their order without. */
  readonly optimize?: OptimizeOptions | undefined;
  /** True to put the index in place of one that is there. */
  readonly replace?: boolean | undefined;
  /** How texts became vectors, so that a query's text can. */
  readonly text?: TextSettings | undefined;
  /** The document frequencies that weighted the texts. */
  readonly frequencies?: FrequencyTable | undefined;
  /** Rows that will come, where that is known: the disk must have room for them. */
  readonly expectedRows?: number | undefined;
}

/** A build takes so many times the bytes of its files; rows that wait are the first of them. */
const DISK_TIMES = 2.3;

const OPTIMIZED = ['recall', 'coverage', 'k', 'partitions', 'seed', 'queries'];

function split(given: BuildOptions) {
  if (typeof given !== 'object' || given === null) throw wrongType('options', 'an object', given);
  const { memory: _, optimize, replace, text, frequencies, expectedRows, ...rest } = given;
  const { signal, onProgress, threads, ...options } = rest;
  const call: LongCall = {
    ...(signal && { signal }),
    ...(onProgress && { onProgress }),
    ...(threads !== undefined && { threads }),
  };
  checkLongCall(call);
  return { options, call, optimize, replace, text, frequencies, expectedRows };
}

/**
 * Builds the index of a folder from batches that are read once; returns the manifest of the
 * generation. What is refused or fails leaves the folder as it was, temporary files included.
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
    text,
    frequencies,
    expectedRows,
  } = split(given);
  if (typeof folder !== 'string') throw wrongType('folder', 'a path', folder);
  const memory = checkByteCount('memory', given.memory);
  const parts = partsOf(new SimHashIndex(options));
  const wanted = optimize && checkWanted(parts, checkOptions('optimize', optimize, OPTIMIZED));
  if (wanted && parts.dense === null) {
    throw wrongValue('vectors', `'int8' or 'float32', which "optimize" needs`, options.vectors);
  }
  await prepareFolder(folder);
  const base = await newestManifest(folder);
  if (base !== null && !replace) {
    throw new Error(`${folder} holds an index, "replace: true" puts this one in its place`);
  }
  const rowBytes = rowBytesOf(parts);
  if (expectedRows !== undefined) await checkDisk(folder, DISK_TIMES * expectedRows * rowBytes);
  const build = { wanted: wanted ?? null, memory, call, text: text ?? null, frequencies };
  const { signal } = call;
  const start = {
    ...{ folder, base, old: null, parts, memory },
    ...(signal && { call: { signal } }),
  };
  return FolderChange.run(start, async (change) => {
    const rows = new NewRows(change.writer, { parts, ids: null, firstRow: 0, memory });
    const columns = new NewColumns(change.writer, [], null);
    for await (const batch of batches) {
      const before = rows.count;
      await rows.add(batch.vectors, batch.ids, call);
      await columns.add(batch.columns, rows.count - before);
    }
    await checkDisk(folder, (DISK_TIMES - 1) * rows.count * rowBytes);
    await replacedRows(rows, null, false);
    return publishRows(change, { rows, columns, ...build });
  });
}

interface ReadRows {
  readonly rows: NewRows;
  readonly columns: NewColumns;
  readonly wanted: Wanted | null;
  readonly memory: number;
  readonly call: LongCall;
  readonly text: TextSettings | null;
  readonly frequencies: FrequencyTable | undefined;
}

/** Writes rows that were read, measures what searches find of them, and publishes the folder. */
async function publishRows(change: FolderChange, read: ReadRows): Promise<Manifest> {
  const { rows, columns, wanted, memory, call, text } = read;
  const { writer, folder } = change;
  const shared = await sharedCodes(rows, null, () => false);
  await rows.closeGroups();
  const training = wanted && (await Training.of(rows, { shared, wanted, memory, call }));
  const centroids = training?.centroids ?? null;
  const others = await otherFiles(writer, read, centroids);
  const segments = new NewSegments(writer, { rows, shared, centroids, memory: memory / 3 });
  const cuts = cutsOf(rows, change.rowsPerFile(segments.layout));
  await segments.assign(
    cuts.map(({ firstPiece }) => firstPiece),
    call,
  );
  const index = {
    ...headerOf(rows.parts, rows.count),
    ...{ ids: rows.ids, isForeign: rows.isForeign, report: null },
    ...(centroids && { nearness: centroids.nearness, gaps: [] }),
    ...{ distinct: shared.distinct, shared: shared.firsts !== null },
  };
  const content = await change.write(
    {
      ...{ index, columns: columns.columns, text, others },
      ...{ rowsAdded: rows.count, removed: new Uint32Array() },
    },
    { incoming: { segments, columns, cuts } },
  );
  await segments.close();
  await columns.close();
  const partitionOf = (row: number) => segments.partitionOf(row);
  const measured =
    training &&
    wanted &&
    (await measuredBuild({
      ...{ folder, content, rows, shared, training, wanted, memory, call, partitionOf },
    }));
  await rows.close();
  if (!measured) return change.publish(content);
  const report = savedReport(measured);
  return change.publish({ ...content, index: { ...index, report } });
}

async function otherFiles(
  writer: GenerationWriter,
  { frequencies }: ReadRows,
  centroids: Training['centroids'] | null,
): Promise<FolderFile[]> {
  const files: FolderFile[] = [];
  if (centroids !== null) {
    const { values, width, count } = centroids;
    files.push(await writer.add('centres', centroidsToArrow(values, width), count));
  }
  if (frequencies === undefined) return files;
  const bytes = frequenciesToArrow(frequencies);
  return [...files, await writer.add('frequencies', bytes, frequencies.size)];
}

/** Bytes of a row in the files, about. */
function rowBytesOf({ bits, hasher, vectors }: ReturnType<typeof partsOf>): number {
  const { dimensions = 0 } = hasher;
  const perValue = vectors?.kind === 'float32' ? 4 : vectors?.kind === 'int8' ? 1 : 0;
  return Math.ceil(bits / 8) + dimensions * (perValue + 0.25) + 64;
}

/** Fails where the disk has no room for what is still to be written. */
async function checkDisk(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (bytes <= free) return;
  const MiB = (count: number) => `${Math.ceil(count / 2 ** 20)} MiB`;
  throw new Error(
    `${folder}: the disk has ${MiB(free)} free, building this index takes about ${MiB(bytes)} ` +
      'more: the folder stays as it was',
  );
}
