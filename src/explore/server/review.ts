/**
 * The plan under review: its groups of near rows, and a person's decisions about them. A decision
 * names the rows of a group to keep; each other row becomes a duplicate of the nearest row that is
 * kept, of equally near ones the first. It is answered once the plan's file has it. One that is
 * based on an older state of its group, as by a second page, or of the file, as by an editor, is
 * refused. At any moment the file is the old plan or the new one.
 */

import { stat } from 'node:fs/promises';
import { LongWork } from '../../base/long-work';
import { checkSource } from '../../cli/output/plan';
import { measureOf } from '../../codes/measure';
import { readPlanLines, savePlan } from '../../formats/plan-file';
import { measureDropped } from '../../near/dedup';
import { checkPlan, checksOf } from '../../near/plan';
import { doubtfulRows } from '../../near/plan-table';
import { type Rows, rowsOf } from '../../near/rows';
import { type DedupPlan, openRows, RowBatch } from '../../node';
import type {
  DecideRequest,
  Decision,
  GroupAnswer,
  GroupLine,
  Member,
  ReviewAnswer,
} from '../messages';
import type { Explored } from './explored';

/** Rows of a group that are shown, at most, and characters of a column of all of them, at most. */
const MAX_MEMBERS = 200;
const MAX_CHARACTERS = 4_000_000;

/** A plan in memory, which is kept equal to its file. */
export class Review {
  #plan!: DedupPlan & { readonly reviewed: Uint8Array };
  /**
   * By name, which is a row number, the rows of each group of two or more: first those that were
   * kept when the plan was read, so that rows do not move at a decision.
   */
  #groups: ReadonlyMap<number, readonly number[]> = new Map();
  /** The last change: changes run one after another. */
  #last: Promise<unknown> = Promise.resolve();

  /** The rows with what they are compared by. */
  readonly #held: Rows;

  private constructor(
    private readonly explored: Explored,
    private readonly file: PlanFile,
  ) {
    this.#held = rowsOf('index', explored.index);
  }

  static async open(explored: Explored, file: PlanFile): Promise<Review> {
    const review = new Review(explored, file);
    await review.#read();
    return review;
  }

  /** Takes the plan as the file has it. Throws where it was made for other rows. */
  async #read(): Promise<void> {
    const { codes } = this.#held;
    const plan = await this.file.read(codes.count);
    try {
      checkPlan(plan, await checksOf(codes));
    } catch (error) {
      const what = `${this.file.path} is not a plan for these rows: ${(error as Error).message}`;
      throw new RangeError(`${what}. Open them with the options that made it`);
    }
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

