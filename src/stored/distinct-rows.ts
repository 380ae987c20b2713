/**
 * The rows of a partition as searches weigh them: of several rows with equal codes the first stands
 * for all, as in an index in memory. Rows with equal codes have the same partitions.
 */

import { keyOfBytes } from '../base/arrays';
import { FormatError } from '../base/format-error';
import type { LoadedBlock } from './block-reader';
import type { RowSet } from './row-set';

/** A further row with the code of a cell, and its position among the rows of all blocks. */
export interface Further {
  readonly row: number;
  readonly at: number;
}

interface DistinctRows {
  /** The first live row of each code, by its position among the rows of all blocks. */
  readonly sources: Uint32Array;
  /** The further rows of each by its index in `sources`. */
  readonly further: Map<number, Further[]>;
}

/** `pathOf` names the file of a block in errors. */
export function distinctRows(
  blocks: readonly LoadedBlock[],
  removed: RowSet,
  pathOf: (block: LoadedBlock) => string,
): DistinctRows {
  const sources = new Uint32Array(blocks.reduce((sum, { rows }) => sum + rows.count, 0));
  let count = 0;
  const further = new Map<number, Further[]>();
  const isShared = blocks.some(({ segment }) => segment.table.layout.hasFirsts);
  if (!isShared && removed.isEmpty) {
    for (let at = 0; at < sources.length; at++) sources[at] = at;
    return { sources, further };
  }
  /** For each code the index of its first row, and its last row: rows of a code ascend. */
  const known = new Map<string, { first: number; last: number }>();
  let at = 0;
  for (const loaded of blocks) {
    const { rows, codes, count: rowCount } = loaded.rows;
    const width = codes.length / Math.max(1, rowCount);
    for (let place = 0; place < rowCount; place++, at++) {
      const row = rows[place];
      if (removed.has(row)) continue;
      if (isShared) {
        const code = keyOfBytes(codes.subarray(place * width, (place + 1) * width));
        const same = known.get(code);
        if (same !== undefined) {
          if (row <= same.last) {
            throw new FormatError(`damaged: row ${row} is in two places`, pathOf(loaded));
          }
          same.last = row;
          const others = further.get(same.first) ?? [];
          others.push({ row, at });
          further.set(same.first, others);
          continue;
        }
        known.set(code, { first: count, last: row });
      }
      sources[count++] = at;
    }
  }
  return { sources: sources.subarray(0, count), further };
}
