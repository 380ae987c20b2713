/**
 * Finds rows of a stored index by the hashes of their ids or codes: a bucket of each segment is
 * read and compared with its checksum. What is found may be of another id or code with the same
 * hash, or removed: callers look at the row.
 */

import { asFormatError, FormatError } from '../base/format-error';
import { checksum } from '../kernels/kernels';
import {
  type BucketTable,
  bucketOf,
  bucketsFromArrow,
  type HashedRows,
  placesOf,
  readBucket,
} from '../table/sealed/look-up-tables';
import type { BlockName, BlockReader } from './block-reader';
import { type StoredContent, type StoredSegment, wholeFile } from './content';
import type { FolderFile, Manifest } from './manifest';
import { segmentsOf } from './manifest';

/** A row of a hash: which of the hashes that were asked for, and where it is. */
export interface HashMatch extends BlockName {
  readonly asked: number;
  readonly row: number;
}

/** Buckets that are read together. */
const TOGETHER = 64;

/** Whether rows of all segments can be found by hash: early folders of version 2 cannot. */
export function hasLookUps(manifest: Manifest): boolean {
  return segmentsOf(manifest).every(({ hashes }) => hashes !== null);
}

export class LookUps {
  readonly #content: StoredContent;
  readonly #reader: BlockReader;
  readonly #tables = new Map<StoredSegment, Promise<BucketTable>>();

  constructor(content: StoredContent, reader: BlockReader) {
    this.#content = content;
    this.#reader = reader;
  }

  /** Whether ids have hashes in all segments; of rows without ids, early folders have none. */
  async hasIds(signal?: AbortSignal): Promise<boolean> {
    if (!hasLookUps(this.#content.manifest)) return false;
    const { segments } = this.#content;
    const tables = await Promise.all(segments.map((one) => this.#tableOf(one, signal)));
    return tables.every(({ ids }) => ids > 0);
  }

  /** All rows with one of these hashes, segment by segment; removed rows are left out. */
  async *find(
    of: 'ids' | 'codes',
    hashes: readonly bigint[] | BigUint64Array,
    signal?: AbortSignal,
  ): AsyncGenerator<HashMatch> {
    for (const segment of this.#content.segments) {
      const table = await this.#tableOf(segment, signal);
      const askedOf = new Map<number, number[]>();
      for (let asked = 0; asked < hashes.length; asked++) {
        const own = bucketOf(hashes[asked], table[of]);
        const bucket = of === 'ids' ? own : table.ids + own;
        const others = askedOf.get(bucket);
        if (others === undefined) askedOf.set(bucket, [asked]);
        else others.push(asked);
      }
      const buckets = [...askedOf.keys()].sort((a, b) => a - b);
      for (let first = 0; first < buckets.length; first += TOGETHER) {
        const some = buckets.slice(first, first + TOGETHER);
        const read = await this.#buckets(segment, table, some, signal);
        for (const [i, bucket] of read.entries()) {
          for (const asked of askedOf.get(some[i]) ?? []) {
            for (const place of placesOf(bucket, hashes[asked])) {
              const row = bucket.rows[place];
              if (this.#content.removed.has(row)) continue;
              yield { asked, row, segment, block: bucket.blocks[place] };
            }
          }
        }
      }
    }
  }

  /**
   * All rows of a segment with their hashes, ascending, a bucket after another: `count` is how many
   * buckets there are, `bucket` which of them this is.
   */
  async *passing(
    segment: StoredSegment,
    of: 'ids' | 'codes',
  ): AsyncGenerator<{ rows: HashedRows; bucket: number; count: number }> {
    const table = await this.#tableOf(segment, undefined);
    const count = table[of];
    for (let bucket = 0; bucket < count; bucket++) {
      const own = of === 'ids' ? bucket : table.ids + bucket;
      const [rows] = await this.#buckets(segment, table, [own], undefined);
      yield { rows, bucket, count };
    }
  }

  async #buckets(
    { hashes, table: { count } }: StoredSegment,
    table: BucketTable,
    buckets: readonly number[],
    signal: AbortSignal | undefined,
  ) {
    const file = hashes as FolderFile;
    const path = this.#reader.pathOf(file);
    const bodies = await this.#reader.ranges(
      buckets.map((i) => ({ file, range: { at: table.at[i], length: table.bytes[i] } })),
      signal,
    );
    return buckets.map((i, at) => {
      if (checksum(bodies[at]) !== table.checksums[i]) {
        throw new FormatError(`damaged: bucket ${i} fails its checksum`, path);
      }
      return asFormatError(path, () => {
        const bucket = readBucket(table, i, bodies[at]);
        if (bucket.blocks.every((block) => block < count)) return bucket;
        throw new Error(`damaged: bucket ${i} names blocks that are not there`);
      });
    });
  }

  #tableOf(segment: StoredSegment, signal: AbortSignal | undefined): Promise<BucketTable> {
    const known = this.#tables.get(segment);
    if (known !== undefined) return known;
    const reading = this.#read(segment, signal);
    this.#tables.set(segment, reading);
    reading.catch(() => this.#tables.delete(segment)); // may be tried again
    return reading;
  }

  async #read(
    { hashes, buckets }: StoredSegment,
    signal: AbortSignal | undefined,
  ): Promise<BucketTable> {
    const { files } = this.#content;
    const path = this.#reader.pathOf(buckets as FolderFile);
    const bytes = await wholeFile(files, buckets as FolderFile, signal);
    const table = bucketsFromArrow(bytes, path);
    table.at.forEach((at, i) => {
      if (at % 8 === 0 && at + table.bytes[i] <= (hashes?.bytes ?? 0)) return;
      throw new FormatError(`damaged: bucket ${i} is not where it can be`, path);
    });
    return table;
  }
}
