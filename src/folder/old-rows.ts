/**
 * Finds rows of a folder by ids, codes or numbers, without loading the index. Buckets of hashes are
 * read, and blocks only where a hash was found. The rows stay where they are.
 */

import { equalBytes, lowerBound } from '../base/arrays';
import type { Id } from '../index/id-table';
import type { IndexParts } from '../index/index-parts';
import { emptyPartsOf, takeHeader } from '../index/saved-header';
import { BlockReader, type LoadedBlock } from '../stored/block-reader';
import { openContent, type StoredContent, type StoredSegment } from '../stored/content';
import { type HashMatch, LookUps } from '../stored/look-ups';
import { bytesOfId, hashOfId } from '../table/sealed/look-up-tables';
import { NO_PARTITION } from '../table/sealed/segment-tables';
import { FolderFiles } from './folder-files';

/** The bytes of an id or a code to be found, and their hash. */
interface Wanted {
  readonly hash: bigint;
  readonly bytes: Uint8Array;
}

/** A row that was found. */
export interface FoundRow {
  /** The index of the id, code or number that was looked for. */
  readonly asked: number;
  readonly row: number;
  readonly partition: number;
  /** Its second partition; null without copies. */
  readonly second: number | null;
  /** Its code; empty where it has none. */
  readonly code: Uint8Array;
}

/** How many blocks are read together. */
const TOGETHER = 16;

/** The rows of one generation. */
export class OldRows {
  readonly content: StoredContent;
  /** The parts of an index of the same options, without rows: new rows are made by them. */
  readonly parts: IndexParts;
  readonly reader: BlockReader;
  readonly #lookUps: LookUps;

  private constructor(content: StoredContent) {
    const { header } = content;
    this.content = content;
    this.parts = emptyPartsOf(header);
    takeHeader(this.parts, header);
    this.reader = new BlockReader(content);
    this.#lookUps = new LookUps(content, this.reader);
  }

  /** Opens a generation; the caller closes it. */
  static async open(folder: string, generation: number): Promise<OldRows> {
    return new OldRows(await openContent(new FolderFiles(folder), { generation }));
  }

  close(): Promise<void> {
    return this.content.files.close();
  }

  get segments(): readonly StoredSegment[] {
    return this.content.segments;
  }

  /**
   * The live rows with one of these ids, in the order of their blocks. If rows are the ids, use
   * `numbered`.
   */
  async withIds(wanted: readonly Wanted[]): Promise<FoundRow[]> {
    const matches = await this.#matches('ids', wanted);
    // Equal hashes may be of different ids.
    return this.#compared(matches, ({ ids }, place, asked) => {
      return ids !== null && equalBytes(bytesOfId(ids.at(place)), wanted[asked].bytes);
    });
  }

  /** The live rows with one of these codes, which must have the full width. */
  async withCodes(wanted: readonly Wanted[]): Promise<FoundRow[]> {
    const matches = await this.#matches('codes', wanted);
    // Different codes of 8 bytes or less never have the same hash, so the blocks need not be read,
    // but for second partitions.
    const hasCopies = this.content.header.copies === true;
    if ((wanted[0]?.bytes.length ?? 0) <= 8 && !hasCopies) {
      return matches.map(({ asked, row, segment, block }) => {
        const partition = segment.table.partitions[block];
        return { asked, row, partition, second: null, code: wanted[asked].bytes };
      });
    }
    return this.#compared(matches, ({ codes }, place, asked) => {
      const { bytes } = wanted[asked];
      const at = place * bytes.length;
      return equalBytes(codes.subarray(at, at + bytes.length), bytes);
    });
  }

  /**
   * The live rows with these numbers, which ascend. Rows lie by partition, so a row may be in any
   * block of its segment: blocks are read until all rows are found.
   */
  async numbered(rows: Uint32Array): Promise<FoundRow[]> {
    const found: FoundRow[] = [];
    for (const segment of this.segments) {
      const { firstRow = 0, nextRow = 0 } = segment.rows;
      const own = rows.subarray(lowerBound(rows, firstRow), lowerBound(rows, nextRow));
      const wanted = new Set(own.filter((row) => !this.content.removed.has(row)));
      for (let block = 0; block < segment.table.count && wanted.size > 0; block++) {
        const [read] = await this.reader.blocks([{ segment, block }]);
        for (const [place, row] of read.rows.rows.entries()) {
          if (!wanted.delete(row)) continue;
          found.push(foundIn(read, place, lowerBound(rows, row), this.#width));
        }
      }
    }
    return found;
  }

  /** Bytes of a code. */
  get #width(): number {
    return Math.ceil(this.content.header.bits / 8);
  }

  async #matches(of: 'ids' | 'codes', wanted: readonly Wanted[]): Promise<HashMatch[]> {
    const matches: HashMatch[] = [];
    const hashes = BigUint64Array.from(wanted, ({ hash }) => hash);
    for await (const match of this.#lookUps.find(of, hashes)) matches.push(match);
    return matches;
  }

  /** Keeps the matches whose id or code is equal, not only the hash. Reads each block once. */
  async #compared(
    matches: readonly HashMatch[],
    isMatch: (rows: LoadedBlock['rows'], place: number, asked: number) => boolean,
  ): Promise<FoundRow[]> {
    // Matches are grouped by block, since several rows of a block may be wanted.
    const byBlock = new Map<StoredSegment, Map<number, HashMatch[]>>();
    for (const match of matches) {
      const blocks = byBlock.get(match.segment) ?? new Map<number, HashMatch[]>();
      byBlock.set(match.segment, blocks);
      const own = blocks.get(match.block);
      if (own === undefined) blocks.set(match.block, [match]);
      else own.push(match);
    }
    const found: FoundRow[] = [];
    for (const [segment, blocks] of byBlock) {
      const numbers = [...blocks.keys()].sort((a, b) => a - b);
      for (let first = 0; first < numbers.length; first += TOGETHER) {
        const names = numbers.slice(first, first + TOGETHER).map((block) => ({ segment, block }));
        for (const read of await this.reader.blocks(names)) {
          const { rows } = read.rows;
          for (const { row, asked } of blocks.get(read.block) ?? []) {
            // Rows of a block ascend, so a row is found by binary search.
            const place = lowerBound(rows, row);
            if (rows[place] !== row || !isMatch(read.rows, place, asked)) continue;
            found.push(foundIn(read, place, asked, this.#width));
          }
        }
      }
    }
    return found;
  }
}

function foundIn(
  { rows: read }: LoadedBlock,
  place: number,
  asked: number,
  width: number,
): FoundRow {
  const { partition, codes, rows, links } = read;
  const isNull = partition === NO_PARTITION;
  // A copy: a view would keep the whole block in memory.
  const code = isNull ? NO_CODE : codes.slice(place * width, (place + 1) * width);
  return { asked, row: rows[place], partition, second: links?.[place] ?? null, code };
}

const NO_CODE = new Uint8Array();

/** The bytes and the hash by which the row of an id is found. */
export function wantedId(id: Id): Wanted {
  return { hash: hashOfId(id), bytes: bytesOfId(id) };
}
