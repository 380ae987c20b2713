/**
 * Inputs opened by the options of the call, and the choice of their columns: as told by an option,
 * or the only candidate, or the one with a usual name. A guess is said; where there are several
 * candidates the user is asked to choose.
 */

import { formatOfPath } from '../../formats/row-format';
import {
  type ColumnInfo,
  type ColumnType,
  type OpenRowsOptions,
  openRows,
  type RowBatch,
  type RowFormat,
  type RowReader,
} from '../../node';
import type { Call } from '../call';

/** A file, a folder, a pattern, or several of these; stdin is '-'. */
export type Input = string | readonly string[];

/** `docs.jsonl`, or of several `docs.jsonl and 2 others`. */
export function nameOfInput(input: Input): string {
  if (typeof input === 'string') return input;
  return `${input[0]} and ${input.length - 1} other${input.length === 2 ? '' : 's'}`;
}

/**
 * Opens a file or a folder, or stdin for '-'; reads only `columns` where they are given. `reading`
 * says how, by default as the options of the call do.
 */
export async function openInput(
  call: Call,
  path: Input,
  columns?: readonly string[],
  reading: OpenRowsOptions = readingOptions(call, path),
): Promise<RowReader> {
  const isStdin = path === '-';
  if (isStdin && process.stdin.isTTY) {
    call.misuse('stdin is a terminal: name an input, or pipe rows in and say --from FORMAT');
  }
  if (!isStdin && path.includes('-') && typeof path !== 'string') {
    call.misuse('stdin is read alone, not with other inputs');
  }
  const reader = await openRows(isStdin ? stdinUntil(call.signal) : path, {
    ...{ file: isStdin ? 'stdin' : undefined, columns },
    ...reading,
  });
  call.atEnd(() => reader.close());
  return reader;
}

/** How a file is read, by --from, --types and --on-error. */
export function readingOptions(call: Call, path: Input) {
  return {
    format: call.text('from') as RowFormat | undefined,
    types: typesOf(call, typeof path === 'string' ? path : path[0]),
    onError: (call.text('on-error') ?? 'stop') === 'stop' ? ('stop' as const) : ('skip' as const),
    expectEnd: call.has('expect-end'),
  };
}

/** The same of an input next to another: --from tells of it where its name does not. */
export function otherReading(call: Call, path: Input): OpenRowsOptions {
  const isTold = typeof path === 'string' && formatOfPath(path) !== null;
  const { format, ...reading } = readingOptions(call, path);
  return { ...reading, ...(!isTold && format !== undefined && { format }) };
}

/** Types of columns by --types; in CSV the column of --vector holds texts like "[1, 2]". */
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

