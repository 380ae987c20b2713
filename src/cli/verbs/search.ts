/**
 * `halfspace search`: the nearest rows of an index, one row out for each that is found. Queries are
 * rows of the index by their ids, a text, or the rows of a file or of stdin, some at a time; each
 * has a name: its id where it has one, else its number.
 */

import { estimatedName, type Measure, measureOf } from '../../codes/measure';
import type { IdKind } from '../../index/id-table';
import { similaritiesOf } from '../../index/search';
import { isMissing } from '../../measure/rows';
import {
  Codes,
  type ColumnData,
  type DenseMatrix,
  type Explanation,
  type Id,
  type Ids,
  openIndex,
  type Rank,
  RowBatch,
  type SearchResult,
  SimHashIndex,
  type SparseMatrix,
  type StoredFigures,
  type StoredIndex,
  type Vector,
} from '../../node';
import { packVectors, vectorAt } from '../../vectors/vectors';
import type { Call } from '../call';
import { bigIntegers } from '../input/collection';
import {
  Carried,
  carriedName,
  columnsOfFilter,
  idNamed,
  idsNamed,
  openSaved,
  partsOf,
  refuseOtherSettings,
  type SavedIndex,
  wordParts,
} from '../input/index-folder';
import { sourceLike } from '../input/index-rows';
import { limitOf } from '../input/memory';
import { estimatedNearness, LEAST } from '../input/nearness';
import { rowsOfTexts, textHasherOf } from '../input/texts';
import { bytesText, counted, grouped } from '../output/figures';
import { isForPeople, openOutput } from '../output/rows';

/** Writes the neighbours of each query, in the order of the queries, nearest first. */
export async function run(call: Call): Promise<0 | 1> {
  const [path] = call.args;
  if (path === undefined) call.misuse('an index folder is missing');
  if (call.args.every((input) => input === '-') && call.args.length > 1) {
    call.misuse('stdin has the index or the queries, not both');
  }
  const folder = await openSaved(call, path);
  refuseOtherSettings(call, folder);
  const { bits, projection } = folder.options;
  const measure = measureOf(projection);
  const request = requestOf(call, { bits: bits as number, measure });
  const shown = shownColumns(call, folder);
  const filtered = columnsOfFilter(call, folder);
  const index = await opened(call, folder);
  const isLoaded = index instanceof SimHashIndex;
  const names = isLoaded ? [...shown, ...filtered] : filtered;
  const carried = await Carried.read(folder, index, names);
  const filter = call.text('filter');
  const allowed = filter === undefined ? null : carried.rowsThatMeet(filter);
  const out = await openOutput(call, { inputs: call.args, header: { kind: 'matches' } });
  /** The columns of queries that have no neighbours, while none had any. */
  let empty: Record<string, ColumnData> | null = null;
  let isEmpty = true;
  for await (const queries of queriesOf(call, folder, index)) {
    const results = await answers(call, index, { queries, allowed, ...request });
    const found = foundRows(queries.names, results, request.k);
    const isExact = isRankedExactly(index, queries, request);
    const columns: Record<string, ColumnData> = {
      query: columnOfIds(queries.kind, found, 'query'),
      rank: Int32Array.from(found, ({ rank }) => rank),
      id: columnOfIds(folder.idKind, found, 'id'),
      distance: Int32Array.from(found, ({ distance }) => distance),
      [isExact ? measure.name : estimatedName(measure)]: Float64Array.from(
        found,
        ({ similarity }) => similarity,
      ),
    };
    const rows = found.map(({ row }) => row);
    for (const name of shown) {
      const own = name in columns ? `row_${name}` : name;
      columns[own] = (
        isLoaded ? carried.valuesOf(name, rows) : (await index.columns([name], { rows }))[name]
      ) as ColumnData;
    }
    empty ??= columns;
    if (found.length === 0) continue; // its columns of values could be of another type
    isEmpty = false;
    await out.write(RowBatch.of(columns));
  }
  if (isEmpty && empty !== null) await out.write(RowBatch.of(empty));
  await out.close();
  if (!isLoaded) {
    if (call.has('explain')) call.say(memoryWords(index.figures));
    await index.close();
  }
  return 0;
}

