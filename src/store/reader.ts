/**
 * Reads blocks and other ranges of one generation, many at once, and compares each with its
 * checksum. It returns views of the bytes that were read.
 */

import { runOf } from '../base/arrays';
import { asFormatError, FormatError } from '../base/check';
import type { VectorColumns } from '../index/vectors/row-vectors';
import { checksum } from '../kernels/xxhash';
import type { ByteRange } from '../table/arrow/messages';
import {
  type BlockRows,
  type BlockTable,
  headBytes,
  NO_VECTORS,
  ROWS,
  readBlock,
  readVectors,
} from './blocks';
import type { Content, StoredSegment } from './content';
import type { FolderFile } from './manifest';
import { readOf } from './place';

/** A block of rows or copies of a segment, by its number there. */
export interface BlockName {
  readonly segment: StoredSegment;
  readonly block: number;
}

/** A block that was read; its columns are views of the bytes. */
export interface LoadedBlock extends BlockName {
  readonly rows: BlockRows;
  /** None of copies, and where vectors were not read. */
  readonly vectors: VectorColumns;
}

/** A range of a file, the checksum of its bytes, and what the error calls it where it fails. */
interface CheckedRange extends ByteRange {
  readonly file: FolderFile;
  readonly checksum: bigint;
  readonly name: 'block' | 'bucket';
  readonly number: number;
}

/** What is read of blocks. */
export interface Reading {
  /** All columns before the codes, or all of them. */
  readonly part: 'head' | 'whole';
  /** Whether their vectors are read too. */
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
   * again once the next is asked for.
   */
  async *each(groups: readonly (readonly BlockName[])[], how: Reading) {
    let next = groups.length > 0 ? this.blocks(groups[0], how) : null;
    for (let i = 1; next !== null; i++) {
      const blocks: LoadedBlock[] = await next;
      next = i < groups.length ? this.blocks(groups[i], how) : null;
      next?.catch(() => undefined); // reported when it is waited for
      yield blocks;
      this.giveBack(blocks);
    }
  }

