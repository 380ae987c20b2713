/**
 * The map as the page shows it, with names of its clusters, and colours of its rows by a column.
 * That of an index folder is stored next to the folder, as an Arrow table that other programs can
 * open: row, x, y, cluster, exemplar and a checksum of the row's code, by which a map of other rows
 * is recognized and made again.
 */

import type { Call } from '../../cli/call';
import { namingSample, wordsApart } from '../../cli/output/cluster-words';
import { checksOfRows, NULL_CHECK } from '../../groups/plan';
import { createRows, openRows, RowBatch } from '../../node';
import { mappedRows, mapRows, type PlacedRows } from '../layout/map-rows';
import type { ColoursAnswer, MapAnswer } from '../messages';
import { packed } from '../packed';
import type { Explored } from './explored';

/** The largest place on the longer side of a map, in the page's units. */
const WIDTH = 65_535;
/** Ids in the name of a cluster, at most. */
const NAME_PARTS = 3;
/** Columns of the file; `PlacedRows` and `checksOfRows` say what they hold. */
const COLUMNS = ['row', 'x', 'y', 'cluster', 'exemplar', 'check'] as const;

/**
 * Places the rows, in as many clusters as suit their number or as --clusters says. Reads the map
 * that is stored next to an index folder, or makes and stores it; says where storing fails.
 */
export async function placedRows(call: Call, { folder, index, path }: Explored) {
  const clusters = call.number('clusters');
  if (folder === null || clusters !== undefined) return mapRows(index, clusters, call.long);
  const file = `${path.replace(/[/\\]+$/, '')}-map.arrow`; // docs.hs-map.arrow for docs.hs
  const checks = checksOfRows(index);
  const stored = await readMap(file, checks);
  if (stored !== null) return stored;
  const placed = await mapRows(index, clusters, call.long);
  await writeMap(file, placed, checks).catch((error) => {
    call.say(`the map is not stored: ${error.message}`);
  });
  return placed;
}

