/**
 * The view to review duplicates by keys: one group at a time, its rows next to each other, with the
 * words marked that differ. A decision is sent at once, is shown once the plan's file has it, and
 * can be undone.
 */

import { diffArrays } from 'diff';
import { html, nothing, type TemplateResult } from 'lit-html';
import { guard } from 'lit-html/directives/guard.js';
import {
  counted,
  type DecideRequest,
  type GroupAnswer,
  type GroupLine,
  grouped,
  type Member,
  shareText,
} from '../messages';
import { makingView } from './map-view';
import type { Store } from './store';

const KEYS: readonly (readonly [key: string, what: string])[] = [
  ['↑ ↓', 'choose a row'],
  ['Page ↑ ↓', 'read on'],
  ['K', 'keep this one only'],
  ['D', 'drop this one'],
  ['S', 'keep this one too'],
  ['A', 'keep all'],
  ['Enter', 'done, next group'],
  ['Y N', 'all are the same, or none; next'],
  ['P', 'back'],
  ['U', 'undo'],
];

/** Groups in the list: so many in all, and before the one that is shown. */
const LISTED = { all: 100, before: 30 } as const;

export class ReviewView {
  #work: Promise<unknown> = Promise.resolve();

  constructor(private readonly store: Store) {
    document.addEventListener('keydown', (event) => this.#key(event));
  }

  /** Shows the view, at the first call with the plan as the server has it. */
  async start(): Promise<void> {
    const { store } = this;
    if (store.state.review !== null) return focusMembers();
    const review = await store.attemptSlowly(() => store.source.ask('review', null));
    if (review === undefined) return;
    store.change({ review });
    await this.#open(Math.max(0, openAfter(review.groups, -1)));
  }

  /** The groups in the order in which they are reviewed. */
  get #queue(): readonly GroupLine[] {
    return this.store.state.review?.groups ?? [];
  }

