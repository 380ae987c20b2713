/**
 * The review of a plan on the server: `ReviewedPlan` with its file. A decision is answered once the
 * file has it. One that is based on an older state of the file, as by an editor, is refused.
 */

import type { Call } from '../../cli/call';
import { idsOfIndex } from '../../cli/input/collection';
import { usualNearness } from '../../cli/input/near';
import { checksOfRows, planOfRows } from '../../near/plan';
import { eachPlanBatch } from '../../near/plan-table';
import { type DedupPlan, dedup, type Id } from '../../node';
import type { RowBatch } from '../../table/row-batch';
import type { DecideRequest, GroupAnswer, HeldPlan, ReviewAnswer } from '../messages';
import { type PlanRows, ReviewedPlan } from '../reviewed-plan';
import type { Explored } from './explored';
import { heldPlan, rowsToShow } from './pages';
import type { PlanFile } from './plan-file';

/** A plan in memory, which is kept equal to its file. */
export class Review {
  /** Both null as long as there is neither a file nor a plan that was made here. */
  #plan: DedupPlan | null = null;
  #reviewed: ReviewedPlan | null = null;

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

  /** Makes a plan the one under review, with a flag for each row whether it is reviewed. */
  #take(plan: DedupPlan): void {
    this.#reviewed = new ReviewedPlan(plan, rowsOf(this.explored));
    this.#plan = { ...plan, reviewed: this.#reviewed.reviewed };
  }

  /** The state of the plan, with all groups of two rows or more, ordered by their first rows. */
  answer(): ReviewAnswer {
    const groups = this.#reviewed?.answer() ?? { dropped: 0, groups: [] };
    const exists = this.#reviewed !== null;
    return { file: this.file.path, exists, rows: this.explored.rows.length, ...groups };
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
    await this.file.check();
    reviewed.keep(group, asked.after);
    try {
      await this.file.save(this.#plan as DedupPlan, this.#names());
    } catch (error) {
      await this.#read(); // what was decided is not in the file
      throw error;
    }
    return reviewed.group(group);
  }

  /** Makes a plan as `dedup` makes it without options, and saves it. */
  async make(call: Call): Promise<ReviewAnswer> {
    const { index } = this.explored;
    const near = usualNearness(index);
    const plan = await call.long('grouping', (work) => dedup(index, { ...near, ...work }));
    await this.file.check();
    this.#take(plan);
    await this.file.save(this.#plan as DedupPlan, this.#names());
    return this.answer();
  }

  /** Ids and files of rows for the lines of the plan; no ids where these are the rows' numbers. */
  #names() {
    const { index, rows, fileAt } = this.explored;
    const ids = rows.some((row) => index.idOf(row) !== row)
      ? idsOfIndex(index, rows, this.#plan?.count)
      : undefined;
    return { ids, fileAt };
  }

  /** The plan for a page in one file, with texts of its most doubtful groups. */
  async held(): Promise<HeldPlan | null> {
    if (this.#plan === null) return null;
    const seen = rowsToShow(this.#plan);
    const texts = this.explored.textsOf(seen).map((text, i) => [seen[i], text] as const);
    const part = { ...this.file.partOf(this.#names()), isRounded: true };
    const batches: RowBatch[] = [];
    await eachPlanBatch(this.#plan, part, (batch) => {
      batches.push(batch);
    });
    return heldPlan(this.#plan.count, {
      batches,
      source: this.explored.index,
      texts,
    });
  }
}

/** The rows of a plan, compared by the index that holds them: exactly by held vectors or sets. */
function rowsOf(explored: Explored): PlanRows {
  const { index } = explored;
  return {
    compare(row, other) {
      const compared = index.compare(index.idOf(row) as Id, index.idOf(other) as Id);
      const { distance, cosine, estimate, jaccard } = compared;
      const similarity =
        jaccard === undefined
          ? (cosine ?? estimate.estimatedCosine)
          : (jaccard.exact ?? jaccard.estimatedJaccard);
      return { distance, similarity };
    },
    namesOf(rows) {
      const texts = explored.valuesOf(rows);
      return rows.map((row, i) => ({ id: String(index.idOf(row)), texts: texts[i] }));
    },
  };
}
