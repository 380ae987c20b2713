/**
 * The view to review duplicates by keys: one group at a time, its rows next to each other, with the
 * words marked that differ. A decision is sent at once, is shown once the plan's file has it, and
 * can be undone.
 */

import { html, nothing, type TemplateResult } from 'lit-html';
import type {
  About,
  DecideRequest,
  GroupAnswer,
  GroupLine,
  Member,
  PreviewAnswer,
  ReviewAnswer,
} from '../messages';
import { Conflict } from '../reviewed-plan';
import type { App } from './app';
import { differences } from './differences';
import { counted, grouped, shareText } from './format';

type Order = 'doubt' | 'size';

const KEYS: readonly (readonly [key: string, what: string])[] = [
  ['↑ ↓', 'choose a row'],
  ['K', 'keep this one only'],
  ['D', 'drop this one'],
  ['S', 'keep this one too'],
  ['A', 'keep all'],
  ['Enter', 'done, next group'],
  ['P', 'back'],
  ['U', 'undo'],
];

/** What a Jaccard similarity is, next to the slider that chooses one. */
const EXACT_SETS =
  'The share of their pairs of words that two texts have in common; each pair is checked exactly.';

export class ReviewView {
  #review: ReviewAnswer | null = null;
  #order: Order = 'doubt';
  #queue: readonly GroupLine[] = [];
  #at = 0;
  #group: GroupAnswer | null = null;
  /** The member of the group, by its position in the list, that keys act on. */
  #chosen = 0;
  #undo: DecideRequest[] = [];
  #preview: PreviewAnswer | null = null;
  #near: number | null = null;
  #work: Promise<unknown> = Promise.resolve();

  constructor(readonly app: App) {
    document.addEventListener('keydown', (event) => this.#key(event));
  }

  async start(): Promise<void> {
    if (this.#review === null) {
      const review = await this.app.attempt(() => this.app.source.ask('review', null));
      if (review !== undefined) await this.#take(review);
    } else requestAnimationFrame(showCurrent);
  }

  async #take(review: ReviewAnswer): Promise<void> {
    this.#review = review;
    this.#undo = [];
    this.#sort(this.#order);
    const open = this.#queue.findIndex(({ isReviewed }) => !isReviewed);
    await this.#open(Math.max(0, open));
  }

