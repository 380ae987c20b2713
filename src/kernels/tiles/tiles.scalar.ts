/**
 * Blocks of queries against tiles of rows, both codes of one room, in plain loops: the reference
 * twin, and the contract that the others keep.
 */

import { distance } from '../hamming/hamming.scalar';
import { STEP_QUERIES, TILE_HIT, TILE_ROWS, type TileMemory } from './tile-memory';

export interface TileKernel {
  readonly name: string;

  /** Makes the codes from `first` to `end - 1`, at most `room.queries`, the queries. */
  ask(room: TileMemory, first: number, end: number): void;

  /**
   * Rows `row` to `end - 1`, at most TILE_ROWS, against the queries `first` to `endQuery - 1`, the
   * first of which is the first that was asked: those that are nearer than the limit of the query,
   * or than the highest limit of these rows. They lie in `room.hits` as (query, row, distance)
   * while `take` is called with their number, once for each STEP_QUERIES queries; limits are read
   * anew after each.
   */
  hitsOfTile(
    room: TileMemory,
    row: number,
    end: number,
    first: number,
    endQuery: number,
    take: (count: number) => void,
  ): void;
}

/** The highest limit of some rows. */
export function highestLimit({ limits }: TileMemory, row: number, end: number): number {
  let highest = 0;
  for (let i = row; i < end; i++) if (limits[i] > highest) highest = limits[i];
  return highest;
}

export const scalarTiles: TileKernel = {
  name: 'scalar',

  ask() {},

  hitsOfTile(room, row, end, first, endQuery, take) {
    const { codes, stride, limits, hits } = room;
    if (end - row > TILE_ROWS) throw new RangeError(`a tile has ${TILE_ROWS} rows at most`);
    for (let from = first; from < endQuery; from += STEP_QUERIES) {
      const least = highestLimit(room, row, end);
      let found = 0;
      for (let query = from; query < Math.min(endQuery, from + STEP_QUERIES); query++) {
        const code = codes.subarray(query * stride, (query + 1) * stride);
        const limit = Math.max(least, limits[query]);
        for (let other = row; other < end; other++) {
          const bits = distance(code, codes, other * stride);
          if (bits >= limit) continue;
          hits[found++] = query;
          hits[found++] = other;
          hits[found++] = bits;
        }
      }
      if (found > 0) take(found / TILE_HIT);
    }
  },
};
