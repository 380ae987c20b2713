/**
 * `halfspace search`: the nearest rows of an index, for each query. Writes one row for each
 * neighbour: query, rank, id, distance, a similarity, and carried columns. The index is loaded, or
 * with --memory stays in its files. Queries are rows of the index by their ids, a text, or the rows
 * of a file or of stdin; the name of a query in the output is its id, else its row.
 */

import { LongWork } from '../../base/long-work';
import { estimatedName, measureOf } from '../../codes/measure';
import type { IdKind } from '../../index/ids';
import {
  Codes,
  type ColumnData,
  type Id,
  type Ids,
  openIndex,
  RowBatch,
  type SearchResult,
  SimHashIndex,
} from '../../node';
import { HttpPlace } from '../../store/http-place';
import { openStored } from '../../store/stored-index';
import { freeNames } from '../../table/row-batch';
import { Embedder } from '../../text/embed';
import { packVectors } from '../../vectors/vectors';
import type { Call } from '../call';
import { openInputRows, type RowVectorsOrCodes, textHasherOf } from '../input/input-rows';
import { namedColumns } from '../input/open-input';
import {
  carriedReader,
  filterOf,
  idsNamed,
  likenessOf,
  openSaved,
  rowsOfFilter,
  type SavedIndex,
  type SearchedIndex,
} from '../input/saved-index';
import { openOutput } from '../output/rows';

interface Queries {
  /** Query i is called `names[i]`; all are of one kind, which decides the type of their column. */
  readonly names: readonly Id[];
  readonly kind: IdKind | null;
  /** Vectors, or codes where the index holds no vectors; a missing one has no neighbours. */
  readonly vectors: RowVectorsOrCodes;
  /** The row of the index that the only query is, which does not find itself; else null. */
  readonly self: number | null;
}

/** Writes the neighbours of each query: in the order of the queries, nearest first. */
export async function run(call: Call): Promise<0> {
  const [path] = call.args;
  if (path === undefined) call.misuse('an index folder is missing');
  checkQueries(call);
  const folder = await openSaved(call, path);
  const measure = measureOf(folder.options.projection);
  const request = requestOf(call);
  const shown = shownColumns(call, folder);
  const filter = filterOf(call, folder);
  const index = await opened(call, folder);
  if (!(index instanceof SimHashIndex)) call.atEnd(() => index.close());
  const allowed = filter && (await rowsOfFilter(filter, folder, index));
  const columnsOf = await carriedReader(folder, index, shown);
  const out = await openOutput(call, { inputs: call.args, header: { kind: 'matches' } });
  // A batch without rows, written if no query has a neighbour: it gives the output its columns.
  let empty: RowBatch | null = null;
  const found = (queries: Queries) => search(call, index, queries, allowed, request);
  const write = async (kind: IdKind | null, { hits, by }: Found) => {
    const similarities = Float64Array.from(hits, ({ similarity }) => similarity);
    const distance = Int32Array.from(hits, (hit) => hit.distance);
    // Without a prototype, whose names a column may have.
    const columns: Record<string, ColumnData> = Object.assign(Object.create(null), {
      query: columnOfIds(
        kind,
        hits.map((hit) => hit.query),
      ),
      rank: Int32Array.from(hits, (hit) => hit.rank),
      id: columnOfIds(
        folder.idKind,
        hits.map((hit) => hit.id),
      ),
      ...(by === 'hamming' && { distance }),
      [by === 'exact' ? measure.name : estimatedName(measure)]: similarities,
    });
    const own = await columnsOf(Uint32Array.from(hits, (hit) => hit.row));
    const names = freeNames(shown, Object.keys(columns));
    for (const [i, name] of shown.entries()) columns[names[i]] = own.column(name);
    const batch = RowBatch.of(columns);
    if (batch.count === 0) empty ??= batch;
    else await out.write(batch);
  };
  const answer = async (queries: Queries) => write(queries.kind, await found(queries));
  if (call.has('query')) await answer(await textQuery(call, folder, index));
  else if (call.has('row-id')) {
    // In one batch, so that one type of integers holds all ids.
    const all: Found[] = [];
    for (const one of await rowQueries(call, folder, index)) all.push(await found(one));
    const { by } = all.find(({ hits }) => hits.length > 0) ?? all[0];
    await write(folder.idKind, { hits: all.flatMap(({ hits }) => hits), by });
  } else await fileQueries(call, folder, answer);
  if (out.rowCount === 0 && empty !== null) await out.write(empty);
  await out.close();
  return 0;
}

/** Loads the index; with --memory opens it in its folder, and reads what searches need. */
async function opened(call: Call, folder: SavedIndex): Promise<SearchedIndex> {
  const memory = call.number('memory');
  const segment = call.number('segment');
  const segments = segment === undefined ? undefined : ([segment, segment] as const);
  const address = call.text('at');
  return call.long<SearchedIndex>(`opening ${folder.path}`, ({ signal, ...long }) => {
    if (memory === undefined) return folder.index({ signal, ...long });
    const how = { memory, segments, signal };
    return address === undefined
      ? openIndex(folder.path, how)
      : openStored(new HttpPlace(address), how);
  });
}

/** The 10 nearest rows or those of -k; with --max-distance all rows within it. */
function requestOf(call: Call) {
  const maxDistance = call.number('max-distance');
  const k = call.number('k') ?? (maxDistance === undefined ? 10 : Number.MAX_SAFE_INTEGER);
  return { k, maxDistance, rank: call.has('by-distance') ? ('hamming' as const) : undefined };
}

/**
 * The carried columns to show: those of `--columns`, where `none` is none unless a column has that
 * name; by default the first column of texts.
 */
