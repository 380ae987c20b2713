/**
 * Loads all of an index from its folder into memory: blocks of segments, of which some MiB are on
 * their way, each compared with its checksum; or the files of rows of version 1.
 */

import { join } from 'node:path';
import { checkBits } from '../base/check';
import { asFormatError, FormatError } from '../base/format-error';
import { type LongCall, runStepsAsync } from '../base/steps';
import { bytesPerCode } from '../codes/codes';
import { checkHeader, optionsOf, Restoring } from '../index/read-index';
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
import { type IndexRows, indexFromArrow } from '../table/sealed/index-rows';
import { NO_PARTITION } from '../table/sealed/segment-tables';
import { centroidsFromArrow, removedFromArrow } from '../table/sealed/small-tables';
import { SegmentCursor } from './block-cursor';
import { liveColumns } from './column-stream';
import { FolderFiles } from './folder-files';
import { setOrigin } from './origin';

/** A generation that was opened. */
export interface OpenedFolder {
  readonly path: string;
  readonly manifest: Manifest;
  /** The bytes of a file, which are those that were written. */
  read(file: FolderFile): Promise<Uint8Array>;
  /** What the manifest says; where it cannot be, an error names it. */
  sound<T>(read: () => T): T;
}

/** What a generation has, as it is read. */
interface Content {
  readonly centroids: Int16Array | null;
  /** Rows of the files that the index has no more. */
  readonly removed: RowSet;
  /** The rows of all files, and by which errors name the file. */
  pieces(held: RowSet): AsyncGenerator<{ file: string; rows: IndexRows; firstRow: number }>;
  /** Numbers of the rows of segment `i`, ascending, removed ones included. */
  rowsIn(i: number): Promise<Uint32Array>;
  close(): Promise<void>;
}

export async function loadIndex(folder: OpenedFolder, call: LongCall): Promise<SimHashIndex> {
  const { path, manifest, sound } = folder;
  const header = sound(() => checkSizes(manifest));
  const index = sound(() => new SimHashIndex(optionsOf({ header })));
  const parts = partsOf(index);
  const held = new RowSet();
  const content = await contentOf(folder);
  try {
    const isWhole = filesOf(manifest, 'removed').length === 0;
    const wanted = {
      ...{ count: manifest.rows, hasUniqueIds: true },
      ...(!isWhole && { removed: content.removed }),
    };
    // Taken at the first rows: damage of a small index is found before memory is taken for one.
    let restoring: Restoring | null = null;
    const begun = () => {
      restoring ??= sound(() => new Restoring(parts, header, wanted));
      return restoring;
    };
    let done = 0;
    for await (const { file, rows, firstRow } of content.pieces(held)) {
      call.signal?.throwIfAborted();
      const own = begun();
      asFormatError(file, () => own.add(rows, firstRow));
      done += rows.count;
      call.onProgress?.(Math.min(done, manifest.rows), manifest.rows);
    }
    await runStepsAsync(begun().end(content.centroids), {});
  } finally {
    await content.close();
  }
  sound(() => {
    if (index.count !== manifest.rows) throw new Error(`${index.count} rows were found`);
  });
  const made = parts.partitions?.centroids ?? null;
  setOrigin(index, { path, manifest, held, isAligned: true, centroids: made });
  return index;
}

/** The carried columns of the rows that are there, in their order; null where none are carried. */
export async function carriedColumns(
  folder: OpenedFolder,
  read: (file: FolderFile) => Promise<RowBatch[]>,
): Promise<RowBatch | null> {
  const batches: RowBatch[] = [];
  const content = await contentOf(folder);
  try {
    for (const [i, { columns }] of segmentsOf(folder.manifest).entries()) {
      if (columns === null) continue;
      const rows = await content.rowsIn(i);
      const isLive = (row: number) => !content.removed.has(row);
      for await (const one of liveColumns(await read(columns), rows, isLive)) batches.push(one);
    }
  } finally {
    await content.close();
  }
  return batches.length === 0 ? null : RowBatch.join(batches);
}

async function contentOf(folder: OpenedFolder): Promise<Content> {
  return folder.manifest.version === 1 ? filesOfRows(folder) : segments(folder);
}

async function segments({ path, manifest }: OpenedFolder): Promise<Content> {
  const { generation } = manifest;
  const files = new FolderFiles(path, generation);
  const opening = async () => {
    // Opened first: a file that was cut is found before anything is read.
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
        // Bytes outside of blocks count too: what opens is what was written.
        await checkWhole(files, segment.rows);
        if (segment.vectors !== null) await checkWhole(files, segment.vectors);
        const cursor = new SegmentCursor(reader, segment, held);
        while (cursor.partition !== null) {
          const rows = await cursor.next();
          const { count, partition } = rows;
          const isNamed = content.centroids !== null && partition !== NO_PARTITION;
          const partitions = isNamed ? new Uint32Array(count).fill(partition) : null;
          yield { file, rows: { ...rows, partitions }, firstRow: 0 };
        }
      }
    },
    rowsIn: (i) => new StoredColumns(content, reader).rowsOf(content.segments[i]),
    close: () => files.close(),
  };
}

/** Version 1: rows in their order, whose numbers are told where they have gaps. */
async function filesOfRows({ path, manifest, read }: OpenedFolder): Promise<Content> {
  const removed = new RowSet();
  const [gone] = filesOf(manifest, 'removed');
  const numbers = gone && removedFromArrow(await read(gone), join(path, gone.name));
  if (numbers && numbers.length !== gone.rows) {
    throw new FormatError(`${numbers.length} rows, the manifest says ${gone.rows}`, gone.name);
  }
  for (const row of numbers ?? []) removed.add(row);
  const [file] = filesOf(manifest, 'centres');
  const all = filesOf(manifest, 'rows');
  async function* piecesOf(rows: readonly FolderFile[], held: RowSet) {
    for (const { name, firstRow: start = 0, ...one } of rows) {
      const own = join(path, name);
      const opened = indexFromArrow(await read({ ...one, name }), own, {
        kind: 'rows',
        isSound: true,
      });
      let firstRow = start;
      for (const piece of opened.batches()) {
        if (piece.rows === null) held.addRange(firstRow, firstRow + piece.count);
        else for (const row of piece.rows) held.add(row);
        yield { file: own, rows: piece, firstRow };
        firstRow += piece.count;
      }
    }
  }
  return {
    centroids: file ? centroidsFromArrow(await read(file), file.name) : null,
    removed,
    pieces: (held) => piecesOf(all, held),
    async rowsIn(i) {
      const held = new RowSet();
      for await (const _ of piecesOf([all[i]], held));
      return held.within(all[i].firstRow ?? 0, all[i].nextRow ?? 0);
    },
    close: async () => undefined,
  };
}

/** Fails where files cannot hold their rows. */
function checkSizes(manifest: Manifest): IndexHeader {
  const header = checkHeader(manifest.index, manifest.rows);
  const width = bytesPerCode(checkBits(header.bits));
  for (const file of filesOf(manifest, 'rows')) {
    if (file.bytes >= file.rows * width) continue;
    throw new Error(`${file.name} cannot hold ${file.rows} rows in ${file.bytes} bytes`);
  }
  return header;
}
