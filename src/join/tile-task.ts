/**
 * The task by which threads compare a block of queries with tiles of rows, all codes of one shared
 * memory. Limits fall while parts run: a thread that reads an older, higher limit finds more hits,
 * never fewer, and the calling thread drops the surplus.
 */

import { concatenated } from '../base/arrays';
import { type KernelName, tileKernel } from '../kernels/kernels';
import { memoryOf } from '../kernels/memory';
import { TILE_HIT, TILE_ROWS, TileMemory } from '../kernels/tiles/tile-memory';
import type { Task } from '../threads/job';

/** Codes in the order of comparison, and the limit of each: shared arrays. */
interface TileState {
  readonly codes: Uint8Array;
  readonly limits: Uint32Array;
  readonly count: number;
  readonly bits: number;
  readonly kernel: KernelName | undefined;
}

/** Queries `first` to `end - 1` with rows `row` to `rowEnd - 1`: whole tiles, but for the last. */
interface TilePart {
  readonly first: number;
  readonly end: number;
  readonly row: number;
  readonly rowEnd: number;
}

/** Hits of a part, (query, row, distance) one after another. */
interface TileHits {
  readonly hits: Uint32Array;
}

/** Finds hits below the limits as they stand; the calling thread offers them and lowers limits. */
export const TILING: Task<TileState, TilePart, TileHits> = {
  name: 'tiling',
  open({ codes, limits, count, bits, kernel }) {
    const at = memoryOf(codes)?.free ?? 0;
    const tiles = new TileMemory(count, bits, { codes, limits, at });
    return (part) => {
      // Copied, since the next tile overwrites the hits of this one.
      const found: Uint32Array[] = [];
      tileKernel(kernel).prepare(tiles, part.first, part.end);
      hitsOfTiles(tiles, part, kernel, (hits) => {
        found.push(tiles.hits.slice(0, TILE_HIT * hits));
      });
      return { hits: concatenated([new Uint32Array(), ...found]) };
    };
  },
};

/** Compares prepared queries with rows, tile by tile; `take` gets the number of hits of each. */
export function hitsOfTiles(
  tiles: TileMemory,
  { first, end, row: firstRow, rowEnd: lastRow }: TilePart,
  kernel: KernelName | undefined,
  take: (found: number) => void,
): void {
  for (let row = firstRow; row < lastRow; row += TILE_ROWS) {
    const rowEnd = Math.min(lastRow, row + TILE_ROWS);
    tileKernel(kernel).hitsOfTile(tiles, row, rowEnd, first, Math.min(end, rowEnd), take);
  }
}
