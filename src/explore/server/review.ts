/**
 * The plan under review: its groups of near rows, and a person's decisions about them. A decision
 * names the rows of a group to keep; each other row becomes a duplicate of the nearest row that is
 * kept, of equally near ones the first. It is answered once the plan's file has it. One that is
 * based on an older state of its group, as by a second page, or of the file, as by an editor, is
 * refused.
 */

import type { Call } from '../../cli/call';
import { idsOfIndex } from '../../cli/input/collection';
import { usualNearness } from '../../cli/input/near';
import { checksOfRows, planOfRows } from '../../near/plan';
import { type DedupPlan, dedup, type Id } from '../../node';
import type {
  DecideRequest,
  Decision,
  GroupAnswer,
  GroupLine,
  Member,
  ReviewAnswer,
} from '../messages';
import type { Explored } from './explored';
import { Conflict, type PlanFile } from './plan-file';

/** Rows of a group that are shown, at most, and characters of a column of all of them, at most. */
const MAX_MEMBERS = 200;
const MAX_CHARACTERS = 4_000_000;

/** A plan in memory, which is kept equal to its file. */
export class Review {
  /** Null as long as there is neither a file nor a plan that was made here. */
  #plan: (DedupPlan & { readonly reviewed: Uint8Array }) | null = null;
  /**
   * By name, which is a row number, the rows of each group of two or more: first those that were
   * kept when the plan was read, so that rows do not move at a decision.
   */
  #groups: ReadonlyMap<number, readonly number[]> = new Map();
  /** The last change: changes run one after another. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly explored: Explored,
    private readonly file: PlanFile,
  ) {}

  /** Reads the plan's file. Where there is none, `make` must be called before groups are shown. */
  static async open(explored: Explored, file: PlanFile): Promise<Review> {
    const review = new Review(explored, file);
    await review.#read();
    return review;
  }

