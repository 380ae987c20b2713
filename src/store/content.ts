/**
 * What a stored index always holds in memory: the manifest, its space, removed rows and the places
 * of blocks. Everything else stays in files. Every file that is read here is compared with its
 * checksum.
 */

import { grown } from '../base/arrays';
import { asFormatError, FormatError } from '../base/check';
import type { IdKind } from '../index/ids';
import { noVectors, type QueryParts } from '../index/query';
import type { Space } from '../index/space';
import type { RowVectors } from '../index/vectors/row-vectors';
import { fileChecksum } from '../table/sealed/seal';
import type { Body } from '../table/sealed/sealed-table';
import {
  type BlockTable,
  BODY_KINDS,
  type Bodies,
  type BodyKind,
  blocksFromArrow,
  checkNumbers,
  layoutOf,
  NO_PARTITION,
} from './blocks';
import {
  checkFileChecksum,
  type FolderFile,
  type Manifest,
  queryPartsOf,
  type SegmentFiles,
} from './manifest';
import { explained, type Place, withPlace } from './place';
import { removedFromArrow, spaceFromArrow } from './space-file';

/** A segment that was opened. */
export interface StoredSegment extends SegmentFiles {
  /** Its position among the segments. */
  readonly number: number;
  /** Where its rows are. */
  readonly blocks: BlockTable;
  /** Where the hashes of their ids are. */
  readonly buckets: BlockTable;
}

/** A generation that was opened. */
export interface Content {
  readonly place: Place;
  readonly manifest: Manifest;
  /** Makes queries, and holds no rows. */
  readonly parts: QueryParts;
  readonly space: Space | null;
  readonly segments: readonly StoredSegment[];
  /** Rows that files have and that were removed from the index. */
  readonly removed: RowSet;
  /** Bytes of memory that all this takes, about. */
  readonly bytes: number;
}

/** The types of columns that hold ids of each kind. */
const ID_COLUMNS: Record<Exclude<IdKind, 'row'>, readonly string[]> = {
  string: ['Utf8'],
  number: ['Int32', 'Int64'],
  bigint: ['Int64'],
};

/** Bytes of memory that a block takes in the tables. */
const TABLE_BYTES = 80;

/**
 * Another writer committed first. This writer has deleted its files and may try again on the newest
 * generation.
 */
export class LostError extends Error {}

/**
 * Runs work on the newest generation, and again on the next one where another writer was first, or
 * has deleted files of it meanwhile; at most `tries` times more.
 */
export async function withNewest<T>(
  newest: () => Promise<Manifest>,
  tries: number,
  work: (manifest: Manifest) => Promise<T>,
): Promise<T> {
  for (let left = tries; ; left--) {
    const base = await newest();
    try {
      return await work(base);
    } catch (error) {
      // Files of `base` are deleted once others have saved twice: no damage, but too late.
      const isUnreadable = error instanceof FormatError;
      const now = isUnreadable ? await newest().catch(() => base) : base;
      const isLate = error instanceof LostError || now.checksum !== base.checksum;
      if (!isLate || left === 0) throw error;
    }
  }
}

/** The content of a generation, or of some segments of it. Reads its small files in parallel. */
export async function openContent(
  place: Place,
  manifest: Manifest,
  signal?: AbortSignal,
): Promise<Content> {
  const { index, files } = manifest;
  const parts = queryPartsOf(index);
  const one = async <T>(
    file: FolderFile | undefined,
    read: (bytes: Uint8Array, name: string) => T,
  ) =>
    file === undefined
      ? null
      : read(await wholeFile(place, manifest, file, signal), `${place.name}/${file.name}`);
  const [space, removed, tables] = await Promise.all([
    one(files.space, (bytes, name) => {
      const dimensions = parts.dense?.dimensions ?? parts.bits;
      return spaceFromArrow(bytes, name, { bits: parts.bits, dimensions, hasCopies: index.copies });
    }),
    one(files.removed, removedFromArrow),
    Promise.all(manifest.segments.map((segment) => one(segment.files.blocks, blocksFromArrow))),
  ]);
  const segments = manifest.segments.map((segment, number): StoredSegment => {
    const { blocks, buckets } = tables[number] as ReturnType<typeof blocksFromArrow>;
    const opened = { ...segment, number, blocks, buckets };
    asFormatError(`${place.name}/${(segment.files.blocks as FolderFile).name}`, () => {
      checkBlocks(opened, space, index);
      checkBuckets(opened);
    });
    return opened;
  });
  const set = new RowSet();
  for (const row of removed ?? []) set.add(row);
  return {
    place,
    parts,
    space,
    segments,
    removed: set,
    bytes: memoryOf(space, segments),
    manifest,
  };
}

/** What a generation has besides its rows; closes the place. */
export function openRowless(place: Place, manifest: Manifest): Promise<Content> {
  const { removed: _, ...files } = manifest.files;
  const rowless = { ...manifest, segments: [], files, rows: 0 };
  return withPlace(place, () => openContent(place, rowless));
}

/** Bytes of memory that a space and the tables of segments take, about. */
function memoryOf(space: Space | null, segments: readonly StoredSegment[]): number {
  let bytes = space === null ? 0 : 2 * space.count * space.width;
  for (const { firstRow, endRow, count, blocks } of segments) {
    bytes += TABLE_BYTES * blocks.count;
    // Of each row its position and the checksum of its vector; of each row number, whether it is
    // removed.
    bytes += 5 * (endRow - firstRow) + 4 * count;
  }
  return bytes;
}

