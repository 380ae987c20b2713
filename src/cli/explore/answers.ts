/**
 * What the server answers to each question of the page. Questions come from outside: each field is
 * checked. What takes long (the map, the figures of health) is made once, at the first question;
 * what of the map can be shown at once, before it.
 */

import { checkInteger, checkNumber, checkOneOf, wrongType } from '../../base/check';
import type {
  MapAnswer,
  Question,
  Questions,
  RowsAnswer,
  SearchRequest,
} from '../../explorer/messages';
import type { Call } from '../call';
import type { Explored } from './explored';
import { healthOf } from './health';
import { coloursOf, firstMap, mapAnswer, newMap, packed } from './map-file';
import type { PlanFile } from './plan-file';
import { Review } from './review';
import type { Answer } from './server';

/** Rows that one answer lists. */
const MAX_ROWS = 500;
const MAX_HITS = 1000;

type Given = Readonly<Record<string, unknown>>;
type Answers = {
  readonly [Q in Exclude<Question, 'status'>]: (
    asked: Given,
  ) => Questions[Q][1] | Promise<Questions[Q][1]>;
};

/** Answers questions about what is explored. */
export function answersOf(call: Call, explored: Explored, planFile: PlanFile): Answer {
  const kind = { seed: 0, clusters: call.number('clusters') };
  const first = once(() => firstMap(explored, kind));
  let made: MapAnswer | null = null;
  const map = once(async () => {
    const known = await first();
    made = known?.isDraft === false ? known : null;
    made ??= mapAnswer(explored, await newMap(call, explored, kind));
    return made;
  });
  const health = once(() => healthOf(call, explored));
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
    map: async ({ mayBeDraft }) => made ?? (mayBeDraft === true ? await first() : null) ?? map(),
    colours: ({ column }) => coloursOf(explored, textOf('column', column)),
    health,
    review: async () => (await review()).answer(),
    group: async ({ group }) => (await review()).group(group),
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

/** Work that is done at the first call; one that failed is tried again. */
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

function textOf(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw wrongType(name, 'a string', value);
}

function rowsOf(explored: Explored, rows: unknown): number[] {
  if (!Array.isArray(rows)) throw wrongType('rows', 'an array', rows);
  return rows.slice(0, MAX_ROWS).map((row) => explored.checkRow(row));
}

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

/** A decision whose parts have the right types; what they say is checked against the plan. */
function decisionOf({ group, before, after }: Given) {
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
