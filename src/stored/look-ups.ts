/**
 * Finds rows of a stored index by the hashes of their ids or codes. In each segment it reads the
 * bucket of the hash and compares its checksum. Different ids or codes may have the same hash, so
 * callers compare the row itself.
 */

import { asFormatError, FormatError } from '../base/format-error';
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

/** A row with one of the wanted hashes. */
export interface HashMatch extends BlockName {
  /** The index of that hash in the list of wanted hashes. */
  readonly asked: number;
  readonly row: number;
}

/** How many buckets are read together. */
const TOGETHER = 64;

/** Look-ups in one generation. The table of buckets of each segment is read once. */
export class LookUps {
  readonly #content: StoredContent;
  readonly #reader: BlockReader;
  readonly #tables = new Map<StoredSegment, Promise<BucketTable>>();

  constructor(content: StoredContent, reader: BlockReader) {
    this.#content = content;
    this.#reader = reader;
  }

  /** Yields all live rows with one of these hashes, segment by segment. Reads each bucket once. */
  async *find(
    of: 'ids' | 'codes',
    hashes: readonly bigint[] | BigUint64Array,
    signal?: AbortSignal,
  ): AsyncGenerator<HashMatch> {
    for (const segment of this.#content.segments) {
      const table = await this.#tableOf(segment, signal);
      // For each bucket the hashes to look for.
      const askedOf = new Map<number, number[]>();
      for (let asked = 0; asked < hashes.length; asked++) {
        const own = bucketOf(hashes[asked], table[of]);
        // Buckets of codes follow those of ids.
        const bucket = of === 'ids' ? own : table.ids + own;
        const others = askedOf.get(bucket);
        if (others === undefined) askedOf.set(bucket, [asked]);
        else others.push(asked);
      }
      // In ascending order, so that buckets that are read together lie close together.
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
   * Yields the rows of a segment with their hashes, including removed rows, one bucket at a time in
   * ascending order: `bucket` is its number, `count` the number of buckets.
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

  /** Reads buckets and checks them. */
  async #buckets(
    { hashes, table: { count } }: StoredSegment,
    table: BucketTable,
    buckets: readonly number[],
    signal: AbortSignal | undefined,
  ) {
    const path = this.#reader.pathOf(hashes);
    const bodies = await this.#reader.checked(
      buckets.map((i) => ({
        ...{ file: hashes, at: table.at[i], length: table.bytes[i], checksum: table.checksums[i] },
        what: `bucket ${i} fails its checksum`,
      })),
      signal,
    );
    return buckets.map((i, at) => {
      return asFormatError(path, () => {
        const bucket = readBucket(table, i, bodies[at]);
        // Callers use these numbers to read blocks.
        if (bucket.blocks.every((block) => block < count)) return bucket;
        throw new Error(`damaged: bucket ${i} names blocks that are not there`);
      });
    });
  }

  /** The table of buckets of a segment; concurrent calls share one read. */
  #tableOf(segment: StoredSegment, signal: AbortSignal | undefined): Promise<BucketTable> {
    const known = this.#tables.get(segment);
    if (known !== undefined) return known;
    const reading = this.#read(segment, signal);
    this.#tables.set(segment, reading);
    reading.catch(() => this.#tables.delete(segment)); // may be tried again
    return reading;
  }

  /** Reads and checks the table of a segment's buckets. */
  async #read(
    { hashes, buckets }: StoredSegment,
    signal: AbortSignal | undefined,
  ): Promise<BucketTable> {
    const { files } = this.#content;
    const path = this.#reader.pathOf(buckets);
    const bytes = await wholeFile(files, buckets, signal);
    const table = bucketsFromArrow(bytes, path);
    table.at.forEach((at, i) => {
      // A bucket is read as typed arrays, so it must start at a multiple of 8.
      if (at % 8 === 0 && at + table.bytes[i] <= hashes.bytes) return;
      throw new FormatError(`damaged: bucket ${i} is not where it can be`, path);
    });
    return table;
  }
}
