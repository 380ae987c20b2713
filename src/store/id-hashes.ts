/**
 * Finds rows in files by their ids, by the hashes of these. The hashes of a segment lie in buckets
 * by their highest bits, ascending, one record batch for each bucket; the table of blocks states
 * where. Different ids may have the same hash, so ids are compared too. A small segment has no such
 * file: all of its ids are compared.
 */

import { ascending, lowerBound } from '../base/arrays';
import { asFormatError, FormatError } from '../base/check';
import { type Id, idOfKind } from '../index/ids';
import { checksum } from '../kernels/xxhash';
import { type ColumnSchema, readBody, TableWriter } from '../table/sealed/sealed-table';
import { idAt, type WrittenBlock } from './blocks';
import type { StoredSegment } from './content';
import type { FolderFile } from './manifest';
import { type BlockName, blockGroups, bucketBody, placeOf, type Reader } from './reader';

const HASHES_COLUMNS: readonly ColumnSchema[] = [
  { name: 'hash', type: 'uint64' },
  { name: 'position', type: 'uint32' },
];

/** Segments of more rows have hashes of their ids. */
export const MIN_HASHED_ROWS = 4096;
/** A bucket has about this many rows. */
const BUCKET_ROWS = 2048;

/** The bucket of a hash among `count` ones: its highest bits. */
export function bucketOf(hash: bigint, count: number): number {
  return Math.floor(Number(hash >> 32n) / (2 ** 32 / count));
}

const encoder = new TextEncoder();
// Scratch memory for one integer, so that hashing an id allocates nothing.
const integer = new BigInt64Array(1);
const integerBytes = new Uint8Array(integer.buffer);

/** xxHash64 of an id with seed 0: of the UTF-8 of a text, of the 8 bytes of an integer. */
export function hashOfId(id: string | number | bigint): bigint {
  if (typeof id === 'string') return checksum(encoder.encode(id));
  integer[0] = BigInt(id);
  return checksum(integerBytes);
}

/** The file of hashes of a segment, and its buckets: element i of `hashes` is of position i. */
export function hashFile(hashes: BigUint64Array): { bytes: Uint8Array[]; buckets: WrittenBlock[] } {
  let count = 1;
  while (count * BUCKET_ROWS < hashes.length) count *= 2;
  // Compares 32-bit halves, the high one first, which is faster than 64-bit integers.
  const halves = new Uint32Array(hashes.buffer, hashes.byteOffset, 2 * hashes.length);
  const order = ascending(hashes.length).sort(
    (a, b) => halves[2 * a + 1] - halves[2 * b + 1] || halves[2 * a] - halves[2 * b] || a - b,
  );
  const writer = new TableWriter(HASHES_COLUMNS, { kind: 'hashes' });
  const bytes: Uint8Array[] = [];
  const counts: number[] = [];
  for (let bucket = 0, first = 0; bucket < count; bucket++) {
    let end = first;
    while (end < order.length && bucketOf(hashes[order[end]], count) === bucket) end++;
    const position = order.slice(first, end);
    counts.push(position.length);
    const hash = BigUint64Array.from(position, (at) => hashes[at]);
    bytes.push(...writer.add({ count: position.length, rows: { hash, position } }));
    first = end;
  }
  bytes.push(...writer.end());
  const buckets = writer.bodies.map((body, partition) => {
    return { partition, rows: counts[partition], copies: 0, bodies: { rows: body } };
  });
  return { bytes, buckets };
}

/** Buckets that are read together. */
const BUCKETS_TOGETHER = 64;

/** The positions of the rows of a bucket, and their hashes, which ascend. */
interface Bucket {
  readonly bucket: number;
  readonly hashes: BigUint64Array;
  readonly positions: Uint32Array;
}

/** Reads buckets of a segment, all by default. */
export async function eachBucket(
  reader: Reader,
  segment: StoredSegment,
  take: (bucket: Bucket) => void,
  wanted = ascending(segment.buckets.count),
  signal?: AbortSignal,
): Promise<void> {
  const { buckets } = segment;
  for (let first = 0; first < wanted.length; first += BUCKETS_TOGETHER) {
    const some = Array.from(wanted.subarray(first, first + BUCKETS_TOGETHER));
    const bodies = await reader.checked(
      some.map((i) => bucketBody(segment, i)),
      signal,
    );
    for (const [j, bucket] of some.entries()) {
      const { hash, position } = readBody(HASHES_COLUMNS, bodies[j], buckets.rows[bucket]);
      take({ bucket, hashes: hash as BigUint64Array, positions: position as Uint32Array });
    }
  }
}

