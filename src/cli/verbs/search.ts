/**
 * `halfspace search`: the nearest rows of an index, for each query. Writes one row for each
 * neighbour: query, rank, id, distance, a similarity, and carried columns. The index is loaded, or
 * with --memory stays in its files.
 */

import { estimatedName, type Measure, measureOf } from '../../codes/measure';
import type { IdKind } from '../../index/id-table';
import { similaritiesOf } from '../../index/search';
import {
  Codes,
  type ColumnData,
  type Explanation,
  type Id,
  openIndex,
  type Rank,
  RowBatch,
  type SearchResult,
  SimHashIndex,
  type StoredFigures,
  type StoredIndex,
} from '../../node';
import type { Call } from '../call';
import { bigIntegers } from '../input/collection';
import {
  Carried,
  carriedName,
  carriedReader,
  columnsOfFilter,
  openSaved,
  type SavedIndex,
} from '../input/index-folder';
import { estimatedNearness, LEAST } from '../input/nearness';
import { bytesText, counted, grouped } from '../output/figures';
import { openOutput } from '../output/rows';
import { type Queries, queriesOf, queryAt, type SearchedIndex } from './search-queries';

/** Writes the neighbours of each query: in the order of the queries, nearest first. */
export async function run(call: Call): Promise<0 | 1> {
  const [path] = call.args;
  if (path === undefined) call.misuse('an index folder is missing');
  if (call.args.every((input) => input === '-') && call.args.length > 1) {
    call.misuse('stdin has the index or the queries, not both');
  }
  const folder = await openSaved(call, path);
  const { bits, projection } = folder.options;
  const measure = measureOf(projection);
  const request = requestOf(call, { bits: bits as number, measure });
  const shown = shownColumns(call, folder);
  const filtered = columnsOfFilter(call, folder);
  const index = await opened(call, folder);
  // The filter needs its columns for all rows; columns to show are read for rows that are found.
  const carried = await Carried.read(folder, index, filtered);
  const columnsOf = await carriedReader(folder, index, shown);
  const filter = call.text('filter');
  const allowed = filter === undefined ? null : carried.rowsThatMeet(filter);
  const out = await openOutput(call, { inputs: call.args, header: { kind: 'matches' } });
  // A batch without rows, written if no query has a neighbour: it gives the output its columns.
  let empty: RowBatch | null = null;
  for await (const queries of queriesOf(call, folder, index)) {
    const work = () => answers(call, index, { queries, allowed, ...request });
    const results = await (queries.named?.(work) ?? work());
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
    // A carried column that is called like one of the above gets the prefix `row_`.
    const own = await columnsOf(Uint32Array.from(found, ({ row }) => row));
    for (const name of shown) {
      columns[name in columns ? `row_${name}` : name] = own.column(name);
    }
    const batch = RowBatch.of(columns);
    if (found.length === 0) empty ??= batch;
    else await out.write(batch);
  }
  if (out.rowCount === 0 && empty !== null) await out.write(empty);
  await out.close();
  if (!(index instanceof SimHashIndex)) {
    if (call.has('explain')) call.say(memoryWords(index.figures));
    await index.close();
  }
  return 0;
}

/** Loads the index; with --memory opens it in its folder, and reads what searches need. */
async function opened(call: Call, folder: SavedIndex): Promise<SearchedIndex> {
  const limit = call.number('memory');
  const segments = segmentsOf(call);
  return call.long<SearchedIndex>(`opening ${folder.path}`, (long) => {
    if (limit === undefined) return folder.index(long);
    const own = { memory: limit, segments, ...(long.signal && { signal: long.signal }) };
    return openIndex(folder.path, own);
  });
}

/** `--segments 0-3` as the places of the first and the last segment to search. */
function segmentsOf(call: Call): [number, number] | undefined {
  const text = call.text('segments');
  if (text === undefined) return undefined;
  const found = /^(\d+)-(\d+)$/.exec(text);
  if (found === null) call.misuse(`--segments takes two places as 0-3, got ${text}`);
  if (!call.has('memory')) call.misuse('--segments is for --memory');
  return [Number(found[1]), Number(found[2])];
}

