/**
 * Reads blocks and other ranges of one generation, many at once, and compares each with its
 * checksum. It returns views of the bytes that were read.
 */

import { runOf } from '../base/arrays';
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

/** What is read of blocks besides their rows. */
export interface Reading {
  /** Whether codes are read where they lie apart. */
  readonly hasCodes?: boolean | undefined;
  readonly hasVectors?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
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
    let next = groups.length > 0 ? this.blocks(groups[0], how) : null;
    for (let i = 1; next !== null; i++) {
      const blocks: LoadedBlock[] = await next;
      next = i < groups.length ? this.blocks(groups[i], how) : null;
      next?.catch(() => undefined); // reported when it is waited for
      await take(blocks);
      this.giveBack(blocks);
    }
  }

  /** Reads blocks, in the order given. */
  async blocks(
    names: readonly BlockName[],
    { hasCodes = false, hasVectors = false, signal }: Reading,
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
    const read = await this.checked(wanted, signal);
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

  /** Lets the bytes of all blocks of one call be used again. */
  giveBack(blocks: readonly LoadedBlock[]): void {
    const views: ArrayBufferView[] = [];
    for (const { rows, vectors: own } of blocks) {
      views.push(rows.rows);
      const held = own.vectors ?? own.sparse?.weights;
      if (held !== undefined) views.push(held);
    }
    this.content.place.giveBack?.(views);
  }

  /** Reads ranges, in the order given; a FormatError where one fails its checksum. */
  async checked(wanted: readonly StoredBody[], signal?: AbortSignal): Promise<Uint8Array[]> {
    const bodies = await this.ranges(wanted, signal);
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
   * Reads ranges of several files, in the order given. Each result starts at a multiple of 8 bytes
   * in its buffer, since typed arrays need that.
   */
  async ranges(wanted: readonly FileRange[], signal?: AbortSignal): Promise<Uint8Array[]> {
    const results = new Array<Uint8Array>(wanted.length);
    const { place } = this.content;
    const byFile = new Map<FolderFile, number[]>();
    for (const [i, { file }] of wanted.entries()) {
      const own = byFile.get(file);
      if (own === undefined) byFile.set(file, [i]);
      else own.push(i);
    }
    const reads = Array.from(byFile, async ([file, own]) => {
      const ranges = own.map((i) => wanted[i]);
      const read = await this.#of(place.read(file, ranges, signal));
      for (const [j, i] of own.entries()) {
        results[i] = read[j].byteOffset % 8 === 0 ? read[j] : read[j].slice();
      }
    });
    await allEnded(reads);
    this.#count(wanted);
    return results;
  }

  /** Reads ranges of a file into memory; all reads have ended when it resolves or rejects. */
  async into(
    memory: Uint8Array,
    file: FolderFile,
    ranges: readonly TargetRange[],
    signal?: AbortSignal,
  ): Promise<void> {
    const { place } = this.content;
    if (place.readInto !== undefined) await this.#of(place.readInto(file, ranges, memory, signal));
    else {
      const read = await this.#of(place.read(file, ranges, signal));
      for (const [i, bytes] of read.entries()) memory.set(bytes, ranges[i].to);
    }
    this.#count(ranges);
  }

  #count(ranges: readonly ByteRange[]): void {
    for (const { length } of ranges) this.counts.bytes += length;
    this.counts.reads += ranges.length;
  }

  /** What a read gives; explains why a file is missing. */
  #of<T>(reading: Promise<T>): Promise<T> {
    const { place, manifest } = this.content;
    return explained(place, manifest.generation, reading);
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

/** Items in their order, in groups of at most so many bytes, or of one item. */
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
