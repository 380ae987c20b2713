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

/** A block that was read; its rows are views of the bytes. */
export interface LoadedBlock extends BlockName {
  readonly rows: BlockRows;
}

/** A range of a file, the checksum of its bytes, and what the error calls it where it fails. */
interface CheckedRange extends ByteRange {
  readonly file: FolderFile;
  readonly checksum: bigint;
  readonly name: 'block' | 'bucket';
  readonly number: number;
}

/** Which parts of blocks are read: all columns before the codes, or all of them. */
type Part = 'head' | 'whole';

export class Reader {
  readonly #content: Content;
  /** The number of ranges read so far, and their bytes. */
  readonly counts = { reads: 0, bytes: 0 };

  constructor(content: Content) {
    this.#content = content;
  }

  /** The name of a file in errors. */
  pathOf({ name }: { readonly name: string }): string {
    return `${this.#content.place.name}/${name}`;
  }

  /** Reads blocks, in the order given. */
  async blocks(
    names: readonly BlockName[],
    part: Part,
    signal?: AbortSignal,
  ): Promise<LoadedBlock[]> {
    const isHead = part === 'head';
    const bodies = await this.checked(
      names.map(({ segment: { files, blocks }, block }) => {
        const whole = bodyOf(blocks, block, files.rows, 'block');
        if (!isHead) return whole;
        return {
          ...whole,
          length: headBytes(blocks, block),
          checksum: blocks.headChecksums[block],
        };
      }),
      signal,
    );
    return names.map(({ segment, block }, i) => {
      const rows = asFormatError(this.pathOf(segment.files.rows as FolderFile), () => {
        const read = readBlock(segment.blocks, block, bodies[i], segment, isHead);
        const wrong = read.isCopy && read.links?.find((link) => link >= segment.count);
        if (typeof wrong !== 'number') return read;
        throw new Error(`damaged: a copy of row ${wrong} of ${segment.count}`);
      });
      return { segment, block, rows };
    });
  }

  /** Lets the bytes of all blocks of one call be used again. */
  giveBack(blocks: readonly LoadedBlock[]): void {
    this.#content.place.giveBack?.(blocks.map(({ rows }) => rows.rows));
  }

  /** Reads all vectors of blocks, in the order given; of copies, and without vectors, none. */
  async vectors(names: readonly BlockName[], signal?: AbortSignal): Promise<VectorColumns[]> {
    const isHeld = ({ segment: { files, blocks }, block }: BlockName) =>
      files.vectors !== undefined && blocks.of[block] === ROWS;
    const held = names.filter(isHeld);
    const bodies = await this.checked(
      held.map(({ segment: { files, blocks }, block }) => ({
        ...bodyOf(blocks, block, files.vectors, 'block'),
        at: blocks.vectorsAt[block],
        length: blocks.vectorsBytes[block],
        checksum: blocks.vectorsChecksums[block],
      })),
      signal,
    );
    let next = 0;
    return names.map((name) => {
      if (!isHeld(name)) return NO_VECTORS;
      const { segment, block } = name;
      return asFormatError(this.pathOf(segment.files.vectors as FolderFile), () =>
        readVectors(segment.blocks, block, bodies[next++]),
      );
    });
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
    const { place, manifest } = this.#content;
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

/**
 * The blocks of segments, in the order of the files, in groups of about so many bytes: of rows,
 * with those of their vectors where these are read too, or also of copies.
 */
export function blockGroups(
  segments: readonly StoredSegment[],
  groupBytes: number,
  of: 'rows' | 'rows and vectors' | 'all' = 'rows',
  isWanted: (name: BlockName) => boolean = () => true,
): (readonly BlockName[])[] {
  const names = segments.flatMap((segment) =>
    Array.from({ length: segment.blocks.count }, (_, block) => ({ segment, block })),
  );
  const wanted = names.filter((name) => {
    return (of === 'all' || name.segment.blocks.of[name.block] === ROWS) && isWanted(name);
  });
  return inGroups(wanted, groupBytes, (name) => bytesOfBlock(name, of !== 'rows'));
}

/** The bytes of a block, with those of its vectors or without. */
export function bytesOfBlock({ segment, block }: BlockName, hasVectors: boolean): number {
  const { bytes, vectorsBytes } = segment.blocks;
  return bytes[block] + (hasVectors ? vectorsBytes[block] : 0);
}

/** Items in their order, in groups of about so many bytes. */
export function inGroups<T>(
  items: Iterable<T>,
  groupBytes: number,
  bytesOf: (item: T) => number,
): T[][] {
  const groups: T[][] = [];
  let bytes = groupBytes;
  for (const item of items) {
    if (bytes >= groupBytes) {
      groups.push([]);
      bytes = 0;
    }
    groups[groups.length - 1].push(item);
    bytes += bytesOf(item);
  }
  return groups;
}
