/**
 * The WebAssembly kernel of tiles, see tables.assembly.ts. A TileMemory without WebAssembly goes to
 * the scalar kernel.
 */

import { memoryOf } from '../memory';
import { GROUP_BITS, STEP_QUERIES, TILE_HIT } from './tile-memory';
import { highestLimit, scalarTiles, type TileKernel } from './tiles.scalar';

/** Flags of the parts in which tables are made, see tables.assembly.ts. */
const FIRST = 1;
const LAST = 2;

export const wasmTiles: TileKernel = {
  name: 'wasm',

  prepare(memory, first, end) {
    const { codes, stride, bits, groups, choices } = memory;
    const at = codes.byteOffset + first * stride;
    const home = memoryOf(codes);
    home?.kernels.choicesInto(at, stride, end - first, bits, groups, choices.byteOffset);
  },

  hitsOfTile(memory, row, end, first, endQuery, take) {
    const { codes, stride, limits, hits, choices, slices, tables, sums, groups } = memory;
    const home = memoryOf(codes);
    if (home === undefined) return scalarTiles.hitsOfTile(memory, row, end, first, endQuery, take);
    const { kernels } = home;
    const spareAt = memory.spare.byteOffset;
    kernels.slicesInto(codes.byteOffset + row * stride, stride, slices.byteOffset, spareAt);
    // Where the tables of all groups have memory, one part does all, and one sum serves all
    // queries. Else each part is added for all queries, whose sums are kept; the parts after the
    // first have a multiple of four groups, one less than fit.
    const isWhole = groups === memory.groupsAtOnce;
    for (let group = 0, here = memory.groupsAtOnce; group < groups; group += here) {
      here = Math.min(group === 0 ? memory.groupsAtOnce : memory.groupsAtOnce - 1, groups - group);
      const slicesAt = slices.byteOffset + 16 * GROUP_BITS * group;
      kernels.tablesInto(slicesAt, here, spareAt, tables.byteOffset);
      const parts = (group === 0 ? FIRST : 0) | (group + here === groups ? LAST : 0);
      for (let from = first; from < endQuery; from += STEP_QUERIES) {
        const sumsAt = sums.byteOffset + (isWhole ? 0 : (from - first) * memory.sumBytes);
        const hitsEnd = kernels.hitsOfTables(
          ...([codes.byteOffset, stride, row, end] as const),
          ...([from, Math.min(endQuery, from + STEP_QUERIES)] as const),
          ...([choices.byteOffset + 2 * ((from - first) * groups + group), 2 * groups] as const),
          ...([tables.byteOffset, here, sumsAt, sumsAt + memory.sumBytes] as const),
          ...([isWhole ? 0 : memory.sumBytes, parts, limits.byteOffset] as const),
          ...([highestLimit(memory, row, end), hits.byteOffset] as const),
        );
        const found = ((hitsEnd >>> 0) - hits.byteOffset) / (4 * TILE_HIT);
        if (found > 0) take(found);
      }
    }
  },
};
