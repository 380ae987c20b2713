/**
 * What the panel next to the map lists: rows as a table, and hits of a search with their
 * similarity, the interval that their distance estimates, and the reasons why they are near.
 */

import { html, nothing, type TemplateResult } from 'lit-html';
import type { About, Card, Hit, WhyAnswer } from '../messages';
import type { State } from './app';
import { shareText } from './format';

/** Columns of a table, at most, besides the id and the text. */
const COLUMNS = 4;

/** The id of a row as a button that searches for what is near the row. */
const idButton = ({ row, id }: Card, near: (row: number) => void) => html`<button
  class="link"
  dir="auto"
  title="Find what is near"
  @click=${() => near(row)}
>
  ${id}
</button>`;

/** A table of rows: id, text, and the first other columns. A click on an id calls `near`. */
export function rowsTable(
  cards: readonly Card[],
  about: About | null,
  near: (row: number) => void,
): TemplateResult {
  const textColumn = about?.textColumn ?? null;
  // Cards have no nulls: a column is shown if any of the cards has a value in it.
  const all = cards.flatMap(({ values }) => values.map(([name]) => name));
  const names = [...new Set(all)].slice(0, COLUMNS);
  // `dir="auto"` sets each text in the direction of its own script.
  const cell = (text: string | null | undefined, kind = '') =>
    html`<td><p class=${`text ${kind}`} dir="auto">${text}</p></td>`;
  return html`<table class="rows">
    <thead>
      <tr>
        <th scope="col">id</th>
        ${textColumn === null ? nothing : html`<th scope="col" dir="auto">${textColumn}</th>`}
        ${names.map((name) => html`<th scope="col" dir="auto">${name}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${cards.map(
        (card) => html`<tr>
          <th scope="row">${idButton(card, near)}</th>
          ${textColumn === null ? nothing : cell(card.text, 'prose')}
          ${names.map((name) => cell(card.values.find(([own]) => own === name)?.[1]))}
        </tr>`,
      )}
    </tbody>
  </table>`;
}

/** What is called when a hit is clicked; `why` is null where no server could answer. */
interface HitActions {
  readonly near: (row: number) => void;
  readonly why: ((hit: Hit) => void) | null;
}

/** Values of other columns that a hit shows, at most. */
const VALUES = 3;

/** A hit as an item of a list; with its reasons, if `why` is about this hit. */
export function hitItem(
  hit: Hit,
  bits: number,
  why: State['why'],
  actions: HitActions,
): TemplateResult {
  const isOpen = why?.row === hit.row;
  return html`<li>
    <div class="head">
      ${idButton(hit, actions.near)}
      <span class="cosine">${shareText(hit.similarity)}</span>
    </div>
    <div class="meter" aria-hidden="true">
      <i .style=${`width: ${Math.max(0, 100 * hit.similarity)}%`}></i>
    </div>
    ${hit.text === null ? nothing : html`<p class="text" dir="auto">${hit.text}</p>`}
    <p class="note">
      ${hit.values
        .slice(0, VALUES)
        .map(([name, value]) => html`<span dir="auto">${name}: ${value}</span> · `)}
      ${ofCodes(hit, bits)}
      ${
        actions.why === null
          ? nothing
          : html`<button
                class="link"
                aria-expanded=${isOpen}
                @click=${() => actions.why?.(hit)}
              >
                why?
              </button>`
      }
    </p>
    ${isOpen ? reasons(why.answer) : nothing}
  </li>`;
}

/** The distance of a hit, and what its code alone would tell; nothing where none was compared. */
function ofCodes({ distance, interval }: Hit, bits: number): TemplateResult | typeof nothing {
  if (distance === null || interval === null) return nothing;
  const [low, high] = interval.map((similarity) => shareText(similarity, 2));
  return html`<span title="Differing bits, and the similarity that they estimate (95 %)"
      >${distance} of ${bits} bits, ${low} to ${high}</span
    >
    · `;
}

/** Words or dimensions with their shares of the cosine, as bars scaled to the largest. */
function reasons(answer: WhyAnswer | null): TemplateResult {
  if (!answer || answer.together.length === 0) {
    return html`<p class="note">
      Nothing to show: the texts or vectors are not held, or share no word.
    </p>`;
  }
  // Above 0, since it divides the shares.
  const most = Math.max(...answer.together.map(([, share]) => share), 1e-9);
  return html`<div class="reasons">
    <p class="note">Parts of the cosine</p>
    ${answer.together.map(
      ([name, share]) => html`<div>
        <span dir="auto">${name}</span>
        <i .style=${`width: ${Math.max(1, (100 * share) / most)}%`}></i>
        <span>${shareText(share)}</span>
      </div>`,
    )}
    ${
      answer.onlyB.length === 0
        ? nothing
        : html`<p class="note" dir="auto">Only here: ${answer.onlyB.join(', ')}</p>`
    }
  </div>`;
}
