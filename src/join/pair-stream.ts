/** Pairs as the bytes of an Arrow stream with columns a, b, distance and, if known, cosine. */

import { PairWriter } from '../table/sealed/pairs';
import type { Pairs } from './pairs';

/** Chunks of bytes, one after another; at once, or in turns with the event loop. */
export type ByteStream = Iterable<Uint8Array> & AsyncIterable<Uint8Array>;

export function pairsToArrow(found: Pairs): ByteStream {
  return {
    *[Symbol.iterator]() {
      const writer = new PairWriter(found.hasCosines);
      yield writer.begin;
      for (const batch of found) yield writer.batch(batch);
      yield writer.end;
    },
    async *[Symbol.asyncIterator]() {
      const writer = new PairWriter(found.hasCosines);
      yield writer.begin;
      for await (const batch of found) yield writer.batch(batch);
      yield writer.end;
    },
  };
}
