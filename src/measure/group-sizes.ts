/**
 * How many rows are nearly the same as others, by size of group, as `dedup` would group them. All
 * rows are grouped if that takes at most a minute, else a sample of them.
 */
import { type LongCall, runStepsAsync } from '../base/steps';
import { groupRowsAsync, type RowGroup } from '../groups/row-groups';
import type { SimHashIndex } from '../index/simhash-index';
import { pairsWork } from '../join/pairs';
import { rowsOf } from '../join/source';
import { sampleOf } from './measured-rows';

/** Groups of near rows, by size. */
export interface GroupSizes {
  readonly maxDistance: number;
  /** Number of rows that were grouped: all, or those of a sample. */
  readonly rows: number;
  readonly isSample: boolean;
  /** Number of groups of each size, ascending; a row alone is a group of 1. */
  readonly sizes: readonly { readonly size: number; readonly groups: number }[];
  /** Rows that `dedup` would drop. */
  readonly dropped: number;
  /** The rows of the largest group, and the largest distance in it; null if all rows are alone. */
  readonly largest: { readonly rows: readonly number[]; readonly widest: number } | null;
}

/** Longest expected time of a join of all rows. */
const MAX_SECONDS = 60;
/** Rows of the sample where that is exceeded; so few are always grouped. */
const SAMPLE_ROWS = 50_000;

interface GroupSizesOptions extends LongCall {
  /** All rows that are not removed. */
  readonly rows: Uint32Array;
  readonly maxDistance: number;
  /** Seed of the sample. */
  readonly seed: number;
}

/** Groups the rows of an index within a distance. */
export async function groupSizes(
  index: SimHashIndex,
  { rows, maxDistance, seed, ...call }: GroupSizesOptions,
): Promise<GroupSizes> {
  const isQuick =
    rows.length <= SAMPLE_ROWS ||
    (await runStepsAsync(pairsWork(rowsOf('index', index), maxDistance), {})).expectedSeconds <=
      MAX_SECONDS;
  const sample = isQuick ? null : sampleOf(index, rows, { count: SAMPLE_ROWS, seed });
  const source = sample?.codes ?? index;
  const { groups, groupOf } = await groupRowsAsync(source, { maxDistance, ...call });
  const grouped = groups.reduce((sum, group) => sum + group.rows.length, 0);
  const present = groupOf.reduce((sum, name) => sum + Number(name !== 0xffff_ffff), 0);
  const bySize = new Map<number, number>(present > grouped ? [[1, present - grouped]] : []);
  for (const { rows } of groups) bySize.set(rows.length, (bySize.get(rows.length) ?? 0) + 1);
  let largest: RowGroup | null = null;
  for (const group of groups) if (group.rows.length > (largest?.rows.length ?? 0)) largest = group;
  return {
    ...{ maxDistance, rows: present, isSample: sample !== null },
    sizes: [...bySize]
      .map(([size, count]) => ({ size, groups: count }))
      .sort((a, b) => a.size - b.size),
    dropped: grouped - groups.length,
    largest: largest && {
      rows: Array.from(largest.rows, (row) => sample?.rows[row] ?? row),
      widest: largest.widest,
    },
  };
}
