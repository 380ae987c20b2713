/**
 * Where the page's answers come from: the server of `explore`, or what a page in one file holds.
 * Views ask both in the same way; a page in one file rejects what it cannot answer.
 */

import { Codes, scan } from '../../index';
import { estimateOf } from '../estimate';
import type { Card, Held, HeldMap, Question, Questions, SearchAnswer } from '../messages';
import { bytesOf, packed } from '../packed';
import { Conflict } from '../reviewed-plan';
import { HeldReview } from './held-plan';

/** What answers the questions of messages.ts. */
export interface Source {
  /** Resolves to the answer; rejects with a sentence for people. */
  ask<Q extends Question>(question: Q, asked: Questions[Q][0]): Promise<Questions[Q][1]>;
  /** Whether the page is one file, without a server. */
  readonly isHeld: boolean;
  /** Saves the plan of a page in one file; null where a server does so. */
  readonly save: (() => void) | null;
}

/** The source of what the page holds; of null, the server that the page came from. */
export function sourceOf(held: Held | null): Source {
  if (held === null) return { ask: askServer, isHeld: false, save: null };
  const review = held.plan && new HeldReview(held.plan, held.about.bits);
  return {
    ask: (...asked) => askHeld(held, review, ...asked),
    isHeld: true,
    save: review && (() => review.save()),
  };
}

/** Asks the server, at an address next to that of the page, which has the token. */
async function askServer<Q extends Question>(
  question: Q,
  asked: Questions[Q][0],
): Promise<Questions[Q][1]> {
  const response = await fetch(`ask/${question}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(asked),
  }).catch(() => {
    throw new Error('no answer: is halfspace explore still running?');
  });
  const answer = await response.json().catch(() => ({ error: `status ${response.status}` }));
  if (response.status === 409) throw new Conflict(answer.error);
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** Answers by what the page holds; rejects questions that need a server, as a text query. */
async function askHeld<Q extends Question>(
  { about, map }: Held,
  review: HeldReview | null,
  question: Q,
  asked: Questions[Q][0],
): Promise<Questions[Q][1]> {
  const cards = map?.cards ?? [];
  // Typed by the table of answers below, which has only the questions that a page can answer.
  const given = asked as never;
  const answers: { [R in Question]?: () => Questions[R][1] | null } = {
    status: () => ({ phase: 'ready', label: '', share: null }),
    about: () => about,
    map: () => map,
    rows: () => rowsHeld(cards, given),
    cards: () => (given as Questions['cards'][0]).rows.flatMap((row) => cardOf(cards, row) ?? []),
    search: () => map && searchHeld(map, about, given),
    review: () => review?.answer() ?? null,
    group: () => review?.group((given as Questions['group'][0]).group) ?? null,
    decide: () => review?.decide(given) ?? null,
  };
  const answer = answers[question]?.();
  if (answer === undefined || answer === null) {
    throw new Error('a page in one file cannot do this: halfspace explore can');
  }
  return answer as Questions[Q][1];
}

const cardOf = (cards: readonly Card[], row: number) => cards.find((card) => card.row === row);

/** The rows that meet the filter, with the cards of some of them. */
function rowsHeld(cards: readonly Card[], { filter, first, count }: Questions['rows'][0]) {
  const some = cards.filter(meets(filter));
  const matching = filter.trim() === '' ? null : packed(Uint32Array.from(some, (card) => card.row));
  return { total: some.length, matching, cards: some.slice(first, first + count) };
}

/** A card meets a filter that its texts contain, in any case: this page does not parse filters. */
function meets(filter: string): (card: Card) => boolean {
  const needle = filter.trim().toLowerCase();
  return ({ id, text, values }) =>
    [id, text ?? '', ...values.map(([, value]) => value)].join(' ').toLowerCase().includes(needle);
}

/**
 * The rows nearest to a row of the page among those that meet the filter, by the distance of their
 * codes; similarities are estimates. The row is found by its number or its id, in any case.
 */
function searchHeld(
  { cards, codes: bytes }: HeldMap,
  about: Held['about'],
  { id, row, k, filter }: Questions['search'][0],
): SearchAnswer {
  const wanted = id?.trim().toLowerCase();
  const at = cards.findIndex((card) =>
    wanted === undefined ? card.row === row : card.id.toLowerCase() === wanted,
  );
  if (at < 0) throw new Error(`no row of this page has the id ${id}`);
  const start = performance.now();
  const codes = Codes.from(bytesOf(bytes), { bits: about.bits });
  // Of all rows, since the filter and the row itself take out some of the nearest.
  const { rows, distances } = scan(codes, codes.at(at), { k: codes.count });
  const milliseconds = performance.now() - start;
  const hits = Array.from(rows, (other, i) => {
    return { ...cards[other], distance: distances[i], ...estimateOf(about, distances[i]) };
  })
    .filter((hit) => hit.row !== cards[at].row)
    .filter(meets(filter))
    .slice(0, k);
  const compared = `${about.measure} as codes estimate it`;
  return { query: cards[at], hits, compared, milliseconds };
}
