/**
 * The review of a plan: its groups of near rows, and a person's decisions about them. A decision
 * names the rows of a group to keep; the others are dropped, each as a duplicate of the nearest row
 * that is kept. It is answered once the plan's file has it. A decision that is based on an older
 * state of the group or of the file, as by a second page or an editor, is refused.
 */

import type {
  DecideRequest,
  GroupAnswer,
  GroupLine,
  Member,
  PreviewAnswer,
  ReviewAnswer,
} from '../../explorer/messages';
import { checksOfRows, planOfRows } from '../../groups/plan-of-rows';
import { type Comparison, type DedupPlan, dedupAsync, type Id } from '../../node';
import type { Call } from '../call';
import { idsOfIndex } from '../input/collection';
import type { Explored } from './explored';
import type { PlanFile } from './reviewed-file';
import { Conflict } from './server';

/** Rows of a group that are shown, at most. */
const MAX_MEMBERS = 200;

/** A plan in memory, which is kept equal to its file. */
export class Review {
  readonly #explored: Explored;
  readonly #file: PlanFile;
  /** Null as long as there is neither a file nor a plan that was made here. */
  #plan: DedupPlan | null = null;
  /** Groups of two rows or more: by name, which is a row number, their rows, ascending. */
  #groups = new Map<number, number[]>();

  private constructor(explored: Explored, file: PlanFile) {
    this.#explored = explored;
    this.#file = file;
  }

  /** Reads the plan's file. Where there is none, `make` must be called before groups are shown. */
  static async open(explored: Explored, file: PlanFile): Promise<Review> {
    const review = new Review(explored, file);
    await review.#read();
    return review;
  }

