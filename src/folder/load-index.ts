/**
 * Loads a whole index from its folder into memory, block by block, some MiB at a time; each block
 * is compared with its checksum.
 */

import { join } from 'node:path';
import { checkBits } from '../base/check';
import { asFormatError } from '../base/format-error';
import type { LongCall } from '../base/long-work';
import { runStepsAsync } from '../base/steps';
import { bytesPerCode } from '../codes/codes';
import { Restoring } from '../index/read-index';
import { checkHeader, optionsOf } from '../index/saved-header';
import { partsOf, SimHashIndex } from '../index/simhash-index';
import type { IndexHeader } from '../index/write-index';
import { BlockReader } from '../stored/block-reader';
import { checkWhole, contentNamed } from '../stored/content';
import {
  type FolderFile,
  filesOf,
  type Manifest,
  manifestName,
  segmentsOf,
} from '../stored/manifest';
import { RowSet } from '../stored/row-set';
import { StoredColumns } from '../stored/stored-columns';
import { RowBatch } from '../table/row-batch';
import type { IndexRows } from '../table/sealed/index-rows';
import { NO_PARTITION, type SegmentRows } from '../table/sealed/segment-tables';
import { SegmentCursor } from './block-cursor';
import { liveColumns } from './column-stream';
import { FolderFiles } from './folder-files';
import { setOrigin } from './origin';

/** A generation that was opened. */
export interface OpenedFolder {
  readonly path: string;
  readonly manifest: Manifest;
  /** Runs `read`; what it throws becomes a FormatError that names the manifest. */
  sound<T>(read: () => T): T;
}

/** The rows of a generation. */
interface Content {
  readonly centroids: Int16Array | null;
  /** Rows that files have and that were removed from the index. */
  readonly removed: RowSet;
  /**
   * The rows of all files, and the file to name in errors; adds their numbers to `held`.
   */
  pieces(held: RowSet): AsyncGenerator<{ file: string; rows: IndexRows }>;
  /** The rows in their second partitions, and the file to name in errors. */
  copies(): AsyncGenerator<{ file: string; rows: SegmentRows }>;
  /** Numbers of the rows of segment `i`, ascending, removed ones included. */
  rowsIn(i: number): Promise<Uint32Array>;
  close(): Promise<void>;
}

/** Loads the index; progress counts rows. The folder becomes its origin, for later saves. */
export async function loadIndex(folder: OpenedFolder, call: LongCall): Promise<SimHashIndex> {
  const { path, manifest, sound } = folder;
  // The manifest is checked before memory is allocated for rows.
  const header = sound(() => checkSizes(manifest));
  const index = sound(() => new SimHashIndex(optionsOf({ header })));
  const parts = partsOf(index);
  const held = new RowSet();
  const content = await contentOf(folder);
  try {
    const isWhole = filesOf(manifest, 'removed').length === 0;
    // Ids in a folder are unique: writers compare new ids with all existing ones.
    const wanted = {
      ...{ count: manifest.rows, hasUniqueIds: true },
      ...(!isWhole && { removed: content.removed }),
    };
    // Created at the first rows, so that a damaged file is found before memory for the index is
    // allocated.
    let restoring: Restoring | null = null;
    const begun = () => {
      restoring ??= sound(() => new Restoring(parts, header, wanted));
      return restoring;
    };
    let done = 0;
    for await (const { file, rows } of content.pieces(held)) {
      call.signal?.throwIfAborted();
      // Damaged rows throw in `add`; the error names their file.
      const own = begun();
      asFormatError(file, () => own.add(rows, 0));
      done += rows.count;
      call.onProgress?.(Math.min(done, manifest.rows), manifest.rows);
    }
    for await (const { file, rows } of content.copies()) {
      call.signal?.throwIfAborted();
      asFormatError(file, () => begun().addCopies(rows));
    }
    // Groups the codes by partition. This part does not report progress and does not stop.
    await runStepsAsync(begun().end(content.centroids), {});
  } finally {
    await content.close();
  }
  sound(() => {
    if (index.count !== manifest.rows) throw new Error(`${index.count} rows were found`);
  });
  // A later save compares these centroids with those of the index: the same array means no change.
  const made = parts.partitions?.centroids ?? null;
  setOrigin(index, { path, manifest, held, isAligned: true, centroids: made });
  return index;
}

/** The carried columns of the live rows, in the order of rows; null where none are carried. */
export async function carriedColumns(
  folder: OpenedFolder,
  read: (file: FolderFile) => Promise<RowBatch[]>,
): Promise<RowBatch | null> {
  const batches: RowBatch[] = [];
  const content = await contentOf(folder);
  try {
    for (const [i, { columns }] of segmentsOf(folder.manifest).entries()) {
      if (columns === null) continue;
      // A file of columns also has the removed rows of its segment; they are filtered out.
      const rows = await content.rowsIn(i);
      const isLive = (row: number) => !content.removed.has(row);
      for await (const one of liveColumns(await read(columns), rows, isLive)) batches.push(one);
    }
  } finally {
    await content.close();
  }
  return batches.length === 0 ? null : RowBatch.join(batches);
}

async function contentOf({ path, manifest }: OpenedFolder): Promise<Content> {
  const { generation } = manifest;
  const files = new FolderFiles(path, generation);
  // If this fails, the files are closed.
  const opening = async () => {
    // Opens all files first: a file of the wrong size is found before anything is read.
    for (const file of filesOf(manifest, 'rows')) await files.read(file, []);
    return contentNamed(files, manifest, { path: join(path, manifestName(generation)) });
  };
  const content = await opening().catch(async (error) => {
    await files.close();
    throw error;
  });
  const reader = new BlockReader(content);
  return {
    ...content,
    async *pieces(held) {
      for (const segment of content.segments) {
        const file = join(path, segment.rows.name);
        // The checksum of the whole file covers the bytes between blocks too.
        await checkWhole(files, segment.rows);
        if (segment.vectors !== null) await checkWhole(files, segment.vectors);
        const cursor = new SegmentCursor(reader, segment, held);
        while (cursor.partition !== null) {
          const rows = await cursor.next();
          const { count, partition } = rows;
          // Without centroids all blocks are of partition 0, which then stands for no partition.
          const isNamed = content.centroids !== null && partition !== NO_PARTITION;
          const partitions = isNamed ? new Uint32Array(count).fill(partition) : null;
          yield { file, rows: { ...rows, partitions, seconds: rows.links } };
        }
      }
    },
    async *copies() {
      for (const segment of content.copies) {
        await checkWhole(files, segment.rows);
        const cursor = new SegmentCursor(reader, segment, null);
        const file = join(path, segment.rows.name);
        while (cursor.partition !== null) yield { file, rows: await cursor.next() };
      }
    },
    rowsIn: (i) => new StoredColumns(content, reader).rowsOf(content.segments[i]),
    close: () => files.close(),
  };
}

/**
 * The header, checked. Throws where a file is too short for the codes of its rows, before memory is
 * taken for them.
 */
function checkSizes(manifest: Manifest): IndexHeader {
  const header = checkHeader(manifest.index, manifest.rows);
  // A row takes at least its code, so a shorter file cannot have as many rows as it claims.
  const width = bytesPerCode(checkBits(header.bits));
  for (const file of filesOf(manifest, 'rows')) {
    if (file.bytes >= file.rows * width) continue;
    throw new Error(`${file.name} cannot hold ${file.rows} rows in ${file.bytes} bytes`);
  }
  return header;
}
