/**
 * The review of a plan on a page in one file, without a server. Decisions are held by the page
 * until the user saves them as `plan.jsonl`, for `halfspace dedup --apply`. The saved plan has all
 * lines; those of groups that the page does not show are unchanged.
 */

import { html, type TemplateResult } from 'lit-html';
import { Codes } from '../index';
import type {
  DecideRequest,
  HeldReview as Given,
  GroupAnswer,
  GroupLine,
  Member,
  PlanLine,
  ReviewAnswer,
} from './messages';
import { bytesOf } from './packed';

/** Answers the questions of `ReviewView` by a plan that the page holds; changes its lines. */
export class HeldReview {
  readonly #lines: readonly PlanLine[];
  /** Rows of the collection; the plan may have lines for some of them only. */
  readonly #rows: number;
  /** The code of each line's row, in the order of the lines. */
  readonly #codes: Codes;
  /** By row its text. */
  readonly #texts: ReadonlyMap<number, string>;
  /** By name of a group the positions of its lines in `#lines`, in their order. */
  readonly #groups = new Map<number, number[]>();
  /** Names of the groups that a person has finished with. */
  readonly #reviewed = new Set<number>();
  /** Whether something was decided since the plan was saved. */
  #isUnsaved = false;

  constructor({ lines, codes, texts }: Given, about: { rows: number; bits: number }) {
    this.#lines = lines;
    this.#rows = about.rows;
    this.#codes = Codes.from(bytesOf(codes), { bits: about.bits });
    this.#texts = new Map(texts);
    // The browser then asks before it closes the page.
    window.addEventListener('beforeunload', (event) => {
      if (this.#isUnsaved) event.preventDefault();
    });
    lines.forEach(({ group }, at) => {
      const known = this.#groups.get(group);
      if (known === undefined) this.#groups.set(group, [at]);
      else known.push(at);
    });
  }

  /** The state of the plan, with the groups that are shown. */
  answer(): ReviewAnswer {
    const shown = [...this.#groups].filter(([, places]) => this.#isShown(places));
    return {
      ...{ file: 'plan.jsonl', exists: true, rows: this.#rows },
      dropped: this.#lines.filter(({ action }) => action === 'drop').length,
      groups: shown.map(([group, places]) => this.#line(group, places)),
    };
  }

  /** True for a group of two rows or more whose texts the page holds. */
  #isShown(places: readonly number[]): boolean {
    return places.length > 1 && this.#texts.has(this.#lines[places[0]].row);
  }

  /** A group, given by the positions of its lines, for the list of groups. */
  #line(group: number, places: readonly number[]): GroupLine {
    const widest = Math.max(...places.map((at) => this.#lines[at].distance));
    return { group, size: places.length, widest, isReviewed: this.#reviewed.has(group) };
  }

  /** A group with all its rows as members, in the order of the lines. */
  group(group: number): GroupAnswer {
    const places = this.#groups.get(group) ?? [];
    const lines = places.map((at) => this.#lines[at]);
    return {
      ...this.#line(group, places),
      rows: lines.map(({ row }) => row),
      kept: lines.filter(({ action }) => action === 'keep').map(({ row }) => row),
      members: lines.map((line) => this.#member(line)),
    };
  }

  /** A line as a row of a group; without an id it is called by its number. */
  #member(line: PlanLine): Member {
    const isKept = line.action === 'keep';
    const text = this.#texts.get(line.row) ?? '';
    return {
      ...{ row: line.row, id: String(line.id ?? `row ${line.row}`), isKept },
      ...{ duplicateOf: line.duplicate_of, distance: line.distance },
      similarity: isKept ? null : (line.jaccard ?? line.cosine ?? null),
      texts: text === '' ? [] : [['text', text]],
    };
  }

  /**
   * Keeps the rows of a decision. As on the server, each other row duplicates the nearest of them
   * by code, of equally near ones the first. Their exact similarity is unknown, null, if that is
   * another row than before.
   */
  decide({ group, after }: DecideRequest): GroupAnswer {
    const places = this.#groups.get(group) ?? [];
    const toKeep = new Set(after.kept);
    const rowAt = (at: number) => this.#lines[at].row;
    const kept = places.filter((at) => toKeep.has(rowAt(at))).sort((a, b) => rowAt(a) - rowAt(b));
    for (const at of places) {
      const line = this.#lines[at];
      line.action = toKeep.has(line.row) ? 'keep' : 'drop';
      if (line.action === 'keep') {
        this.#duplicate(line, line.row, 0, 1);
        continue;
      }
      const distances = kept.map((other) => this.#codes.distance(at, other));
      const least = Math.min(...distances);
      const nearest = rowAt(kept[distances.indexOf(least)]);
      if (nearest !== line.duplicate_of) this.#duplicate(line, nearest, least, null);
    }
    if (after.isReviewed) this.#reviewed.add(group);
    else this.#reviewed.delete(group);
    this.#isUnsaved = true;
    return this.group(group);
  }

  /** Sets which row a line duplicates; a similarity only if the plan has a column for it. */
  #duplicate(line: PlanLine, row: number, distance: number, similarity: number | null): void {
    line.duplicate_of = row;
    line.distance = distance;
    if (line.jaccard !== undefined) line.jaccard = similarity;
    if (line.cosine !== undefined) line.cosine = similarity;
  }

  /** The button that saves the plan. */
  saving(): TemplateResult {
    return html`<p>
      <button type="button" class="main" @click=${() => this.#save()}>Save the plan</button>
      <span class="note"
        >for <code>halfspace dedup IN --apply plan.jsonl -o OUT</code>; a page that is closed before
        forgets its decisions</span
      >
    </p>`;
  }

  /** Downloads the plan as a file, by a link that is clicked. */
  #save(): void {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([this.text()], { type: 'application/jsonl' }));
    link.download = 'plan.jsonl';
    link.click();
    this.#isUnsaved = false;
  }

  /** The plan as it is now, as JSON lines: those it had, each with whether it is `reviewed`. */
  text(): string {
    const marked = this.#lines.map((line) => {
      const isReviewed = this.#reviewed.has(line.group);
      return JSON.stringify({ ...line, reviewed: isReviewed });
    });
    return `${marked.join('\n')}\n`;
  }
}
