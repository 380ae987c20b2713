/**
 * Reads blocks and other ranges of one generation, many at once, and compares each with its
 * checksum. It returns views of the bytes that were read.
 */

import { padded, runOf } from '../base/arrays';
import { asFormatError, FormatError } from '../base/check';
import type { VectorColumns } from '../index/vectors/row-vectors';
import { checksum } from '../kernels/xxhash';
import type { ByteRange } from '../table/arrow/messages';
import { type BlockRows, type BodyKind, NO_VECTORS, readBlock, readVectors } from './blocks';
import { bodyIn, type Content, type StoredBody, type StoredSegment } from './content';
import type { FolderFile } from './manifest';
import { allEnded, explained, type TargetRange } from './place';

/** A block of a segment, by its number there. */
export interface BlockName {
  readonly segment: StoredSegment;
  readonly block: number;
}

/** A block that was read; its columns are views of the bytes. */
export interface LoadedBlock extends BlockName {
  readonly rows: BlockRows;
  /** Those of its rows; none where vectors were not read. */
  readonly vectors: VectorColumns;
}

/** A range of a file. */
interface FileRange extends ByteRange {
  readonly file: FolderFile;
}

/**
 * Memory that one read after another uses: to touch new pages takes two or three times as long as
 * the system takes to copy a file's bytes into old ones.
 */
class Room {
  #bytes: Uint8Array = new Uint8Array();

  /** The first bytes, which are not zeroed. */
  take(length: number): Uint8Array {
    if (length > MAX_ROOM_BYTES) return newBytes(length);
    if (length > this.#bytes.length) this.#bytes = newBytes(Math.ceil(1.25 * length));
    return this.#bytes.subarray(0, length);
  }
}

const MAX_ROOM_BYTES = 2 ** 24;

/** Memory that is not zeroed, where the engine has such. */
function newBytes(length: number): Uint8Array {
  const { Buffer: Made } = globalThis; // whose slices are views
  return new Uint8Array(Made?.allocUnsafeSlow(length).buffer ?? length);
}

/** What is read of blocks besides their rows. */
export interface Reading {
  /** Whether codes are read where they lie apart. */
  readonly hasCodes?: boolean | undefined;
  readonly hasVectors?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Where bytes go; what was read there before is lost. New memory by default. */
  readonly room?: Room | undefined;
}

export class Reader {
  /** The number of ranges read so far, and their bytes. */
  readonly counts = { reads: 0, bytes: 0 };

  constructor(readonly content: Content) {}

  /** The name of a file in errors. */
  pathOf({ name }: { readonly name: string }): string {
    return `${this.content.place.name}/${name}`;
  }

  /**
   * Reads groups of blocks one after another, the next one ahead. The bytes of a group are used
   * again once it was taken.
   */
  async each(
    groups: readonly (readonly BlockName[])[],
    how: Reading,
    take: (blocks: readonly LoadedBlock[]) => void | Promise<void>,
  ): Promise<void> {
    const rooms = [new Room(), new Room()];
    const read = (i: number) => this.blocks(groups[i], { ...how, room: rooms[i % 2] });
    let next = groups.length > 0 ? read(0) : null;
    for (let i = 1; next !== null; i++) {
      const blocks: LoadedBlock[] = await next;
      next = i < groups.length ? read(i) : null;
      next?.catch(() => undefined); // reported when it is waited for
      await take(blocks);
    }
  }

  /** Reads blocks, in the order given. */
  async blocks(
    names: readonly BlockName[],
    { hasCodes = false, hasVectors = false, signal, room }: Reading,
  ): Promise<LoadedBlock[]> {
    const wanted: StoredBody[] = [];
    const add = ({ segment, block: number }: BlockName, kind: BodyKind) => {
      const { files, blocks } = segment;
      return wanted.push(bodyIn(files[kind], blocks.bodies[kind], number)) - 1;
    };
    const places = names.map((name) => ({
      rows: add(name, 'rows'),
      vectors: hasVectors && name.segment.files.vectors ? add(name, 'vectors') : null,
      codes: hasCodes && name.segment.files.codes ? add(name, 'codes') : null,
    }));
    const read = await this.checked(wanted, signal, room);
    return names.map(({ segment, block }, i) => {
      const own = places[i];
      const codes = own.codes === null ? null : read[own.codes];
      const rows = asFormatError(this.pathOf(segment.files.rows as FolderFile), () =>
        readBlock(segment.blocks, block, read[own.rows], codes, segment),
      );
      if (own.vectors === null) return { segment, block, rows, vectors: NO_VECTORS };
      const body = read[own.vectors];
      const vectors = asFormatError(this.pathOf(segment.files.vectors as FolderFile), () =>
        readVectors(segment.blocks, block, body),
      );
      return { segment, block, rows, vectors };
    });
  }

