/**
 * Reads blocks of segments, many at once, and compares each with its checksum. It returns views of
 * the bytes that were read; callers that keep a block for long copy what they need with `keptRows`.
 */

import { lowerBound } from '../base/arrays';
import { asFormatError, FormatError } from '../base/format-error';
import { bytesPerCode, checkUnusedBits } from '../codes/codes';
import { checksum } from '../kernels/xxhash';
import {
  type BlockRows,
  checkRows,
  hasHeads,
  headBytes,
  readBlock,
  readVectors,
} from '../table/sealed/segment-tables';
import type { StoredContent, StoredSegment } from './content';
import type { FolderFile } from './manifest';
import type { ByteRange } from './stored-files';

/** A block: its segment, and its number there. */
export interface BlockName {
  readonly segment: StoredSegment;
  readonly block: number;
}

/** A block that was read; its rows are views of the bytes. */
export interface LoadedBlock extends BlockName {
  readonly rows: BlockRows;
}

/** The place of a row in the files: enough to read its vector. */
export interface RowPlace extends BlockName {
  /** Its position in the block. */
  readonly place: number;
  /** The low 32 bits of the checksum of its vector. */
  readonly check: number;
  /**
   * For sparse vectors the number of entries before the row in its block, of the row, and of the
   * block; else null.
   */
  readonly entries: readonly [before: number, own: number, all: number] | null;
}

/** A row that a search found in a block that memory does not hold. */
export interface PassedRow extends RowPlace {
  readonly row: number;
  /** Decodes its id; null where rows are the ids, and where ids are not known. */
  readonly id: (() => string | number | bigint) | null;
  /** Its code; empty where codes were not read. */
  readonly code: Uint8Array;
}

/** The number of ranges read so far, and their bytes. */
interface ReadCounts {
  reads: number;
  bytes: number;
}

/** A range of a file, the checksum of its bytes, and what the error says where it fails. */
interface CheckedRange extends ByteRange {
  readonly file: FolderFile;
  readonly checksum: bigint | undefined;
  readonly what: string;
}

type BlockVectors = ReturnType<typeof readVectors>;

/** Reads blocks, codes and other ranges of one generation. */
export class BlockReader {
  readonly #content: StoredContent;
  readonly counts: ReadCounts = { reads: 0, bytes: 0 };

  constructor(content: StoredContent) {
    this.#content = content;
  }

  /**
   * Whether searches read only the heads of blocks (all columns before the codes), and codes later
   * where they need them. Pays where bytes are expensive, and needs checksums of both parts.
   */
  get readsHeads(): boolean {
    const { files, segments, copies } = this.#content;
    return files.isFar === true && [...segments, ...copies].every(({ table }) => hasHeads(table));
  }

  /**
   * Reads blocks, in the order given; with `isHead` without their codes. Damage throws a
   * FormatError.
   */
  async blocks(
    names: readonly BlockName[],
    signal?: AbortSignal,
    isHead = false,
  ): Promise<LoadedBlock[]> {
    const bodies = await this.checked(
      names.map(({ segment: { rows: file, table }, block }) => ({
        ...{ file, at: table.at[block], what: `block ${block} fails its checksum` },
        length: isHead ? headBytes(table, block) : table.bytes[block],
        checksum: (isHead ? table.headChecksums : table.checksums)[block],
      })),
      signal,
    );
    return names.map(({ segment, block }, i) => {
      const rows = asFormatError(this.pathOf(segment.rows), () => {
        const read = readBlock(segment.table, block, bodies[i], isHead);
        checkRows(read, segment.rows);
        if (segment.home !== null) checkLinks(read, segment.home.rows.rows);
        return read;
      });
      return { segment, block, rows };
    });
  }

  /** Lets the bytes of all blocks of a call of `blocks` be used again. */
  giveBack(blocks: readonly LoadedBlock[]): void {
    this.#content.files.giveBack?.(blocks.map(({ rows }) => rows.rows));
  }

  /** Reads the codes of blocks, in the order given. Damage throws a FormatError. */
  async codes(names: readonly BlockName[], signal?: AbortSignal): Promise<Uint8Array[]> {
    const { bits } = this.#content.parts;
    const width = bytesPerCode(bits);
    const read = await this.checked(
      names.map(({ segment: { rows: file, table }, block }) => ({
        ...{ file, what: `the codes of block ${block} fail their checksum` },
        ...{ at: table.at[block] + headBytes(table, block), length: table.rows[block] * width },
        checksum: table.codeChecksums[block],
      })),
      signal,
    );
    read.forEach((codes, i) => {
      const path = this.pathOf(names[i].segment.rows);
      asFormatError(path, () => checkUnusedBits(codes, bits, 0));
    });
    return read;
  }

