/** How many rows are nearly the same as others, in groups of what size: as `dedup` finds them. */

import type { LongCall } from '../base/steps';
import { groupRowsAsync } from '../groups/row-groups';
import type { SimHashIndex } from '../index/simhash-index';
import { type PairsWork, pairs } from '../join/pairs';
import { type IndexSample, sampleOf } from './rows';

export interface GroupSizes {
  readonly maxDistance: number;
  /** Rows that were grouped: all, or a sample of them where all would take too long. */
  readonly rows: number;
  readonly isSample: boolean;
  /** Groups by size, a row alone being a group of one; ascending. */
  readonly sizes: readonly { readonly size: number; readonly groups: number }[];
  /** Rows that dedup would drop. */
  readonly dropped: number;
  /** Rows and the largest distance of the largest group; null where all rows are alone. */
  readonly largest: { readonly rows: readonly number[]; readonly widest: number } | null;
}

/** Longest time that the join of all rows may be expected to take. */
const MAX_SECONDS = 60;
/** Rows that are grouped where all would take longer than that. */
const SAMPLE_ROWS = 50_000;

export async function groupSizes(
  index: SimHashIndex,
  {
    rows,
    maxDistance,
    seed,
    ...call
  }: { rows: Uint32Array; maxDistance: number; seed: number } & LongCall,
): Promise<GroupSizes> {
  const isQuick = rows.length <= SAMPLE_ROWS || secondsFor(index, maxDistance) <= MAX_SECONDS;
  const sample: IndexSample | null = isQuick
    ? null
    : sampleOf(index, rows, { count: SAMPLE_ROWS, seed });
  const { groups, groupOf } = await groupRowsAsync(sample?.codes ?? index, {
    maxDistance,
    ...call,
  });
  const grouped = groups.reduce((sum, group) => sum + group.rows.length, 0);
  const present = groupOf.reduce((sum, name) => sum + Number(name !== 0xffff_ffff), 0);
  const bySize = new Map<number, number>();
  if (present > grouped) bySize.set(1, present - grouped);
  for (const group of groups) {
    bySize.set(group.rows.length, (bySize.get(group.rows.length) ?? 0) + 1);
  }
  const largest = groups.reduce<(typeof groups)[number] | null>(
    (best, one) => (best === null || one.rows.length > best.rows.length ? one : best),
    null,
  );
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

/** What the pairs of an index are expected to take. */
function secondsFor(index: SimHashIndex, maxDistance: number): number {
  let plan: PairsWork | null = null;
  const stop = new Error('planned');
  const onStart = (found: PairsWork) => {
    plan = found;
    throw stop;
  };
  try {
    for (const _ of pairs(index, { maxDistance, onStart })) break;
  } catch (error) {
    if (error !== stop) throw error;
  }
  return (plan as PairsWork | null)?.expectedSeconds ?? 0;
}
