/**
 * Decodes a batch while threads hash the one before it. The calling thread would otherwise wait for
 * the threads, and these for it. Order, values and errors are those of the reader; one batch more
 * is in memory.
 */

import { threadsOf } from '../../threads/parallel';

/** A turn of the event loop, in which the consumer of a batch sends parts of it to threads. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/**
 * The values of `source`, each asked for one turn after the one before it was handed out: while the
 * consumer waits, not when it comes back. With one thread nothing is read ahead. An error of the
 * source is thrown after the values before it; leaving the loop waits for what is being read.
 */
export async function* readAhead<T>(source: AsyncIterable<T>): AsyncGenerator<T, void, void> {
  if (threadsOf('auto') < 2) return yield* source;
  const values = source[Symbol.asyncIterator]();
  let coming = values.next();
  try {
    for (;;) {
      const result = await coming;
      if (result.done) return;
      coming = turn().then(() => values.next());
      // Thrown where it is awaited: until then a failure is not unhandled.
      coming.catch(() => undefined);
      yield result.value;
    }
  } finally {
    await coming.catch(() => undefined);
    await values.return?.();
  }
}
