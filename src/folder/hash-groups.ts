/**
 * Finds rows with equal ids, or equal codes, among more than memory holds: rows go to buckets of a
 * temporary file by the hash of their bytes, with the bytes, and each bucket is sorted by itself.
 */

import { equalBytes } from '../base/arrays';
import type { GenerationWriter } from './generations';
import { Spill } from './spill';

const BUCKETS = 1024;
/** Bytes before those of a row: its hash, its number, their length. */
const HEAD_BYTES = 16;

/** A row of a group. */
interface HashedRow {
  readonly hash: bigint;
  readonly row: number;
  readonly bytes: Uint8Array;
}

export class HashGroups {
  readonly #spill: Spill;

  constructor(writer: GenerationWriter, limit: number) {
    this.#spill = new Spill(writer, limit);
  }

  /** Notes a row; its bytes are copied. */
  add(hash: bigint, row: number, bytes: Uint8Array): void {
    const entry = new Uint8Array(HEAD_BYTES + Math.ceil(bytes.length / 8) * 8);
    const view = new DataView(entry.buffer);
    view.setBigUint64(0, hash, true);
    view.setUint32(8, row, true);
    view.setUint32(12, bytes.length, true);
    entry.set(bytes, HEAD_BYTES);
    this.#spill.add(Number(hash % BigInt(BUCKETS)), entry);
  }

  settle(): Promise<void> {
    return this.#spill.settle();
  }

  /** The rows in groups of equal bytes, ascending in each; a bucket of groups at a time. */
  async *groups(): AsyncGenerator<readonly HashedRow[][]> {
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      const groups = new Map<bigint, HashedRow[][]>();
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

  close(): Promise<void> {
    return this.#spill.close();
  }
}

function* rowsIn(bytes: Uint8Array): Generator<HashedRow> {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  for (let at = 0; at < bytes.length; ) {
    const length = view.getUint32(at + 12, true);
    const from = at + HEAD_BYTES;
    yield {
      ...{ hash: view.getBigUint64(at, true), row: view.getUint32(at + 8, true) },
      bytes: bytes.subarray(from, from + length),
    };
    at = from + Math.ceil(length / 8) * 8;
  }
}
