/**
 * `halfspace dedup NEW --against OLD`: which new rows are near to old ones, or to each other. OLD
 * is an index, or a plan that has the codes of its rows. Only the new rows are read; they are
 * hashed as the old ones were. The plan is for NEW alone: old rows are kept as they are.
 */

import { ascending } from '../../base/arrays';
import { measureOf } from '../../codes/measure';
import { planOfKept } from '../../groups/plan';
import { rowsOf } from '../../join/source';
import {
  type DedupPlan,
  dedupAsync,
  type Grouping,
  hammingDistance,
  type Keep,
  openRows,
  type Projection,
  readPlan,
  type SimHashIndex,
} from '../../node';
import type { Call } from '../call';
import { type Collection, readCollection } from '../input/collection';
import { isIndexFolder, refuseOtherSettings } from '../input/index-folder';
import { checkNearness, estimatedNearness, nearnessWords } from '../input/nearness';
import type { Input } from '../input/open-input';
import { linesOfPlan } from '../input/plan-lines';
import { counted, grouped } from '../output/figures';

/** A plan for new rows, and by row the id of the old row that it duplicates, null for none. */
interface NewPlan {
  readonly rows: Collection;
  readonly plan: DedupPlan;
  readonly near: readonly (string | null)[];
}

/**
 * Plans the rows of `input`. `options.take` is called with each batch while they are read; `keep`
 * is called after that, for the rule which row of a group stays. Rows are near by distance alone:
 * of the old rows only the codes are compared.
 */
export async function planAgainst(
  call: Call,
  input: Input,
  options: Parameters<typeof readCollection>[2],
  keep: () => Keep,
): Promise<NewPlan> {
  const path = call.text('against') as string;
  if (call.has('extend')) call.misuse('--against does not go with --extend: give one of them');
  const old = (await isIndexFolder(path))
    ? await rowsOfIndex(call, path)
    : await rowsOfPlan(call, path);
  const rows = await readCollection(call, input, { ...options, like: old.like });
  // Only codes of sets have a default for what is near.
  if (rows.measure.name === 'cosine') checkNearness(call, null);
  const { maxDistance } = estimatedNearness(call, rows);
  // The new rows extend a plan that keeps each old row, whatever OLD says of it.
  const known = planOfKept(old.source);
  const all = await call.long('grouping', (work) =>
    dedupAsync(rows.source, {
      ...{ maxDistance, grouping: call.text('grouping') as Grouping, keep: keep(), ...work },
      extend: { plan: known, source: old.source },
    }),
  );
  const plan = partOf(all, known.count);
  const [ours, theirs] = [rowsOf('rows', rows.source).codes, rowsOf('old', old.source).codes];
  // The distance of a duplicate is to the old row that was kept, not to the nearest old row.
  const near = Array.from(ascending(plan.count), (row) => {
    const nearest = all.duplicateOf[known.count + row];
    if (nearest >= known.count) return null;
    const other = old.keptFor(nearest);
    plan.distances[row] = hammingDistance(ours.at(row), theirs.at(other));
    return old.idOf(other);
  });
  sayFound(call, { rows, plan, near }, path);
  return { rows, plan, near };
}

/** Rows that new ones are compared with, and how these must be hashed. */
interface OldRows extends Pick<Collection, 'source' | 'like'> {
  idOf(row: number): string;
  /** The kept row of the group of a row; the row itself where none of its group was kept. */
  keptFor(row: number): number;
}

/** The rows of an index: all of them count as kept. */
async function rowsOfIndex(call: Call, path: string): Promise<OldRows> {
  const { source, like } = await readCollection(call, path);
  const idOf = (row: number) => String((source as SimHashIndex).idOf(row));
  return { source, like, idOf, keptFor: (row) => row };
}

/**
 * The rows of an Arrow plan that has their codes. Fails where the plan does not say how they were
 * made, lacks the line of a row, or was made by other settings or another nearness than the call's.
 */
async function rowsOfPlan(call: Call, path: string): Promise<OldRows> {
  const file = await openRows(path);
  await file.close();
  const plan = file.columns.some(({ name }) => name === 'action') ? await readPlan(path) : null;
  const { codes, near } = plan ?? {};
  const advice = 'make it by dedup --all-rows -o PLAN.arrow';
  if (plan === null || codes === undefined) {
    return call.misuse(
      '--against expected an index folder, as `halfspace index` makes it, or an Arrow plan with ' +
        `codes, got ${path}: ${advice}`,
    );
  }
  const { origin, bits } = codes;
  if (origin === undefined || near === undefined) {
    return call.fail(`${path} does not say how its codes were made and compared: ${advice}`);
  }
  const missing = plan.listed?.indexOf(0) ?? -1;
  if (missing >= 0) {
    return call.fail(
      `${path}: row ${missing} has no line, and so no code: turn "drop" to "keep" in place of ` +
        'deleting lines',
    );
  }
  const { projection, seed, dimensions, texts } = origin;
  const options = {
    ...{ bits, projection: projection as Projection, seed: BigInt(seed) },
    ...(dimensions !== undefined && { dimensions }),
    ...(texts !== undefined && { texts }),
  };
  refuseOtherSettings(call, { path, options, text: null });
  const wanted = nearnessWords(call, { bits, measure: measureOf(projection) });
  if (near !== wanted) call.fail(`${path}: its rows are near by: ${near}; got: ${wanted}`);
  const { ids } = await linesOfPlan(path, plan.count);
  const keptOf = new Map<number, number>(); // by group its first kept row
  plan.kept.forEach((kept, row) => {
    const group = plan.groups[row];
    if (kept === 1 && !keptOf.has(group)) keptOf.set(group, row);
  });
  return {
    source: codes,
    like: { index: options, text: null },
    idOf: (row) => ids?.[row] ?? String(row),
    keptFor(row) {
      const other = plan.duplicateOf[row];
      return plan.kept[other] === 1 ? other : (keptOf.get(plan.groups[row]) ?? row);
    },
  };
}

/**
 * The rows of a plan from `first` on as a plan that counts them from 0. A group is named by its
 * first new row; a row that duplicates one before `first` gets its own number in `duplicateOf`.
 */
function partOf(all: DedupPlan, first: number): DedupPlan {
  const count = all.count - first;
  const names = new Map<number, number>(); // by old name of a group its first new row
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

/** Says how many new rows stay, and how many go for an old row or for another new one. */
function sayFound(call: Call, { plan, near }: NewPlan, path: string): void {
  const dropped = plan.kept.reduce((sum, kept) => sum + 1 - kept, 0);
  const known = near.filter((id) => id !== null).length;
  const others = grouped(dropped - known);
  call.say(
    `${counted(plan.count, 'new row')}: ${grouped(plan.count - dropped)} to keep, ` +
      `${grouped(known)} to drop near rows of ${path}, ${others} near other new ones`,
  );
}
