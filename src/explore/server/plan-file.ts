/**
 * The file of the plan under review: read once, then written as a whole after each decision. At any
 * moment the file is the old plan or the new one, and what another program has written into it is
 * not replaced.
 */

import { stat } from 'node:fs/promises';
import { linesOfPlan, type SourceMarks } from '../../cli/input/plan-source';
import { savePlan } from '../../formats/plan-file';
import { type DedupPlan, type Ids, openRows, readPlan } from '../../node';
import { Conflict } from '../reviewed-plan';

/** Columns of the lines of a plan that the plan does not hold. */
interface RowNames {
  /** By row; undefined where lines have no ids. */
  readonly ids: Ids | undefined;
  /** The file of a row, where rows are in several files; else undefined. */
  readonly fileAt: (row: number) => string | undefined;
}

/** The file of a plan; it may not be there yet. */
export class PlanFile {
  /** What `stateOf` said when we last read or wrote the file. */
  #known: string | null = null;
  /** The save that runs, and the one that follows it, for all who called meanwhile. */
  #saving: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  /** `marks` are those of the files that the rows came from; null to compare none. */
  constructor(
    readonly path: string,
    private readonly marks: SourceMarks | null,
  ) {}

  /** True if the plan compares texts by cosine or distance; false if as sets, or without a plan. */
  async isOfCosines(): Promise<boolean> {
    const reader = await openRows(this.path).catch(() => null);
    await reader?.close();
    return reader !== null && !reader.columns.some(({ name }) => name === 'jaccard');
  }

  /**
   * Reads the plan; null if there is no file. Throws if the plan is for more than `maxRows` rows,
   * or if the files that its rows came from were changed since it was made.
   */
  async read(maxRows: number): Promise<DedupPlan | null> {
    this.#known = await stateOf(this.path);
    if (this.#known === null) return null;
    const plan = await readPlan(this.path, { maxRows });
    if (this.marks === null) return plan;
    const { marks } = await linesOfPlan(this.path, plan.count);
    this.marks.check(marks, this.path);
    return plan;
  }

  /** Throws a Conflict if another program has changed the file since we last read or wrote it. */
  async check(): Promise<void> {
    if (this.#saving === null && (await stateOf(this.path)) !== this.#known) {
      throw new Conflict(`${this.path} was changed by another program: start again to read it`);
    }
  }

  /**
   * Saves the plan as it is when the save begins. While one runs, all further calls share the one
   * that follows it.
   */
  save(plan: DedupPlan, names: RowNames): Promise<void> {
    if (this.#saving === null) {
      this.#saving = this.#write(plan, names).finally(() => {
        this.#saving = null;
      });
      return this.#saving;
    }
    this.#next ??= this.#saving
      .catch(() => undefined)
      .then(() => {
        this.#next = null;
        return this.save(plan, names);
      });
    return this.#next;
  }

  /** The columns of lines that the plan does not hold: ids, and the marks of the rows' files. */
  partOf({ ids, fileAt }: RowNames) {
    const { marks } = this;
    return { ids, sourceOf: marks ? (row: number) => marks.markOf(fileAt(row)) : undefined };
  }

  async #write(plan: DedupPlan, names: RowNames): Promise<void> {
    // A copy is written: decisions that come meanwhile change the plan, and are saved by the next.
    await savePlan(this.path, copied(plan), this.partOf(names));
    this.#known = await stateOf(this.path);
  }
}

/** A plan with copies of the arrays that decisions change. */
function copied(plan: DedupPlan): DedupPlan {
  return {
    ...plan,
    kept: plan.kept.slice(),
    duplicateOf: plan.duplicateOf.slice(),
    distances: plan.distances.slice(),
    cosines: plan.cosines?.slice() ?? null,
    jaccards: plan.jaccards?.slice() ?? null,
    reviewed: plan.reviewed?.slice(),
  };
}

/** Inode, size and time of a file, which a write by another program changes; null without file. */
async function stateOf(path: string): Promise<string | null> {
  const found = await stat(path, { bigint: true }).catch(() => null);
  return found && `${found.ino} ${found.size} ${found.mtimeNs}`;
}
