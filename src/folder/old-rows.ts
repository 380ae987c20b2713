/**
 * The rows of a folder that stay where they are, while others come and go: which of them have
 * certain ids or codes. Buckets of hashes are read, and blocks only where a hash was found.
 */

import { equalBytes, lowerBound } from '../base/arrays';
import type { Id } from '../index/id-table';
import { BlockReader, type LoadedBlock } from '../stored/block-reader';
import { openContent, type StoredContent, type StoredSegment } from '../stored/content';
import { type HashMatch, LookUps } from '../stored/look-ups';
import { bytesOfId, hashOfId } from '../table/sealed/look-up-tables';
import { NO_PARTITION } from '../table/sealed/segment-tables';
import { FolderFiles } from './folder-files';

/** Bytes that a row is found by, and their hash. */
interface Wanted {
  readonly hash: bigint;
  readonly bytes: Uint8Array;
}

/** A row that has what was asked for. */
export interface FoundRow {
  readonly asked: number;
  readonly row: number;
  readonly partition: number;
  /** Empty where it has no code, and where codes were not read. */
  readonly code: Uint8Array;
}

/** Blocks that are read together. */
const TOGETHER = 16;

export class OldRows {
  readonly content: StoredContent;
  readonly reader: BlockReader;
  readonly #lookUps: LookUps;

  private constructor(content: StoredContent) {
    this.content = content;
    this.reader = new BlockReader(content);
    this.#lookUps = new LookUps(content, this.reader);
  }

  static async open(folder: string, generation: number): Promise<OldRows> {
    return new OldRows(await openContent(new FolderFiles(folder), { generation }));
  }

  close(): Promise<void> {
    return this.content.files.close();
  }

  get segments(): readonly StoredSegment[] {
    return this.content.segments;
  }

  /** Rows of these ids; where rows go by their numbers, those that are there. */
  async withIds(wanted: readonly Wanted[]): Promise<FoundRow[]> {
    const matches = await this.#matches('ids', wanted);
    return this.#compared(matches, ({ ids }, place, asked) => {
      return ids !== null && equalBytes(bytesOfId(ids.at(place)), wanted[asked].bytes);
    });
  }

  /** Rows of these codes, which have all bits of a code. */
  async withCodes(wanted: readonly Wanted[]): Promise<FoundRow[]> {
    const matches = await this.#matches('codes', wanted);
    // Of 8 bytes and less no two have the same hash.
    if ((wanted[0]?.bytes.length ?? 0) <= 8) {
      return matches.map(({ asked, row, segment, block }) => {
        const partition = segment.table.partitions[block];
        return { asked, row, partition, code: wanted[asked].bytes };
      });
    }
    return this.#compared(matches, ({ codes }, place, asked) => {
      const { bytes } = wanted[asked];
      const at = place * bytes.length;
      return equalBytes(codes.subarray(at, at + bytes.length), bytes);
    });
  }

  /** Rows by their numbers, ascending: blocks are read until all are found. */
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

  get #width(): number {
    return Math.ceil(this.content.header.bits / 8);
  }

  async #matches(of: 'ids' | 'codes', wanted: readonly Wanted[]): Promise<HashMatch[]> {
    const matches: HashMatch[] = [];
    const hashes = BigUint64Array.from(wanted, ({ hash }) => hash);
    for await (const match of this.#lookUps.find(of, hashes)) matches.push(match);
    return matches;
  }

  /** Those matches that hold, block by block: each is read once. */
  async #compared(
    matches: readonly HashMatch[],
    isMatch: (rows: LoadedBlock['rows'], place: number, asked: number) => boolean,
  ): Promise<FoundRow[]> {
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
  const { partition, codes, rows } = read;
  const isNull = partition === NO_PARTITION;
  const code = isNull ? NO_CODE : codes.slice(place * width, (place + 1) * width);
  return { asked, row: rows[place], partition, code };
}

const NO_CODE = new Uint8Array();

/** What rows of an id are found by. */
export function wantedId(id: Id): Wanted {
  return { hash: hashOfId(id), bytes: bytesOfId(id) };
}
