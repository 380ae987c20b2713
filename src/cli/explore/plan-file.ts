/**
 * The file of the plan under review: read once, then written whole at each decision, by rows that
 * were encoded before. It is the old plan or the new one at any moment, and what another program
 * writes into it is never written over.
 */

import { stat } from 'node:fs/promises';
import { blockOf, savePlan } from '../../formats/plan-file';
import { type DedupPlan, type Ids, openRows, readPlan } from '../../node';
import { linesOfPlan } from '../input/plan-lines';
import type { SourceMarks } from '../input/source-marks';
import { Conflict } from './server';

/** What lines of a plan say of their rows besides the plan. */
interface RowNames {
  readonly ids: Ids | undefined;
  /** The file of a row, where they lie in several. */
  readonly fileAt: (row: number) => string | undefined;
}

export class PlanFile {
  readonly path: string;
  /** Of the files of the rows. */
  readonly #marks: SourceMarks | null;
  /** The file as we last read or wrote it. */
  #known: string | null = null;
  /** Rows of the file as bytes; of blocks in `#changed` they are those of an earlier plan. */
  #blocks: Uint8Array[][] = [];
  #changed = new Set<number>();
  #saving: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  constructor(path: string, marks: SourceMarks | null) {
    this.path = path;
    this.#marks = marks;
  }

  /** Whether the plan compares texts by other than sets; false without one that can be read. */
  async isOfCosines(): Promise<boolean> {
    const reader = await openRows(this.path).catch(() => null);
    await reader?.close();
    return reader !== null && !reader.columns.some(({ name }) => name === 'jaccard');
  }

  /**
   * The plan as it is now, of a source of so many rows; null where there is no file. Throws where
   * the files of the rows were changed since it was made.
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

  /** Throws where the file is not as we left it: another program has changed it. */
  async check(): Promise<void> {
    if (this.#saving === null && (await stateOf(this.path)) !== this.#known) {
      throw new Conflict(`${this.path} was changed by another program: start again to read it`);
    }
  }

  /**
   * Saves what the plan is by now, of which these rows are changed; all without them. While a save
   * runs, all later ones wait for one more.
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

  async #write(plan: DedupPlan, { ids, fileAt }: RowNames): Promise<void> {
    for (const block of this.#changed) delete this.#blocks[block];
    this.#changed = new Set();
    // Decisions may follow while this is written: they are of the next save.
    const marks = this.#marks;
    const sourceOf = marks === null ? undefined : (row: number) => marks.markOf(fileAt(row));
    await savePlan(this.path, copied(plan), { ids, sourceOf, blocks: this.#blocks });
    this.#known = await stateOf(this.path);
  }
}

function copied(plan: DedupPlan): DedupPlan {
  const { kept, duplicateOf, distances, cosines, jaccards, reviewed } = plan;
  return {
    ...plan,
    ...{ kept: kept.slice(), duplicateOf: duplicateOf.slice(), distances: distances.slice() },
    ...{ cosines: cosines?.slice() ?? null, jaccards: jaccards?.slice() ?? null },
    ...(reviewed !== undefined && { reviewed: reviewed.slice() }),
  };
}

/** What changes whenever another program writes a file; null where there is none. */
async function stateOf(path: string): Promise<string | null> {
  const found = await stat(path, { bigint: true }).catch(() => null);
  return found && `${found.ino} ${found.size} ${found.mtimeNs}`;
}