  /** Reads all vectors of blocks, in the order given; of segments without vectors none. */
  async vectors(names: readonly BlockName[], signal?: AbortSignal): Promise<BlockVectors[]> {
    const held = names.filter(({ segment }) => segment.vectors !== null);
    const bodies = await this.checked(
      held.map(({ segment: { vectors, table }, block }) => ({
        ...{ file: vectors as FolderFile, what: `block ${block} fails its checksum` },
        ...{ at: table.vectorsAt[block], length: table.vectorsBytes[block] },
        checksum: table.vectorsChecksums[block],
      })),
      signal,
    );
    return held.map(({ segment, block }, i) => readVectors(segment.table, block, bodies[i]));
  }

  /** Reads ranges, in the order given; a FormatError where one fails its checksum. */
  async checked(wanted: readonly CheckedRange[], signal?: AbortSignal): Promise<Uint8Array[]> {
    const ranges = wanted.map(({ file, at, length }) => ({ file, range: { at, length } }));
    const bodies = await this.ranges(ranges, signal);
    for (const [i, { file, what, checksum: stated }] of wanted.entries()) {
      if (checksum(bodies[i]) === stated) continue;
      throw new FormatError(`damaged: ${what}`, this.pathOf(file));
    }
    return bodies;
  }

  /** The name of a file in errors. */
  pathOf({ name }: { readonly name: string }): string {
    return `${this.#content.files.place}/${name}`;
  }

  /**
   * Reads ranges of several files, in the order given. Each result starts at a multiple of 8 bytes
   * in its buffer.
   */
  async ranges(
    wanted: readonly { file: FolderFile; range: ByteRange }[],
    signal?: AbortSignal,
  ): Promise<Uint8Array[]> {
    const { files } = this.#content;
    const results = new Array<Uint8Array>(wanted.length);
    const byFile = new Map<FolderFile, number[]>();
    wanted.forEach(({ file }, i) => {
      const own = byFile.get(file);
      if (own === undefined) byFile.set(file, [i]);
      else own.push(i);
    });
    const reads = Array.from(byFile, async ([file, own]) => {
      const ranges = own.map((i) => wanted[i].range);
      const read = await files.read(file, ranges, signal);
      for (const [j, i] of own.entries()) {
        results[i] = aligned(read[j]);
        this.counts.bytes += read[j].length;
      }
      this.counts.reads += own.length;
    });
    await Promise.all(reads);
    return results;
  }
}

/** Copies name rows that their segment has. */
function checkLinks({ links }: BlockRows, rows: number): void {
  for (let i = 0; links !== null && i < links.length; i++) {
    if (links[i] >= rows) throw new Error(`damaged: a copy of row ${links[i]} of ${rows}`);
  }
}

/**
 * Typed arrays need bytes that start at a multiple of 8 in their buffer; other bytes are copied.
 */
function aligned(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
}

/**
 * The place of the row at position `place` of a block, of a copy that of its row. Takes time in
 * proportion to the block if vectors are sparse.
 */
export function rowPlace({ segment, block, rows }: LoadedBlock, place: number): RowPlace {
  const { checks, entries, links } = rows;
  if (segment.home !== null) {
    const { home } = segment;
    const at = (links as Uint32Array)[place];
    const own = lowerBound(home.table.starts, at + 1) - 1; // the last block that begins there
    return {
      ...{ segment: home, block: own, place: at - home.table.starts[own] },
      ...{ check: checks?.[place] ?? 0, entries: null },
    };
  }
  let [before, all] = [0, 0];
  for (let i = 0; entries !== null && i < entries.length; i++) {
    if (i < place) before += entries[i];
    all += entries[i];
  }
  return {
    ...{ segment, block, place, check: checks?.[place] ?? 0 },
    entries: entries && [before, entries[place], all],
  };
}

/** Finds row `at` of the concatenated rows of some blocks: its block, and its position there. */
export function placeIn(blocks: readonly LoadedBlock[], at: number) {
  let place = at;
  let i = 0;
  while (place >= blocks[i].rows.count) place -= blocks[i++].rows.count;
  return { block: blocks[i], place };
}

/**
 * Copies what is kept of a block, so that the bytes that were read can be freed. Codes and residual
 * codes are not copied.
 */
export function keptRows({ rows }: LoadedBlock): LoadedBlock['rows'] {
  const { checks, entries, ids } = rows;
  return {
    ...rows,
    ...{ rows: rows.rows.slice(), checks: checks?.slice() ?? null },
    links: rows.links?.slice() ?? null,
    ...{ entries: entries?.slice() ?? null, ids: ids?.copy() ?? null },
    ...{ codes: new Uint8Array(), residuals: null, residualScales: null, firsts: null },
  };
}
