/** The map as the page shows it, with names and sizes of its clusters. */

import { drawnNumbers } from '../../base/random';
import { namingSample, wordsApart } from '../../clusters/describe';
import type { PlacedRows } from '../layout/map-rows';
import type { HeldMap, MapAnswer } from '../messages';
import type { Explored } from './explored';

/** The largest place on the longer side of a map, in the page's units. */
const WIDTH = 65_535;
/** Characters of a name that is the beginning of a text. */
const NAME = 40;

export function mapAnswer(explored: Explored, placed: PlacedRows): MapAnswer {
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
  const placed = all.rows.length <= MAX_ROWS ? all : sampled(all);
  if (placed.rows.length === 0) return null;
  return {
    ...mapAnswer(explored, placed),
    cards: explored.cardsOf([...placed.rows]),
  };
}

/** MAX_ROWS of the placed rows, drawn at random, still ascending. */
function sampled(all: PlacedRows): PlacedRows {
  const at = drawnNumbers(all.rows.length, MAX_ROWS, 0);
  return {
    rows: Uint32Array.from(at, (i) => all.rows[i]),
    x: Float32Array.from(at, (i) => all.x[i]),
    y: Float32Array.from(at, (i) => all.y[i]),
    labels: Uint8Array.from(at, (i) => all.labels[i]),
    exemplars: all.exemplars,
  };
}
