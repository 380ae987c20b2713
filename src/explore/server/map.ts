/**
 * The map as the page shows it, with names and sizes of its clusters; and as rows that Embedding
 * Atlas opens (`--x x --y y --neighbors neighbors`): id and columns of each row, its place and its
 * cluster, and near rows by their numbers in the file.
 */

import { concatenated } from '../../base/arrays';
import { drawnNumbers } from '../../base/random';
import { namingSample, wordsApart } from '../../clusters/describe';
import { parquetEncoder } from '../../formats/parquet/parquet-out';
import { type ColumnData, RowBatch } from '../../node';
import { freeNames } from '../../table/row-batch';
import type { PlacedRows } from '../layout/map-rows';
import type { HeldMap, MapAnswer } from '../messages';
import type { Explored } from './explored';

/** The largest place on the longer side of a map, in the page's units. */
const WIDTH = 65_535;
/** Characters of a name that is the beginning of a text. */
const NAME = 40;

export function mapAnswer(explored: Explored, placed: Omit<PlacedRows, 'neighbors'>): MapAnswer {
  const members = placed.exemplars.map((): number[] => []);
  placed.labels.forEach((label, i) => {
    members[label].push(i);
  });
  const rows = members.map((points) => points.map((point) => placed.rows[point]));
  const names = clusterNames(explored, placed.exemplars, rows);
  const [x, y] = scaled(placed);
  const medianOf = (values: Uint16Array, points: readonly number[]) =>
    Uint16Array.from(points, (point) => values[point]).sort()[points.length >> 1] ?? 0;
  return {
    rows: [...placed.rows],
    x: [...x],
    y: [...y],
    labels: [...placed.labels],
    clusters: members.map((points, cluster) => {
      const middle = { x: medianOf(x, points), y: medianOf(y, points) };
      return { name: names[cluster], size: points.length, ...middle };
    }),
  };
}

/** Share of the rows at each end of an axis that are drawn nearer, and their part of its length. */
const FAR = { share: 0.03, room: 0.15 } as const;

/**
 * Places in 0..65,535, with the same scale for both axes. Rows far from the others are drawn nearer
 * to them, in the same order; else a few of them would leave little of the map to the rest.
 */
function scaled({ x, y }: Pick<PlacedRows, 'x' | 'y'>): Uint16Array[] {
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
  const longest = Math.max(...sides.map(({ length }) => length)) || 1;
  return sides.map(({ drawn, from, length }) => {
    const shift = (longest - length) / 2 - from;
    return Uint16Array.from(drawn, (value) =>
      Math.max(0, Math.min(WIDTH, Math.round((WIDTH * (value + shift)) / longest))),
    );
  });
}

/**
 * By cluster its name: the words that set its texts apart; without such words the beginning of the
 * text of its first exemplar; for rows without texts the names of its exemplars.
 */
function clusterNames(
  explored: Explored,
  exemplars: readonly Uint32Array[],
  members: readonly (readonly number[])[],
): string[] {
  const { index, textColumn, nameColumn } = explored;
  if (textColumn === null) {
    return exemplars.map((rows) => {
      if (nameColumn !== null) return explored.textsOf([...rows], nameColumn).join(', ');
      return Array.from(rows, (row) => index.idOf(row)).join(', ');
    });
  }
  const apart = wordsApart(members.map((some) => explored.textsOf(namingSample(some))));
  return apart.map((words, cluster) => {
    if (words.length > 0) return words.join(' · ');
    return explored.textsOf([...exemplars[cluster].subarray(0, 1)])[0]?.slice(0, NAME) ?? '';
  });
}

/** Rows on the map of a page in one file, at most: a few megabytes with cards of usual texts. */
const MAX_ROWS = 10_000;

/** The map of placed rows for a page in one file; of many rows a sample. Null without rows. */
export function heldMap(explored: Explored, all: PlacedRows): HeldMap | null {
  if (all.rows.length === 0) return null;
  const at = drawnNumbers(all.rows.length, MAX_ROWS, 0);
  const rows = Uint32Array.from(at, (i) => all.rows[i]);
  const placed = {
    rows,
    x: Float32Array.from(at, (i) => all.x[i]),
    y: Float32Array.from(at, (i) => all.y[i]),
    labels: Uint8Array.from(at, (i) => all.labels[i]),
    exemplars: all.exemplars,
  };
  return { ...mapAnswer(explored, placed), cards: explored.cardsOf([...rows]) };
}

/** Columns of the map next to carried ones. */
const OWN_COLUMNS = ['id', 'x', 'y', 'cluster', 'label', 'neighbors'];

/** The Parquet file of a map. */
export async function atlasFile(explored: Explored, placed: PlacedRows): Promise<Uint8Array> {
  const { rows, x, y, labels } = placed;
  const carried = explored.columnsOf(rows);
  const names = mapAnswer(explored, placed).clusters.map(({ name }) => name);
  const given = (carried?.columns ?? []).map(({ name }) => name);
  const free = freeNames(given, OWN_COLUMNS);
  const columns = given.map((name, i) => [free[i], carried?.column(name)]);
  const batch = RowBatch.of({
    id: Array.from(rows, (row) => explored.index.idOf(row)) as ColumnData,
    ...(Object.fromEntries(columns) as Record<string, ColumnData>),
    x,
    y,
    cluster: Int32Array.from(labels),
    label: Array.from(labels, (cluster) => names[cluster]),
  });
  const encoder = await parquetEncoder(placed.neighbors);
  return concatenated([...(await encoder.encode(batch)), ...(await encoder.finish())]);
}