/** How many rows of segments are there. */
export function countLive(segments: readonly StoredSegment[], removed: RowSet): number {
  return segments.reduce(
    (sum, { count, firstRow, endRow }) => sum + count - removed.within(firstRow, endRow).length,
    0,
  );
}

/** Reads a whole file and compares its checksum. */
export async function wholeFile(
  place: Place,
  { generation }: Manifest,
  file: FolderFile,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const path = `${place.name}/${file.name}`;
  const bytes = asFormatError(path, () => new Uint8Array(file.bytes));
  const whole = [{ at: 0, length: file.bytes, to: 0 }];
  await explained(place, generation, place.read(file, whole, bytes, signal));
  checkFileChecksum(fileChecksum(bytes), file, path);
  return bytes;
}

/** The body of a block in a file, and what errors call it. */
export interface StoredBody extends Body {
  readonly file: FolderFile;
  readonly name: 'block' | 'bucket';
  readonly number: number;
}

/** Where the body of a block is in a file. */
export function bodyIn(
  file: FolderFile | undefined,
  { at, bytes, checksums }: Bodies,
  number: number,
  name: StoredBody['name'] = 'block',
): StoredBody {
  const [from, length, checksum] = [at[number], bytes[number], checksums[number]];
  return { file: file as FolderFile, at: from, length, checksum, name, number };
}

/**
 * Throws unless the blocks lie in their files one after another, in ascending order of partition,
 * with the columns of the index and the number of rows that the manifest states.
 */
function checkBlocks(segment: StoredSegment, space: Space | null, index: Manifest['index']): void {
  const { blocks, count, files } = segment;
  const { layout } = blocks;
  const wanted = layoutOf(index, space, layout.id);
  const isOfIndex = JSON.stringify(layout) === JSON.stringify(wanted);
  if (!isOfIndex || (files.codes !== undefined) !== wanted.residualBytes > 0) {
    throw new Error('damaged: its columns are not those of the index');
  }
  checkIdType(layout.id, index.ids);
  for (const kind of BODY_KINDS) checkBodies(kind, blocks, files[kind]);
  const { partitions } = blocks;
  const known = space?.count ?? 1;
  let [rows, copied, before] = [0, 0, 0];
  for (let i = 0; i < blocks.count; i++) {
    const partition = partitions[i];
    const isKnown = partition < known || (partition === NO_PARTITION && blocks.copies[i] === 0);
    if (!isKnown || partition < before) throw misplaced(i);
    if (partition !== NO_PARTITION) checkNumbers(blocks, i);
    before = partition;
    rows += blocks.rows[i];
    copied += blocks.copies[i];
  }
  if (rows !== count || copied > (index.copies ? rows : 0)) {
    throw new Error(`damaged: ${rows} rows and ${copied} copies in its blocks`);
  }
}

const misplaced = (block: number) => new Error(`damaged: block ${block} is not where it can be`);

/** Throws unless the bodies of blocks or buckets lie one after another in their file, if any. */
function checkBodies(kind: BodyKind, blocks: BlockTable, file: FolderFile | undefined): void {
  if (file === undefined) return;
  const { at, bytes } = blocks.bodies[kind];
  let end = 0;
  for (let i = 0; i < blocks.count; i++) {
    if (at[i] < end || at[i] % 8 !== 0) throw misplaced(i);
    end = at[i] + bytes[i];
    if (end > file.bytes) throw misplaced(i);
  }
}

/** Throws unless there is a power of two of buckets in a file of hashes, and none without it. */
function checkBuckets({ buckets, files: { hashes } }: StoredSegment): void {
  const { count } = buckets;
  const isPower = (count & (count - 1)) === 0 && count > 0;
  if (hashes === undefined ? count > 0 : !isPower) throw new Error(`damaged: ${count} buckets`);
  checkBodies('rows', buckets, hashes);
}

/** Throws unless a column of this type, or none, can hold ids of a kind. */
function checkIdType(type: string | null, kind: IdKind | null): void {
  const hasIds = kind !== null && kind !== 'row';
  if (hasIds ? type !== null && ID_COLUMNS[kind].includes(type) : type === null) return;
  throw new Error(`damaged: ids are of kind ${kind}, the column is of type ${type ?? 'none'}`);
}

/** An empty place for vectors as the index holds them; null where it holds none. */
export function noVectorsOf({ parts: { vectors, hasher } }: Content): RowVectors | null {
  return vectors && noVectors(vectors.kind, hasher.dimensions);
}

/** Memory grows with the highest number. */
export class RowSet {
  #bits = new Uint8Array(64);
  #isEmpty = true;

  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  add(row: number): void {
    this.#isEmpty = false;
    const byte = row >>> 3;
    if (byte >= this.#bits.length) {
      this.#bits = grown(this.#bits, Math.max(byte + 1, 2 * this.#bits.length));
    }
    this.#bits[byte] |= 1 << (row & 7);
  }

  has(row: number): boolean {
    return ((this.#bits[row >>> 3] >> (row & 7)) & 1) === 1;
  }

  /** The rows of the set from `first` to `end - 1`, ascending, in a new array. */
  within(first: number, end: number): Uint32Array {
    if (this.#isEmpty) return new Uint32Array();
    const rows = new Uint32Array(end - first);
    let count = 0;
    for (let row = first; row < end; row++) if (this.has(row)) rows[count++] = row;
    return rows.subarray(0, count);
  }
}
