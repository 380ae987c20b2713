/**
 * What a stored index always holds in memory: the manifest, centroids, removed rows and the places
 * of blocks. Everything else stays in files. Every file that is read here is compared with its
 * checksum.
 */

import { checkInteger, wrongType } from '../base/check';
import { asFormatError, FormatError } from '../base/format-error';
import { residualBytesOf } from '../index/partitions/residual-codes';
import type { QueryParts } from '../index/query-parts';
import { checkHeader, queryPartsOf, takeHeader } from '../index/saved-header';
import type { IndexHeader } from '../index/write-index';
import { allocateIntegers } from '../k-means/points';
import { integerWidth } from '../kernels/products';
import { type BlockTable, blocksFromArrow, NO_PARTITION } from '../table/sealed/segment-tables';
import { centroidsFromArrow, removedFromArrow } from '../table/sealed/small-tables';
import {
  checkFileChecksum,
  FileChecksum,
  type FolderFile,
  fileChecksum,
  filesOf,
  filesOfSegment,
  type Manifest,
  PIECE_BYTES,
  parseManifest,
  type Segment,
  segmentsOf,
} from './manifest';
import { RowSet } from './row-set';
import type { FoundManifest, StoredFiles } from './stored-files';

/**
 * A segment, and where its blocks are. The copies of its rows are a segment of their own, which has
 * no vectors and which searches read alone.
 */
export interface StoredSegment extends Segment {
  readonly table: BlockTable;
  /** Of copies the segment that has the rows, else null. */
  readonly home: StoredSegment | null;
}

/** A generation that was opened. */
export interface StoredContent {
  readonly files: StoredFiles;
  readonly manifest: Manifest;
  readonly header: IndexHeader;
  /** Makes queries, and holds no rows. */
  readonly parts: QueryParts;
  readonly segments: readonly StoredSegment[];
  /** The copies of each segment; empty without copies. */
  readonly copies: readonly StoredSegment[];
  /** Rows that files have and that were removed from the index. */
  readonly removed: RowSet;
  /** The centroids one after another; null without partitions. */
  readonly centroids: Int16Array | null;
  /** Bytes of memory that all this takes, about. */
  readonly bytes: number;
}

/** Bytes of memory that a block takes in the tables, with the checksums of its parts. */
const TABLE_BYTES = 64;

/** How content is opened. */
interface Opening {
  readonly signal?: AbortSignal | undefined;
  /** The segments `first` to `last` alone, by their positions; all by default. */
  readonly segments?: readonly [first: number, last: number] | undefined;
}

/** Opens a generation, the newest by default. Closes the files where that fails. */
export async function openContent(
  files: StoredFiles,
  { generation, signal }: { generation?: number | undefined; signal?: AbortSignal | undefined },
): Promise<StoredContent> {
  try {
    const found = await files.manifest(generation, signal);
    if (found === null) throw new FormatError('no index: it has no manifest', files.place);
    return await contentOf(files, found, { signal });
  } catch (error) {
    await files.close();
    throw error;
  }
}

/** The content of the generation that a manifest describes. Checks the manifest first. */
export async function contentOf(
  files: StoredFiles,
  found: FoundManifest,
  opening: Opening,
): Promise<StoredContent> {
  const path = `${files.place}/${found.name}`;
  const manifest = parseManifest(found.bytes, path, found.generation);
  return contentNamed(files, manifest, { path, ...opening });
}

/**
 * The same for a parsed manifest, which errors call `path`. Reads the small files of the generation
 * in parallel.
 */
export async function contentNamed(
  files: StoredFiles,
  whole: Manifest,
  { path, signal, segments: range }: Opening & { path: string },
): Promise<StoredContent> {
  const header = asFormatError(path, () => headerIn(whole));
  const parts = asFormatError(path, () => queryPartsOf(header));
  asFormatError(path, () => takeHeader(parts, header));
  const named = segmentsIn(whole, range);
  const one = async <T>(
    file: FolderFile | undefined,
    read: (bytes: Uint8Array, name: string) => T,
  ) =>
    file === undefined
      ? null
      : read(await wholeFile(files, file, signal), `${files.place}/${file.name}`);
  const tablesOf = (of: (segment: Segment) => FolderFile | null) =>
    Promise.all(named.map((segment) => one(of(segment) ?? undefined, blocksFromArrow)));
  const [centroids, removed, tables, places] = await Promise.all([
    one(filesOf(whole, 'centroids')[0], (bytes, name) => {
      return asFormatError(name, () => centroidsOf(centroidsFromArrow(bytes, name), parts));
    }),
    one(filesOf(whole, 'removed')[0], removedFromArrow),
    tablesOf(({ blocks }) => blocks),
    tablesOf(({ places }) => places),
  ]);
  const segments = named.map((segment, i) => {
    return { ...segment, table: tables[i] as BlockTable, home: null };
  });
  const copies = segments.flatMap((home, i) => copiesOf(home, places[i]) ?? []);
  for (const segment of [...segments, ...copies]) checkTable(files, segment, centroids, parts);
  const rows = new RowSet();
  for (const row of removed ?? []) rows.add(row);
  const manifest = range === undefined ? whole : ofSegments(whole, named, rows);
  const blocks = [...segments, ...copies].reduce((sum, { table }) => sum + table.count, 0);
  // One bit for each row number. Without removed rows, numbers before the first segment take no
  // memory.
  const numbers = header.nextRow - (removed === null ? (named[0]?.rows.firstRow ?? 0) : 0);
  const bytes = (centroids?.byteLength ?? 0) + TABLE_BYTES * blocks + Math.ceil(numbers / 8);
  const read = { segments, copies, removed: rows, centroids };
  return { files, manifest, header, parts, ...read, bytes };
}

