/**
 * Items that are made while the caller waits for what it does with the one before: rows are decoded
 * on the calling thread while worker threads hash those of the batch before. One item more than
 * usual is held.
 */

/** The next turn of the event loop, after the messages that the caller sends in this one. */
const nextTurn = () => new Promise<void>((resolve) => setTimeout(resolve));

/** The same items in the same order, and the error of an item in its place. */
export async function* ahead<T>(items: AsyncIterable<T>): AsyncGenerator<T, void, void> {
  const iterator = items[Symbol.asyncIterator]();
  let next = iterator.next();
  try {
    for (;;) {
      const { done, value } = await next;
      if (done) return;
      next = nextTurn().then(() => iterator.next());
      next.catch(() => undefined); // it is thrown where the item is awaited, which may be later
      yield value;
    }
  } finally {
    // The iterator is not ended while it makes an item.
    await next.catch(() => undefined);
    await iterator.return?.();
  }
}
