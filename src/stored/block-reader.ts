/**
 * Reads blocks of segments where they are, many at once, and compares each with its checksum. What
 * it returns is small: numbers, ids and checks of rows; codes are copied by the caller.
 */

import { asFormatError, FormatError } from '../base/format-error';
import { bytesPerCode, checkUnusedBits } from '../codes/codes';
import { checksum } from '../kernels/kernels';
import {
  type BlockRows,
  checkRows,
  hasHeads,
  headBytes,
  readBlock,
} from '../table/sealed/segment-tables';
import type { StoredContent, StoredSegment } from './content';

/** A block: its segment and its place there. */
export interface BlockName {
  readonly segment: StoredSegment;
  readonly block: number;
}

/** A block that was read. */
export interface LoadedBlock extends BlockName {
  readonly rows: BlockRows;
}

/** Where a row is: all that is needed to read its vector. */
export interface RowPlace extends BlockName {
  readonly place: number;
  /** The low half of the checksum of its vector. */
  readonly check: number;
  /** Of sparse vectors: entries before it in its block, its own, and those of the block. */
  readonly entries: readonly [before: number, own: number, all: number] | null;
}

/** A row that a search found in a block that is not held. */
export interface PassedRow extends RowPlace {
  readonly row: number;
  /** Null where rows are the ids. */
  readonly id: (() => string | number | bigint) | null;
  readonly code: Uint8Array;
}

/** What was read so far. */
interface ReadCounts {
  reads: number;
  bytes: number;
}

export class BlockReader {
  readonly #content: StoredContent;
  readonly counts: ReadCounts = { reads: 0, bytes: 0 };

  constructor(content: StoredContent) {
    this.#content = content;
  }

  /** Whether parts of blocks are read: bytes are dear, and the files have checksums of parts. */
  get readsHeads(): boolean {
    const { files, segments } = this.#content;
    return files.isFar === true && segments.every(({ table }) => hasHeads(table));
  }

  /** Blocks, in the order given; with `isHead` without their codes. */
  async blocks(
    names: readonly BlockName[],
    signal?: AbortSignal,
    isHead = false,
  ): Promise<LoadedBlock[]> {
    const bodies = await this.ranges(
      names.map(({ segment, block }) => ({
        file: segment.rows,
        range: {
          at: segment.table.at[block],
          length: isHead ? headBytes(segment.table, block) : segment.table.bytes[block],
        },
      })),
      signal,
    );
    return names.map(({ segment, block }, i) => {
      const path = this.pathOf(segment.rows);
      const { checksums, headChecksums } = segment.table;
      if (checksum(bodies[i]) !== (isHead ? headChecksums : checksums)?.[block]) {
        throw new FormatError(`damaged: block ${block} fails its checksum`, path);
      }
      const rows = asFormatError(path, () => {
        const read = readBlock(segment.table, block, bodies[i], isHead);
        checkRows(read, segment.rows);
        return read;
      });
      return { segment, block, rows };
    });
  }

  /** The codes of blocks, one after another in each, in the order given. */
  async codes(names: readonly BlockName[], signal?: AbortSignal): Promise<Uint8Array[]> {
    const { bits } = this.#content.parts;
    const width = bytesPerCode(bits);
    const read = await this.ranges(
      names.map(({ segment, block }) => {
        const { table, rows: file } = segment;
        const at = table.at[block] + headBytes(table, block);
        return { file, range: { at, length: table.rows[block] * width } };
      }),
      signal,
    );
    read.forEach((codes, i) => {
      const { segment, block } = names[i];
      const path = this.pathOf(segment.rows);
      if (checksum(codes) !== segment.table.codeChecksums?.[block]) {
        throw new FormatError(`damaged: the codes of block ${block} fail their checksum`, path);
      }
      asFormatError(path, () => checkUnusedBits(codes, bits, 0));
    });
    return read;
  }

  pathOf({ name }: { readonly name: string }): string {
    return `${this.#content.files.place}/${name}`;
  }

  /** Ranges of several files, in the order given. */
  async ranges(
    wanted: readonly { file: StoredSegment['rows']; range: { at: number; length: number } }[],
    signal?: AbortSignal,
  ): Promise<Uint8Array[]> {
    const { files } = this.#content;
    const results = new Array<Uint8Array>(wanted.length);
    const byFile = new Map<StoredSegment['rows'], number[]>();
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

/** Typed arrays need their bytes at a multiple of 8. */
function aligned(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
}

/** Where the row at a place of a block is. */
export function rowPlace({ segment, block, rows }: LoadedBlock, place: number): RowPlace {
  const { checks, entries } = rows;
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

/** The block and the place there of row `at` among the rows of all blocks. */
export function placeIn(blocks: readonly LoadedBlock[], at: number) {
  let place = at;
  let i = 0;
  while (place >= blocks[i].rows.count) place -= blocks[i++].rows.count;
  return { block: blocks[i], place };
}

/** What is held of a block besides its codes: no view of the body, which is freed. */
export function keptRows({ rows }: LoadedBlock): LoadedBlock['rows'] {
  const { checks, entries, ids } = rows;
  return {
    ...rows,
    ...{ rows: rows.rows.slice(), checks: checks?.slice() ?? null },
    ...{ entries: entries?.slice() ?? null, ids: ids?.copy() ?? null },
    ...{ codes: new Uint8Array(), residuals: null, residualScales: null, firsts: null },
  };
}
