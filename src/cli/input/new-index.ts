/**
 * Rows of an input in an index, with the columns that it carries: a new index, in memory or built
 * in its folder, or rows appended to a folder, hashed by its settings and with columns of its
 * types. Also queries, which are read and hashed as the rows of an index.
 */

import { iterated } from '../../base/long-work';
import { isMissing } from '../../measure/recall';
import {
  Codes,
  type Id,
  IndexFolder,
  type NewBatch,
  type OptimizeOptions,
  RowBatch,
  type SimHashIndex,
  type SimHashIndexOptions,
  type Vector,
  type VectorStorage,
} from '../../node';
import type { ColumnKind } from '../../table/columns/types';
import { vectorAt } from '../../vectors/vectors';
import type { Call } from '../call';
import { type InputRows, type Likeness, openInputRows, type RowVectorsOrCodes } from './input-rows';
import { namedColumns, type SourceKind } from './open-input';
import { likenessOf, openFolder, refuseOtherSettings } from './saved-index';

export interface BuiltIndex {
  readonly source: InputRows;
  readonly index: SimHashIndex;
  /** Of the rows in their order; undefined where none are carried. */
  readonly columns: RowBatch | undefined;
}

interface BuildOptions {
  /** Hold the vectors, and carry the texts that are hashed too. */
  readonly isWhole?: boolean;
  /** Hash texts as sets where no option says otherwise. */
  readonly areTextsSets?: boolean;
}

/** What holds all of the vectors of a source, by its kind. */
const WHOLE = { code: 'none', vector: 'float32', sparse: 'sparse', text: 'sparse' } as const;

/** Opens an input, and says what an index of it holds and carries by the options of the call. */
async function openRowsFor(
  call: Call,
  input: string,
  { isWhole = false, areTextsSets }: BuildOptions = {},
) {
  const source = await openInputRows(call, input, { areTextsSets });
  const { kind, columns: hashed } = source.choice;
  const isOptimized = kind === 'vector' && call.has('optimize');
  const usual = isWhole ? WHOLE[kind] : isOptimized ? 'int8' : 'none';
  const storage = (call.text('vectors') ?? usual) as VectorStorage;
  checkStorage(call, storage, kind);
  const whole = isWhole && kind === 'text' ? [hashed[0]] : [];
  const carried = [...new Set([...whole, ...carriedColumns(call, source)])];
  await source.narrow(carried);
  return { source, storage, carried };
}

/** Reads an input into a new index, by the options of the call; fails where it has no rows. */
export async function buildIndex(
  call: Call,
  input: string,
  options?: BuildOptions,
): Promise<BuiltIndex> {
  const { source, storage, carried } = await openRowsFor(call, input, options);
  const batches: RowBatch[] = [];
  let index: SimHashIndex | null = null;
  for await (const batch of source) {
    index = await source.addTo(index, batch, source.idsOf(batch), (vectors) =>
      optionsFor(source, vectors, storage),
    );
    if (carried.length > 0) batches.push(batch.only(carried));
  }
  if (index === null) call.fail(`${source.reader.file} has no rows`);
  source.sayNulls();
  return { source, index, columns: batches.length > 0 ? RowBatch.join(batches) : undefined };
}

function checkStorage(call: Call, storage: VectorStorage, kind: SourceKind): void {
  if (storage === 'none') return;
  const isSparse = kind === 'text' || kind === 'sparse';
  if (storage === 'sparse' ? isSparse : kind === 'vector') return;
  const what = storage === 'sparse' ? 'texts and sparse vectors' : 'dense vectors';
  const instead = isSparse ? '--vectors sparse or none' : 'leave it out, or say --vectors none';
  call.misuse(`--vectors ${storage} is for ${what}: ${instead}`);
}

