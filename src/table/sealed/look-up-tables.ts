/**
 * Which rows of a segment have an id, or a code: by hash, so that one range of a file is all that
 * has to be read to find a row. Hashes lie in buckets by their highest bits, ascending, a record
 * batch for each bucket: those of ids first, then those of codes. A second file says where the
 * buckets are. Rows of one hash may differ: what is found must be compared.
 */

import { checksum } from '../../kernels/kernels';
import { asArrow } from '../arrow/source';
import { BodyReader } from './body-reader';
import { type ColumnSchema, openTable, readNumbers } from './sealed-table';
import { type Body, TableWriter, writeTable } from './table-writer';

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

/** Rows of a bucket, about. */
const BUCKET_ROWS = 2048;

/** Rows of a segment by hash, and the block of each. */
export interface HashedRows {
  readonly hashes: BigUint64Array;
  readonly rows: Uint32Array;
  readonly blocks: Uint32Array;
}

/** Where the buckets of a segment are: first those of ids, then those of codes. */
export interface BucketTable {
  /** How many there are, powers of two; of early folders without ids none of ids. */
  readonly ids: number;
  readonly codes: number;
  readonly rows: Uint32Array;
  readonly at: Float64Array;
  readonly bytes: Uint32Array;
  readonly checksums: BigUint64Array;
}

/** Into how many buckets so many rows go: a power of two. */
export function bucketCount(rows: number): number {
  let count = 1;
  while (count * BUCKET_ROWS < rows) count *= 2;
  return count;
}

/** The bucket of a hash among so many. */
export function bucketOf(hash: bigint, count: number): number {
  return Math.floor(Number(hash >> 32n) / (2 ** 32 / count));
}

const encoder = new TextEncoder();
const integer = new BigInt64Array(1);
const integerBytes = new Uint8Array(integer.buffer);

/** A text in UTF-8, or an integer as 8 bytes, little-endian: what ids are compared by. */
export function bytesOfId(id: string | number | bigint): Uint8Array {
  if (typeof id === 'string') return encoder.encode(id);
  return new Uint8Array(BigInt64Array.of(BigInt(id)).buffer);
}

/** xxHash64 of these bytes. */
export function hashOfId(id: string | number | bigint): bigint {
  if (typeof id === 'string') return checksum(encoder.encode(id));
  integer[0] = BigInt(id);
  return checksum(integerBytes);
}

export function hashOfCode(code: Uint8Array): bigint {
  return checksum(code);
}

/** The file of hashes as it grows. */
export function hashesWriter(): TableWriter {
  return new TableWriter(HASHES, { kind: 'hashes' });
}

/** A bucket for it. */
export function bucketBatch({ hashes, rows, blocks }: HashedRows) {
  return { count: rows.length, rows: { hash: hashes, row: rows, block: blocks } };
}

/** The file that says where the buckets are, and how many have ids. */
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

/** Reads a `buckets` file; a FormatError names the file. */
export function bucketsFromArrow(bytes: Uint8Array, file: string): BucketTable {
  const table = openTable(bytes, file, { kind: 'buckets' });
  return asArrow(file, () => {
    const [rows, at, sizes, checksums] = BUCKETS.map((column) => readNumbers(table, column));
    const { ids, codes } = table.header as unknown as BucketTable;
    const isPower = (count: number) =>
      count > 0 && Number.isInteger(count) && (count & (count - 1)) === 0;
    if (!(ids === 0 || isPower(ids)) || !isPower(codes) || ids + codes !== table.count) {
      throw new Error(`damaged: ${table.count} buckets cannot be ${ids} of ids, ${codes} of codes`);
    }
    return {
      ...{ ids, codes, rows: rows as Uint32Array, bytes: sizes as Uint32Array },
      at: Float64Array.from(at as BigUint64Array, Number),
      checksums: checksums as BigUint64Array,
    };
  });
}

/** Bucket `i` from its body, which begins on 8 bytes. Throws where it is too short. */
export function readBucket({ rows }: BucketTable, i: number, body: Uint8Array): HashedRows {
  const reader = new BodyReader(body, rows[i]);
  return { hashes: reader.uint64(), rows: reader.uint32(), blocks: reader.uint32() };
}

/** Places in a bucket of the rows of a hash. */
export function* placesOf({ hashes }: HashedRows, hash: bigint): Generator<number> {
  let [from, to] = [0, hashes.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (hashes[middle] < hash) from = middle + 1;
    else to = middle;
  }
  for (; hashes[from] === hash; from++) yield from;
}