function shownColumns(call: Call, folder: SavedIndex): readonly string[] {
  const { path: file, columnInfo: columns } = folder;
  if (call.has('columns')) return namedColumns(call, { file, columns });
  const text = columns.find(({ fits }) => fits.includes('text'));
  return text === undefined ? [] : [text.name];
}

/** A misuse unless exactly one of QUERIES, --row-id and --query is given. */
function checkQueries(call: Call): void {
  const [, input, more] = call.args;
  if (more !== undefined) call.misuse('expected an index folder and at most one file of queries');
  const ways = [call.has('query'), call.has('row-id'), input !== undefined].filter(Boolean);
  if (ways.length === 1) return;
  call.misuse('say what to search for: QUERIES (a file, or -), --row-id IDS or --query TEXT');
}

/** The text of --query, made a vector as the index says; fails if it has no words that count. */
async function textQuery(
  call: Call,
  folder: SavedIndex,
  { hasher: like }: SearchedIndex,
): Promise<Queries> {
  const { text: terms, model } = await likenessOf(folder);
  const text = call.text('query') as string;
  if (model) {
    const made = await (await Embedder.of(model)).vectorsOf(
      [text],
      new LongWork({ signal: call.signal }),
    );
    return { names: [0], kind: 'row', vectors: made, self: null };
  }
  if (terms === null) {
    call.fail(`${folder.path} was not made of texts: search by --row-id, or by a file of vectors`);
  }
  const vectors = textHasherOf(terms, like).vectorsOf([text]);
  if (vectors.values.length === 0) call.fail(`--query has no words that count: ${text}`);
  return { names: [0], kind: 'row', vectors, self: null };
}

/**
 * The rows of --row-id, each searched for by the vector that the index holds of it, else by its
 * code. Fails for an id that the index does not have, and for a row without a code.
 */
async function rowQueries(
  call: Call,
  { idKind: kind }: SavedIndex,
  index: SearchedIndex,
): Promise<Queries[]> {
  const queries: Queries[] = [];
  for (const word of call.list('row-id')) {
    // `12` can be a text, a number or a bigint; which ids a stored index has, only a look-up says.
    const found = await Promise.all(idsNamed(word).map((id) => index.get(id)));
    const row = found.find((one) => one !== undefined);
    if (row === undefined) call.fail(`the index has no row of the id ${word}`);
    if (row.code === null) call.fail(`the row of the id ${word} has no code, and no neighbours`);
    const { code, vector } = row;
    const vectors =
      vector === null ? Codes.from(code, { bits: index.bits }) : packVectors([vector]);
    queries.push({ names: [row.id], kind, vectors, self: row.row });
  }
  return queries;
}

/** The rows of a file or of stdin, batch by batch; at the end says how many have no code. */
async function fileQueries(
  call: Call,
  folder: SavedIndex,
  answer: (queries: Queries) => Promise<void>,
): Promise<void> {
  const rows = await openInputRows(call, call.args[1], { like: await likenessOf(folder) });
  await rows.narrow([]);
  for await (const batch of rows) {
    const vectors = rows.countedOf(batch);
    const ids = rows.idsOf(batch);
    const names = Array.from<unknown, Id>({ length: batch.count }, (_, i) =>
      ids === null ? batch.firstRow + i : ids[i],
    );
    const kind = kindOf(ids);
    await rows.named(batch.firstRow, () => answer({ names, kind, vectors, self: null }));
  }
  rows.sayNulls();
}

/** The kind of ids, by the type of their array, so that a file without rows has one; null: rows. */
function kindOf(ids: Ids | null): IdKind {
  if (ids === null) return 'row';
  if (Array.isArray(ids)) return 'string';
  return ids instanceof BigInt64Array || ids instanceof BigUint64Array ? 'bigint' : 'number';
}

type Found = Awaited<ReturnType<typeof search>>;

/** The rows near each query, at most `k`, and what ranks them, which decides the columns. */
async function search(
  call: Call,
  index: SearchedIndex,
  { names, vectors, self }: Queries,
  allowed: Uint32Array | null,
  { k, maxDistance, rank }: ReturnType<typeof requestOf>,
) {
  const isOther = (_: unknown, row: number) => row !== self;
  const filter =
    self === null ? (allowed ?? undefined) : (allowed?.filter((row) => row !== self) ?? isOther);
  const results: readonly SearchResult[] = await call.long('searching', (long) =>
    maxDistance === undefined
      ? index.searchAll(vectors, { filter, k, rank, ...long })
      : index.withinAll(vectors, { filter, maxDistance, ...long }),
  );
  const hits = results.flatMap((result, query) => {
    const { rows, ids, distances, similarities } = result;
    return Array.from(rows.subarray(0, k), (row, at) => {
      const [id, distance, similarity] = [ids[at], distances?.[at] ?? 0, similarities[at]];
      return { query: names[query], row, id, rank: at + 1, distance, similarity };
    });
  });
  const usual = vectors instanceof Codes ? 'hamming' : index.rank;
  return { hits, by: maxDistance === undefined ? (rank ?? usual) : 'hamming' };
}

/** Ids as a column: texts, 64-bit integers, or float64 of rows and numbers. */
function columnOfIds(kind: IdKind | null, ids: readonly Id[]): ColumnData {
  if (kind === 'string') return ids as string[];
  if (kind !== 'bigint') return Float64Array.from(ids as number[]);
  const isSigned = ids.every((id) => id === BigInt.asIntN(64, id as bigint));
  return (isSigned ? BigInt64Array : BigUint64Array).from(ids as bigint[]);
}