/** A row that was found by its id. */
export interface FoundRow extends BlockName {
  readonly place: number;
  readonly row: number;
}

/** For each id, none of which is given twice, where its row is; undefined where there is none. */
export async function findRows(
  reader: Reader,
  given: readonly Id[],
  signal?: AbortSignal,
): Promise<(FoundRow | undefined)[]> {
  const { segments, manifest, removed } = reader.content;
  const { ids: kind } = manifest.index;
  const found: (FoundRow | undefined)[] = given.map(() => undefined);
  const left = new Map<Id, number>();
  for (const [i, id] of given.entries()) {
    const own = idOfKind(id, kind);
    if (own !== null) left.set(own, i);
  }
  for (const segment of segments) {
    const { firstRow, endRow, files } = segment;
    const isHere = (id: Id) => kind !== 'row' || (Number(id) >= firstRow && Number(id) < endRow);
    const ids = [...left.keys()].filter(isHere);
    if (ids.length === 0) continue;
    const blocks = files.hashes && (await blocksOf(reader, segment, ids, signal));
    const isWanted = ({ block }: BlockName) => blocks === undefined || blocks.has(block);
    const groups = blockGroups([segment], false, isWanted);
    await reader.each(groups, { signal }, (group) => {
      for (const { block, rows: own } of group) {
        for (const [place, row] of own.rows.entries()) {
          const id = idAt(own.ids, place, row, kind === 'number');
          const i = left.get(id);
          if (i === undefined || removed.has(row)) continue;
          found[i] = { segment, block, place, row };
          left.delete(id);
        }
      }
    });
  }
  return found;
}

/** The blocks of a segment that have rows with the hashes of these ids. */
async function blocksOf(
  reader: Reader,
  segment: StoredSegment,
  ids: readonly Id[],
  signal: AbortSignal | undefined,
): Promise<ReadonlySet<number>> {
  const { buckets, count, files } = segment;
  const byBucket = new Map<number, bigint[]>();
  for (const hash of ids.map(hashOfId)) {
    const bucket = bucketOf(hash, buckets.count);
    const own = byBucket.get(bucket);
    if (own === undefined) byBucket.set(bucket, [hash]);
    else own.push(hash);
  }
  const blocks = new Set<number>();
  const wanted = Uint32Array.from(byBucket.keys()).sort();
  const take = ({ bucket, hashes, positions }: Bucket) => {
    for (const hash of byBucket.get(bucket) ?? []) {
      for (let i = lowerBound(hashes, hash); hashes[i] === hash; i++) {
        if (positions[i] < count) blocks.add(placeOf(segment, positions[i]).block);
        else {
          const what = `damaged: bucket ${bucket} names rows that are not there`;
          throw new FormatError(what, reader.pathOf(files.hashes as FolderFile));
        }
      }
    }
  };
  await eachBucket(reader, segment, take, wanted, signal);
  return blocks;
}

/** Throws where two rows that are there have one id. */
export async function refuseEqualIds(reader: Reader): Promise<void> {
  const { segments, manifest, removed } = reader.content;
  const { ids: kind } = manifest.index;
  if (kind === 'row' || kind === null) return;
  const hashes = new BigUint64Array(segments.reduce((sum, { count }) => sum + count, 0));
  const groups = blockGroups(segments.filter(({ files }) => files.hashes === undefined));
  let count = 0;
  await reader.each(groups, {}, (group) => {
    for (const { rows: own } of group) {
      for (let i = 0; i < own.count; i++) hashes[count++] = hashOfId(idAt(own.ids, i, 0, false));
    }
  });
  for (const segment of segments) {
    await eachBucket(reader, segment, ({ hashes: own }) => {
      asFormatError(reader.pathOf(segment.files.hashes as FolderFile), () =>
        hashes.set(own, count),
      );
      count += own.length;
    });
  }
  hashes.sort();
  const twice = new Set(hashes.filter((hash, i) => i > 0 && hash === hashes[i - 1]));
  if (twice.size === 0) return;
  // Different ids may have one hash, and rows may be removed: the ids themselves decide.
  const seen = new Set<Id>();
  await reader.each(blockGroups(segments), {}, (group) => {
    for (const { rows: own } of group) {
      for (let i = 0; i < own.count; i++) {
        const given = idAt(own.ids, i, own.rows[i], false);
        // Segments may have the same integers in columns of 32 and of 64 bits.
        const id = typeof given === 'number' ? BigInt(given) : given;
        if (removed.has(own.rows[i]) || !twice.has(hashOfId(id))) continue;
        if (seen.has(id)) throw new Error(`two rows have the id ${String(id)}`);
        seen.add(id);
      }
    }
  });
}
