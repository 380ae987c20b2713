/**
 * Where the page's answers come from: the server of `explore`, or what a page in one file holds.
 * Views ask both in the same way; a page in one file rejects what it cannot answer.
 */

import { Codes, estimateAngle, estimateJaccard, scan } from '../../index';
import {
  bytesOf,
  type Card,
  type Held,
  type HeldMap,
  idsLike,
  MAX_CARDS,
  packed,
  type Question,
  type Questions,
  type SearchAnswer,
} from '../messages';

/** What answers the questions of messages.ts. */
export interface Source {
  /** Resolves to the answer; rejects with a sentence for people. */
  ask<Q extends Question>(question: Q, asked: Questions[Q][0]): Promise<Questions[Q][1]>;
  readonly isHeld: boolean;
}

/** The source of what the page holds; of null, the server that the page came from. */
export function sourceOf(held: Held | null): Source {
  if (held === null) return { ask: askServer, isHeld: false };
  return { ask: (...asked) => askHeld(held, ...asked), isHeld: true };
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
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** Answers by what the page holds; rejects questions that need a server, as a text query. */
async function askHeld<Q extends Question>(
  { about, map }: Held,
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
    cards: () => cardsHeld(cards, given),
    ids: () => idsLike((given as Questions['ids'][0]).text, cards.length, (i) => cards[i].id),
    search: () => map && searchHeld(map, about, given),
  };
  const answer = answers[question]?.();
  if (answer === undefined || answer === null) {
    throw new Error('a page in one file cannot do this: halfspace explore can');
  }
  return answer as Questions[Q][1];
}

function cardsHeld(cards: readonly Card[], { rows }: Questions['cards'][0]): readonly Card[] {
  return rows.flatMap((row) => cards.find((card) => card.row === row) ?? []);
}

function rowsHeld(cards: readonly Card[], { filter }: Questions['rows'][0]) {
  const some = cards.filter(meets(filter));
  const matching = filter.trim() === '' ? null : packed(Uint32Array.from(some, (card) => card.row));
  return { total: some.length, matching, cards: some.slice(0, MAX_CARDS) };
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
  { bits, measure }: Held['about'],
  { id, row, k, filter }: Questions['search'][0],
): SearchAnswer {
  const wanted = id?.trim().toLowerCase();
  const at = cards.findIndex((card) =>
    wanted === undefined ? card.row === row : card.id.toLowerCase() === wanted,
  );
  if (at < 0) throw new Error(`no row of this page has the id ${id}`);
  const codes = Codes.from(bytesOf(bytes), { bits });
  // Of all rows, since the filter and the row itself take out some of the nearest.
  const { rows, distances } = scan(codes, codes.at(at), { k: codes.count });
  const similarityOf = (distance: number) =>
    measure === 'cosine'
      ? estimateAngle(distance, bits).estimatedCosine
      : estimateJaccard(distance, bits).estimatedJaccard;
  const hits = Array.from(rows, (other, i) => {
    return { ...cards[other], distance: distances[i], similarity: similarityOf(distances[i]) };
  })
    .filter((hit) => hit.row !== cards[at].row)
    .filter(meets(filter))
    .slice(0, k);
  return { query: cards[at], hits, compared: `${measure} as codes estimate it` };
}