/** What searches read of an index in its folder, as a line for --explain. */
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

/** How to search, by the options of the call. */
interface SearchRequest {
  /** Rows of an answer, at most. */
  readonly k: number;
  /** All rows within this distance; undefined for the k nearest, however far they are. */
  readonly maxDistance: number | undefined;
  readonly rank: Rank | undefined;
  /** Share of the true neighbours to find; undefined for the setting that the index has. */
}

/**
 * The 10 nearest rows or those of -k; with --max-distance, --min-cosine or --min-jaccard all rows
 * within a distance, by which a similarity is estimated. Refuses options that exclude each other.
 */
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
  return { k, maxDistance, rank };
}

/**
 * The carried columns to show: those of `--columns`, where `none` is none unless a column has that
 * name; by default the first column of texts.
 */
function shownColumns(call: Call, folder: SavedIndex): readonly string[] {
  if (call.has('columns')) {
    const names = call.list('columns');
    const isNone = names.length === 1 && names[0] === 'none';
    if (isNone && !folder.columnInfo.some(({ name }) => name === 'none')) return [];
    return names.map((name) => carriedName(call, folder, name));
  }
  const text = folder.columnInfo.find(({ fits }) => fits.includes('text'));
  return text === undefined ? [] : [text.name];
}

/** A search for some queries. */
interface Asked extends SearchRequest {
  readonly queries: Queries;
  /** The rows that --filter lets through; null for all. */
  readonly allowed: Uint32Array | null;
}

/**
 * An answer for each query, in their order. One call searches for all queries; with --explain there
 * is a call for each, which is timed and explained.
 */
async function answers(call: Call, index: SearchedIndex, asked: Asked): Promise<SearchResult[]> {
  const { queries, allowed, k, maxDistance, rank } = asked;
  // A query that is a row of the index does not find itself.
  const self = queries.self && new Set(queries.self);
  const filter =
    allowed?.filter((row) => !self?.has(row)) ??
    (self ? (_: unknown, row: number) => !self.has(row) : undefined);
  const nearest = { filter, k, rank };
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

/**
 * Searches for many queries that let the event loop run, under the names that `StoredIndex` has;
 * an index in memory has synchronous methods of these names.
 */
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

/** A line for --explain: by which method a query was answered, why, what it did and how long. */
function explained(done: Explanation) {
  const { method, why, codesCompared, reranked, probes, milliseconds, read } = done;
  return [
    `method ${method} (${why})`,
    `${codesCompared} codes compared`,
    ...(probes > 0 ? [`${probes} partitions visited`] : []),
    ...(reranked > 0 ? [`${reranked} rows ranked by cosine`] : []),
    ...(read ? [`${bytesText(read.bytes)} read in ${counted(read.ranges, 'range')}`] : []),
    `${milliseconds.find.toFixed(2)} ms to find, ${milliseconds.rank.toFixed(2)} ms to rank`,
  ].join(', ');
}

/** A record for each neighbour of each query, at most `k` of one; ranks count from 1. */
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

/** True if similarities are exact: of vectors that the index holds, not estimated from codes. */
function isRankedExactly(
  index: SearchedIndex,
  { vectors }: Queries,
  { maxDistance, rank = 'exact' }: SearchRequest,
): boolean {
  const isByVectors = index.vectors !== 'none' && !(vectors instanceof Codes);
  return isByVectors && rank === 'exact' && maxDistance === undefined;
}

/** The ids in field `name` as a column: texts, 64-bit integers, or float64 of rows and numbers. */
function columnOfIds<K extends string>(
  kind: IdKind | null,
  found: readonly Record<K, Id>[],
  name: K,
): ColumnData {
  const ids = found.map((one) => one[name]);
  if (kind === 'string') return ids as string[];
  return kind === 'bigint' ? bigIntegers(ids as bigint[]) : Float64Array.from(ids as number[]);
}
