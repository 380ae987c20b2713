/**
 * Reads the hashes of ids or codes of all segments in ascending order. Each segment has its hashes
 * in buckets by their highest bits. The ranges of the segment with the most buckets are visited in
 * order, and every segment contributes its hashes in that range. So rows with the same hash come
 * together, whichever segments they are in, and memory holds one bucket of each segment.
 */

import type { LoadedBlock } from '../stored/block-reader';
import type { StoredContent, StoredSegment } from '../stored/content';
import type { LookUps } from '../stored/look-ups';
import { bucketOf, type HashedRows } from '../table/sealed/look-up-tables';

/** A row with the hash of its id or its code. */
export interface HashedRow {
  readonly hash: bigint;
  readonly row: number;
  /** The segment and the block that have it. */
  readonly name: Pick<LoadedBlock, 'segment' | 'block'>;
}

/** The position of the walk in one segment. */
interface Source {
  readonly segment: StoredSegment;
  readonly buckets: AsyncGenerator<{ rows: HashedRows; bucket: number; count: number }>;
  /** The bucket that was read last; null before the first. */
  rows: HashedRows | null;
  /**
   * The number of buckets in the segment, the number of the current one, and the next row in it.
   */
  count: number;
  bucket: number;
  next: number;
}

/**
 * Yields a list of rows for each range of hashes, sorted by hash, then row. All rows with the same
 * hash are in one list.
 */
async function* inHashOrder(
  lookUps: LookUps,
  segments: readonly StoredSegment[],
  of: 'ids' | 'codes',
): AsyncGenerator<HashedRow[]> {
  const sources: Source[] = segments.map((segment) => {
    const buckets = lookUps.passing(segment, of);
    return { segment, buckets, rows: null, count: 0, bucket: -1, next: 0 };
  });
  for (const source of sources) await advance(source);
  const ranges = Math.max(0, ...sources.map(({ count }) => count));
  for (let range = 0; range < ranges; range++) {
    const found: HashedRow[] = [];
    for (const source of sources) {
      // Numbers of buckets are powers of two, so a range lies in one bucket of every segment.
      if (Math.floor((range * source.count) / ranges) > source.bucket) await advance(source);
      take(source, found, (hash) => bucketOf(hash, ranges) === range);
    }
    if (sources.length > 1) sort(found);
    yield found;
  }
}

/**
 * Yields the live rows of each hash as a group, ascending. Different ids or codes may have the same
 * hash: callers compare them. Calls `passed` after each range of hashes.
 */
export async function* equalHashes(
  { segments, removed }: StoredContent,
  lookUps: LookUps,
  { of, passed }: { of: 'ids' | 'codes'; passed: () => void },
): AsyncGenerator<HashedRow[]> {
  for await (const all of inHashOrder(lookUps, segments, of)) {
    passed();
    let group: HashedRow[] = [];
    for (const one of all) {
      if (removed.has(one.row)) continue;
      if (group.length > 0 && group[0].hash !== one.hash) {
        yield group;
        group = [];
      }
      group.push(one);
    }
    if (group.length > 0) yield group;
  }
}

/** Reads the next bucket of a segment; at the end the last one stays. */
async function advance(source: Source): Promise<void> {
  const { value, done } = await source.buckets.next();
  if (!done) Object.assign(source, value, { next: 0 });
}

/** Appends the next rows of a bucket to `found`, as long as `isIn` accepts their hashes. */
function take(source: Source, found: HashedRow[], isIn: (hash: bigint) => boolean): void {
  const { segment, rows } = source;
  if (rows === null) return;
  for (; source.next < rows.rows.length; source.next++) {
    const hash = rows.hashes[source.next];
    if (!isIn(hash)) return;
    const block = rows.blocks[source.next];
    found.push({ hash, row: rows.rows[source.next], name: { segment, block } });
  }
}

function sort(rows: HashedRow[]): void {
  rows.sort((a, b) => (a.hash < b.hash ? -1 : a.hash > b.hash ? 1 : a.row - b.row));
}