  #sort(order: Order): void {
    this.#order = order;
    const by = { doubt: (one: GroupLine) => one.widest, size: (one: GroupLine) => one.size }[order];
    this.#queue = [...(this.#review?.groups ?? [])].sort(
      (a, b) => by(b) - by(a) || a.group - b.group,
    );
  }

  async #open(at: number): Promise<void> {
    this.#at = at;
    const line = this.#queue[at];
    const group =
      line && (await this.app.attempt(() => this.app.source.ask('group', { group: line.group })));
    this.#group = group ?? null;
    this.#chosen = Math.min(1, (group?.members.length ?? 1) - 1);
    this.app.redraw();
    requestAnimationFrame(showCurrent);
  }

  /** Sends a decision; false if it failed. After a conflict shows the group as it is now. */
  async #decide(step: DecideRequest, isUndo = false): Promise<boolean> {
    const answer = await this.app.attempt(async () => {
      try {
        return await this.app.source.ask('decide', step);
      } catch (error) {
        if (error instanceof Conflict) await this.#open(this.#at);
        throw error;
      }
    });
    if (answer === undefined) return false;
    if (!isUndo) this.#undo.push(step);
    const { group, size, widest, isReviewed } = answer;
    const line = { group, size, widest, isReviewed };
    const replaced = (lines: readonly GroupLine[]) =>
      lines.map((one) => (one.group === group ? line : one));
    this.#queue = replaced(this.#queue);
    const review = this.#review as ReviewAnswer;
    const more = step.before.kept.length - step.after.kept.length;
    this.#review = { ...review, groups: replaced(review.groups), dropped: review.dropped + more };
    if (this.#group?.group === group) this.#group = inOrderOf(this.#group, answer);
    this.app.redraw();
    return true;
  }

  /** Decides about the group that is shown: which rows to keep, and whether it is reviewed. */
  async #keep(kept: readonly number[], isReviewed?: boolean): Promise<boolean> {
    const { group, ...now } = this.#group as GroupAnswer;
    const before = { kept: now.kept, isReviewed: now.isReviewed };
    const after = { kept, isReviewed: isReviewed ?? now.isReviewed };
    return this.#decide({ group, before, after });
  }

  async #next(): Promise<void> {
    const group = this.#group as GroupAnswer;
    if (!group.isReviewed && !(await this.#keep(group.kept, true))) return;
    const open = this.#queue.findIndex(({ isReviewed }, i) => i > this.#at && !isReviewed);
    const any = open < 0 ? this.#queue.findIndex(({ isReviewed }) => !isReviewed) : open;
    await this.#open(any < 0 ? Math.min(this.#queue.length - 1, this.#at + 1) : any);
  }

  async #undoLast(): Promise<void> {
    const step = this.#undo.at(-1);
    if (step === undefined) return;
    const at = this.#queue.findIndex(({ group }) => group === step.group);
    if (at !== this.#at) await this.#open(at);
    const back = { group: step.group, before: step.after, after: step.before };
    if (await this.#decide(back, true)) this.#undo.pop();
    this.app.redraw();
  }

  /** Runs actions one after another, so that each of several fast keys acts on what it shows. */
  #run(action: () => unknown): void {
    this.#work = this.#work.then(action, action);
  }

  #key(event: KeyboardEvent): void {
    const isTyped = (event.target as HTMLElement).closest?.(
      'input, select, textarea, button, summary',
    );
    if (this.app.state.view !== 'review' || this.#group === null) return;
    if (event.ctrlKey || event.metaKey || event.altKey || (isTyped && event.key.length > 1)) return;
    if ((event.target as HTMLElement).closest?.('select')) return;
    const action = this.#actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (action === undefined) return;
    event.preventDefault();
    this.#run(() => this.#group !== null && action(this.#group));
  }

  readonly #actions: Readonly<Record<string, (group: GroupAnswer) => unknown>> = {
    ArrowDown: ({ members }) => this.#choose(1, members.length),
    ArrowUp: ({ members }) => this.#choose(-1, members.length),
    k: ({ members }) => this.#keep([members[this.#chosen].row]),
    d: ({ members }) => this.#drop(members[this.#chosen].row),
    s: ({ members, kept }) => this.#keep([...new Set([...kept, members[this.#chosen].row])]),
    a: ({ rows }) => this.#keep(rows),
    Enter: () => this.#next(),
    p: () => this.#open(Math.max(0, this.#at - 1)),
    u: () => this.#undoLast(),
  };

  #choose(by: number, count: number): void {
    this.#chosen = (this.#chosen + by + count) % count;
    this.app.redraw();
    document.querySelectorAll('.member')[this.#chosen]?.scrollIntoView({ block: 'nearest' });
  }

  /** Drops a row; if it is the only one that is kept, keeps the group's first other row instead. */
  #drop(row: number): Promise<boolean> {
    const { kept, rows } = this.#group as GroupAnswer;
    const left = kept.filter((one) => one !== row);
    return this.#keep(left.length > 0 ? left : rows.filter((one) => one !== row).slice(0, 1));
  }

  #toggle({ row, isKept }: Member): Promise<boolean> {
    const { kept } = this.#group as GroupAnswer;
    return isKept ? this.#drop(row) : this.#keep([...kept, row]);
  }

  view(): TemplateResult {
    const review = this.#review;
    const { error } = this.app.state;
    const { save } = this.app.source;
    if (review === null) {
      return html`<main class="review">
        <p class="making" role="status">
          ${error === null ? 'reading the plan …' : 'there is no plan to review'}
        </p>
      </main>`;
    }
    const done = review.groups.filter(({ isReviewed }) => isReviewed).length;
    return html`<main class="review">
      <section class="progress" aria-label="Progress">
        <div class="status" role="status">
          <b>${
            review.exists
              ? `${grouped(done)} of ${counted(review.groups.length, 'group')} reviewed`
              : 'No plan yet'
          }</b>
          <span class="note"
            >${grouped(review.dropped)} of ${counted(review.rows, 'row')} to drop ·
            <span dir="auto">${review.file}</span></span
          >
        </div>
        <progress
          aria-label="Groups reviewed"
          max=${Math.max(1, review.groups.length)}
          .value=${done}
        ></progress>
        ${save === null ? this.#threshold(review) : savingView(save)}
      </section>
      ${review.exists && this.#group !== null ? this.#body() : this.#empty(review)}
    </main>`;
  }

  #empty({ exists }: ReviewAnswer): TemplateResult {
    return html`<p class="making">
      ${
        exists
          ? 'This plan has no groups of two or more rows.'
          : 'A plan says which rows to keep, in a file. The rows are never changed.'
      }
    </p>`;
  }

  /** The slider for what is near, with what to expect of its value and what that would change. */
  #threshold({ exists }: ReviewAnswer): TemplateResult {
    const { bits, nearness } = this.app.state.about as About;
    const isDistance = nearness.by === 'distance';
    const value = this.#near ?? nearness.usual;
    const [max, step] = isDistance ? [Math.round(bits / 3), 1] : [1, 0.01];
    return html`<details class="threshold" ?open=${!exists}>
      <summary>${exists ? 'Another threshold' : 'What is near?'}</summary>
      <label
        ><span
          >${
            isDistance
              ? html`Rows within <b>${value}</b> of ${bits} bits`
              : html`Texts at a Jaccard similarity of <b>${shareText(value, 2)}</b> or more`
          }</span
        >
        <input
          type="range"
          min="0"
          max=${max}
          step=${step}
          .value=${String(value)}
          @input=${(event: Event) => {
            this.#near = sliderValue(event);
            this.app.redraw();
          }}
          @change=${(event: Event) => void this.#ask(sliderValue(event))}
        />
      </label>
      <p class="note" role="status">${isDistance ? '' : EXACT_SETS} ${this.#changes(value)}</p>
      <button type="button" @click=${() => void this.#ask(value)}>What would change?</button>
      <button type="button" class="main" @click=${() => void this.#make(value)}>
        ${exists ? 'Make the plan again' : 'Make a plan'}
      </button>
    </details>`;
  }

  #changes(value: number): string {
    const preview = this.#preview;
    if (preview?.near !== value) return '';
    const { groups, dropped, changed } = preview;
    const now = changed === null ? '' : `; ${counted(changed, 'row')} treated otherwise than now`;
    return `${counted(groups, 'group')}, ${counted(dropped, 'row')} to drop${now}.`;
  }

  async #ask(near: number): Promise<void> {
    this.#near = near;
    const preview = await this.app.attempt(() => this.app.source.ask('preview', { near }));
    if (this.#near === near) this.#preview = preview ?? null; // else the slider has moved on
    this.app.redraw();
  }

  async #make(near: number): Promise<void> {
    const review = await this.app.attempt(() => this.app.source.ask('plan', { near }));
    this.#preview = null;
    if (review !== undefined) await this.#take(review);
  }

  #body(): TemplateResult {
    return html`<div class="groups">
        <select
          aria-label="Order of the groups"
          @change=${(event: Event) => {
            this.#sort((event.target as HTMLSelectElement).value as Order);
            void this.#open(0);
          }}
        >
          <option value="doubt">Most doubtful first</option>
          <option value="size">Largest first</option>
        </select>
        <ol class="queue" tabindex="0" aria-label="Groups">${this.#lines()}</ol>
      </div>
      ${this.#members(this.#group as GroupAnswer)}`;
  }

  /** At most 100 of the groups, around the one that is shown, as buttons. */
  #lines(): TemplateResult[] {
    const first = Math.max(0, Math.min(this.#at - 30, this.#queue.length - 100));
    return this.#queue.slice(first, first + 100).map(
      (line, i) => html`<li>
        <button
          aria-current=${first + i === this.#at ? 'true' : nothing}
          @click=${() => this.#run(() => this.#open(first + i))}
        >
          <span class="tick" role="img" aria-label=${line.isReviewed ? 'reviewed' : 'open'}
            >${line.isReviewed ? '✓' : '○'}</span
          >
          ${counted(line.size, 'row')}<small>widest ${line.widest}</small>
        </button>
      </li>`,
    );
  }

  #members(group: GroupAnswer): TemplateResult {
    const { members, size } = group;
    return html`<section class="group" aria-label="Group">
      <div class="members">
        ${members.map((member, i) =>
          memberCard(group, member, {
            isChosen: i === this.#chosen,
            bits: this.app.state.about?.bits ?? 0,
            measure: this.app.state.about?.measure ?? 'cosine',
            choose: () => {
              this.#chosen = i;
              this.app.redraw();
            },
            toggle: () => this.#run(() => this.#toggle(member)),
          }),
        )}
        ${
          size > members.length
            ? html`<p class="note">${size - members.length} more rows are not shown.</p>`
            : nothing
        }
      </div>
      <div class="keys">
        ${KEYS.map(([key, what]) => html`<span><kbd>${key}</kbd> ${what}</span>`)}
        <button class="main" @click=${() => this.#run(() => this.#next())}>Done, next</button>
        <button
          ?disabled=${this.#undo.length === 0}
          @click=${() => this.#run(() => this.#undoLast())}
        >
          Undo
        </button>
      </div>
    </section>`;
  }
}