/** The index in memory, or with --memory where it is. */
async function opened(call: Call, folder: SavedIndex): Promise<SearchedIndex> {
  const limit = limitOf(call, 'memory');
  return call.long<SearchedIndex>(`opening ${folder.path}`, (long) => {
    if (limit === null) return folder.index(long);
    return openIndex(folder.path, { memory: limit, ...(long.signal && { signal: long.signal }) });
  });
}

/** What was read of an index that stays in its folder, in a line. */
function memoryWords(figures: StoredFigures): string {
  const { memory, reads, bytesRead, partitionHits, partitionMisses, evictions } = figures;
  return [
    `${bytesText(bytesRead)} read in ${counted(reads, 'range')}` +
      ` of at most ${bytesText(memory)} held`,
    `${grouped(partitionHits)} of ${grouped(partitionHits + partitionMisses)}` +
      ' partitions were held',
    `${grouped(evictions)} made room`,
  ].join(', ');
}

/** An index in memory, or one whose rows stay in their folder. */
type SearchedIndex = SimHashIndex | StoredIndex;

/** How to search: the options of the call. */
interface SearchRequest {
  /** Most rows of an answer. */
  readonly k: number;
  /** Undefined where the nearest rows are wanted, however far they are. */
  readonly maxDistance: number | undefined;
  readonly rank: Rank | undefined;
  /** Share of each query's neighbours that must be found. */
  readonly recall: number | undefined;
}

/** Without a distance or a cosine the nearest rows are wanted; a cosine is taken as a distance. */
function requestOf(call: Call, made: { bits: number; measure: Measure }): SearchRequest {
  const isWithin = ['max-distance', ...LEAST].some((name) => call.has(name));
  const { maxDistance } = isWithin ? estimatedNearness(call, made) : {};
  const rank = call.text('rank') as Rank | undefined;
  if (isWithin && rank !== undefined && rank !== 'hamming') {
    call.misuse(
      `--max-distance and --${LEAST.join(', --')} rank by distance: leave out --rank ${rank}`,
    );
  }
  const k = call.number('k') ?? (isWithin ? Number.MAX_SAFE_INTEGER : 10);
  const recall = call.number('recall');
  if (isWithin && recall !== undefined) {
    call.misuse(`--max-distance and --${LEAST.join(', --')} miss nothing: leave out --recall`);
  }
  return { k, maxDistance, rank, recall };
}

/** The columns of `--columns`; without it, on a terminal, the first of texts. */
function shownColumns(call: Call, folder: SavedIndex): readonly string[] {
  if (call.has('columns')) {
    return call.list('columns').map((name) => carriedName(call, folder, name));
  }
  const text = folder.columnInfo.find(({ fits }) => fits.includes('text'));
  return isForPeople(call) && text !== undefined ? [text.name] : [];
}

interface Asked extends SearchRequest {
  readonly queries: Queries;
  /** The rows that --filter lets through; null for all. */
  readonly allowed: Uint32Array | null;
}

/** An answer for each query: all at once, or one by one with --explain, which times each. */
async function answers(call: Call, index: SearchedIndex, asked: Asked): Promise<SearchResult[]> {
  const { queries, allowed, k, maxDistance, rank, recall } = asked;
  const self = queries.self && new Set(queries.self);
  const filter =
    allowed?.filter((row) => !self?.has(row)) ??
    (self ? (_: unknown, row: number) => !self.has(row) : undefined);
  const nearest = { filter, k, rank, recall };
  const within = { filter, maxDistance: maxDistance ?? 0 };
  const isNearest = maxDistance === undefined;
  if (!call.has('explain')) {
    return call.long('searching', (long) =>
      isNearest
        ? allAsync(index).searchAll(queries.vectors, { ...nearest, ...long })
        : allAsync(index).withinAll(queries.vectors, { ...within, ...long }),
    );
  }
  const results: SearchResult[] = [];
  for (const [i, name] of queries.names.entries()) {
    const query = queryAt(queries, i);
    const found =
      query === null
        ? NOTHING
        : isNearest
          ? await index.search(query, { ...nearest, explain: true })
          : await index.within(query, { ...within, explain: true });
    if (found.explain) call.say(`query ${name}: ${explained(found.explain)}`);
    results.push(found);
  }
  return results;
}