  /** Reads blocks, in the order given. */
  async blocks(
    names: readonly BlockName[],
    { part, hasVectors = false, signal }: Reading,
  ): Promise<LoadedBlock[]> {
    const isHead = part === 'head';
    const bodies = names.map(({ segment: { files, blocks }, block }) => {
      const whole = bodyOf(blocks, block, files.rows, 'block');
      if (!isHead) return whole;
      const length = headBytes(blocks, block);
      return { ...whole, length, checksum: blocks.headChecksums[block] };
    });
    const held = hasVectors ? names.filter(isHeld) : [];
    const vectorBodies = held.map(({ segment: { files, blocks }, block }) => ({
      ...bodyOf(blocks, block, files.vectors, 'block'),
      at: blocks.vectorsAt[block],
      length: blocks.vectorsBytes[block],
      checksum: blocks.vectorsChecksums[block],
    }));
    const read = await this.checked([...bodies, ...vectorBodies], signal);
    let next = names.length;
    return names.map((name, i) => {
      const { segment, block } = name;
      const rows = asFormatError(this.pathOf(segment.files.rows as FolderFile), () =>
        checkedLinks(readBlock(segment.blocks, block, read[i], segment, isHead), segment),
      );
      if (!hasVectors || !isHeld(name)) return { segment, block, rows, vectors: NO_VECTORS };
      const vectors = asFormatError(this.pathOf(segment.files.vectors as FolderFile), () =>
        readVectors(segment.blocks, block, read[next++]),
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
  async checked(wanted: readonly CheckedRange[], signal?: AbortSignal): Promise<Uint8Array[]> {
    const bodies = await this.ranges(wanted, signal);
    for (let i = 0; i < wanted.length; i++) {
      const { file, name, number } = wanted[i];
      if (checksum(bodies[i]) === wanted[i].checksum) continue;
      throw new FormatError(`damaged: ${name} ${number} fails its checksum`, this.pathOf(file));
    }
    return bodies;
  }

  /**
   * Reads ranges of several files, in the order given. Each result starts at a multiple of 8 bytes
   * in its buffer, since typed arrays need that.
   */
  async ranges(
    wanted: readonly (ByteRange & { readonly file: FolderFile })[],
    signal?: AbortSignal,
  ): Promise<Uint8Array[]> {
    const { place, manifest } = this.content;
    const results = new Array<Uint8Array>(wanted.length);
    const byFile = new Map<FolderFile, number[]>();
    for (const [i, { file }] of wanted.entries()) {
      const own = byFile.get(file);
      if (own === undefined) byFile.set(file, [i]);
      else own.push(i);
    }
    const reads = Array.from(byFile, async ([file, own]) => {
      const some = own.map((i) => wanted[i]);
      const read = await readOf(place, manifest.generation, file, some, signal);
      for (const [j, i] of own.entries()) {
        results[i] = read[j].byteOffset % 8 === 0 ? read[j] : read[j].slice();
        this.counts.bytes += read[j].length;
      }
      this.counts.reads += own.length;
    });
    await Promise.all(reads);
    return results;
  }
}

/** Whether a block has vectors. */
function isHeld({ segment: { files, blocks }, block }: BlockName): boolean {
  return files.vectors !== undefined && blocks.of[block] === ROWS;
}

/** Throws where a copy is of a row that the segment does not have. */
function checkedLinks(rows: BlockRows, { count }: StoredSegment): BlockRows {
  const wrong = rows.isCopy && rows.links?.find((link) => link >= count);
  if (typeof wrong !== 'number') return rows;
  throw new Error(`damaged: a copy of row ${wrong} of ${count}`);
}

/** Where the body of a block, or of a bucket of hashes, is in a file. */
export function bodyOf(
  { at, bytes, checksums }: BlockTable,
  i: number,
  given: FolderFile | undefined,
  name: CheckedRange['name'],
): CheckedRange {
  const file = given as FolderFile;
  return { file, at: at[i], length: bytes[i], checksum: checksums[i], name, number: i };
}

/** The positions of the rows of a block in their segment. */
export function positionsIn({ segment, block, rows }: LoadedBlock): Uint32Array {
  if (rows.isCopy) return rows.links as Uint32Array;
  const start = segment.blocks.starts[block];
  const positions = new Uint32Array(rows.count);
  for (let i = 0; i < positions.length; i++) positions[i] = start + i;
  return positions;
}

/** The block of the row at a position of a segment, and its place in the block. */
export function placeOf(segment: StoredSegment, position: number): BlockName & { place: number } {
  const { starts } = segment.blocks;
  const block = runOf(starts, position);
  return { segment, block, place: position - starts[block] };
}

/** Bytes of blocks that are read together. */
const GROUP_BYTES = 2 ** 22;

/** The blocks of segments, in the order of the files: of rows, or also of copies. */
export function blockNames(segments: readonly StoredSegment[], of: 'rows' | 'all'): BlockName[] {
  return segments.flatMap((segment) => {
    const own = Array.from(segment.blocks.of.keys(), (block) => ({ segment, block }));
    return of === 'all' ? own : own.filter(({ block }) => segment.blocks.of[block] === ROWS);
  });
}

/** The same in groups of so many bytes, with those of vectors where these are read too. */
export function blockGroups(
  segments: readonly StoredSegment[],
  of: 'rows' | 'rows and vectors' | 'all' = 'rows',
  isWanted: (name: BlockName) => boolean = () => true,
  groupBytes = GROUP_BYTES,
): BlockName[][] {
  const names = blockNames(segments, of === 'all' ? of : 'rows').filter(isWanted);
  return inGroups(names, (name) => bytesOfBlock(name, of !== 'rows'), groupBytes);
}

/** The bytes of a block, with those of its vectors or without. */
export function bytesOfBlock({ segment, block }: BlockName, hasVectors: boolean): number {
  const { bytes, vectorsBytes } = segment.blocks;
  return bytes[block] + (hasVectors ? vectorsBytes[block] : 0);
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
