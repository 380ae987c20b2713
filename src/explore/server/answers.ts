/**
 * What the server answers to each question of the page (messages.ts). Questions come from outside,
 * so every field is checked. The map takes long: it is made once, at the first question for it.
 */

import { checkInteger, checkOneOf, wrongType } from '../../base/check';
import type { Call } from '../../cli/call';
import { mapRows } from '../layout/map-rows';
import {
  type Decision,
  MAX_CARDS,
  packed,
  type Question,
  type Questions,
  type RowsAnswer,
  type SearchRequest,
} from '../messages';
import { type Explored, once } from './explored';
import { mapAnswer } from './map';
import { type PlanFile, Review } from './review';
import type { Answer } from './server';

/** Hits of one search, at most. */
const MAX_HITS = 1000;

type Given = Readonly<Record<string, unknown>>;
/** What answers each question; the status is answered by the verb itself. */
type Answers = {
  readonly [Q in Exclude<Question, 'status'>]: (
    asked: Given,
  ) => Questions[Q][1] | Promise<Questions[Q][1]>;
};

/**
 * Returns the function that answers questions about what is explored. It throws a RangeError or a
 * TypeError for a wrong question, and a Conflict for a decision that comes too late.
 */
export function answersOf(call: Call, explored: Explored, planFile: PlanFile): Answer {
  const map = once(async () =>
    mapAnswer(explored, await mapRows(await explored.mapPoints(), call.long)),
  );
  const review = once(() => Review.open(explored, planFile));
  const answers: Answers = {
    about: () => explored.about(),
    rows: ({ filter }) => rowsAnswer(explored, textOf('filter', filter)),
    cards: ({ rows }) => explored.cardsOf(rowsOf(explored, rows)),
    ids: ({ text }) => explored.idsLike(textOf('text', text)),
    search: (asked) => explored.search(searchOf(explored, asked)),
    map,
    review: async () => (await review()).answer(),
    group: async ({ group }) => (await review()).group(group as number),
    decide: async ({ group, before, after }) =>
      (await review()).decide({
        group: group as number,
        before: decisionOf('before', before),
        after: decisionOf('after', after),
      }),
  };
  return async (question, asked) => {
    const names = Object.keys(answers) as (keyof Answers)[];
    const name = checkOneOf('question', question as keyof Answers, names);
    return answers[name]((asked ?? {}) as Given);
  };
}

function textOf(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw wrongType(name, 'a string', value);
}

/** A field that must be an array of rows that are there; rows after the first MAX_CARDS are cut. */
function rowsOf(explored: Explored, rows: unknown): number[] {
  if (!Array.isArray(rows)) throw wrongType('rows', 'an array', rows);
  return rows.slice(0, MAX_CARDS).map((row) => explored.checkRow(row));
}

function rowsAnswer(explored: Explored, filter: string): RowsAnswer {
  const rows = explored.carried.rowsThatMeet(filter);
  return {
    total: rows.length,
    matching: filter.trim() === '' ? null : packed(rows),
    cards: explored.cardsOf([...rows.subarray(0, MAX_CARDS)]),
  };
}

/** A search, checked: by a text, an id or a row, the first of these that is given. */
function searchOf(explored: Explored, { text, id, row, k, filter }: Given): SearchRequest {
  const base = { k: checkInteger('k', k, 1, MAX_HITS), filter: textOf('filter', filter) };
  if (text !== undefined) return { ...base, text: textOf('text', text) };
  if (id !== undefined) return { ...base, id: textOf('id', id) };
  return { ...base, row: explored.checkRow(row) };
}

/** A decision whose fields have the right types; `Review` compares what they say with the plan. */
function decisionOf(name: string, given: unknown): Decision {
  const { kept, isReviewed } = (given ?? {}) as Given;
  const isRight = Array.isArray(kept) && kept.every(Number.isInteger);
  if (isRight && typeof isReviewed === 'boolean') return { kept: kept as number[], isReviewed };
  throw wrongType(name, '{ kept, isReviewed }', given);
}
