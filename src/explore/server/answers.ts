/**
 * What the server answers to each question of the page (messages.ts). Questions come from outside,
 * so every field is checked. The map takes long: it is made once, at the first question for it.
 */

import { checkInteger, checkNumber, checkOneOf, wrongType } from '../../base/check';
import type { Call } from '../../cli/call';
import type { DecideRequest, Question, Questions, RowsAnswer, SearchRequest } from '../messages';
import { packed } from '../packed';
import type { Explored } from './explored';
import { coloursOf, mapAnswer, placedRows } from './map';
import type { PlanFile } from './plan-file';
import { Review } from './review';
import type { Answer } from './server';

/** Cards of one answer, and hits of one search, at most. */
const MAX_ROWS = 500;
const MAX_HITS = 1000;

/** The fields of a question, unchecked. */
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
  const map = once(async () => mapAnswer(explored, await placedRows(call, explored)));
  const review = once(() => Review.open(explored, planFile));
  const nearOf = ({ near }: Given) =>
    explored.nearness.by === 'distance'
      ? checkInteger('near', near, 0, explored.index.bits)
      : checkNumber('near', near, 0, 1);
  const answers: Answers = {
    about: () => explored.about(planFile.path),
    rows: (asked) => rowsAnswer(explored, asked),
    cards: ({ rows }) => explored.cardsOf(rowsOf(explored, rows)),
    search: (asked) => explored.search(searchOf(explored, asked)),
    why: ({ text, other, row }) =>
      explored.why({
        row: explored.checkRow(row),
        ...(text !== undefined && { text: textOf('text', text) }),
        ...(other !== undefined && { other: explored.checkRow(other) }),
      }),
    map,
    colours: ({ column }) => coloursOf(explored, textOf('column', column)),
    review: async () => (await review()).answer(),
    group: async ({ group }) => (await review()).group(group as number),
    decide: async (asked) => (await review()).decide(decisionOf(asked)),
    preview: async (asked) => (await review()).preview(call, nearOf(asked)),
    plan: async (asked) => (await review()).make(call, nearOf(asked)),
  };
  return async (question, asked) => {
    const names = Object.keys(answers) as (keyof Answers)[];
    const name = checkOneOf('question', question as keyof Answers, names);
    return answers[name]((asked ?? {}) as Given);
  };
}

/** Returns a function that works at its first call only; after a failure the next call retries. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => {
    made ??= work().catch((error) => {
      made = null;
      throw error;
    });
    return made;
  };
}

/** A field that must be a string. */
function textOf(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw wrongType(name, 'a string', value);
}

/** A field that must be an array of rows that are there; rows after the first MAX_ROWS are cut. */
function rowsOf(explored: Explored, rows: unknown): number[] {
  if (!Array.isArray(rows)) throw wrongType('rows', 'an array', rows);
  return rows.slice(0, MAX_ROWS).map((row) => explored.checkRow(row));
}

/** The rows that meet a filter: how many, which, and the cards of some of them. */
function rowsAnswer(explored: Explored, asked: Given): RowsAnswer {
  const filter = textOf('filter', asked.filter);
  const first = checkInteger('first', asked.first, 0, 2 ** 32);
  const count = checkInteger('count', asked.count, 0, MAX_ROWS);
  const rows = explored.carried.rowsThatMeet(filter);
  return {
    total: rows.length,
    matching: filter.trim() === '' ? null : packed(rows),
    cards: explored.cardsOf([...rows.subarray(first, first + count)]),
  };
}

/** A search, checked: by a row, a text, an id or a vector, the first of these that is given. */
function searchOf(explored: Explored, asked: Given): SearchRequest {
  const { text, id, row, vector } = asked;
  const base = {
    k: checkInteger('k', asked.k, 1, MAX_HITS),
    filter: textOf('filter', asked.filter),
  };
  if (row !== undefined) return { ...base, row: explored.checkRow(row) };
  if (text !== undefined) return { ...base, text: textOf('text', text) };
  if (id !== undefined) return { ...base, id: textOf('id', id) };
  if (!Array.isArray(vector) || !vector.every(Number.isFinite)) {
    throw wrongType('vector', 'an array of numbers', vector);
  }
  return { ...base, vector };
}

/** A decision whose fields have the right types; `Review` compares what they say with the plan. */
function decisionOf({ group, before, after }: Given): DecideRequest {
  const stateOf = (name: string, state: unknown) => {
    const { kept, isReviewed } = (state ?? {}) as Given;
    const isRight = Array.isArray(kept) && kept.every(Number.isInteger);
    if (!isRight || typeof isReviewed !== 'boolean') {
      throw wrongType(name, '{ kept, isReviewed }', state);
    }
    return { kept: kept as number[], isReviewed };
  };
  return {
    group: group as number,
    before: stateOf('before', before),
    after: stateOf('after', after),
  };
}