/** The copies of a segment as a segment; null where it has none. */
function copiesOf(home: StoredSegment, table: BlockTable | null): StoredSegment | null {
  const { copies, places, rows } = home;
  if (copies === null || places === null || table === null) return null;
  const { firstRow, nextRow } = rows;
  const own = { rows: { ...copies, firstRow, nextRow }, blocks: places, table, home };
  return { ...home, vectors: null, ...own };
}

/**
 * The checked header. Row numbers before the first segment take no memory, so they do not count.
 */
function headerIn(manifest: Manifest): IndexHeader {
  const { nextRow } = manifest.index;
  const firstRow = filesOf(manifest, 'rows')[0]?.firstRow ?? 0;
  checkHeader({ ...manifest.index, nextRow: nextRow - firstRow }, manifest.rows);
  return manifest.index;
}

/** The segments of a manifest, or those in a range, whose limits are checked. */
function segmentsIn(manifest: Manifest, range: Opening['segments']): Segment[] {
  const all = segmentsOf(manifest);
  if (range === undefined) return all;
  if (!Array.isArray(range)) throw wrongType('segments', 'two integers', range);
  const first = checkInteger('segments[0]', range[0], 0, all.length - 1);
  return all.slice(first, checkInteger('segments[1]', range[1], first, all.length - 1) + 1);
}

/**
 * A manifest with only these segments and the files that all segments share; `rows` counts the live
 * rows.
 */
function ofSegments(manifest: Manifest, segments: readonly Segment[], removed: RowSet): Manifest {
  const all = new Set(segmentsOf(manifest).flatMap(filesOfSegment));
  const others = manifest.files.filter((file) => !all.has(file));
  const liveIn = ({ rows: { rows, firstRow = 0, nextRow = 0 } }: Segment) =>
    rows - removed.within(firstRow, nextRow).length;
  const rows = segments.reduce((sum, segment) => sum + liveIn(segment), 0);
  return { ...manifest, rows, files: [...segments.flatMap(filesOfSegment), ...others] };
}

/** Reads a whole file and compares its checksum. */
export async function wholeFile(
  files: StoredFiles,
  file: FolderFile,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const [bytes] = await files.read(file, [{ at: 0, length: file.bytes }], signal);
  checkFileChecksum(fileChecksum(bytes), file, `${files.place}/${file.name}`);
  return bytes;
}

/** Compares the checksum of a whole file, one piece in memory at a time; throws if it differs. */
export async function checkWhole(files: StoredFiles, file: FolderFile): Promise<void> {
  const checksum = new FileChecksum();
  for (let at = 0; at < file.bytes; at += PIECE_BYTES) {
    const length = Math.min(PIECE_BYTES, file.bytes - at);
    const [piece] = await files.read(file, [{ at, length }]);
    checksum.add(piece);
  }
  checkFileChecksum(checksum.text, file, `${files.place}/${file.name}`);
}

/**
 * Copies the centroids to memory that kernels can read in place. Throws if their width does not fit
 * the index.
 */
function centroidsOf(values: Int16Array, { dense, bits }: QueryParts): Int16Array {
  const width = integerWidth(dense?.dimensions ?? bits);
  const count = values.length / width;
  if (!Number.isInteger(count)) throw new Error(`its centroids are not ${width} integers wide`);
  const centroids = allocateIntegers(count, width);
  centroids.set(values);
  return centroids;
}

/**
 * Throws unless the blocks lie in their files one after another, in ascending order of partition,
 * and have the number of rows that the manifest states.
 */
function checkTable(
  files: StoredFiles,
  { rows, vectors, blocks, copies, table, home }: StoredSegment,
  centroids: Int16Array | null,
  { dense, bits, vectors: held }: QueryParts,
): void {
  asFormatError(`${files.place}/${blocks.name}`, () => {
    const partitions = (centroids?.length ?? 0) / integerWidth(dense?.dimensions ?? bits) || 1;
    const { layout } = table;
    let [count, at, vectorsAt, before] = [0, 0, 0, 0];
    // Blocks are read by this layout, so it must be that of the index.
    const residualBytes = centroids === null ? layout.residualBytes : residualBytesOf({ dense });
    const isOfIndex = layout.bits === bits && layout.vectors === (held?.kind ?? 'none');
    if (!isOfIndex || layout.residualBytes !== residualBytes) {
      throw new Error('damaged: its columns are not those of the index');
    }
    const hasCopies = home !== null || copies !== null;
    if (layout.link !== (hasCopies ? (home === null ? 'second' : 'at') : null)) {
      throw new Error('damaged: its columns are not those of rows with copies');
    }
    for (let i = 0; i < table.count; i++) {
      const partition = table.partitions[i];
      const isKnown = partition === NO_PARTITION || partition < partitions;
      const isInPlace = table.at[i] >= at && table.vectorsAt[i] >= vectorsAt;
      at = table.at[i] + table.bytes[i];
      vectorsAt = table.vectorsAt[i] + table.vectorsBytes[i];
      const isWithin = at <= rows.bytes && vectorsAt <= (vectors?.bytes ?? 0);
      if (!isKnown || partition < before || !isInPlace || !isWithin) {
        throw new Error(`damaged: block ${i} is not where it can be`);
      }
      before = partition;
      count += table.rows[i];
    }
    if (count !== rows.rows) throw new Error(`damaged: ${count} rows in its blocks`);
  });
}
