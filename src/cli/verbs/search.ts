/** The nearest rows of an index, for each of the queries: one row out for each that is found. */

import {
  type ColumnData,
  type Explanation,
  type Id,
  type IndexFolder,
  type Rank,
  RowBatch,
  type SearchResult,
  type SimHashIndex,
} from '../../node';
import type { Call } from '../call';
import { Carried, carriedName, columnsOfFilter } from '../input/carried';
import { openFolder, refuseOtherSettings } from '../input/index-folder';
import { nearnessOf } from '../input/nearness';
import { type Queries, queriesOf, queryAt } from '../input/queries';
import { isForPeople, openOutput } from '../output/rows';

export async function run(call: Call): Promise<0 | 1> {
  const [path] = call.args;
  if (path === undefined) call.misuse('an index folder is missing');
  const folder = await openFolder(call, path);
  refuseOtherSettings(call, folder);
  const request = requestOf(call, folder.options.bits as number);
  const shown = shownColumns(call, folder);
  const filtered = columnsOfFilter(call, folder);
  const index = await call.long(`opening ${path}`, (long) => folder.index(long));
  const carried = await Carried.read(folder, index, [...shown, ...filtered]);
  const filter = call.text('filter');
  const allowed = filter === undefined ? null : carried.rowsThatMeet(filter);
  const out = await openOutput(call, { inputs: call.args });
  for await (const queries of queriesOf(call, folder, index)) {
    const results = await answers(call, index, { queries, request, allowed });
    await out.write(await rowsOf(queries, results, { most: request.k, shown, carried }));
  }
  await out.close();
  return 0;
}

interface SearchRequest {
  readonly k: number;
  readonly maxDistance: number | undefined;
  readonly rank: Rank | undefined;
  readonly isExplained: boolean;
}

/** Without a distance or a cosine the nearest rows are wanted; a cosine is taken as a distance. */
function requestOf(call: Call, bits: number): SearchRequest {
  const isWithin = call.has('max-distance') || call.has('min-cosine');
  const { maxDistance } = isWithin ? nearnessOf(call, { bits, hasVectors: false }) : {};
  const rank = call.text('rank') as Rank | undefined;
  if (isWithin && rank !== undefined && rank !== 'hamming') {
    call.misuse(`--max-distance and --min-cosine rank by distance: leave out --rank ${rank}`);
  }
  const all = isWithin ? Number.MAX_SAFE_INTEGER : 10;
  const k = call.number('k') ?? all;
  return { k, maxDistance, rank, isExplained: call.has('explain') };
}

/** Columns asked for; on a terminal the first of texts. */
function shownColumns(call: Call, folder: IndexFolder): readonly string[] {
  if (call.has('columns')) {
    return call.list('columns').map((name) => carriedName(call, folder, name));
  }
  const text = folder.columnInfo.find(({ fits }) => fits.includes('text'));
  return isForPeople(call) && text !== undefined ? [text.name] : [];
}

interface Asked {
  readonly queries: Queries;
  readonly request: SearchRequest;
  readonly allowed: Uint32Array | null;
}

async function answers(call: Call, index: SimHashIndex, asked: Asked): Promise<SearchResult[]> {
  const { queries, request, allowed } = asked;
  const { k, maxDistance, rank, isExplained } = request;
  const self = queries.self;
  const others = self === null ? null : new Set(self);
  const filter =
    allowed !== null
      ? allowed.filter((row) => !others?.has(row))
      : others && ((_: unknown, row: number) => !others.has(row));
  const common = { ...(filter !== null && { filter }), explain: isExplained };
  const within = { ...common, maxDistance: maxDistance ?? 0 };
  const nearest = { ...common, k, ...(rank !== undefined && { rank }) };
  if (isExplained) {
    return queries.names.map((name, i) => {
      const query = queryAt(queries, i);
      if (query === null) return NOTHING;
      const found =
        maxDistance === undefined ? index.search(query, nearest) : index.within(query, within);
      call.say(`query ${name}: ${explained(found.explain as Explanation)}`);
      return found;
    });
  }
  return call.long('searching', (long) => {
    return maxDistance === undefined
      ? index.searchAllAsync(queries.vectors, { ...nearest, ...long })
      : index.withinAllAsync(queries.vectors, { ...within, ...long });
  });
}

const NOTHING: SearchResult = {
  ...{ rows: new Uint32Array(), ids: [], distances: new Uint16Array() },
  ...{ cosines: new Float64Array(), rank: 'hamming' },
};

function explained({ method, why, codesCompared, reranked, probes, milliseconds }: Explanation) {
  const parts = [
    `method ${method} (${why})`,
    `${codesCompared} codes compared`,
    ...(probes > 0 ? [`${probes} partitions visited`] : []),
    ...(reranked > 0 ? [`${reranked} rows ranked by cosine`] : []),
    `${milliseconds.find.toFixed(2)} ms to find, ${milliseconds.rank.toFixed(2)} ms to rank`,
  ];
  return parts.join(', ');
}

interface Shown {
  /** Rows a query. */
  readonly most: number;
  readonly shown: readonly string[];
  readonly carried: Carried;
}

/** A row for each neighbour: the query, its rank, its id, distance and cosine, what is shown. */
async function rowsOf(
  { names }: Queries,
  results: readonly SearchResult[],
  { most, shown, carried }: Shown,
): Promise<RowBatch> {
  const query: Id[] = [];
  const ids: Id[] = [];
  const [rank, rows, distance, cosine]: number[][] = [[], [], [], []];
  results.forEach((result, i) => {
    for (let j = 0; j < Math.min(most, result.rows.length); j++) {
      query.push(names[i]);
      rank.push(j + 1);
      ids.push(result.ids[j]);
      rows.push(result.rows[j]);
      distance.push(result.distances[j]);
      cosine.push(result.cosines[j]);
    }
  });
  const columns: Record<string, ColumnData> = {
    query: columnOfIds(query),
    rank: Int32Array.from(rank),
    id: columnOfIds(ids),
    distance: Int32Array.from(distance),
    cosine: Float64Array.from(cosine),
  };
  for (const name of shown) {
    const own = name in columns ? `row_${name}` : name;
    columns[own] = carried.valuesOf(name, rows) as ColumnData;
  }
  return RowBatch.of(columns);
}

/** Row numbers and small ids as integers, whatever the first batch holds. */
function columnOfIds(ids: readonly Id[]): ColumnData {
  const isAll = (type: string) => ids.every((id) => typeof id === type);
  if (isAll('number')) return Float64Array.from(ids as number[]);
  return isAll('bigint') ? BigInt64Array.from(ids as bigint[]) : (ids as string[]);
}
