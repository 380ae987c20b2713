/**
 * Finds rows of a segment by the hashes of their ids and codes, by reading a single range of a
 * file. Hashes lie in buckets by their highest bits, ascending, one record batch for each bucket:
 * first those of ids, then those of codes. A second file states where the buckets are. Different
 * ids or codes may have the same hash, so callers must compare them.
 */

import { checksum } from '../../kernels/xxhash';
import { asArrow } from '../arrow/source';
import { BodyReader } from './body-reader';
import {
  type Body,
  type ColumnSchema,
  openTable,
  readNumbers,
  TableWriter,
  writeTable,
} from './sealed-table';

const HASHES: readonly ColumnSchema[] = [
  { name: 'hash', type: 'uint64' },
  { name: 'row', type: 'uint32' },
  { name: 'block', type: 'uint32' },
];

const BUCKETS: readonly ColumnSchema[] = [
  { name: 'rows', type: 'uint32' },
  { name: 'at', type: 'uint64' },
  { name: 'bytes', type: 'uint32' },
  { name: 'checksum', type: 'uint64' },
];

/** A bucket has about this many rows. */
const BUCKET_ROWS = 2048;

/** Rows of a segment with their hashes, ascending, and the number of the block that has each. */
export interface HashedRows {
  readonly hashes: BigUint64Array;
  readonly rows: Uint32Array;
  readonly blocks: Uint32Array;
}

/** Where the buckets of a segment are: first those of ids, then those of codes. */
export interface BucketTable {
  /** The number of buckets of ids and of codes, powers of two. */
  readonly ids: number;
  readonly codes: number;
  /** For each bucket its number of rows, where its body is, and the body's checksum. */
  readonly rows: Uint32Array;
  readonly at: Float64Array;
  readonly bytes: Uint32Array;
  readonly checksums: BigUint64Array;
}

/** How many buckets this many rows need: a power of two. */
export function bucketCount(rows: number): number {
  let count = 1;
  while (count * BUCKET_ROWS < rows) count *= 2;
  return count;
}

/** The bucket of a hash among `count` ones: its highest bits. */
export function bucketOf(hash: bigint, count: number): number {
  return Math.floor(Number(hash >> 32n) / (2 ** 32 / count));
}

const encoder = new TextEncoder();
// Scratch memory for one integer, so that hashing an id allocates nothing.
const integer = new BigInt64Array(1);
const integerBytes = new Uint8Array(integer.buffer);

/** The bytes by which ids are compared: UTF-8 of a text, 8 bytes (little-endian) of an integer. */
export function bytesOfId(id: string | number | bigint): Uint8Array {
  if (typeof id === 'string') return encoder.encode(id);
  return new Uint8Array(BigInt64Array.of(BigInt(id)).buffer);
}

/** xxHash64 of these bytes, with seed 0. */
export function hashOfId(id: string | number | bigint): bigint {
  if (typeof id === 'string') return checksum(encoder.encode(id));
  integer[0] = BigInt(id);
  return checksum(integerBytes);
}

export function hashOfCode(code: Uint8Array): bigint {
  return checksum(code);
}

/** Writes a file of hashes, a bucket for each batch. */
export function hashesWriter(): TableWriter {
  return new TableWriter(HASHES, { kind: 'hashes' });
}

/** A bucket as a batch for it. */
export function bucketBatch({ hashes, rows, blocks }: HashedRows) {
  return { count: rows.length, rows: { hash: hashes, row: rows, block: blocks } };
}

/** The file that states where the buckets are; `bodies` are the bodies in the file of hashes. */
export function bucketsToArrow(
  { ids, codes, rows }: Pick<BucketTable, 'ids' | 'codes' | 'rows'>,
  bodies: readonly Body[],
): Uint8Array {
  const batch = {
    count: bodies.length,
    rows: {
      rows,
      at: BigUint64Array.from(bodies, ({ at }) => BigInt(at)),
      bytes: Uint32Array.from(bodies, ({ length }) => length),
      checksum: BigUint64Array.from(bodies, (body) => body.checksum),
    },
  };
  return writeTable(BUCKETS, { kind: 'buckets', ids, codes }, [batch]);
}

/** Reads such a file; a FormatError names it. The numbers of buckets must be powers of two. */
export function bucketsFromArrow(bytes: Uint8Array, file: string): BucketTable {
  const table = openTable(bytes, file, { kind: 'buckets' });
  return asArrow(file, () => {
    const [rows, at, sizes, checksums] = BUCKETS.map((column) => readNumbers(table, column));
    const { ids, codes } = table.header as unknown as BucketTable;
    const isPower = (count: number) =>
      count > 0 && Number.isInteger(count) && (count & (count - 1)) === 0;
    if (!isPower(ids) || !isPower(codes) || ids + codes !== table.count) {
      throw new Error(`damaged: ${table.count} buckets cannot be ${ids} of ids, ${codes} of codes`);
    }
    return {
      ...{ ids, codes, rows: rows as Uint32Array, bytes: sizes as Uint32Array },
      at: Float64Array.from(at as BigUint64Array, Number),
      checksums: checksums as BigUint64Array,
    };
  });
}

/** The rows of bucket `i` from its body, views of it; the body must begin on 8 bytes. */
export function readBucket({ rows }: BucketTable, i: number, body: Uint8Array): HashedRows {
  const reader = new BodyReader(body, rows[i]);
  return { hashes: reader.uint64(), rows: reader.uint32(), blocks: reader.uint32() };
}

/** The positions in a bucket of the rows with a hash, found by binary search. */
export function* placesOf({ hashes }: HashedRows, hash: bigint): Generator<number> {
  let [from, to] = [0, hashes.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (hashes[middle] < hash) from = middle + 1;
    else to = middle;
  }
  for (; hashes[from] === hash; from++) yield from;
}
