/**
 * The review of a plan: groups of near rows, and the decisions of a person about them. A decision
 * is a group's rows to keep; every other row of it is dropped, as a duplicate of the nearest row
 * that is kept. It is answered when the plan's file has it, and the file is whole at any moment.
 * Decisions of two pages, or of an editor, never overwrite each other.
 */

import { stat } from 'node:fs/promises';
import type {
  DecideRequest,
  GroupAnswer,
  GroupLine,
  Member,
  PreviewAnswer,
  ReviewAnswer,
} from '../../explorer/messages';
import { checkPlan } from '../../groups/dedup';
import {
  type Comparison,
  type DedupPlan,
  dedupAsync,
  type Id,
  type Ids,
  openRows,
  readPlan,
  writePlan,
} from '../../node';
import type { Call } from '../call';
import { idsOfIndex } from '../input/collection';
import type { Explored } from './explored';
import { Conflict } from './server';

/** Members of a group that are shown. */
const MAX_MEMBERS = 200;

/** A plan in memory, and its file. */
export class Review {
  readonly #explored: Explored;
  readonly path: string;
  #plan: DedupPlan | null = null;
  /** By row 1 where its group was looked at. */
  #reviewed: Uint8Array = new Uint8Array();
  /** By name of a group its rows, of groups of two or more. */
  #groups = new Map<number, number[]>();
  /** The file as we last read or wrote it. */
  #known: string | null = null;
  #saving: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  private constructor(explored: Explored, path: string) {
    this.#explored = explored;
    this.path = path;
  }

  /** The review of a plan's file; without the file, of a plan that is made later. */
  static async open(explored: Explored, path: string): Promise<Review> {
    const review = new Review(explored, path);
    if ((await stateOf(path)) !== null) await review.#read();
    return review;
  }

  async #read(): Promise<void> {
    const { path } = this;
    const known = await stateOf(path);
    const plan = await readPlan(path);
    try {
      checkPlan(plan, this.#explored.checks());
    } catch (error) {
      const why = (error as Error).message;
      throw new RangeError(
        `${path} is not a plan for these rows: ${why}. Open them with the options that made it`,
      );
    }
    this.#take(plan, await reviewedOf(path, plan.count));
    this.#known = known;
  }

  #take(plan: DedupPlan, reviewed: Uint8Array): void {
    this.#plan = plan;
    this.#reviewed = reviewed;
    this.#groups = groupsOf(plan);
  }

  /** The plan, all groups of two or more, in the order of their names. */
  answer(): ReviewAnswer {
    const plan = this.#plan;
    return {
      ...{ file: this.path, exists: plan !== null, rows: this.#explored.rows.length },
      dropped: plan === null ? 0 : plan.kept.reduce((sum, kept) => sum + 1 - kept, 0),
      groups: [...this.#groups].map(([group, rows]) => this.#line(group, rows)),
    };
  }

  #line(group: number, rows: readonly number[]): GroupLine {
    const { distances } = this.#plan as DedupPlan;
    return {
      ...{ group, size: rows.length },
      widest: rows.reduce((most, row) => Math.max(most, distances[row]), 0),
      isReviewed: rows.every((row) => this.#reviewed[row] === 1),
    };
  }

  /** A group with its members, kept ones first. */
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

  #rowsOf(group: unknown): number[] {
    const rows = this.#groups.get(group as number);
    if (rows === undefined)
      throw new RangeError(`"group" expected a group of the plan, got ${group}`);
    return rows;
  }

  /** Decides about a group; resolves when the file has it. */
  async decide({ group, before, after }: DecideRequest): Promise<GroupAnswer> {
    const rows = this.#rowsOf(group);
    const { kept } = this.#plan as DedupPlan;
    const own = rows.filter((row) => kept[row] === 1);
    const { isReviewed } = this.#line(group, rows);
    const isSame =
      own.length === before.kept.length && own.every((row) => before.kept.includes(row));
    if (!isSame || isReviewed !== before.isReviewed) {
      throw new Conflict('this group was decided elsewhere meanwhile');
    }
    const toKeep = new Set(after.kept);
    if (toKeep.size === 0) throw new RangeError('a group keeps one row at least');
    for (const row of toKeep) {
      if (!rows.includes(row)) throw new RangeError(`row ${row} is not in group ${group}`);
    }
    await this.#checkFile();
    this.#keep(rows, toKeep);
    for (const row of rows) this.#reviewed[row] = Number(after.isReviewed);
    try {
      await this.#save();
    } catch (error) {
      await this.#read(); // what was decided is not in the file
      throw error;
    }
    return this.group(group);
  }

  /** Keeps these rows of a group; the others duplicate the nearest of them. */
  #keep(rows: readonly number[], toKeep: ReadonlySet<number>): void {
    const { kept, duplicateOf, distances, cosines, jaccards } = this.#plan as DedupPlan;
    const exact = cosines ?? jaccards;
    const { index } = this.#explored;
    for (const row of rows) {
      kept[row] = Number(toKeep.has(row));
      if (toKeep.has(row)) {
        duplicateOf[row] = row;
        distances[row] = 0;
        if (exact !== null) exact[row] = 1;
        continue;
      }
      let best = Number.POSITIVE_INFINITY;
      for (const other of [...toKeep].sort((a, b) => a - b)) {
        const compared = index.compare(index.idOf(row) as Id, index.idOf(other) as Id);
        if (compared.distance >= best) continue;
        best = compared.distance;
        duplicateOf[row] = other;
        distances[row] = best;
        if (exact !== null) exact[row] = similarityOf(compared);
      }
    }
  }

  /** What the plan would be within a distance. */
  async preview(call: Call, maxDistance: number): Promise<PreviewAnswer> {
    const plan = await this.#planned(call, maxDistance);
    const old = this.#plan?.kept;
    const changed = old && plan.kept.reduce((sum, kept, row) => sum + Number(kept !== old[row]), 0);
    return {
      ...{ maxDistance, groups: groupsOf(plan).size },
      dropped: plan.kept.reduce((sum, kept) => sum + 1 - kept, 0),
      changed: changed ?? null,
    };
  }

  /** Makes the plan within a distance; groups of the same rows keep what was decided of them. */
  async make(call: Call, maxDistance: number): Promise<ReviewAnswer> {
    const plan = await this.#planned(call, maxDistance);
    const old = { plan: this.#plan, reviewed: this.#reviewed, groups: this.#groups };
    await this.#checkFile();
    this.#take(plan, new Uint8Array(plan.count));
    for (const [group, rows] of this.#groups) {
      const before = old.groups.get(group);
      const isSame = before?.length === rows.length && rows.every((row, i) => row === before[i]);
      if (!isSame || old.plan === null || old.reviewed[rows[0]] !== 1) continue;
      this.#keep(rows, new Set(rows.filter((row) => old.plan?.kept[row] === 1)));
      for (const row of rows) this.#reviewed[row] = 1;
    }
    await this.#save();
    return this.answer();
  }

  #planned(call: Call, maxDistance: number): Promise<DedupPlan> {
    const { index } = this.#explored;
    return call.long('grouping', (work) => dedupAsync(index, { maxDistance, ...work }));
  }

  /** Throws where the file is not as we left it: another program has changed it. */
  async #checkFile(): Promise<void> {
    if (this.#saving === null && (await stateOf(this.path)) !== this.#known) {
      throw new Conflict(`${this.path} was changed by another program: start again to read it`);
    }
  }

  /** Saves what is decided by now. While a save runs, all later decisions wait for one more. */
  #save(): Promise<void> {
    const write = async () => {
      const options = { ids: this.#ids(), reviewed: this.#reviewed.slice() };
      await writePlan(this.path, copied(this.#plan as DedupPlan), options);
      this.#known = await stateOf(this.path);
    };
    if (this.#saving === null) {
      this.#saving = write().finally(() => {
        this.#saving = null;
      });
      return this.#saving;
    }
    this.#next ??= this.#saving
      .catch(() => undefined)
      .then(() => {
        this.#next = null;
        return this.#save();
      });
    return this.#next;
  }

  /** The ids of the rows, where they are more than the numbers of rows. */
  #ids(): Ids | undefined {
    const { index, rows } = this.#explored;
    return rows.some((row) => index.idOf(row) !== row) ? idsOfIndex(index, rows) : undefined;
  }
}