  async #open(at: number): Promise<void> {
    const { store } = this;
    const line = this.#queue[at];
    const group =
      line && (await store.attempt(() => store.source.ask('group', { group: line.group })));
    const chosen = Math.min(1, (group?.members.length ?? 1) - 1);
    store.change({ at, group: group ?? null, chosen });
    focusMembers();
  }

  /** Sends a decision; false if it failed: then shows the group as the server has it. */
  async #decide(step: DecideRequest): Promise<boolean> {
    const { store } = this;
    const { source } = store;
    const answer = await store.attempt(() => source.ask('decide', step));
    const isDone = answer !== undefined;
    const { group } = step;
    const now = answer ?? (await source.ask('group', { group }).catch(() => store.state.group));
    const { review } = store.state;
    if (now === null || review === null) return isDone;
    const more = isDone ? step.before.kept.length - step.after.kept.length : 0;
    const groups = review.groups.map((line) => (line.group === group ? now : line));
    store.change({
      review: { ...review, groups, dropped: review.dropped + more },
      group: store.state.group?.group === group ? now : store.state.group,
    });
    return isDone;
  }

  /** Decides about the group that is shown: which rows to keep, and whether it is reviewed. */
  async #keep(now: GroupAnswer, kept: readonly number[], isReviewed = now.isReviewed) {
    const before = { kept: now.kept, isReviewed: now.isReviewed };
    const step = { group: now.group, before, after: { kept, isReviewed } };
    const isDone = await this.#decide(step);
    if (isDone) this.store.change({ undo: [...this.store.state.undo, step] });
    return isDone;
  }

  /** Drops a row; if it is the only one that is kept, keeps the group's first other row instead. */
  #drop(group: GroupAnswer, row: number) {
    const left = group.kept.filter((one) => one !== row);
    const other = group.rows.filter((one) => one !== row).slice(0, 1);
    return this.#keep(group, left.length > 0 ? left : other);
  }

  /** Marks the group as reviewed with the rows to keep; shows the next one that is not reviewed. */
  async #next(group: GroupAnswer, kept = group.kept): Promise<void> {
    const isDone = group.isReviewed && kept === group.kept;
    if (!isDone && !(await this.#keep(group, kept, true))) return;
    const { at } = this.store.state;
    const next = openAfter(this.#queue, at);
    await this.#open(next < 0 ? Math.min(this.#queue.length - 1, at + 1) : next);
  }

  async #undoLast(): Promise<void> {
    const { undo, at } = this.store.state;
    const step = undo.at(-1);
    if (step === undefined) return;
    const own = this.#queue.findIndex(({ group }) => group === step.group);
    if (own !== at) await this.#open(own);
    const back = { group: step.group, before: step.after, after: step.before };
    if (await this.#decide(back)) this.store.change({ undo: undo.slice(0, -1) });
  }

  /** Runs actions one after another, so that each of several fast keys acts on what it shows. */
  #run(action: (group: GroupAnswer) => unknown): void {
    const act = () => {
      const { group } = this.store.state;
      return group !== null && action(group);
    };
    this.#work = this.#work.then(act, act);
  }

  /** A button that a key reached keeps Enter and the arrows. */
  #key(event: KeyboardEvent): void {
    if (this.store.state.view !== 'review' || this.store.state.group === null) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    if (event.key.length > 1 && target.closest('button')) return;
    const action = this.#actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (action === undefined) return;
    event.preventDefault();
    this.#run(action);
  }

  readonly #actions: Readonly<Record<string, (group: GroupAnswer) => unknown>> = {
    ArrowDown: ({ members }) => this.#choose(1, members.length),
    ArrowUp: ({ members }) => this.#choose(-1, members.length),
    k: (group) => this.#keep(group, [this.#chosenRow(group)]),
    d: (group) => this.#drop(group, this.#chosenRow(group)),
    s: (group) => this.#keep(group, [...new Set([...group.kept, this.#chosenRow(group)])]),
    a: (group) => this.#keep(group, group.rows),
    Enter: (group) => this.#next(group),
    y: (group) => this.#next(group, group.rows.slice(0, 1)),
    n: (group) => this.#next(group, group.rows),
    p: () => this.#open(Math.max(0, this.store.state.at - 1)),
    u: () => this.#undoLast(),
  };

  #chosenRow = ({ members }: GroupAnswer) => members[this.store.state.chosen].row;

  #choose(by: number, count: number): void {
    const chosen = (this.store.state.chosen + by + count) % count;
    this.store.change({ chosen });
    document.querySelectorAll('.member')[chosen]?.scrollIntoView({ block: 'nearest' });
  }

  view(): TemplateResult {
    const { review, group, error, status } = this.store.state;
    if (review === null) {
      return html`<main class="review">
        ${error === null ? makingView(status, 'reading the plan') : nothing}
      </main>`;
    }
    const done = review.groups.filter(({ isReviewed }) => isReviewed).length;
    const of = counted(review.groups.length, 'group');
    return html`<main class="review">
      <section class="progress" aria-label="Progress">
        <div class="status" role="status">
          <b>${grouped(done)} of ${of} reviewed</b>
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
      </section>
      ${
        group === null
          ? html`<p class="making">This plan has no groups of two or more rows.</p>`
          : html`${this.#list()} ${this.#members(group)}`
      }
    </main>`;
  }

  /** The groups around the one that is shown, as buttons, the most doubtful first. */
  #list(): TemplateResult {
    const queue = this.#queue;
    const { at } = this.store.state;
    const first = Math.max(0, Math.min(at - LISTED.before, queue.length - LISTED.all));
    const lines = queue.slice(first, first + LISTED.all).map(
      ({ size, isReviewed, ...line }, i) => html`<li>
        <button
          aria-current=${first + i === at ? 'true' : nothing}
          @click=${() => this.#run(() => this.#open(first + i))}
        >
          <span class="tick" role="img" aria-label=${isReviewed ? 'reviewed' : 'open'}
            >${isReviewed ? '✓' : '○'}</span
          >
          ${counted(size, 'row')}
          <small>${doubtOf(line)}</small>
        </button>
      </li>`,
    );
    return html`<ol class="queue" tabindex="0" aria-label="Groups, most doubtful first">
      ${lines}
    </ol>`;
  }

  #members(group: GroupAnswer): TemplateResult {
    const { members, size } = group;
    const { undo } = this.store.state;
    const left = size - members.length;
    return html`<section class="group" aria-label="Group">
      <div class="members" tabindex="0" role="region" aria-label="Rows of the group">
        ${members.map((member, i) => this.#card(group, member, i))}
        ${left > 0 ? html`<p class="note">${left} more rows are not shown.</p>` : nothing}
      </div>
      <div class="keys">
        ${KEYS.map(([key, what]) => html`<span><kbd>${key}</kbd> ${what}</span>`)}
        <button class="main" @click=${this.#clicked((now) => this.#next(now))}>Done, next</button>
        <button ?disabled=${undo.length === 0} @click=${this.#clicked(() => this.#undoLast())}>
          Undo
        </button>
      </div>
    </section>`;
  }

  /** Runs an action at a click; after one by a pointer, Enter is not for the button any more. */
  #clicked(action: (group: GroupAnswer) => unknown): (event: MouseEvent) => void {
    return ({ detail }) => {
      this.#run(action);
      if (detail > 0) focusMembers();
    };
  }

  /**
   * The card of a row. A dropped row is compared with the row that it duplicates, and shows what is
   * gone and what is added; that row shows which of its words the dropped one has not.
   */
  #card(group: GroupAnswer, member: Member, i: number): TemplateResult {
    const { about, chosen } = this.store.state;
    const { id, row, isKept, distance, similarity, texts } = member;
    const other = comparedWith(group.members, member, group.members[chosen]);
    const exact = similarity === null ? '' : `, ${about?.measure} ${shareText(similarity)}`;
    const toggle = (now: GroupAnswer) =>
      isKept ? this.#drop(now, row) : this.#keep(now, [...now.kept, row]);
    return html`<article
      class=${`member ${isKept ? 'kept' : 'dropped'} ${i === chosen ? 'chosen' : ''}`}
      @click=${() => this.store.change({ chosen: i })}
    >
      <header>
        <h2 dir="auto">${id}</h2>
        <span class="note">${isKept ? nothing : `${distance} of ${about?.bits} bits${exact}`}</span>
        <button class="action" aria-pressed=${isKept} @click=${this.#clicked(toggle)}>
          ${isKept ? 'keep' : 'drop'}
        </button>
      </header>
      ${texts.map(([name, value]) => {
        // Texts are compared again only where they have changed, and not at each drawing.
        const compared = other?.texts.find(([one]) => one === name)?.[1];
        return html`<div class="compared" dir="auto">
          <span class="name note">${name}</span>
          <span class="value">${guard([value, compared, isKept], () =>
            compared === undefined ? value : marked(value, compared, isKept),
          )}</span>
        </div>`;
      })}
    </article>`;
  }
}

/**
 * The member that a card is compared with: for a dropped row the one that it duplicates, or the
 * first where that is not shown; for a kept row the chosen one, or the first that duplicates it.
 */
function comparedWith(
  members: readonly Member[],
  { row, isKept, duplicateOf }: Member,
  chosen: Member | undefined,
): Member | undefined {
  if (!isKept) return members.find((one) => one.row === duplicateOf) ?? members[0];
  if (chosen !== undefined && chosen.row !== row) return chosen;
  return members.find((one) => one.row !== row && one.duplicateOf === row);
}

/**
 * A text with the words marked that `other` has not; of a dropped text as added, together with the
 * words that it has lost.
 */
function marked(text: string, other: string, isKept: boolean): TemplateResult[] {
  const pieces = isKept
    ? differences(other, text).filter(({ side }) => side >= 0)
    : differences(other, text);
  return pieces.map(({ side, text: words }) => {
    if (side === 0) return html`${words}`;
    if (isKept) return html`<mark>${words}</mark>`;
    return side < 0 ? html`<del>${words}</del>` : html`<ins>${words}</ins>`;
  });
}

/** What a group is ordered by, in words. */
function doubtOf({ dropped, widest, lowest }: Pick<GroupLine, 'dropped' | 'widest' | 'lowest'>) {
  if (dropped === 0) return 'all kept';
  return lowest === null ? `widest ${widest}` : `lowest ${shareText(lowest)}`;
}

/** The next group after an index that is not reviewed, or the first one of all; -1 for none. */
function openAfter(queue: readonly GroupLine[], at: number): number {
  const next = queue.findIndex(({ isReviewed }, i) => i > at && !isReviewed);
  return next < 0 ? queue.findIndex(({ isReviewed }) => !isReviewed) : next;
}

/**
 * In the next frame, when all is drawn: gives the rows the focus, so that Enter is for the group
 * and not for the button that was clicked, and scrolls the list to the group that is shown.
 */
function focusMembers(): void {
  requestAnimationFrame(() => {
    document.querySelector<HTMLElement>('.members')?.focus({ preventScroll: true });
    document.querySelector('.queue [aria-current]')?.scrollIntoView({ block: 'nearest' });
  });
}

/** A run of text that both texts have (0), or only the first (-1) or the second (1). */
interface Piece {
  readonly side: -1 | 0 | 1;
  readonly text: string;
}

/** A word, one character of a script without blanks, or another sign, with the blanks before it. */
const WORDS = new RegExp(
  '\\s*(?:[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}]|' +
    '[\\p{L}\\p{N}\\p{M}]+|\\S)|\\s+',
  'gu',
);
/** Changed words, at most: the time grows with their number times that of all words. */
const MAX_CHANGES = 1000;

/**
 * The pieces of both texts in their order: those of sides 0 and -1 joined are `one`, those of 0 and
 * 1 are `other`. Between two common ones are what is gone, then what is added. With too many
 * changes nothing is taken for common.
 */
export function differences(one: string, other: string): Piece[] {
  const [ours, theirs] = [one, other].map((text) => text.match(WORDS) ?? []);
  const changes = diffArrays<string>(ours, theirs, { maxEditLength: MAX_CHANGES }) ?? [
    { removed: true, added: false, value: [one] },
    { removed: false, added: true, value: [other] },
  ];
  const runs = [['', '', '']]; // what is gone, what is added, and the common text behind them
  for (const { removed, added, value } of changes) {
    const isCommon = !removed && !added;
    if (!isCommon && runs[runs.length - 1][2] !== '') runs.push(['', '', '']);
    runs[runs.length - 1][isCommon ? 2 : Number(added)] += value.join('');
  }
  const sides = [-1, 1, 0] as const;
  return runs
    .flatMap((run) => run.map((text, i) => ({ side: sides[i], text })))
    .filter(({ text }) => text !== '');
}
