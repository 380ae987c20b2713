/**
 * The file of the plan under review: read once, then written as a whole after each decision. At any
 * moment the file is the old plan or the new one, and what another program has written into it is
 * not replaced.
 */

import { stat } from 'node:fs/promises';
import { linesOfPlan, type SourceMarks } from '../../cli/input/plan-source';
import { savePlan } from '../../formats/plan-file';
import { type DedupPlan, type Ids, openRows, readPlan } from '../../node';

/** A change that is based on a state which others have changed since. */
export class Conflict extends Error {}

/** The file of a plan. */
export class PlanFile {
  /** What `stateOf` said when we last read or wrote the file. */
  #known: string | null = null;

  /**
   * `marks` are those of the files that the rows came from; null to compare none. `maker` is the
   * command line that makes the file, for the error where it is not there.
   */
  constructor(
    readonly path: string,
    private readonly marks: SourceMarks | null,
    private readonly maker: string,
  ) {}

  /** True if the plan compares texts by cosine or distance; false if as sets, or without a plan. */
  async isOfCosines(): Promise<boolean> {
    const reader = await openRows(this.path).catch(() => null);
    await reader?.close();
    return reader !== null && !reader.columns.some(({ name }) => name === 'jaccard');
  }

  /**
   * Reads the plan. Throws if there is no file, if the plan is for more than `maxRows` rows, or if
   * the files that its rows came from were changed since it was made.
   */
  async read(maxRows: number): Promise<DedupPlan> {
    this.#known = await stateOf(this.path);
    if (this.#known === null) {
      const advice = `make it by ${this.maker}, then load this page again`;
      throw new RangeError(`there is no plan ${this.path}: ${advice}`);
    }
    const plan = await readPlan(this.path, { maxRows });
    if (this.marks === null) return plan;
    const { marks } = await linesOfPlan(this.path, plan.count);
    this.marks.check(marks, this.path);
    return plan;
  }

  /** Throws a Conflict if another program has changed the file since we last read or wrote it. */
  async check(): Promise<void> {
    if ((await stateOf(this.path)) === this.#known) return;
    throw new Conflict(`${this.path} was changed by another program: start again to read it`);
  }

  /**
   * Saves a plan, which must not change meanwhile; calls must wait for each other. `ids` are by
   * row, undefined where lines have none; `fileAt` gives the file of a row, of several files.
   */
  async save(
    plan: DedupPlan,
    ids: Ids | undefined,
    fileAt: (row: number) => string | undefined,
  ): Promise<void> {
    const { marks } = this;
    const sourceOf = marks ? (row: number) => marks.markOf(fileAt(row)) : undefined;
    await savePlan(this.path, plan, { ids, sourceOf });
    this.#known = await stateOf(this.path);
  }
}

/** Inode, size and time of a file, which a write by another program changes; null without file. */
async function stateOf(path: string): Promise<string | null> {
  const found = await stat(path, { bigint: true }).catch((error) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  return found && `${found.ino} ${found.size} ${found.mtimeNs}`;
}
