/**
 * Distances of blocks of queries from tiles of rows, both codes of one memory: the contract, and
 * the scalar kernel in plain loops. Every kernel gives equal hits in equal order.
 */

import { distance } from '../hamming/hamming.scalar';
import { STEP_QUERIES, TILE_HIT, TILE_ROWS, type TileMemory } from './tile-memory';

export interface TileKernel {
  readonly name: string;

  /** Prepares codes `first` to `end - 1` as the block of queries: at most `memory.queries`. */
  prepare(memory: TileMemory, first: number, end: number): void;

  /**
   * Compares rows `row` to `end - 1`, at most TILE_ROWS, with queries `first` to `endQuery - 1`;
   * `first` must be the first prepared one. Hits are pairs nearer than the query's limit or than
   * the highest limit of these rows. After each STEP_QUERIES queries, if there are hits, calls
   * `take` with their number: they are in `memory.hits` as triples (query, row, distance), and
   * `take` may change limits.
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

/** The highest limit of rows `row` to `end - 1`; 0 without rows. */
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
