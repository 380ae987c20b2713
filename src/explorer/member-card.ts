/**
 * A row of a group as a card: whether it is kept, how far it is from the row that it duplicates,
 * and its texts, in which the words that differ from that row's are marked.
 */

import { html, nothing, type TemplateResult } from 'lit-html';
import { differences } from './differences';
import { shareText } from './format';
import type { GroupAnswer, Member } from './messages';

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
export function memberCard(
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