/** The group with its members in the order before, so that rows do not move at a decision. */
function inOrderOf(before: GroupAnswer, now: GroupAnswer): GroupAnswer {
  const members = before.members.flatMap(
    ({ row }) => now.members.find((member) => member.row === row) ?? [],
  );
  return { ...now, members };
}

/** Scrolls the list of groups to the one that is shown. Call it when the list has been drawn. */
const showCurrent = () =>
  document.querySelector('.queue [aria-current]')?.scrollIntoView({ block: 'nearest' });

/** The value of the slider that sent an event: newer than the one that was drawn. */
const sliderValue = (event: Event) => Number((event.target as HTMLInputElement).value);

/** The button that saves the plan of a page in one file. */
const savingView = (save: () => void) => html`<p>
  <button type="button" class="main" @click=${save}>Save the plan</button>
  <span class="note"
    >for <code>halfspace dedup IN --apply plan.jsonl -o OUT</code>; a page that is closed before
    forgets its decisions</span
  >
</p>`;

/** How a card is shown, and what its clicks do. */
interface CardOptions {
  /** Whether keys act on this row. */
  readonly isChosen: boolean;
  /** Bits of a code, and the name of the similarity. */
  readonly bits: number;
  readonly measure: string;
  readonly choose: () => void;
  readonly toggle: () => void;
}