/** Writes a map; the file is there whole or not at all, and replaces an older one. */
async function writeMap(path: string, placed: PlacedRows, checks: Uint32Array): Promise<void> {
  const { rows, x, y, labels, exemplars } = placed;
  const writer = await createRows(path, { format: 'arrow', force: true });
  try {
    const check = rows.map((row) => checks[row]);
    const columns = { row: rows, x, y, cluster: labels, exemplar: exemplars, check };
    await writer.write(RowBatch.of(columns));
    await writer.close();
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

/** Reads a map; null if the file is missing, cannot be read, or is of other rows than `checks`. */
async function readMap(path: string, checks: Uint32Array): Promise<PlacedRows | null> {
  try {
    const batches: RowBatch[] = [];
    for await (const batch of await openRows(path, { columns: [...COLUMNS] })) batches.push(batch);
    const all = RowBatch.join(batches);
    // The arrays as they are in the file: reading values one by one takes a second for 1,000,000.
    const of = (name: string) => all.chunk(name).data.values;
    const rows = Uint32Array.from(of('row'));
    const check = of('check');
    const withCode = checks.reduce((sum, one) => sum + Number(one !== NULL_CHECK), 0);
    if (rows.length !== withCode || rows.some((row, i) => checks[row] !== check[i])) return null;
    return {
      rows,
      x: Float32Array.from(of('x')),
      y: Float32Array.from(of('y')),
      labels: Uint8Array.from(of('cluster')),
      exemplars: Uint8Array.from(of('exemplar')),
    };
  } catch {
    return null;
  }
}

/** A map as an answer to the page, with names and sizes of its clusters. */
export function mapAnswer(explored: Explored, placed: PlacedRows): MapAnswer {
  const members: number[][] = [];
  placed.labels.forEach((label, i) => {
    members[label] ??= [];
    members[label].push(i);
  });
  const some = Array.from(members, (own) => own ?? []);
  const names = clusterNames(explored, placed, some);
  const [x, y] = scaled(placed).map(packed);
  return {
    rows: packed(placed.rows),
    x,
    y,
    labels: packed(placed.labels),
    clusters: some.map(({ length: size }, cluster) => ({ name: names[cluster], size })),
  };
}

/** Share of the rows at each end of an axis that are drawn nearer, and their part of its length. */
const FAR = { share: 0.03, room: 0.15 } as const;

/**
 * Places in 0..65,535, with the same scale for both axes. Rows far from the others are drawn nearer
 * to them, in the same order; else a few of them would leave little of the map to the rest.
 */
function scaled({ x, y }: PlacedRows): [Uint16Array, Uint16Array] {
  const sides = [x, y].map((values) => {
    const sorted = values.slice().sort();
    const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
    const [low, high] = [at(FAR.share), at(1 - FAR.share)];
    const room = FAR.room * (high - low);
    // Maps 0..∞ to 0..room, with slope 1 at 0, so that there is no step where it begins.
    const near = (beyond: number) => (room === 0 ? beyond : (room * beyond) / (room + beyond));
    const drawn = values.map((value) => {
      if (value > high) return high + near(value - high);
      return value < low ? low - near(low - value) : value;
    });
    const from = low - near(low - at(0));
    return { drawn, from, length: high + near(at(1) - high) - from };
  });
  const longest = Math.max(sides[0].length, sides[1].length) || 1;
  const [across, up] = sides.map(({ drawn, from, length }) => {
    const shift = (longest - length) / 2 - from;
    const places = new Uint16Array(drawn.length);
    for (let i = 0; i < places.length; i++) {
      places[i] = Math.max(0, Math.min(WIDTH, Math.round((WIDTH * (drawn[i] + shift)) / longest)));
    }
    return places;
  });
  return [across, up];
}

/**
 * By cluster its name: the words that set its texts apart; without such words the beginning of the
 * text of its first exemplar; for rows without texts the ids of its exemplars.
 */
function clusterNames(
  explored: Explored,
  { rows, exemplars }: PlacedRows,
  members: readonly (readonly number[])[],
): string[] {
  const exemplarsOf = (some: readonly number[]) =>
    some
      .filter((i) => exemplars[i] > 0)
      .sort((a, b) => exemplars[a] - exemplars[b])
      .slice(0, NAME_PARTS)
      .map((i) => rows[i]);
  if (explored.textColumn === null) {
    const idOf = (row: number) => explored.index.idOf(row);
    return members.map((some) => exemplarsOf(some).map(idOf).join(', '));
  }
  const apart = wordsApart(textsOfClusters());
  function* textsOfClusters() {
    for (const some of members) yield explored.textsOf(namingSample(some).map((i) => rows[i]));
  }
  return members.map((some, cluster) => {
    if (apart[cluster].length > 0) return apart[cluster].join(' · ');
    return explored.textsOf(exemplarsOf(some).slice(0, 1))[0]?.slice(0, 40) ?? '';
  });
}

/** Most categories that have their own colour, the most frequent ones; the others share one. */
const CATEGORIES = 8;

/**
 * A column as colours, for each row of the map in its order: numbers of more than CATEGORIES
 * different values by a range, everything else by categories.
 */
export function coloursOf({ index, carried }: Explored, column: string): ColoursAnswer {
  const values = carried.valuesOf(column, mappedRows(index));
  const known = values.filter((value) => value !== null && value !== undefined);
  const counts = new Map<string, number>();
  for (const value of known) counts.set(String(value), (counts.get(String(value)) ?? 0) + 1);
  const areNumbers = known.every((value) => typeof value === 'number' || typeof value === 'bigint');
  if (areNumbers && counts.size > CATEGORIES) return rangeOf(values);
  const names = [...counts]
    .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .slice(0, CATEGORIES)
    .map(([name]) => name);
  const places = new Map(names.map((name, i) => [name, i]));
  const isOther = counts.size > names.length || known.length < values.length;
  return {
    values: packed(Uint8Array.from(values, (value) => places.get(String(value)) ?? names.length)),
    names: isOther ? [...names, 'other'] : names,
    low: 0,
    high: 0,
  };
}

/**
 * Numbers as 0..255 of the range from their 2nd to their 98th percentile, so that a few outliers do
 * not take most of the colours. Missing values and NaN get 0.
 */
function rangeOf(values: readonly unknown[]): ColoursAnswer {
  const numbers = Float64Array.from(values, (value) =>
    value === null ? Number.NaN : Number(value),
  );
  const sorted = numbers.filter(Number.isFinite).sort();
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  const [low, high] = [at(0.02), at(0.98)];
  const width = high - low || 1;
  const scaledTo = (value: number) =>
    Number.isFinite(value)
      ? Math.max(0, Math.min(255, Math.round((255 * (value - low)) / width)))
      : 0;
  return { values: packed(Uint8Array.from(numbers, scaledTo)), names: null, low, high };
}