  /** Reads ranges, in the order given; a FormatError where one fails its checksum. */
  async checked(
    wanted: readonly StoredBody[],
    signal?: AbortSignal,
    room?: Room,
  ): Promise<Uint8Array[]> {
    const bodies = await this.ranges(wanted, signal, room);
    for (let i = 0; i < wanted.length; i++) {
      if (checksum(bodies[i]) !== wanted[i].checksum) throw this.damaged(wanted[i]);
    }
    return bodies;
  }

  /** The error for a range that fails its checksum. */
  damaged({ file, name, number }: Pick<StoredBody, 'file' | 'name' | 'number'>): FormatError {
    return new FormatError(`damaged: ${name} ${number} fails its checksum`, this.pathOf(file));
  }

  /**
   * Reads ranges of several files, in the order given, into one memory, where each starts at a
   * multiple of 8 bytes, since typed arrays need that.
   */
  async ranges(
    wanted: readonly FileRange[],
    signal?: AbortSignal,
    room?: Room,
  ): Promise<Uint8Array[]> {
    const byFile = new Map<FolderFile, TargetRange[]>();
    let end = 0;
    const starts = wanted.map(({ file, at, length }) => {
      const to = end;
      end += padded(length);
      const own = byFile.get(file);
      if (own === undefined) byFile.set(file, [{ at, length, to }]);
      else own.push({ at, length, to });
      return to;
    });
    const memory = room?.take(end) ?? newBytes(end);
    await allEnded(Array.from(byFile, ([file, own]) => this.into(memory, file, own, signal)));
    return wanted.map(({ length }, i) => memory.subarray(starts[i], starts[i] + length));
  }

  /** Reads ranges of a file into memory; all reads have ended when it resolves or rejects. */
  async into(
    memory: Uint8Array,
    file: FolderFile,
    ranges: readonly TargetRange[],
    signal?: AbortSignal,
  ): Promise<void> {
    const { place, manifest } = this.content;
    await explained(place, manifest.generation, place.read(file, ranges, memory, signal));
    for (const { length } of ranges) this.counts.bytes += length;
    this.counts.reads += ranges.length;
  }
}

/** Where a bucket of hashes is. */
export function bucketBody({ files, buckets }: StoredSegment, i: number): StoredBody {
  return bodyIn(files.hashes, buckets.bodies.rows, i, 'bucket');
}

/** The positions of the rows of a block in their segment. */
export function positionsIn({ segment, block, rows }: LoadedBlock): Uint32Array {
  const start = segment.blocks.starts[block];
  return rows.rows.map((_, i) => start + i);
}

/** The positions in their segment of the rows that the copies of a block are of. */
export function copiedIn({ segment, rows }: LoadedBlock): Uint32Array {
  const copied = rows.positions?.subarray(rows.count) ?? new Uint32Array();
  const wrong = copied.find((position) => position >= segment.count);
  if (wrong === undefined) return copied;
  throw new Error(`damaged: a copy of row ${wrong} of ${segment.count}`);
}

/** The block of the row at a position of a segment, and its place in the block. */
export function placeOf(segment: StoredSegment, position: number): BlockName & { place: number } {
  const { starts } = segment.blocks;
  const block = runOf(starts, position);
  return { segment, block, place: position - starts[block] };
}

/** Bytes of blocks that are read together. */
const GROUP_BYTES = 2 ** 22;

/** The blocks of segments, in the order of the files. */
export function blockNames(segments: readonly StoredSegment[]): BlockName[] {
  return segments.flatMap((segment) =>
    Array.from({ length: segment.blocks.count }, (_, block) => ({ segment, block })),
  );
}

/** The same in groups of so many bytes, with those of vectors where these are read too. */
export function blockGroups(
  segments: readonly StoredSegment[],
  hasVectors = false,
  isWanted: (name: BlockName) => boolean = () => true,
  groupBytes = GROUP_BYTES,
): BlockName[][] {
  const names = blockNames(segments).filter(isWanted);
  return inGroups(names, (name) => bytesOfBlock(name, hasVectors), groupBytes);
}

/** The bytes of a block and its codes, with those of its vectors or without. */
export function bytesOfBlock({ segment, block }: BlockName, hasVectors: boolean): number {
  const { rows, codes, vectors } = segment.blocks.bodies;
  return rows.bytes[block] + codes.bytes[block] + (hasVectors ? vectors.bytes[block] : 0);
}

/** Items in their order, in groups of at most so many bytes, or what counts, or of one item. */
export function inGroups<T>(
  items: Iterable<T>,
  bytesOf: (item: T) => number,
  groupBytes = GROUP_BYTES,
): T[][] {
  const groups: T[][] = [];
  let bytes = 0;
  for (const item of items) {
    const own = bytesOf(item);
    if (groups.length === 0 || bytes + own > groupBytes) {
      groups.push([]);
      bytes = 0;
    }
    groups[groups.length - 1].push(item);
    bytes += own;
  }
  return groups;
}