/**
 * The card of a row. A kept row is compared with the first member of its group, a dropped one with
 * the row that it duplicates, or with the first member where that one is not shown.
 */
function memberCard(
  { members }: GroupAnswer,
  { row, id, isKept, distance, similarity, duplicateOf, texts }: Member,
  { isChosen, bits, measure, choose, toggle }: CardOptions,
): TemplateResult {
  const [first] = members;
  const own = isKept ? first : (members.find((one) => one.row === duplicateOf) ?? first);
  const other = own.row === row ? null : own;
  const exact = similarity === null ? '' : `, ${measure} ${shareText(similarity)}`;
  return html`<article
    class=${`member ${isKept ? 'kept' : 'dropped'} ${isChosen ? 'chosen' : ''}`}
    @click=${choose}
  >
    <header>
      <h2 dir="auto">${id}</h2>
      <span class="note">${isKept ? nothing : `${distance} of ${bits} bits${exact}`}</span>
      <button class="action" aria-pressed=${isKept} @click=${toggle}>
        ${isKept ? 'keep' : 'drop'}
      </button>
    </header>
    ${texts.map(([name, value]) => {
      const compared = other?.texts.find(([one]) => one === name)?.[1];
      return html`<div class="compared" dir="auto">
        <span class="name note">${name}</span>
        <span class="value">${compared === undefined ? value : marked(compared, value)}</span>
      </div>`;
    })}
  </article>`;
}

/** A text with its own words marked as inserted, and those that only `other` has as deleted. */
function marked(other: string, text: string): TemplateResult[] {
  return differences(other, text).map(({ side, text: words }) => {
    if (side === 0) return html`${words}`;
    return side < 0 ? html`<del>${words}</del>` : html`<ins>${words}</ins>`;
  });
}
