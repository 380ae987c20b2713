/**
 * `halfspace dedup NEW --against OLD.hs`: which new rows are near to rows of an index, or to each
 * other. Only the new rows are read and hashed, as those of the index were; the rows of the index
 * stay as they are, and the plan is for NEW alone.
 */

import { ascending } from '../../base/arrays';
import { planOfKept } from '../../groups/plan';
import {
  type DedupPlan,
  dedupAsync,
  type Grouping,
  type Keep,
  type SimHashIndex,
} from '../../node';
import type { Call } from '../call';
import { type Collection, readCollection } from '../input/collection';
import { isIndexFolder } from '../input/index-folder';
import { checkNearness, estimatedNearness } from '../input/nearness';
import type { Input } from '../input/open-input';
import { counted, grouped } from '../output/figures';

/** A plan for new rows, and by row the id of the row of the index that it is near to. */
interface NewPlan {
  readonly rows: Collection;
  readonly plan: DedupPlan;
  readonly near: readonly (string | null)[];
}

/** Plans the rows of `input`, which `take` sees batch by batch. */
export async function planAgainst(
  call: Call,
  input: Input,
  wish: Parameters<typeof readCollection>[2],
  keep: () => Keep,
): Promise<NewPlan> {
  const path = call.text('against') as string;
  if (!(await isIndexFolder(path))) {
    call.misuse(`--against expected an index folder, as \`halfspace index\` makes it, got ${path}`);
  }
  if (call.has('extend')) call.misuse('--against does not go with --extend: give one of them');
  const old = await readCollection(call, path);
  const rows = await readCollection(call, input, { ...wish, like: old.like });
  if (rows.measure.name === 'cosine') checkNearness(call, null);
  const { maxDistance } = estimatedNearness(call, rows);
  const known = planOfKept(old.source);
  const all = await call.long('grouping', (work) =>
    dedupAsync(rows.source, {
      ...{ maxDistance, grouping: call.text('grouping') as Grouping, keep: keep(), ...work },
      extend: { plan: known, source: old.source },
    }),
  );
  const plan = partOf(all, known.count);
  const index = old.source as SimHashIndex;
  const near = Array.from(ascending(plan.count), (row) => {
    const other = all.duplicateOf[known.count + row];
    return other < known.count ? String(index.idOf(other)) : null;
  });
  sayFound(call, { rows, plan, near }, path);
  return { rows, plan, near };
}

/** The rows of a plan from `first` on, as a plan of their own. */
function partOf(all: DedupPlan, first: number): DedupPlan {
  const count = all.count - first;
  const names = new Map<number, number>(); // a group of old rows by its first new one
  const groups = ascending(count).map((row) => {
    const group = all.groups[first + row];
    if (!names.has(group)) names.set(group, row);
    return names.get(group) as number;
  });
  const duplicateOf = ascending(count).map((row) => {
    const other = all.duplicateOf[first + row];
    return other < first ? row : other - first;
  });
  const { kept, distances, checks, cosines, jaccards } = all;
  return {
    ...{ count, groups, duplicateOf, kept: kept.slice(first), checks: checks.slice(first) },
    distances: distances.slice(first),
    cosines: cosines?.slice(first) ?? null,
    jaccards: jaccards?.slice(first) ?? null,
  };
}

function sayFound(call: Call, { plan, near }: NewPlan, path: string): void {
  const dropped = plan.kept.reduce((sum, kept) => sum + 1 - kept, 0);
  const known = near.filter((id) => id !== null).length;
  const others = grouped(dropped - known);
  call.say(
    `${counted(plan.count, 'new row')}: ${grouped(plan.count - dropped)} to keep, ` +
      `${grouped(known)} to drop near rows of ${path}, ${others} near other new ones`,
  );
}
