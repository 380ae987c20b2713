/**
 * Finds rows of a segment by the hashes of their ids, by reading a single range of a file. Hashes
 * lie in buckets by their highest bits, ascending, one record batch for each bucket. A second file
 * states where the buckets are. Different ids may have the same hash, so callers compare ids. A
 * small segment has no such files: all of its ids are compared.
 */

import { ascending, lowerBound } from '../base/arrays';
import { checksum } from '../kernels/xxhash';
import { asArrow } from '../table/arrow/source';
import {
  type ColumnSchema,
  openTable,
  readBody,
  readNumbers,
  TableWriter,
  writeTable,
} from '../table/sealed/sealed-table';

const HASHES: readonly ColumnSchema[] = [
  { name: 'hash', type: 'uint64' },
  { name: 'position', type: 'uint32' },
];

const BUCKETS: readonly ColumnSchema[] = [
  { name: 'rows', type: 'uint32' },
  { name: 'at', type: 'uint64' },
  { name: 'bytes', type: 'uint32' },
  { name: 'checksum', type: 'uint64' },
];

/** Segments of more rows have hashes of their ids. */
export const MIN_HASHED_ROWS = 4096;
/** A bucket has about this many rows. */
const BUCKET_ROWS = 2048;

/** Where the buckets of a segment are. */
export interface BucketTable {
  /** The number of buckets, a power of two. */
  readonly count: number;
  /** For each bucket its number of rows, where its body is, and the body's checksum. */
  readonly rows: Uint32Array;
  readonly at: Float64Array;
  readonly bytes: Uint32Array;
  readonly checksums: BigUint64Array;
}

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

/** Makes the files of hashes of a segment: element i of `hashes` is of the row at position i. */
export function hashFiles(hashes: BigUint64Array): {
  hashes: Uint8Array[];
  buckets: Uint8Array;
  bucketCount: number;
} {
  let count = 1;
  while (count * BUCKET_ROWS < hashes.length) count *= 2;
  // Compares 32-bit halves, the high one first, which is faster than 64-bit integers.
  const halves = new Uint32Array(hashes.buffer, hashes.byteOffset, 2 * hashes.length);
  const order = ascending(hashes.length).sort(
    (a, b) => halves[2 * a + 1] - halves[2 * b + 1] || halves[2 * a] - halves[2 * b] || a - b,
  );
  const writer = new TableWriter(HASHES, { kind: 'hashes' });
  const parts: Uint8Array[] = [];
  const rows = new Uint32Array(count);
  for (let bucket = 0, first = 0; bucket < count; bucket++) {
    let end = first;
    while (end < order.length && bucketOf(hashes[order[end]], count) === bucket) end++;
    const position = order.slice(first, end);
    rows[bucket] = position.length;
    const hash = BigUint64Array.from(position, (at) => hashes[at]);
    parts.push(...writer.add({ count: position.length, rows: { hash, position } }));
    first = end;
  }
  parts.push(...writer.end());
  const { bodies } = writer;
  const batch = {
    count,
    rows: {
      rows,
      at: BigUint64Array.from(bodies, ({ at }) => BigInt(at)),
      bytes: Uint32Array.from(bodies, ({ length }) => length),
      checksum: BigUint64Array.from(bodies, (body) => body.checksum),
    },
  };
  const buckets = writeTable(BUCKETS, { kind: 'buckets' }, [batch]);
  return { hashes: parts, buckets, bucketCount: count };
}

/** Reads a table of buckets; a FormatError names it. Their number must be a power of two. */
export function bucketsFromArrow(bytes: Uint8Array, file: string): BucketTable {
  const table = openTable(bytes, file, { kind: 'buckets' });
  return asArrow(file, () => {
    const [rows, at, sizes, checksums] = BUCKETS.map((column) => readNumbers(table, column));
    const { count } = table;
    if (count === 0 || (count & (count - 1)) !== 0) throw new Error(`damaged: ${count} buckets`);
    return {
      count,
      rows: rows as Uint32Array,
      bytes: sizes as Uint32Array,
      at: Float64Array.from(at as BigUint64Array, Number),
      checksums: checksums as BigUint64Array,
    };
  });
}

/** The positions in a segment of the rows of a bucket, and their hashes, which ascend. */
interface Bucket {
  readonly hashes: BigUint64Array;
  readonly positions: Uint32Array;
}

/** Bucket `i` from its body, views of it; the body must begin on 8 bytes. */
export function readBucket({ rows }: BucketTable, i: number, body: Uint8Array): Bucket {
  const { hash, position } = readBody(HASHES, body, rows[i]);
  return { hashes: hash as BigUint64Array, positions: position as Uint32Array };
}

/** The positions in the segment of the rows of a bucket that have a hash. */
export function positionsOf({ hashes, positions }: Bucket, hash: bigint): Uint32Array {
  const from = lowerBound(hashes, hash);
  let end = from;
  while (hashes[end] === hash) end++;
  return positions.subarray(from, end);
}
