/**
 * Distances of blocks of queries from tiles of rows, all codes of one memory, in plain loops: the
 * scalar kernel, and the contract. Every kernel gives equal hits in equal order.
 */

import { distance } from '../hamming/hamming.scalar';
import { STEP_QUERIES, TILE_HIT, TILE_ROWS, type TileMemory } from './tile-memory';

export interface TileKernel {
  readonly name: string;

  /** Prepares codes `first` to `end - 1`, at most `memory.queries`, as the block of queries. */
  prepare(memory: TileMemory, first: number, end: number): void;

  /**
   * Compares rows `row` to `end - 1`, at most TILE_ROWS, with queries `first` to `endQuery - 1`,
   * the first being the first prepared one. Hits are pairs nearer than the query's limit or than
   * the highest limit of these rows. After each STEP_QUERIES queries `take` is called with the
   * number of hits, which are in `memory.hits` as (query, row, distance); then limits are read
   * again.
   */
  hitsOfTile(
    memory: TileMemory,
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

  prepare() {},

  hitsOfTile(memory, row, end, first, endQuery, take) {
    const { codes, stride, limits, hits } = memory;
    if (end - row > TILE_ROWS) throw new RangeError(`a tile has ${TILE_ROWS} rows at most`);
    for (let from = first; from < endQuery; from += STEP_QUERIES) {
      const least = highestLimit(memory, row, end);
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