/** All bytes of stdin. */
export async function allOfStdin(call: Call): Promise<Uint8Array> {
  if (process.stdin.isTTY) call.misuse('stdin is a terminal: name an index, or pipe one in');
  const chunks: Uint8Array[] = [];
  for await (const chunk of stdinUntil(call.signal)) chunks.push(chunk);
  return Buffer.concat(chunks);
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

/**
 * The batches of a reader, with progress, until Ctrl-C; at the end says what was skipped, unless
 * another reading of the same rows does.
 */
export async function* batchesOf(
  call: Call,
  reader: RowReader,
  saysSkipped = true,
): AsyncGenerator<RowBatch> {
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
  if (saysSkipped) saySkipped(call, reader);
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

/** What codes are made of: dense or sparse vectors, texts, or nothing, as they are codes. */
export type SourceKind = 'code' | 'vector' | 'sparse' | 'text';

/** Where the vectors come from: one column, or two of sparse ones. */
export interface SourceColumns {
  readonly kind: SourceKind;
  readonly columns: readonly string[];
}

/** What an option names; sparse vectors are told by `--vector`. */
type Told = Exclude<SourceKind, 'sparse'>;

/** Names by which a column is chosen among several candidates, the first that is there. */
const USUAL: Record<Told, readonly string[]> = {
  code: ['code', 'codes', 'fingerprint', 'simhash'],
  vector: ['vector', 'embedding', 'embeddings', 'vectors'],
  text: ['text', 'body', 'content', 'document', 'description', 'sentence'],
};
const NOUNS = {
  vector: 'vectors',
  text: 'texts',
  code: 'codes',
  sparse: 'sparse vectors',
} as const;
const ALL: readonly SourceKind[] = ['code', 'vector', 'sparse', 'text'];

/**
 * The columns to make codes of, of the kinds that a verb takes; looked for in that order. Columns
 * that options name must be there, but where these tell of another input.
 */
export function chooseSource(
  call: Call,
  reader: RowReader,
  kinds = ALL,
  isOther = false,
): SourceColumns {
  const isThere = (name: string) => reader.columns.some((column) => column.name === name);
  const isMeant = (kind: Told) => kinds.includes(kind) && call.list(kind).every(isThere);
  const options = (['vector', 'text', 'code'] as const).filter(
    (name) => call.has(name) && (!isOther || isMeant(name)),
  );
  if (options.length > 1) call.misuse(`give one of ${options.map((one) => `--${one}`).join(', ')}`);
  if (options.length === 1) return toldSource(call, reader, options[0]);
  for (const kind of ALL.filter((one) => kinds.includes(one))) {
    const columns = kind === 'sparse' ? sparseColumns(reader) : guessed(call, reader, kind);
    if (columns !== null) return sayGuess(call, { kind, columns });
  }
  const names = reader.columns.map(({ name, type }) => `${name} (${type})`).join(', ');
  const nouns = (['vector', 'text', 'code'] as const).filter((kind) => kinds.includes(kind));
  const wanted = nouns.map((kind) => NOUNS[kind]).join(' or ');
  return call.fail(`${reader.file}: no column of ${wanted} among ${names || 'none'}`);
}

/** The columns that an option names, which must hold what it says. */
function toldSource(call: Call, reader: RowReader, kind: Told): SourceColumns {
  const columns = kind === 'vector' ? call.list(kind) : [call.text(kind) as string];
  const [{ name, type, fits }] = columns.map((one) => columnOf(call, reader, one));
  if (columns.length > 2) call.misuse('--vector takes one column, or two: INDICES,VALUES');
  const isMap = kind === 'vector' && fits.includes('map');
  if (columns.length === 2 || isMap) return { kind: 'sparse', columns };
  if (fits.includes(kind)) return { kind, columns };
  return call.fail(`${reader.file}: column "${name}" is ${type}, which holds no ${NOUNS[kind]}`);
}

/** A column by its name; the error names the others. */
export function columnOf(call: Call, reader: RowReader, name: string): ColumnInfo {
  const found = reader.columns.find((column) => column.name === name);
  if (found !== undefined) return found;
  const names = reader.columns.map((column) => column.name).join(', ');
  return call.fail(`${reader.file}: no column "${name}", there are ${names || 'none'}`);
}

/** The only candidate, or the one with a usual name; null where there is none. */
function guessed(call: Call, reader: RowReader, kind: Told): readonly string[] | null {
  // Integers are codes where their width is told: a column "code" may be anything.
  const isTold = call.has('bits') || (reader as { header?: string }).header !== undefined;
  const isMeant = ({ type }: ColumnInfo) =>
    kind !== 'code' || isTold || !/\bInt64|<Uint64/.test(type);
  const fitting = reader.columns.filter((one) => one.fits.includes(kind) && isMeant(one));
  const usual = USUAL[kind].find((name) => fitting.some((column) => column.name === name));
  if (usual !== undefined) return [usual];
  const idName = call.text('id') ?? 'id';
  // Integers and lists may be codes, and are seldom.
  const likely = fitting
    .filter(({ name, fits }) =>
      kind === 'code' ? !fits.includes('id') && !fits.includes('vector') : name !== idName,
    )
    .map(({ name }) => name);
  if (likely.length <= 1) return likely.length === 0 ? null : likely;
  const where = `${reader.file} has ${NOUNS[kind]} in ${likely.join(', ')}`;
  return call.misuse(`${where}: choose by --${kind} COLUMN`);
}

/** Columns "indices" and "values", or the only map; null where there are neither. */
function sparseColumns({ columns }: RowReader): readonly string[] | null {
  const named = (['indices', 'values'] as const).filter((own) =>
    columns.some(({ name, fits }) => name === own && fits.includes(own)),
  );
  if (named.length === 2) return named;
  const maps = columns.filter(({ fits }) => fits.includes('map'));
  return maps.length === 1 ? [maps[0].name] : null;
}

/** `texts of "body"`, for a sentence. */
export function sourceWords({ kind, columns }: SourceColumns): string {
  return `${NOUNS[kind]} of ${columns.map((name) => `"${name}"`).join(' and ')}`;
}

/** Says which columns were chosen, and how to choose others. */
function sayGuess(call: Call, source: SourceColumns): SourceColumns {
  const { kind, columns } = source;
  const quoted = columns.map((name) => `"${name}"`).join(' and ');
  const option = kind === 'sparse' ? 'vector' : kind;
  const noun = columns.length === 1 ? 'column' : 'columns';
  call.say(`reading ${NOUNS[kind]} from ${noun} ${quoted}; --${option} chooses another`);
  return source;
}

/** The column of the ids; null where rows go by their numbers. */
export function chooseId(call: Call, reader: RowReader): string | null {
  const told = call.text('id');
  // Texts of a folder are known by the names of their files.
  const usual = reader.format === 'text' ? 'file' : 'id';
  const has = reader.columns.some(({ name, fits }) => name === usual && fits.includes('id'));
  if (told === undefined) return has ? usual : null;
  if (told === 'none' && !reader.columns.some(({ name }) => name === told)) return null;
  const { name, type, fits } = columnOf(call, reader, told);
  if (fits.includes('id')) return name;
  return call.fail(`${reader.file}: column "${name}" is ${type}; ids are integers or strings`);
}