/** The calls of many queries that do not stop the event loop, by one name for both places. */
function allAsync(index: SearchedIndex): Pick<StoredIndex, 'searchAll' | 'withinAll'> {
  if (!(index instanceof SimHashIndex)) return index;
  return {
    searchAll: (queries, options) => index.searchAllAsync(queries, options),
    withinAll: (queries, options) => index.withinAllAsync(queries, options),
  };
}

/** The answer to a query without a code. */
const NOTHING: SearchResult = {
  ...{ rows: new Uint32Array(), ids: [], distances: new Uint16Array() },
  ...{ cosines: null, estimatedCosines: new Float64Array(), rank: 'hamming' },
};

/** What was done for a query, in a line. */
function explained(done: Explanation) {
  const { method, why, codesCompared, reranked, probes, milliseconds, read } = done;
  const { expectedMissing } = done;
  return [
    `method ${method} (${why})`,
    `${codesCompared} codes compared`,
    ...(probes > 0 ? [`${probes} partitions visited`] : []),
    ...(reranked > 0 ? [`${reranked} rows ranked by cosine`] : []),
    ...(expectedMissing === null ? [] : [`${expectedMissing.toFixed(2)} probably missing`]),
    ...(read ? [`${bytesText(read.bytes)} read in ${counted(read.ranges, 'range')}`] : []),
    `${milliseconds.find.toFixed(2)} ms to find, ${milliseconds.rank.toFixed(2)} ms to rank`,
  ].join(', ');
}

/** The neighbours of all queries, at most `k` of each. */
function foundRows(names: readonly Id[], results: readonly SearchResult[], k: number) {
  return results.flatMap((result, i) => {
    const { rows, ids, distances } = result;
    const similarities = similaritiesOf(result);
    return Array.from(rows.subarray(0, k), (row, j) => {
      const figures = { row, distance: distances[j], similarity: similarities[j] };
      return { query: names[i], rank: j + 1, id: ids[j], ...figures };
    });
  });
}

/** True where the similarities of the answers are those of held vectors. */
function isRankedExactly(
  index: SearchedIndex,
  { vectors }: Queries,
  { maxDistance, rank = 'exact' }: SearchRequest,
): boolean {
  const isByVectors = index.vectors !== 'none' && !(vectors instanceof Codes);
  return isByVectors && rank === 'exact' && maxDistance === undefined;
}

/** Ids as a column of the type of their kind: row numbers and small ids as numbers. */
function columnOfIds<K extends string>(
  kind: IdKind | null,
  found: readonly Record<K, Id>[],
  name: K,
): ColumnData {
  const ids = found.map((one) => one[name]);
  if (kind === 'string') return ids as string[];
  return kind === 'bigint' ? bigIntegers(ids as bigint[]) : Float64Array.from(ids as number[]);
}

/** Some queries, all of one kind. */
interface Queries {
  readonly names: readonly Id[];
  readonly kind: IdKind | null;
  readonly vectors: DenseMatrix | SparseMatrix | Codes;
  /** The rows of the index that the queries are, which do not find themselves. */
  readonly self: readonly number[] | null;
}

