/**
 * An index in a folder, built of more rows than memory holds, in one generation: rows are hashed
 * and wait in a temporary file, a sample of them trains centroids as `optimize` does, each goes to
 * its partition, and the partitions become segments. What searches find is measured with the folder
 * as it will be, before it is published.
 */

import { checkByteCount } from '../base/byte-count';
import { wrongType } from '../base/check';
import { checkLongCall, type LongCall } from '../base/steps';
import type { OptimizeOptions, SimHashIndexOptions } from '../index/index-options';
import { partsOf, SimHashIndex } from '../index/simhash-index';
import type { Manifest, TextSettings } from '../stored/manifest';
import { frequenciesToArrow } from '../text/frequency-file';
import type { FrequencyTable } from '../text/frequency-table';
import { NewColumns } from './column-stream';
import { replacedRows } from './compared-rows';
import { type Content, FolderChange, type NewBatch } from './folder-change';
import { newestManifest, prepareFolder } from './generations';
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
    text = null,
    frequencies,
    expectedRows,
  } = split(given);
  if (typeof folder !== 'string') throw wrongType('folder', 'a path', folder);
  const memory = checkByteCount('memory', given.memory);
  const parts = partsOf(new SimHashIndex(options));
  const wanted = optimize === undefined ? null : checkWantedInFiles(parts, optimize);
  await prepareFolder(folder);
  const base = await newestManifest(folder);
  if (base !== null && !replace) {
    throw new Error(`${folder} holds an index, "replace: true" puts this one in its place`);
  }
  const rowBytes = rowBytesOf(parts);
  if (expectedRows !== undefined)
    await checkDisk(folder, DISK_TIMES * expectedRows * rowBytes, 'building');
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
    await checkDisk(folder, (DISK_TIMES - 1) * rows.count * rowBytes, 'building');
    await replacedRows(rows, null, false);
    const read = { rows, columns, text, frequencies, call };
    return publishRows(change, {
      ...{ rows, wanted, memory, call },
      write: (segments, made) => writeRead(change, read, segments, made),
    });
  });
}

interface ReadRows {
  readonly rows: NewRows;
  readonly columns: NewColumns;
  readonly text: TextSettings | null;
  readonly frequencies: FrequencyTable | undefined;
  readonly call: LongCall;
}

/** Writes rows that were read, and what is carried with them. */
async function writeRead(
  change: FolderChange,
  { rows, columns, text, frequencies, call }: ReadRows,
  segments: NewSegments,
  { index, centroids }: Made,
): Promise<Content> {
  const { writer } = change;
  const others = [...centroids];
  if (frequencies !== undefined) {
    const bytes = frequenciesToArrow(frequencies);
    others.push(await writer.add('frequencies', bytes, frequencies.size));
  }
  const cuts = cutsOf(rows, change.rowsPerFile(segments.layout));
  await segments.assign(
    cuts.map(({ firstPiece }) => firstPiece),
    call,
  );
  const outcome = {
    ...{ index, columns: columns.columns, text, others },
    ...{ rowsAdded: rows.count, removed: new Uint32Array() },
  };
  const content = await change.write(outcome, { incoming: { segments, columns, cuts } });
  await columns.close();
  return content;
}
