/**
 * Finds rows with equal ids, or with equal codes, among more rows than memory holds. Each row goes
 * with its bytes to a bucket of a temporary file, by the hash of the bytes. Equal bytes are in one
 * bucket, and one bucket at a time is grouped in memory.
 */

import { equalBytes, padded } from '../base/arrays';
import type { GenerationWriter } from './generations';
import { Spill } from './spill';

/** A bucket has about 1/1,024 of the rows, and must fit in memory. */
const BUCKETS = 1024;
/** Bytes before those of a row: its hash (8), its number (4), their length (4). */
const HEAD_BYTES = 16;

/** A row that was added; `bytes` is a view of the bucket that was read. */
interface RowBytes {
  readonly hash: bigint;
  readonly row: number;
  readonly bytes: Uint8Array;
}

/** Collects rows with `add`, then yields them with `groups`. */
export class HashGroups {
  readonly #spill: Spill;

  /** Holds about `limit` bytes in memory until `settle` writes them. */
  constructor(writer: GenerationWriter, limit: number) {
    this.#spill = new Spill(writer, limit);
  }

  /** Adds a row; its bytes are copied. */
  add(hash: bigint, row: number, bytes: Uint8Array): void {
    const entry = new Uint8Array(HEAD_BYTES + padded(bytes.length));
    const view = new DataView(entry.buffer);
    view.setBigUint64(0, hash, true);
    view.setUint32(8, row, true);
    view.setUint32(12, bytes.length, true);
    entry.set(bytes, HEAD_BYTES);
    this.#spill.add(Number(hash % BigInt(BUCKETS)), entry);
  }

  /** Writes buffered rows where they exceed the limit; must be called now and then. */
  settle(): Promise<void> {
    return this.#spill.settle();
  }

  /**
   * Yields a list of groups for each bucket. The rows of a group have equal bytes, in the order in
   * which they were added.
   */
  async *groups(): AsyncGenerator<readonly RowBytes[][]> {
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      const groups = new Map<bigint, RowBytes[][]>();
      // Different bytes may have one hash, so rows of a hash are compared.
      for (const row of rowsIn(await this.#spill.read(bucket))) {
        const same = groups.get(row.hash);
        const group = same?.find(([first]) => equalBytes(first.bytes, row.bytes));
        if (group !== undefined) group.push(row);
        else if (same !== undefined) same.push([row]);
        else groups.set(row.hash, [[row]]);
      }
      if (groups.size > 0) yield [...groups.values()].flat();
    }
  }

  /** Frees memory and deletes the temporary file. */
  close(): Promise<void> {
    return this.#spill.close();
  }
}

/** The rows of a bucket, in the order in which they were added. */
function* rowsIn(bytes: Uint8Array): Generator<RowBytes> {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  for (let at = 0; at < bytes.length; ) {
    const length = view.getUint32(at + 12, true);
    const from = at + HEAD_BYTES;
    yield {
      ...{ hash: view.getBigUint64(at, true), row: view.getUint32(at + 8, true) },
      bytes: bytes.subarray(from, from + length),
    };
    at = from + padded(length);
  }
}
