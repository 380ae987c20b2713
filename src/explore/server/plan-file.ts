/**
 * The file of the plan under review: read once, then written as a whole after each decision. Rows
 * that did not change are not encoded again. At any moment the file is the old plan or the new one,
 * and what another program has written into it is not replaced.
 */

import { stat } from 'node:fs/promises';
import { linesOfPlan } from '../../cli/input/plan-lines';
import type { SourceMarks } from '../../cli/input/source-marks';
import { blockOf, savePlan } from '../../formats/plan-file';
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
  readonly path: string;
  /** Marks of the files that the rows came from; null where there are none to compare. */
  readonly #marks: SourceMarks | null;
  /** What `stateOf` said when we last read or wrote the file. */
  #known: string | null = null;
  /** Rows as they were encoded for the file, in blocks; those in `#changed` are out of date. */
  #blocks: Uint8Array[][] = [];
  #changed = new Set<number>();
  /** The save that runs, and the one that follows it, for all who called meanwhile. */
  #saving: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  constructor(path: string, marks: SourceMarks | null) {
    this.path = path;
    this.#marks = marks;
  }

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
    this.#blocks = [];
    this.#known = await stateOf(this.path);
    if (this.#known === null) return null;
    const plan = await readPlan(this.path, { maxRows });
    if (this.#marks === null) return plan;
    const { marks } = await linesOfPlan(this.path, plan.count);
    this.#marks.check(marks, this.path);
    return plan;
  }

  /** Throws a Conflict if another program has changed the file since we last read or wrote it. */
  async check(): Promise<void> {
    if (this.#saving === null && (await stateOf(this.path)) !== this.#known) {
      throw new Conflict(`${this.path} was changed by another program: start again to read it`);
    }
  }

  /**
   * Saves the plan as it is when the save begins. `rows` are those that changed; without them all
   * are encoded again. While a save runs, all further calls share the one that follows it.
   */
  save(plan: DedupPlan, names: RowNames, rows?: readonly number[]): Promise<void> {
    if (rows === undefined) this.#blocks = [];
    for (const row of rows ?? []) this.#changed.add(blockOf(row));
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
        return this.save(plan, names, []);
      });
    return this.#next;
  }

  /** The columns of lines that the plan does not hold: ids, and the marks of the rows' files. */
  partOf({ ids, fileAt }: RowNames) {
    const marks = this.#marks;
    return { ids, sourceOf: marks ? (row: number) => marks.markOf(fileAt(row)) : undefined };
  }

  async #write(plan: DedupPlan, names: RowNames): Promise<void> {
    for (const block of this.#changed) delete this.#blocks[block];
    this.#changed = new Set();
    // A copy is written: decisions that come meanwhile change the plan, and are saved by the next.
    await savePlan(this.path, copied(plan), { ...this.partOf(names), blocks: this.#blocks });
    this.#known = await stateOf(this.path);
  }
}

/** A plan with copies of the arrays that decisions change. */
function copied(plan: DedupPlan): DedupPlan {
  const { kept, duplicateOf, distances, cosines, jaccards, reviewed } = plan;
  return {
    ...plan,
    kept: kept.slice(),
    duplicateOf: duplicateOf.slice(),
    distances: distances.slice(),
    cosines: cosines?.slice() ?? null,
    jaccards: jaccards?.slice() ?? null,
    ...(reviewed !== undefined && { reviewed: reviewed.slice() }),
  };
}

/** Inode, size and time of a file, which a write by another program changes; null without file. */
async function stateOf(path: string): Promise<string | null> {
  const found = await stat(path, { bigint: true }).catch(() => null);
  return found && `${found.ino} ${found.size} ${found.mtimeNs}`;
}
