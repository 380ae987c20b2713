/**
 * Finds rows of a segment by the hashes of their ids, by reading a single range of a file. Hashes
 * lie in buckets by their highest bits, ascending, one record batch for each bucket; the table of
 * blocks states where. Different ids may have the same hash, so callers compare ids. A small
 * segment has no such file: all of its ids are compared.
 */

import { ascending, lowerBound } from '../base/arrays';
import { checksum } from '../kernels/xxhash';
import { type ColumnSchema, readBody, TableWriter } from '../table/sealed/sealed-table';
import { type BlockTable, HASHES, type WrittenBlock } from './blocks';

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

/** The file of hashes of a segment, and its blocks: element i of `hashes` is of position i. */
export function hashFile(hashes: BigUint64Array): { bytes: Uint8Array[]; blocks: WrittenBlock[] } {
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
  const blocks = writer.bodies.map((body, partition) => {
    return { of: HASHES, partition, rows: counts[partition], body };
  });
  return { bytes, blocks };
}

/** The positions in a segment of the rows of a bucket, and their hashes, which ascend. */
interface Bucket {
  readonly hashes: BigUint64Array;
  readonly positions: Uint32Array;
}

/** Bucket `i` from its body, views of it; the body must begin on 8 bytes. */
export function readBucket({ rows }: BlockTable, i: number, body: Uint8Array): Bucket {
  const { hash, position } = readBody(HASHES_COLUMNS, body, rows[i]);
  return { hashes: hash as BigUint64Array, positions: position as Uint32Array };
}

/** The positions in the segment of the rows of a bucket that have a hash. */
export function positionsOf({ hashes, positions }: Bucket, hash: bigint): Uint32Array {
  const from = lowerBound(hashes, hash);
  let end = from;
  while (hashes[end] === hash) end++;
  return positions.subarray(from, end);
}
