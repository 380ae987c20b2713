/**
 * The hashes of ids or codes of all segments in one order, range after range of their highest bits:
 * rows of one hash come together, whichever segments have them. Memory holds a bucket of each.
 */

import type { LoadedBlock } from '../stored/block-reader';
import type { StoredContent, StoredSegment } from '../stored/content';
import type { LookUps } from '../stored/look-ups';
import { bucketOf, type HashedRows } from '../table/sealed/look-up-tables';

/** A row by its hash. */
export interface HashedRow {
  readonly hash: bigint;
  readonly row: number;
  /** Where it is. */
  readonly name: Pick<LoadedBlock, 'segment' | 'block'>;
}

interface Source {
  readonly segment: StoredSegment;
  readonly buckets: AsyncGenerator<{ rows: HashedRows; bucket: number; count: number }>;
  rows: HashedRows | null;
  /** Of the bucket at hand; and the next of its rows. */
  count: number;
  bucket: number;
  next: number;
}

/** All rows that have a hash, by hash, then row; those of one hash are in one of the lists. */
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
      if (Math.floor((range * source.count) / ranges) > source.bucket) await advance(source);
      take(source, found, (hash) => bucketOf(hash, ranges) === range);
    }
    if (sources.length > 1) sort(found);
    yield found;
  }
}

/**
 * Rows that are there, those of one hash together, ascending; calls `passed` after each range of
 * hashes.
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

async function advance(source: Source): Promise<void> {
  const { value, done } = await source.buckets.next();
  if (!done) Object.assign(source, value, { next: 0 });
}

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