/** Of an index for rows like these; codes say themselves how they were made. */
function optionsFor(
  source: InputRows,
  vectors: RowVectorsOrCodes,
  storage: VectorStorage,
): SimHashIndexOptions {
  if ('bytesPerCode' in vectors) {
    const { bits, origin } = vectors;
    const { seed, texts } = origin ?? {};
    return { bits, ...(seed && { seed: BigInt(seed) }), ...(texts && { texts }) };
  }
  const dimensions = 'dimensions' in vectors ? vectors.dimensions : undefined;
  if (dimensions !== undefined && !source.isWidthKnown) {
    source.call.fail(`${source.reader.file} has no vector that says how wide all are`);
  }
  const texts = source.textHasher?.origin.texts;
  return { ...source.optionsFor(dimensions), vectors: storage, texts };
}

/**
 * Appends the rows of `input` to the index in `path`: all of them, or none where one is wrong. With
 * --replace they take the place of the rows of the same ids.
 */
export async function appendRows(call: Call, input: string, path: string): Promise<void> {
  const folder = await openFolder(call, path);
  const { source, rows } = await openRowsLike(call, input, folder);
  const replace = call.has('replace');
  const areNamed = folder.idKind !== null && folder.idKind !== 'row';
  if (source.choice.idColumn === null && (replace || areNamed)) {
    const why = areNamed ? 'as the rows of the index have' : 'to replace rows by';
    call.misuse(`${source.reader.file} has no ids, ${why}: name their column by --id`);
  }
  await call.long(`writing ${path}`, ({ signal }) =>
    source.named(0, () => folder.appendAll(rows, { replace, signal })),
  );
  source.sayNulls();
}

async function openRowsLike(call: Call, input: string, folder: IndexFolder) {
  refuseOtherSettings(call, folder);
  const like = await likenessOf(folder);
  const source = await openInputRows(call, input, { like, known: kindsOf(call, folder) });
  const carried = carriedAs(call, source, folder);
  await source.narrow(carried);
  return { source, rows: batchesFor(source, carried) };
}

/** The kinds that columns without types have in a folder, by the names of Arrow's types. */
const KINDS: Readonly<Record<string, ColumnKind>> = {
  Int64: 'int64',
  Float64: 'float64',
  Bool: 'bool',
  Utf8: 'text',
  Json: 'json',
  'List<Int64>': { list: 'int64' },
  'List<Float64>': { list: 'float64' },
};

/**
 * The kinds of a folder's columns. Files without types show only what their first rows have: whole
 * numbers, empty lists, texts alone, nulls, or cells of CSV that are digits.
 */
function kindsOf(call: Call, { columnInfo, idKind }: IndexFolder): Map<string, ColumnKind> {
  const kinds = new Map<string, ColumnKind>();
  for (const { name, type } of columnInfo) if (type in KINDS) kinds.set(name, KINDS[type]);
  if (idKind === 'string') kinds.set(call.text('id') ?? 'id', 'text');
  return kinds;
}

/** The rows of a source as a folder takes them, with their carried columns. */
function batchesFor(
  source: InputRows,
  carried: readonly string[],
): AsyncIterableIterator<NewBatch> {
  return iterated(async (send) => {
    for await (const batch of source) {
      const columns = carried.length > 0 ? batch.only(carried) : undefined;
      const ids = source.idsOf(batch) ?? undefined;
      const vectors = source.countedOf(batch);
      await send({ vectors, ids, columns });
    }
  });
}

/** Refuses to optimize within --memory what is no dense vectors. */
export function needDense(call: Call, storage: string | undefined): void {
  if (storage === 'int8' || storage === 'float32') return;
  call.misuse('--memory with --optimize is for dense vectors, held as --vectors int8 or float32');
}

/**
 * Builds an index in a folder, within --memory. `like` is a trained folder in whose partitions the
 * rows are put, with its options; else the options are those of the call, and of the first vectors.
 */
