/**
 * The review of a plan on a page in one file, without a server. Decisions are held by the page
 * until the user saves them as `plan.jsonl`, for `halfspace dedup --apply`. The saved plan has all
 * lines; those of groups that the page does not show are unchanged.
 */

import { Codes } from '../../index';
import type { DecideRequest, GroupAnswer, HeldPlan, PlanLine, ReviewAnswer } from '../messages';
import { bytesOf } from '../packed';
import { type PlanColumns, ReviewedPlan } from '../reviewed-plan';

/** Answers the questions of `ReviewView` by a plan that the page holds. */
export class HeldReview {
  readonly #held: HeldPlan;
  readonly #columns: PlanColumns;
  readonly #reviewed: ReviewedPlan;
  /** Whether something was decided since the plan was saved. */
  #isUnsaved = false;

  constructor(held: HeldPlan, bits: number) {
    this.#held = held;
    this.#columns = columnsOf(held);
    const codes = Codes.from(bytesOf(held.codes), { bits });
    const texts = new Map(held.texts);
    /** By row the position of its line. */
    const lineOf = new Map(held.lines.map(({ row }, at) => [row, at]));
    const at = (row: number) => lineOf.get(row) as number;
    this.#reviewed = new ReviewedPlan(
      this.#columns,
      {
        compare(row, other) {
          // Neither vectors nor sets are held, so the exact similarity is unknown.
          return { distance: codes.distance(at(row), at(other)), similarity: Number.NaN };
        },
        namesOf: (rows) =>
          rows.map((row) => {
            const text = texts.get(row) ?? '';
            // A row without an id is called by its number.
            const id = String(held.lines[at(row)].id ?? `row ${row}`);
            return { id, texts: text === '' ? [] : [['text', text]] };
          }),
      },
      ([first]) => texts.has(first),
    );
    // The browser then asks before it closes the page.
    window.addEventListener('beforeunload', (event) => {
      if (this.#isUnsaved) event.preventDefault();
    });
  }

  /** The state of the plan, with the groups of two rows or more whose texts the page holds. */
  answer(): ReviewAnswer {
    const base = { file: 'plan.jsonl', exists: true, rows: this.#held.rows };
    return { ...base, ...this.#reviewed.answer() };
  }

  group(group: number): GroupAnswer {
    return this.#reviewed.group(group);
  }

  decide(asked: DecideRequest): GroupAnswer {
    this.#reviewed.check(asked);
    this.#reviewed.keep(asked.group, asked.after);
    this.#isUnsaved = true;
    return this.group(asked.group);
  }

  /** Downloads the plan as a file, by a link that is clicked. */
  save(): void {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([this.text()], { type: 'application/jsonl' }));
    link.download = 'plan.jsonl';
    link.click();
    this.#isUnsaved = false;
  }

  /** The plan as it is now, as JSON lines: those it had, each with whether it is `reviewed`. */
  text(): string {
    const { kept, duplicateOf, distances, cosines, jaccards } = this.#columns;
    const lines = this.#held.lines.map((line): PlanLine => {
      const { row } = line;
      return {
        ...line,
        action: kept[row] === 1 ? 'keep' : 'drop',
        duplicate_of: duplicateOf[row],
        distance: distances[row],
        // An unknown one is NaN here, and null in JSON.
        ...(cosines !== null && { cosine: cosines[row] }),
        ...(jaccards !== null && { jaccard: jaccards[row] }),
        reviewed: this.#reviewed.reviewed[row] === 1,
      };
    });
    return `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;
  }
}

/** Lines as columns by row; a row without a line is a group of its own. */
function columnsOf({ rows, lines }: HeldPlan): PlanColumns {
  const itself = () => Uint32Array.from({ length: rows }, (_, row) => row);
  const exact = (name: 'cosine' | 'jaccard') =>
    lines.some((line) => line[name] !== undefined) ? new Float64Array(rows).fill(1) : null;
  const columns = {
    groups: itself(),
    kept: new Uint8Array(rows).fill(1),
    duplicateOf: itself(),
    distances: new Uint16Array(rows),
    cosines: exact('cosine'),
    jaccards: exact('jaccard'),
    reviewed: new Uint8Array(rows),
  };
  for (const { row, ...line } of lines) {
    columns.groups[row] = line.group;
    columns.kept[row] = Number(line.action === 'keep');
    columns.duplicateOf[row] = line.duplicate_of;
    columns.distances[row] = line.distance;
    columns.reviewed[row] = Number(line.reviewed === true);
    if (columns.cosines) columns.cosines[row] = line.cosine ?? Number.NaN;
    if (columns.jaccards) columns.jaccards[row] = line.jaccard ?? Number.NaN;
  }
  return columns;
}
