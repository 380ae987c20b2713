/** The texts of a few rows, read again from the input: they were not held. */

import { openRows, type RowFormat } from '../../node';
import type { Call } from '../call';
import type { Collection } from './collection';
import { typesOf } from './rows-in';

/** By row; none where the rows are no texts, or came by a stream. */
export async function textsOfRows(
  call: Call,
  { path, textColumn }: Collection,
  rows: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  const texts = new Map<number, string>();
  if (textColumn === null || path === '-' || rows.length === 0) return texts;
  const wanted = [...rows].sort((a, b) => a - b);
  const format = call.text('from') as RowFormat | undefined;
  const reader = await openRows(path, {
    ...(format !== undefined && { format }),
    ...{ columns: [textColumn], types: typesOf(call, path) },
    onError: call.text('on-error') as 'stop' | 'skip',
  });
  const progress = call.progress('reading examples', reader.byteCount, 'bytes');
  let next = 0;
  try {
    for await (const batch of reader) {
      call.signal.throwIfAborted();
      progress.at(reader.bytesRead);
      const end = batch.firstRow + batch.count;
      if (next < wanted.length && wanted[next] < end) {
        const all = batch.texts(textColumn);
        for (; wanted[next] < end; next++) {
          texts.set(wanted[next], all[wanted[next] - batch.firstRow] ?? '');
        }
      }
      if (next === wanted.length) break;
    }
  } finally {
    progress.end();
    await reader.close();
  }
  return texts;
}