  /** Takes the plan as the file has it; leaves the one in memory where there is no file. */
  async #read(): Promise<void> {
    const plan = await this.file.read(checksOfRows(this.explored.index).length);
    if (plan !== null) this.#take(this.#checked(plan));
  }

  /**
   * The plan with a place for each row of the index; rows that the index has removed need not be in
   * the file. Throws where it was made for other rows.
   */
  #checked(plan: DedupPlan): DedupPlan {
    try {
      return planOfRows(plan, this.explored.index);
    } catch (error) {
      const why = (error as Error).message;
      throw new RangeError(
        `${this.file.path} is not a plan for these rows: ${why}. Open them with the options ` +
          'that made it',
      );
    }
  }

  #take(plan: DedupPlan): void {
    this.#plan = { ...plan, reviewed: plan.reviewed ?? new Uint8Array(plan.count) };
    const groups = new Map<number, number[]>();
    plan.groups.forEach((name, row) => {
      const rows = groups.get(name);
      if (rows === undefined) groups.set(name, [row]);
      else rows.push(row);
    });
    for (const [name, rows] of groups) {
      if (rows.length < 2) groups.delete(name);
      else rows.sort((a, b) => plan.kept[b] - plan.kept[a] || a - b);
    }
    this.#groups = groups;
  }

  /** The state of the plan, with all groups of two rows or more, ordered by their first rows. */
  answer(): ReviewAnswer {
    const groups = Array.from(this.#groups.keys(), (group) => this.#line(group));
    const dropped = this.#plan?.kept.reduce((sum, one) => sum + 1 - one, 0) ?? 0;
    const exists = this.#plan !== null;
    return { file: this.file.path, exists, rows: this.explored.rows.length, dropped, groups };
  }

  /** A group for the list of groups. */
  #line(group: number): GroupLine {
    const { plan, rows } = this.#need(group);
    const { distances, reviewed } = plan;
    return {
      group,
      size: rows.length,
      widest: rows.reduce((most, row) => Math.max(most, distances[row]), 0),
      isReviewed: rows.every((row) => reviewed[row] === 1),
    };
  }

  /** The plan and the rows of a group; throws a RangeError for a group that is not there. */
  #need(group: number) {
    const [plan, rows] = [this.#plan, this.#groups.get(group)];
    if (plan !== null && rows !== undefined) return { plan, rows };
    throw new RangeError(`"group" expected a group of the plan, got ${group}`);
  }

  /** A group with its rows as members, at most MAX_MEMBERS. */
  group(group: number): GroupAnswer {
    const { plan, rows } = this.#need(group);
    const { kept, duplicateOf, distances, cosines, jaccards } = plan;
    const { index } = this.explored;
    const shown = rows.slice(0, MAX_MEMBERS);
    const most = Math.floor(MAX_CHARACTERS / shown.length);
    const texts = this.explored.valuesOf(shown, most);
    const members = shown.map((row, i): Member => {
      const similarity = (cosines ?? jaccards)?.[row] ?? Number.NaN;
      return {
        row,
        id: String(index.idOf(row)),
        isKept: kept[row] === 1,
        duplicateOf: duplicateOf[row],
        distance: distances[row],
        similarity: kept[row] === 1 || Number.isNaN(similarity) ? null : similarity,
        texts: texts[i],
      };
    });
    const keptRows = rows.filter((row) => kept[row] === 1);
    return { ...this.#line(group), rows, kept: keptRows, members };
  }

  /** Decides about a group; resolves when the file has it. Where it throws nothing is changed. */
  decide(asked: DecideRequest): Promise<GroupAnswer> {
    return this.#inTurn(async () => {
      this.#check(asked);
      await this.file.check();
      this.#keep(asked.group, asked.after);
      try {
        await this.#save();
      } catch (error) {
        await this.#read(); // what was decided is not in the file
        throw error;
      }
      return this.group(asked.group);
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work, work);
    this.#last = done;
    return done;
  }

  /** Throws unless a decision is about rows of its group, and about the group as it is now. */
  #check({ group, before, after }: DecideRequest): void {
    const { plan, rows } = this.#need(group);
    const known = new Set(before.kept);
    const isSame = rows.every((row) => known.has(row) === (plan.kept[row] === 1));
    if (!isSame || this.#line(group).isReviewed !== before.isReviewed) {
      throw new Conflict('this group was decided elsewhere meanwhile: shown as it is now');
    }
    if (after.kept.length === 0) throw new RangeError('a group keeps one row at least');
    const other = after.kept.find((row) => plan.groups[row] !== group);
    if (other !== undefined) throw new RangeError(`row ${other} is not in group ${group}`);
  }

  /** Keeps some rows of a group, and compares each other row of it with all of them. */
  #keep(group: number, { kept: toKeep, isReviewed }: Decision): void {
    const { plan, rows } = this.#need(group);
    const similarities = plan.cosines ?? plan.jaccards;
    const chosen = new Set(toKeep);
    const keptRows = rows.filter((row) => chosen.has(row));
    for (const row of rows) {
      plan.reviewed[row] = Number(isReviewed);
      plan.kept[row] = Number(chosen.has(row));
      const same = { row, distance: 0, similarity: 1 };
      const near = chosen.has(row) ? same : this.#nearest(row, keptRows);
      plan.duplicateOf[row] = near.row;
      plan.distances[row] = near.distance;
      if (similarities !== null) similarities[row] = near.similarity;
    }
  }

  /** The nearest of some rows to a row, compared exactly by held vectors or sets. */
  #nearest(row: number, others: readonly number[]) {
    const { index } = this.explored;
    let best = { row, distance: Number.POSITIVE_INFINITY, similarity: Number.NaN };
    for (const other of others) {
      const compared = index.compare(index.idOf(row) as Id, index.idOf(other) as Id);
      const { distance, cosine, estimate, jaccard } = compared;
      if (distance >= best.distance) continue;
      const similarity =
        jaccard === undefined
          ? (cosine ?? estimate.estimatedCosine)
          : (jaccard.exact ?? jaccard.estimatedJaccard);
      best = { row: other, distance, similarity };
    }
    return best;
  }

  /** Makes a plan as `dedup` makes it without options, and saves it. */
  make(call: Call): Promise<ReviewAnswer> {
    return this.#inTurn(async () => {
      const { index } = this.explored;
      const near = usualNearness(index);
      const plan = await call.long('grouping', (work) => dedup(index, { ...near, ...work }));
      await this.file.check();
      this.#take(plan);
      await this.#save();
      return this.answer();
    });
  }

  /** Saves the plan; its lines have no ids where these are the rows' numbers. */
  #save(): Promise<void> {
    const { index, rows, fileAt } = this.explored;
    const plan = this.#plan as DedupPlan;
    const areNumbers = rows.every((row) => index.idOf(row) === row);
    const ids = areNumbers ? undefined : idsOfIndex(index, rows, plan.count);
    return this.file.save(plan, { ids, fileAt });
  }
}