  /** The state of the plan, with all groups of two rows or more in the order of a plan's file. */
  answer(): ReviewAnswer {
    const inOrder = new Set(doubtfulRows(this.#plan).map((row) => this.#plan.groups[row]));
    const shown = [...inOrder].filter((group) => this.#groups.has(group));
    const groups = shown.map((group) => this.#line(group));
    const dropped = this.#plan.kept.reduce((sum, one) => sum + 1 - one, 0);
    return { file: this.file.path, rows: this.explored.rows.length, dropped, groups };
  }

  #line(group: number): GroupLine {
    const rows = this.#rowsOf(group);
    const { kept, distances, similarities, reviewed } = this.#plan;
    return {
      group,
      size: rows.length,
      dropped: rows.filter((row) => kept[row] === 0).length,
      widest: rows.reduce((most, row) => Math.max(most, distances[row]), 0),
      lowest: similarities && rows.reduce((least, row) => Math.min(least, similarities[row]), 1),
      isReviewed: rows.every((row) => reviewed[row] === 1),
    };
  }

  /** The rows of a group; throws a RangeError for a group that is not there. */
  #rowsOf(group: number): readonly number[] {
    const rows = this.#groups.get(group);
    if (rows !== undefined) return rows;
    throw new RangeError(`"group" expected a group of the plan, got ${group}`);
  }

  /** A group with its rows as members, at most MAX_MEMBERS. */
  group(group: number): GroupAnswer {
    const rows = this.#rowsOf(group);
    const { kept, duplicateOf, distances, similarities } = this.#plan;
    const { index } = this.explored;
    const shown = rows.slice(0, MAX_MEMBERS);
    const most = Math.floor(MAX_CHARACTERS / shown.length);
    const texts = this.explored.valuesOf(shown, most);
    const members = shown.map((row, i): Member => {
      const similarity = similarities?.[row] ?? Number.NaN;
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
    const decide = async () => {
      this.#check(asked);
      await this.file.check();
      await this.#keep(asked.group, asked.after);
      try {
        await this.file.save(this.#plan);
      } catch (error) {
        await this.#read(); // what was decided is not in the file
        throw error;
      }
      return this.group(asked.group);
    };
    const done = this.#last.then(decide, decide);
    this.#last = done;
    return done;
  }

  /** Throws unless a decision is about rows of its group, and about the group as it is now. */
  #check({ group, before, after }: DecideRequest): void {
    const plan = this.#plan;
    const known = new Set(before.kept);
    const isSame = this.#rowsOf(group).every((row) => known.has(row) === (plan.kept[row] === 1));
    if (!isSame || this.#line(group).isReviewed !== before.isReviewed) {
      throw new Conflict('this group was decided elsewhere meanwhile: shown as it is now');
    }
    if (after.kept.length === 0) throw new RangeError('a group keeps one row at least');
    const other = after.kept.find((row) => plan.groups[row] !== group);
    if (other !== undefined) throw new RangeError(`row ${other} is not in group ${group}`);
  }

  /** Keeps some rows of a group; each other row becomes a duplicate of the nearest of them. */
  async #keep(group: number, { kept: toKeep, isReviewed }: Decision): Promise<void> {
    const [plan, rows, held] = [this.#plan, this.#rowsOf(group), this.#held];
    const { codes } = held;
    const estimate = measureOf(codes.origin?.projection).estimateOf;
    const { similarities } = plan;
    const chosen = new Set(toKeep);
    const keptRows = rows.filter((row) => chosen.has(row));
    for (const row of rows) {
      plan.reviewed[row] = Number(isReviewed);
      plan.kept[row] = Number(chosen.has(row));
      const nearer = (best: number, other: number) =>
        codes.distance(row, other) < codes.distance(row, best) ? other : best;
      const kept = chosen.has(row) ? row : keptRows.reduce(nearer);
      // How much the two have in common without common text is not known here.
      if (plan.rests && kept !== plan.duplicateOf[row]) {
        plan.rests[row] = kept === row ? 1 : Number.NaN;
      }
      plan.duplicateOf[row] = kept;
      plan.distances[row] = 0;
      // Of dropped rows estimates, which exact ones replace where the index has vectors.
      if (similarities !== null) {
        similarities[row] = estimate(codes.distance(row, kept), codes.bits);
      }
    }
    const dropped = Uint32Array.from(rows.filter((row) => !chosen.has(row)));
    await measureDropped(plan, dropped, held, new LongWork({ threads: 1 }));
  }
}

/** A change that is based on a state which others have changed since. */
export class Conflict extends Error {}

/** The file of a plan. */
export class PlanFile {
  /** What `stateOf` said when we last read or wrote the file. */
  #known: string | null = null;
  #lines: RowBatch | null = null;

  /** `source` is the checksum of `input`, from which the rows came; null to compare none. */
  constructor(
    readonly path: string,
    private readonly input: string,
    private readonly source: string | null,
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
      const advice = `make it by halfspace dedup -o ${this.path}, then load this page again`;
      throw new RangeError(`there is no plan ${this.path}: ${advice}`);
    }
    const { plan, sources, lines } = await readPlanLines(this.path, maxRows, true);
    checkSource(this.input, this.source, sources, this.path);
    this.#lines = RowBatch.join(lines);
    return plan;
  }

  /** Throws a Conflict if another program has changed the file since we last read or wrote it. */
  async check(): Promise<void> {
    if ((await stateOf(this.path)) === this.#known) return;
    throw new Conflict(`${this.path} was changed by another program: start again to read it`);
  }

  /**
   * Saves the plan that was read, with decisions, which must not change meanwhile; calls must wait
   * for each other.
   */
  async save(plan: DedupPlan): Promise<void> {
    await savePlan(this.path, plan, this.#lines as RowBatch);
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
