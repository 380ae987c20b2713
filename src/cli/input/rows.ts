/**
 * Rows in: a reader of the library with progress, which stops at Ctrl-C and is closed at the end.
 */

import {
  type ColumnType,
  openRows,
  type RowBatch,
  type RowFormat,
  type RowReader,
} from '../../node';
import type { Call } from '../call';

/**
 * Opens a file or a folder, or stdin for '-' and undefined, by the options of the call; reads only
 * `columns` where they are given.
 */
export async function openInput(
  call: Call,
  path: string | undefined,
  { columns }: { readonly columns?: readonly string[] } = {},
): Promise<RowReader> {
  const isStdin = path === undefined || path === '-';
  if (isStdin && process.stdin.isTTY) {
    call.misuse('stdin is a terminal: name an input, or pipe rows in and say --from FORMAT');
  }
  const reader = await openRows(isStdin ? stdinUntil(call.signal) : path, {
    ...{ file: isStdin ? 'stdin' : undefined, columns },
    ...readingOptions(call, path),
  });
  call.atEnd(() => reader.close());
  return withProgress(call, reader);
}

/** How a file is read, by --from, --types and --on-error. */
export function readingOptions(call: Call, path?: string) {
  return {
    format: call.text('from') as RowFormat | undefined,
    types: typesOf(call, path),
    onError: (call.text('on-error') ?? 'stop') as 'stop' | 'skip',
  };
}

/** Types of columns by --types; in CSV the column of --vector holds texts like "[1, 2]". */
function typesOf(call: Call, path = ''): Record<string, ColumnType> {
  const isCsv = call.text('from') === 'csv' || /\.csv$/i.test(path);
  const [vector, ...more] = call.list('vector');
  const types: Record<string, ColumnType> = {};
  if (isCsv && vector !== undefined && more.length === 0) types[vector] = 'vector';
  for (const text of call.list('types')) {
    const [, name, type] = /^(.+)=(text|number|vector)$/.exec(text) ?? [];
    if (name === undefined) {
      call.misuse(`--types expected COLUMN=text, number or vector, got "${text}"`);
    }
    types[name] = type as ColumnType;
  }
  return types;
}

/** The bytes of stdin; ends by an error when the signal aborts. */
async function* stdinUntil(signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const stop = () => process.stdin.destroy(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const chunk of process.stdin) yield chunk as Uint8Array;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** The reader, whose batches are read with a line of progress and until Ctrl-C. */
function withProgress(call: Call, reader: RowReader): RowReader {
  return new Proxy(reader, {
    get(target, key) {
      if (key === Symbol.asyncIterator) return () => batchesOf(call, target);
      const value = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Reads on until Ctrl-C; at the end says what was skipped. */
async function* batchesOf(call: Call, reader: RowReader): AsyncGenerator<RowBatch> {
  const { rowCount, byteCount } = reader;
  const isByBytes = rowCount === null && byteCount !== null;
  const total = isByBytes ? byteCount : rowCount;
  const progress = call.progress(`reading ${reader.file}`, total, isByBytes ? 'bytes' : 'rows');
  let rows = 0;
  try {
    for await (const batch of reader) {
      call.signal.throwIfAborted();
      yield batch;
      rows += batch.count;
      progress.at(isByBytes ? reader.bytesRead : rows);
    }
  } finally {
    progress.end();
  }
  saySkipped(call, reader);
}

/** Says which lines could not be read, where --on-error skip left some out. */
export function saySkipped(
  call: Call,
  { skipped, skippedLines, file }: Pick<RowReader, 'skipped' | 'skippedLines' | 'file'>,
): void {
  if (skipped === 0) return;
  const some = skippedLines.map(({ line, reason }) => `line ${line} (${reason})`).join(', ');
  const rest = skipped > skippedLines.length ? ', …' : '';
  call.say(`${file}: skipped ${skipped} line${skipped === 1 ? '' : 's'}: ${some}${rest}`);
}
