/**
 * Reads blocks and other ranges of one generation, many at once, and compares each with its
 * checksum. It returns views of the bytes that were read.
 */

import { runOf } from '../base/arrays';
import { asFormatError, FormatError } from '../base/format-error';
import { checksum } from '../kernels/xxhash';
import { type BlockRows, headBytes, readBlock, readVectors, type VectorColumns } from './blocks';
import type { BlockList, Content, StoredSegment } from './content';
import type { FolderFile } from './manifest';
import type { ByteRange } from './place';

/** A block: its segment, whether it is of rows or of copies, and its number there. */
export interface BlockName {
  readonly segment: StoredSegment;
  readonly list: BlockList;
  readonly block: number;
}

/** A block that was read; its rows are views of the bytes. */
export interface LoadedBlock extends BlockName {
  readonly rows: BlockRows;
}

/** A range of a file, the checksum of its bytes, and what the error says where it fails. */
interface CheckedRange extends ByteRange {
  readonly file: FolderFile;
  readonly checksum: bigint;
  readonly what: string;
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
      names.map(({ list: { file, table }, block }) => ({
        file,
        at: table.at[block],
        what: `block ${block} fails its checksum`,
        length: isHead ? headBytes(table, block) : table.bytes[block],
        checksum: (isHead ? table.headChecksums : table.checksums)[block],
      })),
      signal,
    );
    return names.map((name, i) => {
      const { segment, list, block } = name;
      const rows = asFormatError(this.pathOf(list.file), () => {
        const read = readBlock(list.table, block, bodies[i], segment, isHead);
        if (list === segment.copies) checkLinks(read, segment.count);
        return read;
      });
      return { ...name, rows };
    });
  }

  /** Lets the bytes of all blocks of one call be used again. */
  giveBack(blocks: readonly LoadedBlock[]): void {
    this.#content.place.giveBack?.(blocks.map(({ rows }) => rows.rows));
  }

  /** Reads all vectors of blocks of rows, in the order given; of segments without vectors none. */
  async vectors(names: readonly BlockName[], signal?: AbortSignal): Promise<VectorColumns[]> {
    const held = names.filter(({ segment }) => segment.files.vectors !== undefined);
    const bodies = await this.checked(
      held.map(({ segment: { files }, list: { table }, block }) => ({
        file: files.vectors as FolderFile,
        what: `block ${block} fails its checksum`,
        at: table.vectorsAt[block],
        length: table.vectorsBytes[block],
        checksum: table.vectorsChecksums[block],
      })),
      signal,
    );
    return held.map(({ segment, list, block }, i) =>
      asFormatError(this.pathOf(segment.files.vectors as FolderFile), () =>
        readVectors(list.table, block, bodies[i]),
      ),
    );
  }

  /** Reads ranges, in the order given; a FormatError where one fails its checksum. */
  async checked(wanted: readonly CheckedRange[], signal?: AbortSignal): Promise<Uint8Array[]> {
    const bodies = await this.ranges(wanted, signal);
    for (const [i, { file, what, checksum: stated }] of wanted.entries()) {
      if (checksum(bodies[i]) === stated) continue;
      throw new FormatError(`damaged: ${what}`, this.pathOf(file));
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
    const { place } = this.#content;
    const results = new Array<Uint8Array>(wanted.length);
    const byFile = new Map<FolderFile, number[]>();
    for (const [i, { file }] of wanted.entries()) {
      const own = byFile.get(file);
      if (own === undefined) byFile.set(file, [i]);
      else own.push(i);
    }
    const reads = Array.from(byFile, async ([file, own]) => {
      const read = await place.read(
        file,
        own.map((i) => wanted[i]),
        signal,
      );
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

/** Throws where a copy names a row that its segment does not have. */
function checkLinks({ links }: BlockRows, count: number): void {
  for (const link of links ?? []) {
    if (link >= count) throw new Error(`damaged: a copy of row ${link} of ${count}`);
  }
}

/** The block of the row at a position of a segment, and its place in the block. */
export function placeOf(segment: StoredSegment, position: number): BlockName & { place: number } {
  const { table } = segment.rows;
  const block = runOf(table.starts, position);
  return { segment, list: segment.rows, block, place: position - table.starts[block] };
}

/**
 * The blocks of rows or copies of segments, in the order of the files, in groups of about so many
 * bytes; with those of their vectors where these are read too.
 */
export function blockGroups(
  segments: readonly StoredSegment[],
  groupBytes: number,
  of: 'rows' | 'rows and vectors' | 'copies' = 'rows',
  isWanted: (name: BlockName) => boolean = () => true,
): (readonly BlockName[])[] {
  const groups: BlockName[][] = [];
  let bytes = groupBytes;
  for (const segment of segments) {
    const list = of === 'copies' ? segment.copies : segment.rows;
    if (list === null) continue;
    const { table } = list;
    for (let block = 0; block < table.count; block++) {
      const name = { segment, list, block };
      if (!isWanted(name)) continue;
      if (bytes >= groupBytes) {
        groups.push([]);
        bytes = 0;
      }
      groups[groups.length - 1].push(name);
      bytes += table.bytes[block];
      if (of === 'rows and vectors') bytes += table.vectorsBytes[block];
    }
  }
  return groups;
}
