/**
 * Opens inputs by the options of the call, chooses which of their columns are read, and reads them
 * batch by batch, with progress. A column is the one that an option names, else the only candidate,
 * else the one with a usual name. A message says what was guessed; with several candidates the call
 * is a misuse that names them.
 */

import { addAbortSignal } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { FormatError } from '../../base/check';
import { iterated } from '../../base/long-work';
import { openRecords } from '../../formats/open-rows';
import { formatOfPath, type ReadOptions } from '../../formats/row-reader';
import type {
  ColumnInfo,
  ColumnType,
  OpenRowsOptions,
  RowBatch,
  RowFormat,
  RowReader,
} from '../../node';
import { threadsOf } from '../../threads/parallel';
import type { Call } from '../call';

/** A file, an address, a folder or a pattern, or several of these; '-' is stdin. */
export type Input = string | readonly string[];

/** What stdin is called in messages. */
export const STDIN = 'stdin';

/** What sentences call an input: `docs.jsonl`, of several `docs.jsonl and 2 others`. */
export function nameOfInput(input: Input): string {
  if (typeof input === 'string') return input;
  return `${input[0]} and ${input.length - 1} other${input.length === 2 ? '' : 's'}`;
}

/** How an input is read; `kinds` are those of columns where values fit, of CSV and JSONL. */
export type Reading = OpenRowsOptions & { readonly kinds?: ReadOptions['kinds'] | undefined };

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
  reading: Reading = readingOptions(call, path),
  isWanted?: (row: number) => boolean,
): Promise<RowReader> {
  const isStdin = path === '-';
  if (isStdin && call.stdin.isTTY) {
    call.misuse('stdin is a terminal: name an input, or pipe rows in and say --from FORMAT');
  }
  if (!isStdin && path.includes('-') && typeof path !== 'string') {
    call.misuse('stdin is read alone, not with other inputs');
  }
  const { kinds, ...given } = reading;
  const reader = await openRecords(
    isStdin ? addAbortSignal(call.signal, call.stdin) : path,
    { file: isStdin ? STDIN : undefined, columns, ...given },
    {
      isWanted,
      states: call.fileStates,
      ...(kinds && { kinds }),
    },
  );
  call.atEnd(() => reader.close());
  return reader;
}

/** How an input is read, by --from and --types. */
export function readingOptions(call: Call, path: Input): OpenRowsOptions {
  const first = typeof path === 'string' ? path : path[0];
  return { format: call.text('from') as RowFormat | undefined, types: typesOf(call, first) };
}

/** Types of columns by --types; in CSV also the column of --vector, whose cells are "[1, 2]". */
function typesOf(call: Call, path: string): Record<string, ColumnType> {
  const isCsv = call.text('from') === 'csv' || formatOfPath(path) === 'csv';
  const [vector, ...more] = call.list('vector');
  const types = new Map<string, ColumnType>();
  if (isCsv && vector !== undefined && more.length === 0) types.set(vector, 'vector');
  for (const text of call.list('types')) {
    const [, name, type] = /^(.+)=(text|number|integer|vector)$/.exec(text) ?? [];
    if (name === undefined) {
      call.misuse(`--types expected COLUMN=text, number, integer or vector, got "${text}"`);
    }
    types.set(name, type as ColumnType);
  }
  return Object.fromEntries(types);
}

/**
 * The values of `source`, each asked for one turn after the one before it was handed out: while the
 * consumer waits, not when it comes back, so that a batch is decoded while threads hash the one
 * before it, and one batch more is in memory. With one thread nothing is read ahead. An error of
 * the source is thrown after the values before it; leaving the loop waits for what is being read.
 */
