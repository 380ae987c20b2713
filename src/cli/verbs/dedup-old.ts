/**
 * Plans of new rows next to older ones. `halfspace dedup NEW --against OLD` says which new rows are
 * near to old ones, or to each other: OLD is an index, all of whose rows stay. Only the new rows
 * are read, and hashed as the old ones were; the plan is for NEW alone. With `--extend PLAN` the
 * input has new rows behind those of an older plan, which go into the plan too.
 */

import { ascending } from '../../base/arrays';
import { bitmapOf } from '../../base/bitmap';
import { planOfKept } from '../../near/plan';
import {
  Codes,
  type DedupPlan,
  dedup,
  type Grouping,
  type Keep,
  type SimHashIndex,
} from '../../node';
import { isIndexFolder } from '../../store/generations';
import type { Call } from '../call';
import { type Collection, type CollectionNeeds, readCollection } from '../input/collection';
import { checkNearness, estimatedNearness } from '../input/near';
import { type Input, nameOfInput } from '../input/open-input';
import { counted, grouped } from '../output/figures';

/** A plan for new rows, and by row the id of the old row that it duplicates, null for none. */
interface NewPlan {
  readonly rows: Collection;
  readonly plan: DedupPlan;
  readonly near: readonly (string | null)[];
}

/**
 * Plans the rows of `input`. `keep` is called once they are read, for the rule which row of a group
 * stays. Rows are near by distance alone: of the old rows only the codes are compared.
 */
export async function planAgainst(
  call: Call,
  input: Input,
  needs: CollectionNeeds,
  keep: () => Keep,
): Promise<NewPlan> {
  const path = call.text('against') as string;
  if (!(await isIndexFolder(path))) {
    const advice = `make one by halfspace index ${path} -o DIR`;
    call.misuse(`--against expected an index folder, got ${path}: ${advice}`);
  }
  const { source, like } = await readCollection(call, path);
  const old = source as SimHashIndex;
  const rows = await readCollection(call, input, { ...needs, hold: undefined, like });
  // Only codes of sets have a default for what is near.
  if (rows.measure.name === 'cosine') checkNearness(call, null);
  const { maxDistance } = estimatedNearness(call, rows);
  // The new rows extend a plan that keeps each old row.
  const known = planOfKept(old);
  const all = await call.long('grouping', (work) =>
    dedup(rows.source, {
      maxDistance,
      grouping: call.text('grouping') as Grouping,
      keep: keep(),
      extend: { plan: known, source: old },
      ...work,
    }),
  );
  const plan = partOf(all, known.count);
  const near = Array.from(ascending(plan.count), (row) => {
    const nearest = all.duplicateOf[known.count + row];
    return nearest < known.count ? String(old.idOf(nearest)) : null;
  });
  sayFound(call, { rows, plan, near }, path);
  return { rows, plan, near };
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
    count,
    groups,
    duplicateOf,
    kept: kept.slice(first),
    checks: checks.slice(first),
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

/** Of --extend: the rows that a plan does not know, and the plan with those that it does. */
export function extension(call: Call, { source, count, path }: Collection, plan: DedupPlan) {
  if (!(source instanceof Codes)) {
    call.misuse('--extend goes by distance: give --max-distance, and a file in place of an index');
  }
  if (plan.count > count) {
    call.fail(
      `the plan is for ${plan.count} rows and ${nameOfInput(path)} has ${count}: --extend takes ` +
        'the file as it was then, with the new rows behind',
    );
  }
  const known = part(source, 0, plan.count);
  return { source: part(source, plan.count, count), extend: { plan, source: known } };
}

/** A copy of the codes `first` to `end - 1`. */
function part(codes: Codes, first: number, end: number): Codes {
  const { bits, bytes, bytesPerCode, origin } = codes;
  const validity = bitmapOf(end - first, (row) => !codes.isNull(first + row));
  const own = bytes.subarray(first * bytesPerCode, end * bytesPerCode);
  return Codes.from(own, { bits, validity: codes.validity && validity, origin });
}
