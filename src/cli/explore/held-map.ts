/**
 * What a page in one file holds of the rows: their places on the map, and a card and the code of
 * each, by which the page searches without a server. Of many rows it holds a sample.
 */

import { drawnNumbers } from '../../base/draw';
import type { Held } from '../../explorer/messages';
import type { MapOptions, PlacedRows } from '../../map/map-rows';
import { heldOf } from '../../measure/measured-rows';
import type { Call } from '../call';
import type { Explored } from './explored';
import { mapAnswer, newMap, packed, storedMap } from './map-file';

/** Rows of a page, at most: a few megabytes with cards of usual texts. */
const MAX_ROWS = 10_000;

/**
 * The map of the rows, or of a sample of MAX_ROWS. Cards and codes are in the order of the map's
 * rows. Reads the stored map of an index folder, or makes one.
 */
export async function heldMap(
  call: Call,
  explored: Explored,
  options: MapOptions,
): Promise<Pick<Held, 'map' | 'cards' | 'codes'>> {
  const stored = await storedMap(explored, options);
  const all = stored ?? (await newMap(call, explored, options));
  const placed = sampled(all, options.seed);
  const { rows } = placed;
  return {
    map: rows.length === 0 ? null : mapAnswer(explored, placed),
    cards: explored.cardsOf([...rows]),
    codes: packed(heldOf(explored.index, rows).codes.bytes),
  };
}

/** At most MAX_ROWS of the placed rows, drawn by `seed`, still ascending. */
function sampled(placed: PlacedRows, seed: number): PlacedRows {
  if (placed.rows.length <= MAX_ROWS) return placed;
  const at = drawnNumbers(placed.rows.length, MAX_ROWS, seed);
  return {
    rows: Uint32Array.from(at, (i) => placed.rows[i]),
    x: Float32Array.from(at, (i) => placed.x[i]),
    y: Float32Array.from(at, (i) => placed.y[i]),
    labels: Uint8Array.from(at, (i) => placed.labels[i]),
    exemplars: Uint8Array.from(at, (i) => placed.exemplars[i]),
  };
}