  /** Takes the plan as the file has it; leaves the one in memory where there is no file. */
  async #read(): Promise<void> {
    const plan = await this.#file.read(checksOfRows(this.#explored.index).length);
    if (plan !== null) this.#take(this.#checked(plan));
  }

  /**
   * The plan with a place for each row of the index; rows that the index has removed need not be in
   * the file. Throws where it was made for other rows.
   */
  #checked(plan: DedupPlan): DedupPlan {
    try {
      return planOfRows(plan, this.#explored.index);
    } catch (error) {
      const why = (error as Error).message;
      throw new RangeError(
        `${this.#file.path} is not a plan for these rows: ${why}. Open them with the options ` +
          'that made it',
      );
    }
  }

  /** Makes a plan the one under review, with a flag for each row if it has none. */
  #take(plan: DedupPlan): DedupPlan {
    this.#plan = { ...plan, reviewed: plan.reviewed ?? new Uint8Array(plan.count) };
    this.#groups = groupsOf(plan);
    return this.#plan;
  }

  /** The state of the plan, with all groups of two rows or more, ordered by their first rows. */
  answer(): ReviewAnswer {
    const plan = this.#plan;
    return {
      ...{ file: this.#file.path, exists: plan !== null, rows: this.#explored.rows.length },
      dropped: plan === null ? 0 : plan.kept.reduce((sum, kept) => sum + 1 - kept, 0),
      groups: [...this.#groups].map(([group, rows]) => this.#line(group, rows)),
    };
  }

  /** A group for the list of groups. */
  #line(group: number, rows: readonly number[]): GroupLine {
    const { distances, reviewed } = this.#plan as DedupPlan;
    return {
      ...{ group, size: rows.length },
      widest: rows.reduce((most, row) => Math.max(most, distances[row]), 0),
      isReviewed: rows.every((row) => reviewed?.[row] === 1),
    };
  }

  /** A group with its rows as members, at most MAX_MEMBERS: kept ones first, then by row. */
  group(group: unknown): GroupAnswer {
    const rows = this.#rowsOf(group);
    const { kept, duplicateOf, distances, cosines, jaccards } = this.#plan as DedupPlan;
    const order = [...rows].sort((a, b) => kept[b] - kept[a] || a - b).slice(0, MAX_MEMBERS);
    const texts = this.#explored.comparedOf(order);
    const members = order.map(
      (row, i): Member => ({
        ...{ row, id: String(this.#explored.index.idOf(row)), isKept: kept[row] === 1 },
        ...{ duplicateOf: duplicateOf[row], distance: distances[row] },
        similarity: kept[row] === 1 ? null : ((cosines ?? jaccards)?.[row] ?? null),
        texts: texts[i],
      }),
    );
    const own = rows.filter((row) => kept[row] === 1);
    return { ...this.#line(group as number, rows), rows, kept: own, members };
  }

  /** The rows of a group; throws a RangeError for a group that the plan does not have. */
  #rowsOf(group: unknown): number[] {
    const rows = this.#groups.get(group as number);
    if (rows === undefined)
      throw new RangeError(`"group" expected a group of the plan, got ${group}`);
    return rows;
  }

  /**
   * Decides about a group; resolves when the file has it. Throws a Conflict where the group is not
   * as `before` says or the file was changed by others, and then changes nothing.
   */
  async decide({ group, before, after }: DecideRequest): Promise<GroupAnswer> {
    const rows = this.#rowsOf(group);
    const { kept, groups } = this.#plan as DedupPlan;
    const own = rows.filter((row) => kept[row] === 1);
    const { isReviewed } = this.#line(group, rows);
    const known = new Set(before.kept);
    const isSame = own.length === known.size && own.every((row) => known.has(row));
    if (!isSame || isReviewed !== before.isReviewed) {
      throw new Conflict('this group was decided elsewhere meanwhile');
    }
    const toKeep = new Set(after.kept);
    if (toKeep.size === 0) throw new RangeError('a group keeps one row at least');
    for (const row of toKeep) {
      if (groups[row] !== group) throw new RangeError(`row ${row} is not in group ${group}`);
    }
    await this.#file.check();
    this.#keep(rows, toKeep, after.isReviewed);
    try {
      await this.#file.save(this.#plan as DedupPlan, this.#names(), rows);
    } catch (error) {
      await this.#read(); // what was decided is not in the file
      throw error;
    }
    return this.group(group);
  }

  /**
   * Changes the plan in memory: keeps these rows of a group; each other row becomes a duplicate of
   * the nearest of them, of equally near ones the first. Compares every dropped row with every kept
   * one.
   */
  #keep(rows: readonly number[], toKeep: ReadonlySet<number>, isReviewed: boolean): void {
    const keptRows = rows.filter((row) => toKeep.has(row));
    const { kept, duplicateOf, distances, cosines, jaccards, reviewed } = this.#plan as DedupPlan;
    const exact = cosines ?? jaccards;
    const { index } = this.#explored;
    for (const row of rows) {
      if (reviewed !== undefined) reviewed[row] = Number(isReviewed);
      kept[row] = Number(toKeep.has(row));
      if (toKeep.has(row)) {
        duplicateOf[row] = row;
        distances[row] = 0;
        if (exact !== null) exact[row] = 1;
        continue;
      }
      let best = Number.POSITIVE_INFINITY;
      for (const other of keptRows) {
        const compared = index.compare(index.idOf(row) as Id, index.idOf(other) as Id);
        if (compared.distance >= best) continue;
        best = compared.distance;
        duplicateOf[row] = other;
        distances[row] = best;
        if (exact !== null) exact[row] = similarityOf(compared);
      }
    }
  }

  /** What a plan with another nearness would be; `near` is a distance or a Jaccard similarity. */
  async preview(call: Call, near: number): Promise<PreviewAnswer> {
    const plan = await this.#planned(call, near);
    const old = this.#plan?.kept;
    const changed = old && plan.kept.reduce((sum, kept, row) => sum + Number(kept !== old[row]), 0);
    return {
      ...{ near, groups: groupsOf(plan).size },
      dropped: plan.kept.reduce((sum, kept) => sum + 1 - kept, 0),
      changed: changed ?? null,
    };
  }

  /**
   * Makes the plan again and saves it. Decisions stay for reviewed groups that have the same name
   * and the same rows in the new plan.
   */
  async make(call: Call, near: number): Promise<ReviewAnswer> {
    const plan = await this.#planned(call, near);
    const old = { plan: this.#plan, groups: this.#groups };
    await this.#file.check();
    const taken = this.#take(plan);
    for (const [group, rows] of this.#groups) {
      const before = old.groups.get(group);
      const isSame = before?.length === rows.length && rows.every((row, i) => row === before[i]);
      if (!isSame || old.plan?.reviewed?.[rows[0]] !== 1) continue;
      this.#keep(rows, new Set(rows.filter((row) => old.plan?.kept[row] === 1)), true);
    }
    await this.#file.save(taken, this.#names());
    return this.answer();
  }

  /** A plan as `dedup` makes it: near within a distance, or at a similarity, checked exactly. */
  #planned(call: Call, near: number): Promise<DedupPlan> {
    const { index, nearness } = this.#explored;
    const options = nearness.by === 'distance' ? { maxDistance: near } : { minJaccard: near };
    return call.long('grouping', (work) => dedupAsync(index, { ...options, ...work }));
  }

  /** Ids and files of rows for the lines of the plan; no ids where these are the rows' numbers. */
  #names() {
    const { index, rows, fileAt } = this.#explored;
    const ids = rows.some((row) => index.idOf(row) !== row)
      ? idsOfIndex(index, rows, this.#plan?.count)
      : undefined;
    return { ids, fileAt };
  }
}

/** The similarity of two rows: exact by held vectors or sets, else as the distance estimates. */
function similarityOf({ cosine, estimate, jaccard }: Comparison): number {
  return jaccard === undefined
    ? (cosine ?? estimate.estimatedCosine)
    : (jaccard.exact ?? jaccard.estimatedJaccard);
}

/** By name the rows, ascending, of each group of two rows or more; by first row. */
function groupsOf({ groups }: DedupPlan): Map<number, number[]> {
  const all = new Map<number, number[]>();
  groups.forEach((name, row) => {
    const rows = all.get(name);
    if (rows === undefined) all.set(name, [row]);
    else rows.push(row);
  });
  for (const [name, rows] of all) if (rows.length < 2) all.delete(name);
  return all;
}
