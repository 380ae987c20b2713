/**
 * The review of a plan on the server: `ReviewedPlan` with its file. A decision is answered once the
 * file has it. One that is based on an older state of the file, as by an editor, is refused.
 */

import type { Call } from '../../cli/call';
import { idsOfIndex } from '../../cli/input/collection';
import { checksOfRows, planOfRows } from '../../groups/plan';
import { planBatches } from '../../groups/plan-table';
import { type Comparison, type DedupPlan, dedupAsync, type Id } from '../../node';
import type {
  DecideRequest,
  GroupAnswer,
  HeldPlan,
  PreviewAnswer,
  ReviewAnswer,
} from '../messages';
import { droppedIn, groupsOf, type PlanRows, ReviewedPlan } from '../reviewed-plan';
import type { Explored } from './explored';
import { heldPlan, rowsToShow } from './pages';
import type { PlanFile } from './plan-file';

/** A plan in memory, which is kept equal to its file. */
export class Review {
  readonly #explored: Explored;
  readonly #file: PlanFile;
  /** Both null as long as there is neither a file nor a plan that was made here. */
  #plan: DedupPlan | null = null;
  #reviewed: ReviewedPlan | null = null;

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

  /** Makes a plan the one under review, with a flag for each row whether it is reviewed. */
  #take(plan: DedupPlan): ReviewedPlan {
    const reviewed = new ReviewedPlan(plan, rowsOf(this.#explored));
    this.#plan = { ...plan, reviewed: reviewed.reviewed };
    this.#reviewed = reviewed;
    return reviewed;
  }

  /** The state of the plan, with all groups of two rows or more, ordered by their first rows. */
  answer(): ReviewAnswer {
    const { path: file } = this.#file;
    const exists = this.#reviewed !== null;
    const groups = this.#reviewed?.answer() ?? { dropped: 0, groups: [] };
    return { file, exists, rows: this.#explored.rows.length, ...groups };
  }

  /** A group with its rows; throws a RangeError for a group that the plan does not have. */
  group(group: number): GroupAnswer {
    return this.#need(group).group(group);
  }

  #need(group: number): ReviewedPlan {
    if (this.#reviewed !== null) return this.#reviewed;
    throw new RangeError(`"group" expected a group of the plan, got ${group}: there is no plan`);
  }

  /** Decides about a group; resolves when the file has it. Where it throws nothing is changed. */
  async decide(asked: DecideRequest): Promise<GroupAnswer> {
    const { group } = asked;
    const reviewed = this.#need(group);
    reviewed.check(asked);
    await this.#file.check();
    reviewed.keep(group, asked.after);
    try {
      await this.#file.save(this.#plan as DedupPlan, this.#names(), reviewed.rowsOf(group));
    } catch (error) {
      await this.#read(); // what was decided is not in the file
      throw error;
    }
    return reviewed.group(group);
  }

  /** What a plan with another nearness would be; `near` is a distance or a Jaccard similarity. */
  async preview(call: Call, near: number): Promise<PreviewAnswer> {
    const { kept, groups } = await this.#planned(call, near);
    const old = this.#plan?.kept;
    const changed = old && kept.reduce((sum, one, row) => sum + Number(one !== old[row]), 0);
    const dropped = droppedIn(kept);
    return { near, groups: groupsOf(groups).size, dropped, changed: changed ?? null };
  }

  /**
   * Makes the plan again and saves it. Decisions stay for reviewed groups that have the same name
   * and the same rows in the new plan.
   */
  async make(call: Call, near: number): Promise<ReviewAnswer> {
    const plan = await this.#planned(call, near);
    const old = this.#reviewed;
    await this.#file.check();
    const taken = this.#take(plan);
    for (const [group, rows] of taken.groups) {
      const before = old?.groups.get(group);
      const isSame = before?.length === rows.length && rows.every((row, i) => row === before[i]);
      if (!old || !isSame || old.reviewed[rows[0]] !== 1) continue;
      const kept = rows.filter((row) => old.plan.kept[row] === 1);
      taken.keep(group, { kept, isReviewed: true });
    }
    await this.#file.save(this.#plan as DedupPlan, this.#names());
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

  /** The plan for a page in one file, with texts of its most doubtful groups. */
  held(): HeldPlan | null {
    if (this.#plan === null) return null;
    const seen = rowsToShow(this.#plan);
    const texts = this.#explored.textsOf(seen).map((text, i) => [seen[i], text] as const);
    const part = { ...this.#file.partOf(this.#names()), isRounded: true };
    return heldPlan(this.#plan.count, {
      batches: [...planBatches(this.#plan, part)],
      source: this.#explored.index,
      texts,
    });
  }
}

/** The rows of a plan, compared by the index that holds them. */
function rowsOf(explored: Explored): PlanRows {
  const { index } = explored;
  return {
    compare(row, other) {
      const compared = index.compare(index.idOf(row) as Id, index.idOf(other) as Id);
      return { distance: compared.distance, similarity: similarityOf(compared) };
    },
    namesOf(rows) {
      const texts = explored.valuesOf(rows);
      return rows.map((row, i) => ({ id: String(index.idOf(row)), texts: texts[i] }));
    },
  };
}

/** The similarity of two rows: exact by held vectors or sets, else as the distance estimates. */
function similarityOf({ cosine, estimate, jaccard }: Comparison): number {
  return jaccard === undefined
    ? (cosine ?? estimate.estimatedCosine)
    : (jaccard.exact ?? jaccard.estimatedJaccard);
}
