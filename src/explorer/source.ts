/**
 * Where the page's answers come from: the server of `explore`, or what a page in one file holds.
 * Views ask both in the same way; a page in one file rejects what it cannot answer.
 */

import { Codes, scan } from '../index';
import { estimateOf } from './estimate';
import { HeldReview } from './held-review';
import type { Card, Held, Question, Questions, SearchAnswer, SearchRequest } from './messages';
import { bytesOf } from './packed';

/** What answers the questions of messages.ts. */
export interface Source {
  /** Resolves to the answer; rejects with a sentence for people. */
  ask<Q extends Question>(question: Q, asked: Questions[Q][0]): Promise<Questions[Q][1]>;
  /** What the page holds; null where a server answers. */
  readonly held: Held | null;
  /** The plan that the page holds; null where it holds none. */
  readonly review: HeldReview | null;
}

/** A decision based on a state that others have changed since: the server's status 409. */
export class Conflict extends Error {}

/** The source of what the page holds; of null, the server that the page came from. */
export function sourceOf(held: Held | null): Source {
  if (held === null) return { ask: askServer, held, review: null };
  const { about } = held;
  const review = held.review && about ? new HeldReview(held.review, about) : null;
  return { ask: (...asked) => askHeld(held, review, ...asked), held, review };
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
  held: Held,
  review: HeldReview | null,
  question: Q,
  asked: Questions[Q][0],
): Promise<Questions[Q][1]> {
  const { about, map, health, cards } = held;
  // Typed by the table of answers below, which has only the questions that a page can answer.
  const given = asked as never;
  const answers: { [R in Question]?: () => Questions[R][1] | null } = {
    status: () => ({ phase: 'ready', label: '', share: null }),
    about: () => about,
    map: () => map,
    health: () => health,
    rows: () => rowsHeld(cards, given),
    cards: () => (given as Questions['cards'][0]).rows.flatMap((row) => cardOf(cards, row) ?? []),
    search: () => searchHeld(held, given),
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
  const matching = filter.trim() === '' ? null : packedRows(some.map(({ row }) => row));
  return { total: some.length, matching, cards: some.slice(first, first + count) };
}

/** A card meets a filter that its texts contain, in any case: this page does not parse filters. */
function meets(filter: string): (card: Card) => boolean {
  const needle = filter.trim().toLowerCase();
  return ({ id, text, values }) =>
    [id, text ?? '', ...values.map(([, value]) => value)].join(' ').toLowerCase().includes(needle);
}

/** Rows as the server sends them: Uint32, as base64 of their bytes. */
function packedRows(rows: readonly number[]): string {
  const bytes = new Uint8Array(Uint32Array.from(rows).buffer);
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/**
 * The rows nearest to a row of the page among those that meet the filter, by the distance of their
 * codes; similarities are estimates. The row is found by its number or its id, in any case.
 */
function searchHeld(held: Held, { id, row, k, filter }: SearchRequest): SearchAnswer {
  const { cards, about } = held;
  const { bits, measure } = about ?? { bits: 1, measure: 'cosine' as const };
  const wanted = id?.trim().toLowerCase();
  const at = cards.findIndex((card) =>
    wanted === undefined ? card.row === row : card.id.toLowerCase() === wanted,
  );
  if (at < 0) throw new Error(`no row of this page has the id ${id}`);
  const start = performance.now();
  const codes = Codes.from(bytesOf(held.codes ?? ''), { bits });
  // Of all rows, since the filter and the row itself take out some of the nearest.
  const { rows, distances } = scan(codes, codes.at(at), { k: codes.count });
  const milliseconds = performance.now() - start;
  const found = Array.from(rows, (other, i) => {
    const { similarity } = estimateOf(measure, distances[i], bits);
    return { ...cards[other], distance: distances[i], similarity };
  });
  const hits = found
    .filter((hit) => hit.row !== cards[at].row)
    .filter(meets(filter))
    .slice(0, k);
  return { query: cards[at], hits, isExact: false, measure, bits, milliseconds };
}
