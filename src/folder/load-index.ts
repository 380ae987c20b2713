/** Loads all of an index from its folder, into memory: segments, or files of rows of version 1. */

import { join } from 'node:path';
import { checkBits } from '../base/check';
import { asFormatError, FormatError } from '../base/format-error';
import { type LongCall, runStepsAsync } from '../base/steps';
import { bytesPerCode } from '../codes/codes';
import { checkHeader, optionsOf, Restoring } from '../index/read-index';
import { rowsInOrder } from '../index/read-segment';
import { partsOf, SimHashIndex } from '../index/simhash-index';
import type { IndexHeader } from '../index/write-index';
import {
  type FolderFile,
  filesOf,
  type Manifest,
  type Segment,
  segmentsOf,
} from '../stored/manifest';
import { RowSet } from '../stored/row-set';
import { RowBatch } from '../table/row-batch';
import { type IndexRows, indexFromArrow } from '../table/sealed/index-rows';
import { blocksFromArrow } from '../table/sealed/segment-tables';
import { centroidsFromArrow, removedFromArrow } from '../table/sealed/small-tables';
import { setOrigin } from './origin';

/** The codes of an index lie in one linear memory, each with 4 more bytes for its row. */
const MAX_CODE_BYTES = 2 ** 32 - 2 ** 21;

/** A generation that was opened. */
export interface OpenedFolder {
  readonly path: string;
  readonly manifest: Manifest;
  /** The bytes of a file, which are those that were written. */
  read(file: FolderFile): Promise<Uint8Array>;
  /** What the manifest says; where it cannot be, an error names it. */
  sound<T>(read: () => T): T;
}

export async function loadIndex(folder: OpenedFolder, call: LongCall): Promise<SimHashIndex> {
  const { path, manifest } = folder;
  const header = folder.sound(() => checkSizes(manifest));
  refuseTooMany(path, header);
  const removed = await removedRows(folder);
  const [centroids] = filesOf(manifest, 'centres');
  const values = centroids && centroidsFromArrow(await folder.read(centroids), centroids.name);
  const segments = segmentsOf(manifest);
  // Damage of a small index is found before memory is taken for one.
  let bytes = segments.length > 0 ? await folder.read(segments[0].rows) : new Uint8Array();
  const index = folder.sound(() => new SimHashIndex(optionsOf({ header })));
  const parts = partsOf(index);
  const held = new RowSet();
  const wanted = { count: manifest.rows, removed, hasUniqueIds: true };
  const restoring = folder.sound(() => new Restoring(parts, header, wanted));
  let done = 0;
  for (const [i, segment] of segments.entries()) {
    if (i > 0) bytes = await folder.read(segment.rows);
    const file = join(path, segment.rows.name);
    const runs = await runsOf(folder, segment, bytes);
    let { firstRow = 0 } = segment.rows;
    for (;;) {
      call.signal?.throwIfAborted();
      const rows = asFormatError(file, () => runs.next().value ?? null);
      if (rows === null) break;
      asFormatError(file, () => restoring.add(rows, firstRow));
      if (rows.rows === null) held.addRange(firstRow, firstRow + rows.count);
      else for (const row of rows.rows) held.add(row);
      firstRow += rows.count;
      done += rows.count;
      call.onProgress?.(Math.min(done, manifest.rows), manifest.rows);
    }
  }
  await runStepsAsync(restoring.end(values ?? null), {});
  folder.sound(() => {
    if (index.count !== manifest.rows) throw new Error(`${index.count} rows were found`);
  });
  const made = parts.partitions?.centroids ?? null;
  setOrigin(index, { path, manifest, held, isAligned: true, centroids: made });
  return index;
}

/** The rows of a segment, ascending, in runs; `bytes` are those of its file of rows. */
export async function runsOf(
  { path, manifest, read }: OpenedFolder,
  { rows, vectors, blocks }: Segment,
  bytes: Uint8Array,
): Promise<Generator<IndexRows, void>> {
  if (blocks === null) {
    const file = join(path, rows.name);
    return indexFromArrow(bytes, file, { kind: 'rows', isSound: true }).batches();
  }
  const table = blocksFromArrow(await read(blocks), join(path, blocks.name));
  const isPartitioned = filesOf(manifest, 'centres').length > 0;
  return rowsInOrder({
    ...{ table, rows: bytes, vectors: vectors && (await read(vectors)) },
    ...{ firstRow: rows.firstRow ?? 0, nextRow: rows.nextRow ?? 0, isPartitioned },
  });
}

/** Numbers of rows that files have and the index has no more, ascending. */
async function removedRows({ path, manifest, read }: OpenedFolder): Promise<Uint32Array> {
  const [file] = filesOf(manifest, 'removed');
  if (file === undefined) return new Uint32Array();
  const rows = removedFromArrow(await read(file), join(path, file.name));
  if (rows.length === file.rows) return rows;
  throw new FormatError(`${rows.length} rows, the manifest says ${file.rows}`, file.name);
}

/** The carried columns of the rows that are there, in their order; null where none are carried. */
export async function carriedColumns(
  folder: OpenedFolder,
  read: (file: FolderFile) => Promise<RowBatch[]>,
): Promise<RowBatch | null> {
  const removed = await removedRows(folder);
  const batches: RowBatch[] = [];
  for (const segment of segmentsOf(folder.manifest)) {
    if (segment.columns === null) continue;
    const own = await read(segment.columns);
    const gone = await placesIn(folder, segment, removed);
    let first = 0;
    for (const batch of own) {
      const there = Uint32Array.from({ length: batch.count }, (_, place) => place);
      const kept = there.filter((place) => !gone.has(first + place));
      batches.push(kept.length < batch.count ? batch.select(kept) : batch);
      first += batch.count;
    }
  }
  return batches.length === 0 ? null : RowBatch.join(batches);
}

/** The places of removed rows in a file of rows. */
async function placesIn(
  folder: OpenedFolder,
  segment: Segment,
  removed: Uint32Array,
): Promise<Set<number>> {
  const { rows: file } = segment;
  const { firstRow = 0, nextRow = 0 } = file;
  const own = removed.filter((row) => row >= firstRow && row < nextRow);
  if (own.length === 0) return new Set();
  if (nextRow - firstRow === file.rows) return new Set(Array.from(own, (row) => row - firstRow));
  const wanted = new Set(own);
  const places = new Set<number>();
  let place = 0;
  for (const { rows, count } of await runsOf(folder, segment, await folder.read(file))) {
    for (let i = 0; i < count; i++, place++) {
      if (wanted.has(rows?.[i] ?? firstRow + place)) places.add(place);
    }
  }
  return places;
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

/** More than an engine can hold is refused before memory is taken. */
function refuseTooMany(path: string, { bits, nextRow }: IndexHeader): void {
  const most = Math.floor(MAX_CODE_BYTES / (bytesPerCode(bits) + 4));
  if (nextRow <= most) return;
  throw new RangeError(
    `${path} has ${nextRow} rows of ${bits} bits, one index holds at most ${most}`,
  );
}