export async function buildFolder(
  call: Call,
  input: string,
  path: string,
  { optimize, like }: { optimize: OptimizeOptions | undefined; like?: string | undefined },
): Promise<void> {
  const trained = like === undefined ? null : await openFolder(call, like);
  const own = trained === null ? await openRowsFor(call, input) : null;
  if (optimize !== undefined) needDense(call, own?.storage ?? trained?.options.vectors);
  const { source, rows } =
    own === null
      ? await openRowsLike(call, input, trained as IndexFolder)
      : { source: own.source, rows: batchesFor(own.source, own.carried) };
  const first = await rows.next();
  if (first.done) call.fail(`${source.reader.file} has no rows`);
  const all = iterated<NewBatch>(async (send) => {
    await send(first.value);
    for await (const batch of rows) await send(batch);
  });
  const vectors = first.value.vectors as RowVectorsOrCodes;
  const options =
    own === null ? { like } : { ...optionsFor(source, vectors, own.storage), ...source.textTerms };
  await call.long(`building ${path}`, (long) =>
    source.named(0, () =>
      IndexFolder.build(path, all, {
        ...options,
        ...long,
        memory: call.number('memory') as number,
        firstRow: call.number('first-row'),
        replace: call.has('force'),
        optimize,
      }),
    ),
  );
  source.sayNulls();
}

/** The columns that the folder carries: the input must have them all. */
function carriedAs(call: Call, source: InputRows, { columnInfo }: IndexFolder): readonly string[] {
  const { columns, file } = source.reader;
  const names = columnInfo.map(({ name }) => name);
  const missing = names.filter((name) => !columns.some((column) => column.name === name));
  if (missing.length > 0) {
    const advice = 'an index built with --columns none takes it';
    call.fail(
      `${file}: the index carries ${missing.join(', ')}, which this input has not; ${advice}`,
    );
  }
  return names.length > 0 && call.has('columns') ? carriedColumns(call, source) : names;
}

export interface FileQueries {
  readonly file: string;
  /** Vectors, without rows that are null or have no entries; or codes, null ones included. */
  readonly queries: readonly Vector[] | Codes;
  /** Of vectors their ids, else their rows in the file. */
  readonly ids: readonly Id[];
  /** Queries that have a code. */
  readonly count: number;
  /** Runs work on the queries; its errors then name the file and the row of a query. */
  named<T>(work: () => Promise<T>): Promise<T>;
}

/** Reads the queries of an option into memory, and hashes texts as `like` does. */
export async function readQueries(
  call: Call,
  option: 'queries' | 'evaluate',
  like: Likeness,
): Promise<FileQueries> {
  const path = call.text(option) as string;
  const source = await openInputRows(call, path, { like });
  const { file } = source.reader;
  await source.narrow([]);
  const codes: Codes[] = [];
  const vectors: Vector[] = [];
  const ids: Id[] = [];
  const rows: number[] = []; // by query its row in the file
  let count = 0;
  for await (const batch of source) {
    const own = source.countedOf(batch);
    const named = source.idsOf(batch);
    const isOfCodes = own instanceof Codes;
    if (isOfCodes) codes.push(own);
    for (let i = 0; i < batch.count; i++) {
      const isNull = isMissing(own, i);
      count += Number(!isNull);
      if (!isNull || isOfCodes) rows.push(batch.firstRow + i);
      if (isNull || isOfCodes) continue;
      vectors.push(vectorAt(own, i));
      ids.push(named?.[i] ?? batch.firstRow + i);
    }
  }
  source.sayNulls();
  if (count === 0) call.fail(`${file} has no queries`);
  const queries = codes.length > 0 ? Codes.join(codes, { bits: codes[0].bits }) : vectors;
  return { file, queries, ids, count, named: (work) => source.named(0, work, rows) };
}

/**
 * Columns to carry: those of `--columns`, or the texts that become codes, which results are read
 * by, and all others of single values.
 */
function carriedColumns(call: Call, source: InputRows): readonly string[] {
  if (call.has('columns')) return namedColumns(call, source.reader);
  const { kind, columns: hashed } = source.choice;
  const texts = kind === 'text' ? hashed.slice(0, 1) : [];
  const ofMany = source.reader.columns.filter(({ type }) => OF_MANY.test(type));
  const others = source.otherColumns.filter((name) => ofMany.every((one) => one.name !== name));
  return [...texts, ...others];
}

/** Types of columns of several values a row, or of bytes, as Arrow calls them. */
const OF_MANY = /^(Json|Struct|Map|\w*(List|Binary|Union))/;
