/** Opens inputs by the options of the call, and reads them batch by batch, with progress. */

import { addAbortSignal } from 'node:stream';
import { iterated } from '../../base/long-work';
import { openRecords } from '../../formats/open-rows';
import { formatOfPath } from '../../formats/row-reader';
import type { ColumnType, OpenRowsOptions, RowBatch, RowFormat, RowReader } from '../../node';
import { threadsOf } from '../../threads/parallel';
import type { Call } from '../call';
import { counted } from '../output/figures';

/** A file, an address, a folder or a pattern, or several of these; '-' is stdin. */
export type Input = string | readonly string[];

/** What sentences call an input: `docs.jsonl`, of several `docs.jsonl and 2 others`. */
export function nameOfInput(input: Input): string {
  if (typeof input === 'string') return input;
  return `${input[0]} and ${input.length - 1} other${input.length === 2 ? '' : 's'}`;
}

/**
 * Opens an input to be read once; of `columns`, where given, and of no others. `reading` says how,
 * by default as the options of the call do. The reader is closed when the verb ends. Of an input
 * that was read before, lines of rows that `isWanted` does not want may be left out unread: these
 * rows have nulls.
 */
export async function openInput(
  call: Call,
  path: Input,
  columns?: readonly string[],
  reading: OpenRowsOptions = readingOptions(call, path),
  isWanted?: (row: number) => boolean,
): Promise<RowReader> {
  const isStdin = path === '-';
  if (isStdin && call.stdin.isTTY) {
    call.misuse('stdin is a terminal: name an input, or pipe rows in and say --from FORMAT');
  }
  if (!isStdin && path.includes('-') && typeof path !== 'string') {
    call.misuse('stdin is read alone, not with other inputs');
  }
  const reader = await openRecords(
    isStdin ? addAbortSignal(call.signal, call.stdin) : path,
    { file: isStdin ? 'stdin' : undefined, columns, ...reading },
    // Where lines may be skipped, a line must be read to know whether it is a row.
    { isWanted: reading.onError === 'skip' ? undefined : isWanted, states: call.fileStates },
  );
  call.atEnd(() => reader.close());
  return reader;
}

/**
 * How an input is read, by --from, --types and --on-error. With `isOther` the options describe
 * another input: --from counts where the name of this file does not say its format.
 */
export function readingOptions(call: Call, path: Input, isOther = false): OpenRowsOptions {
  const first = typeof path === 'string' ? path : path[0];
  const isKnown = isOther && formatOfPath(first) !== null;
  const format = call.text('from') as RowFormat | undefined;
  return {
    format: isKnown ? undefined : format,
    types: typesOf(call, first),
    onError: (call.text('on-error') ?? 'stop') === 'stop' ? 'stop' : 'skip',
    // A stream without the mark of its end comes from a program that has died.
    expectEnd: path === '-' && /^arrow/.test(format ?? ''),
  };
}

/** Types of columns by --types; in CSV also the column of --vector, whose cells are "[1, 2]". */
function typesOf(call: Call, path: string): Record<string, ColumnType> {
  const isCsv = call.text('from') === 'csv' || formatOfPath(path) === 'csv';
  const [vector, ...more] = call.list('vector');
  const types = new Map<string, ColumnType>();
  if (isCsv && vector !== undefined && more.length === 0) types.set(vector, 'vector');
  for (const text of call.list('types')) {
    const [, name, type] = /^(.+)=(text|number|vector)$/.exec(text) ?? [];
    if (name === undefined) {
      call.misuse(`--types expected COLUMN=text, number or vector, got "${text}"`);
    }
    types.set(name, type as ColumnType);
  }
  return Object.fromEntries(types);
}

/**
 * Waits for one turn of the event loop, in which the consumer of a batch sends parts of it to
 * threads.
 */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/**
 * The values of `source`, each asked for one turn after the one before it was handed out: while the
 * consumer waits, not when it comes back, so that a batch is decoded while threads hash the one
 * before it, and one batch more is in memory. With one thread nothing is read ahead. An error of
 * the source is thrown after the values before it; leaving the loop waits for what is being read.
 */
export function readAhead<T>(source: AsyncIterable<T>): AsyncIterable<T> {
  if (threadsOf('auto') < 2) return source;
  return iterated(async (send) => {
    const values = source[Symbol.asyncIterator]();
    let coming = values.next();
    try {
      for (let result = await coming; !result.done; result = await coming) {
        coming = turn().then(() => values.next());
        // Thrown where it is awaited: until then a failure is not unhandled.
        coming.catch(() => undefined);
        await send(result.value);
      }
    } finally {
      await coming.catch(() => undefined);
      await values.return?.();
    }
  });
}

/**
 * The batches of a reader, the next of which is decoded while threads work on one (`readAhead`).
 * Shows progress, by rows or else by bytes, where their number is known; throws the signal's reason
 * at Ctrl-C. At the end says which lines were skipped.
 */
export function batchesOf(call: Call, reader: RowReader): AsyncIterableIterator<RowBatch> {
  return iterated(async (send) => {
    const { file, rowCount, byteCount } = reader;
    const total = rowCount ?? byteCount;
    const progress = total === null ? null : call.progress(`reading ${file}`, total);
    let rows = 0;
    try {
      for await (const batch of readAhead(reader)) {
        call.signal.throwIfAborted();
        await send(batch);
        rows += batch.count;
        progress?.at(rowCount === null ? reader.bytesRead : rows);
      }
    } finally {
      progress?.end();
    }
    saySkipped(call, reader);
  });
}

/** Says how many lines --on-error skip left out, and why the first ones. */
export function saySkipped(
  call: Call,
  { skipped, skippedLines, file }: Pick<RowReader, 'skipped' | 'skippedLines' | 'file'>,
): void {
  if (skipped === 0) return;
  const some = skippedLines.map(({ line, reason }) => `line ${line} (${reason})`).join(', ');
  const rest = skipped > skippedLines.length ? ', …' : '';
  call.say(`${file}: skipped ${counted(skipped, 'line')}: ${some}${rest}`);
}