/** The similarity of two rows: of what is held, else as the distance estimates it. */
function similarityOf({ cosine, estimate, jaccard }: Comparison): number {
  return jaccard === undefined
    ? (cosine ?? estimate.estimatedCosine)
    : (jaccard.exact ?? jaccard.estimatedJaccard);
}

/** By name the rows of each group of two or more, ascending. */
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

/** A plan that stays as it is while later decisions change the other. */
function copied(plan: DedupPlan): DedupPlan {
  const { kept, duplicateOf, distances, cosines, jaccards } = plan;
  return {
    ...plan,
    ...{ kept: kept.slice(), duplicateOf: duplicateOf.slice(), distances: distances.slice() },
    ...{ cosines: cosines?.slice() ?? null, jaccards: jaccards?.slice() ?? null },
  };
}

/** By row whether a plan's file says that its group was looked at. */
async function reviewedOf(path: string, count: number): Promise<Uint8Array> {
  const reviewed = new Uint8Array(count);
  const reader = await openRows(path);
  await reader.close();
  if (!reader.columns.some(({ name }) => name === 'reviewed')) return reviewed;
  for await (const batch of await openRows(path, { columns: ['row', 'reviewed'] })) {
    const marks = batch.values('reviewed');
    batch.values('row').forEach((row, i) => {
      reviewed[Number(row)] = Number(marks[i] === true || marks[i] === 'true' || marks[i] === 1);
    });
  }
  return reviewed;
}

/** What changes whenever another program writes a file; null where there is none. */
async function stateOf(path: string): Promise<string | null> {
  const found = await stat(path, { bigint: true }).catch(() => null);
  return found && `${found.ino} ${found.size} ${found.mtimeNs}`;
}
