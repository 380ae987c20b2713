/**
 * A plan under review: its groups of near rows, and a person's decisions about them, by the same
 * rule on the server and on a page in one file. A decision names the rows of a group to keep; each
 * other row becomes a duplicate of the nearest row that is kept, of equally near ones the first. A
 * decision that is based on an older state of its group, as by a second page, is refused.
 */

import type { DedupPlan } from '../index';
import type {
  DecideRequest,
  Decision,
  GroupAnswer,
  GroupLine,
  Member,
  ReviewAnswer,
} from './messages';

/** Rows of a group that are shown, at most. */
const MAX_MEMBERS = 200;

/** A change that is based on a state which others have changed since. */
export class Conflict extends Error {}

/** The columns of a plan that a review reads and changes; a similarity that is unknown is NaN. */
export type PlanColumns = Pick<
  DedupPlan,
  'groups' | 'kept' | 'duplicateOf' | 'distances' | 'cosines' | 'jaccards' | 'reviewed'
>;

/** The rows of a plan, as far as they are at hand. */
export interface PlanRows {
  /** The distance of two rows in bits, and their similarity, NaN if it is unknown. */
  compare(row: number, other: number): { distance: number; similarity: number };
  /** The ids and texts of some rows, in their order. */
  namesOf(rows: readonly number[]): Pick<Member, 'id' | 'texts'>[];
}

/** By name, which is a row number, the rows of each group of two or more, ascending. */
function groupsOf(groups: Uint32Array): Map<number, number[]> {
  const all = new Map<number, number[]>();
  groups.forEach((name, row) => {
    const rows = all.get(name);
    if (rows === undefined) all.set(name, [row]);
    else rows.push(row);
  });
  for (const [name, rows] of all) if (rows.length < 2) all.delete(name);
  return all;
}

/** A plan with the decisions so far; it changes the arrays of the plan that it is given. */
export class ReviewedPlan {
  readonly reviewed: Uint8Array;
  /** The groups that are shown. */
  readonly groups: ReadonlyMap<number, readonly number[]>;

  constructor(
    readonly plan: PlanColumns,
    private readonly rows: PlanRows,
    isShown: (rows: readonly number[]) => boolean = () => true,
  ) {
    this.reviewed = plan.reviewed ?? new Uint8Array(plan.groups.length);
    this.groups = new Map([...groupsOf(plan.groups)].filter(([, own]) => isShown(own)));
  }

  /** How many rows the plan drops, and its groups, ordered by their first rows. */
  answer(): Pick<ReviewAnswer, 'dropped' | 'groups'> {
    const groups = [...this.groups].map(([group, rows]) => this.#line(group, rows));
    return { dropped: this.plan.kept.reduce((sum, one) => sum + 1 - one, 0), groups };
  }

  /** A group for the list of groups. */
  #line(group: number, rows: readonly number[]): GroupLine {
    return {
      group,
      size: rows.length,
      widest: rows.reduce((most, row) => Math.max(most, this.plan.distances[row]), 0),
      isReviewed: rows.every((row) => this.reviewed[row] === 1),
    };
  }

  /** A group with its rows as members, at most MAX_MEMBERS: kept ones first, then by row. */
  group(group: number): GroupAnswer {
    const rows = this.rowsOf(group);
    const { kept, duplicateOf, distances, cosines, jaccards } = this.plan;
    const order = [...rows].sort((a, b) => kept[b] - kept[a] || a - b).slice(0, MAX_MEMBERS);
    const names = this.rows.namesOf(order);
    const members = order.map((row, i): Member => {
      const similarity = (cosines ?? jaccards)?.[row] ?? Number.NaN;
      return {
        ...names[i],
        row,
        isKept: kept[row] === 1,
        duplicateOf: duplicateOf[row],
        distance: distances[row],
        similarity: kept[row] === 1 || Number.isNaN(similarity) ? null : similarity,
      };
    });
    return { ...this.#line(group, rows), rows, kept: this.#keptOf(rows), members };
  }

  /** The rows of a group; throws a RangeError for a group that the plan does not have. */
  rowsOf(group: number): readonly number[] {
    const rows = this.groups.get(group);
    if (rows !== undefined) return rows;
    throw new RangeError(`"group" expected a group of the plan, got ${group}`);
  }

  #keptOf(rows: readonly number[]): number[] {
    return rows.filter((row) => this.plan.kept[row] === 1);
  }

  /** Throws unless a decision is about rows of its group, and about the group as it is now. */
  check({ group, before, after }: DecideRequest): void {
    const rows = this.rowsOf(group);
    const own = this.#keptOf(rows);
    const known = new Set(before.kept);
    const isSame = own.length === known.size && own.every((row) => known.has(row));
    if (!isSame || this.#line(group, rows).isReviewed !== before.isReviewed) {
      throw new Conflict('this group was decided elsewhere meanwhile');
    }
    if (after.kept.length === 0) throw new RangeError('a group keeps one row at least');
    const other = after.kept.find((row) => this.plan.groups[row] !== group);
    if (other !== undefined) throw new RangeError(`row ${other} is not in group ${group}`);
  }

  /** Keeps these rows of a group, and compares each other row of it with all of them. */
  keep(group: number, { kept: toKeep, isReviewed }: Decision): void {
    const rows = this.rowsOf(group);
    const { kept, duplicateOf, distances, cosines, jaccards } = this.plan;
    const similarities = cosines ?? jaccards;
    const chosen = new Set(toKeep);
    const keptRows = rows.filter((row) => chosen.has(row));
    for (const row of rows) {
      this.reviewed[row] = Number(isReviewed);
      kept[row] = Number(chosen.has(row));
      const near = kept[row] === 1 ? null : this.#nearest(row, keptRows);
      const other = near?.row ?? row;
      const isOther = other !== duplicateOf[row];
      duplicateOf[row] = other;
      distances[row] = near?.distance ?? 0;
      if (similarities === null) continue;
      const similarity = near?.similarity ?? 1;
      // A similarity that cannot be computed here stays known while the pair is the same.
      if (isOther || !Number.isNaN(similarity)) similarities[row] = similarity;
    }
  }

  /** The nearest of some rows to a row. */
  #nearest(row: number, others: readonly number[]) {
    let best = { row, distance: Number.POSITIVE_INFINITY, similarity: Number.NaN };
    for (const other of others) {
      const compared = this.rows.compare(row, other);
      if (compared.distance < best.distance) best = { row: other, ...compared };
    }
    return best;
  }
}