export function readAhead<T>(source: AsyncIterable<T>): AsyncIterable<T> {
  if (threadsOf() < 2) return source;
  return iterated(async (send) => {
    const values = source[Symbol.asyncIterator]();
    let coming = values.next();
    try {
      for (let result = await coming; !result.done; result = await coming) {
        // In this turn of the event loop the consumer sends parts of the batch to threads.
        coming = setImmediate().then(() => values.next());
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
 * Shows progress, by rows or else by bytes, where their number is known. Throws the signal's reason
 * at Ctrl-C.
 */
export function batchesOf(call: Call, reader: RowReader): AsyncIterableIterator<RowBatch> {
  const { file, rowCount, byteCount } = reader;
  const total = rowCount ?? byteCount;
  return iterated((send) =>
    call.long(`reading ${file}`, async ({ onProgress, signal }) => {
      let rows = 0;
      for await (const batch of readAhead(reader)) {
        signal.throwIfAborted();
        await send(batch);
        rows += batch.count;
        if (total !== null) onProgress(rowCount === null ? reader.bytesRead : rows, total);
      }
    }),
  );
}

/** What an input holds: ready codes, or dense vectors, sparse vectors or texts to make codes of. */
export type SourceKind = 'code' | 'vector' | 'sparse' | 'text';

/** The columns to read: one, or of sparse vectors two, the dimensions and the values. */
export interface SourceColumns {
  readonly kind: SourceKind;
  readonly columns: readonly string[];
}

/** Kinds that have an option of their name; --vector names the columns of sparse vectors too. */
const NAMED = ['vector', 'text', 'code'] as const;
type NamedKind = (typeof NAMED)[number];

/** Names that choose a column among several candidates: the first that is there. */
const USUAL: Record<NamedKind, readonly string[]> = {
  code: ['code', 'codes', 'fingerprint', 'simhash'],
  vector: ['vector', 'embedding', 'embeddings', 'vectors'],
  text: ['text', 'body', 'content', 'document', 'description', 'sentence'],
};
/** What each kind is called, in the order in which columns are looked for. */
const NOUNS: Record<SourceKind, string> = {
  code: 'codes',
  vector: 'vectors',
  sparse: 'sparse vectors',
  text: 'texts',
};
const ALL = Object.keys(NOUNS) as SourceKind[];

/** Chooses the columns to make codes of, among the kinds that a verb takes. */
export function chooseSource(
  call: Call,
  reader: RowReader,
  kinds: readonly SourceKind[] = ALL,
): SourceColumns {
  const given = NAMED.filter((kind) => call.has(kind));
  if (given.length > 1) call.misuse(`give one of ${given.map((one) => `--${one}`).join(', ')}`);
  if (given.length === 1) return namedSource(call, reader, given[0]);
  for (const kind of ALL.filter((one) => kinds.includes(one))) {
    const columns = kind === 'sparse' ? sparseColumns(reader) : guessed(call, reader, kind);
    if (columns === null) continue;
    const option = kind === 'sparse' ? 'vector' : kind;
    call.say(`reading ${sourceWords({ kind, columns })}; --${option} chooses another`);
    return { kind, columns };
  }
  const names = reader.columns.map(({ name, type }) => `${name} (${type})`).join(', ');
  const wanted = NAMED.filter((kind) => kinds.includes(kind)).map((kind) => NOUNS[kind]);
  const missing = `no column of ${wanted.join(' or ')} among ${names || 'none'}`;
  throw new FormatError(missing, reader.file);
}

/** `texts of "body"`, for a sentence. */
export function sourceWords({ kind, columns }: SourceColumns): string {
  return `${NOUNS[kind]} of ${columns.map((name) => `"${name}"`).join(' and ')}`;
}

/** The columns that --vector, --text or --code names; a misuse unless they hold such values. */
function namedSource(call: Call, reader: RowReader, kind: NamedKind): SourceColumns {
  const columns = call.list(kind);
  const [{ name, type, fits }] = columns.map((one) => columnOf(call, reader, one));
  if (columns.length > 2) call.misuse('--vector takes one column, or two: INDICES,VALUES');
  const isMap = kind === 'vector' && fits.includes('map');
  if (columns.length === 2 || isMap) return { kind: 'sparse', columns };
  if (fits.includes(kind)) return { kind, columns };
  const areCells = reader.format === 'csv' || reader.format === 'jsonl';
  const hint = kind === 'text' && areCells ? `: say --types ${name}=text` : '';
  call.misuse(`${reader.file}: column "${name}" is ${type}, which holds no ${NOUNS[kind]}${hint}`);
}

/** The candidate with a usual name, else the only one; null for none, a misuse for several. */
function guessed(call: Call, reader: RowReader, kind: NamedKind): readonly string[] | null {
  // 64-bit integers are codes only with --bits: else a column called "code" may hold anything.
  const isMeant = ({ type }: ColumnInfo) => kind !== 'code' || call.has('bits') || type !== 'Int64';
  const fitting = reader.columns.filter((one) => one.fits.includes(kind) && isMeant(one));
  const usual = USUAL[kind].find((name) => fitting.some((column) => column.name === name));
  if (usual !== undefined) return [usual];
  const idName = call.text('id') ?? 'id';
  // Integers and lists of numbers could be codes, but seldom are: they need a usual name.
  const isLikely = ({ name, fits }: ColumnInfo) =>
    kind === 'code' ? !fits.includes('id') && !fits.includes('vector') : name !== idName;
  const likely = fitting.filter(isLikely).map(({ name }) => name);
  if (likely.length <= 1) return likely.length === 0 ? null : likely;
  const where = `${reader.file} has ${NOUNS[kind]} in ${likely.join(', ')}`;
  call.misuse(`${where}: choose by --${kind} COLUMN`);
}

/** The columns "indices" and "values", else the only map from dimensions to values, else null. */
function sparseColumns({ columns }: RowReader): readonly string[] | null {
  const usual = { indices: 'indices', values: 'vector' } as const;
  const named = (['indices', 'values'] as const).filter((own) =>
    columns.some(({ name, fits }) => name === own && fits.includes(usual[own])),
  );
  if (named.length === 2) return named;
  const maps = columns.filter(({ fits }) => fits.includes('map'));
  return maps.length === 1 ? [maps[0].name] : null;
}

/**
 * The column of the ids: that of --id, else "id" if it fits. Null where rows go by their numbers,
 * also for `--id none` unless a column has that name.
 */
export function chooseId(call: Call, reader: RowReader): string | null {
  // In a folder of texts the name of each file is the id of its text.
  const usual = reader.format === 'text' ? 'file' : 'id';
  const own = reader.columns.find(({ name }) => name === usual);
  if (!call.has('id')) {
    if (own === undefined || own.fits.includes('id')) return own?.name ?? null;
    const what = `column "${usual}" is ${own.type}, and ids are integers or strings`;
    call.say(`${reader.file}: ${what}: rows go by their numbers`);
    return null;
  }
  const [given] = namedColumns(call, reader, 'id');
  if (given === undefined) return null;
  const { name, type, fits } = columnOf(call, reader, given);
  if (fits.includes('id')) return name;
  call.misuse(`${reader.file}: column "${name}" is ${type}; ids are integers or strings`);
}

/** The columns that an option names; "none" is none, unless a column is called so. */
export function namedColumns(
  call: Call,
  reader: Pick<RowReader, 'file' | 'columns'>,
  option = 'columns',
): readonly string[] {
  const names = call.list(option);
  const isNone = names.length === 1 && names[0] === 'none' && !hasColumn(reader, 'none');
  return isNone ? [] : names.map((name) => columnOf(call, reader, name).name);
}

/** The column of a name; a misuse, with the names of all columns, where there is none. */
export function columnOf(
  call: Call,
  { file, columns }: Pick<RowReader, 'file' | 'columns'>,
  name: string,
): ColumnInfo {
  const names = columns.map((column) => column.name).join(', ');
  const found = columns.find((column) => column.name === name);
  return found ?? call.misuse(`${file}: no column "${name}", there are ${names || 'none'}`);
}

function hasColumn({ columns }: Pick<RowReader, 'columns'>, name: string): boolean {
  return columns.some((column) => column.name === name);
}
