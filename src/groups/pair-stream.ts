/** Pairs as the bytes of an Arrow stream with columns a, b, distance and, if known, cosine. */

import { PairWriter } from '../codes/arrow-pairs';
import type { PairBatch, Pairs } from './pairs';

/** Chunks of bytes, one after another; at once, or in turns with the event loop. */
export type ByteStream = Iterable<Uint8Array> & AsyncIterable<Uint8Array>;

export function pairsToArrow(found: Pairs): ByteStream {
  return {
    *[Symbol.iterator]() {
      const state = new Writing();
      for (const batch of found) yield* state.batch(batch);
      yield* state.end();
    },
    async *[Symbol.asyncIterator]() {
      const state = new Writing();
      for await (const batch of found) yield* state.batch(batch);
      yield* state.end();
    },
  };
}

/** Whether there are cosines is known by the first batch. */
class Writing {
  #writer: PairWriter | null = null;

  *batch(batch: PairBatch): Generator<Uint8Array> {
    if (this.#writer === null) {
      this.#writer = new PairWriter(batch.cosines !== null);
      yield this.#writer.begin;
    }
    yield this.#writer.batch(batch);
  }

  *end(): Generator<Uint8Array> {
    const writer = this.#writer ?? new PairWriter(false);
    if (this.#writer === null) yield writer.begin;
    yield writer.end;
  }
}