/** The queries of the call: exactly one of QUERIES, --row-id and --query must be given. */
async function* queriesOf(
  call: Call,
  folder: SavedIndex,
  index: SearchedIndex,
): AsyncGenerator<Queries> {
  const [, input] = call.args;
  const ways = [call.has('query'), call.has('row-id'), input !== undefined].filter(Boolean);
  if (call.args.length > 2) call.misuse('expected an index folder and at most one file of queries');
  if (ways.length !== 1) {
    call.misuse('say what to search for: QUERIES (a file, or -), --row-id IDS or --query TEXT');
  }
  if (call.has('query')) yield await textQuery(call, folder, index);
  else if (call.has('row-id')) yield* rowQueries(call, folder, index);
  else yield* fileQueries(call, folder, input);
}

/** The text of --query, read as the texts of the index were. */
async function textQuery(
  call: Call,
  folder: SavedIndex,
  { hasher: like }: SearchedIndex,
): Promise<Queries> {
  if (folder.text === null) {
    call.fail(`${folder.path} was not made of texts: search by --row-id, or by a file of vectors`);
  }
  const frequencies = await folder.frequencies();
  const hasher = await textHasherOf(call, { settings: folder.text, frequencies }, like);
  const text = call.text('query') as string;
  const [vectors] = rowsOfTexts(hasher, [text]);
  if (vectors.values.length === 0) call.fail(`--query has no words that count: ${text}`);
  return { names: [0], kind: 'row', vectors, self: null };
}

/** Rows of the index, each a query by its vector where the index holds it, else by its code. */
async function* rowQueries(
  call: Call,
  { idKind: kind }: SavedIndex,
  index: SearchedIndex,
): AsyncGenerator<Queries> {
  const words = call.list('row-id');
  const ids = index instanceof SimHashIndex ? index : await idsAmong(index, words);
  for (const part of words.flatMap((word) => partsOf(call, ids, word))) {
    const id = idNamed(ids, part) ?? call.fail(`the index has no row of the id ${part}`);
    const row = await index.get(id);
    if (row === undefined || row.code === null) {
      call.fail(`the row of the id ${id} has no code, and no neighbours`);
    }
    const { code, vector } = row;
    const vectors =
      vector === null ? Codes.from(code, { bits: index.bits }) : packVectors([vector]);
    yield { names: [row.id], kind, vectors, self: [row.row] };
  }
}

/** The ids of a stored index among those that words may name. */
async function idsAmong(index: StoredIndex, words: readonly string[]): Promise<Set<Id>> {
  const there = new Set<Id>();
  const named = words.flatMap((word) => [word, ...wordParts(word)]);
  for (const id of named.flatMap(idsNamed)) {
    if ((await index.get(id)) !== undefined) there.add(id);
  }
  return there;
}

/** The rows of a file; says how many have no code. */
async function* fileQueries(
  call: Call,
  folder: SavedIndex,
  input: string,
): AsyncGenerator<Queries> {
  const source = await sourceLike(call, input, folder);
  await source.narrow([]);
  let without = 0;
  for await (const batch of source) {
    const ids = source.idsOf(batch);
    for (const { firstRow, count, vectors } of source.piecesOf(batch)) {
      const names = Array.from({ length: count }, (_, i) => {
        return ids === null ? firstRow + i : (ids[firstRow + i - batch.firstRow] as Id);
      });
      for (let i = 0; i < count; i++) without += Number(isMissing(vectors, i));
      yield { names, kind: kindOf(ids), vectors, self: null };
    }
  }
  if (without === 0) return;
  const which = without === 1 ? '1 query has' : `${without} queries have`;
  call.say(`${which} ${source.whyNull}, and no neighbours`);
}

/** The kind of ids of a column, which may have no rows; null stands for their numbers. */
function kindOf(ids: Ids | null): IdKind {
  if (ids === null) return 'row';
  if (Array.isArray(ids)) return 'string';
  return ids instanceof BigInt64Array || ids instanceof BigUint64Array ? 'bigint' : 'number';
}

/** One of the queries, by itself; null where it has no code. */
function queryAt({ vectors }: Queries, i: number): Vector | Uint8Array | null {
  if (isMissing(vectors, i)) return null;
  return 'bytesPerCode' in vectors ? vectors.at(i) : vectorAt(vectors, i);
}
