/**
 * Filters as text: `category = 'animal' and year >= 2000`, with =, !=, <, <=, >, >=, in (…) and
 * `and`. Numbers are compared as numbers, strings by their code units; a null matches nothing,
 * and NaN only `!=`.
 */

import { misuse } from '../errors';

type Value = string | number | bigint;

/** Also of a number and a bigint; NaN equals nothing. */
const areEqual = (own: Value, wanted: Value) => own <= wanted && own >= wanted;

/** Whether a value meets an operator. */
const TESTS: Readonly<Record<string, (own: Value, wanted: Value) => boolean>> = {
  '=': areEqual,
  '!=': (own, wanted) => !areEqual(own, wanted),
  '<': (own, wanted) => own < wanted,
  '<=': (own, wanted) => own <= wanted,
  '>': (own, wanted) => own > wanted,
  '>=': (own, wanted) => own >= wanted,
  in: areEqual,
};
const OPERATORS = Object.keys(TESTS);

/** One comparison of a column with values. */
export interface Condition {
  readonly column: string;
  readonly operator: string;
  /** One, or several of `in`. */
  readonly values: readonly string[];
}

/** A quoted text, an operator, punctuation, or a word. */
const TOKEN = /\s*('(?:[^']|'')*'|"(?:[^"]|"")*"|!=|<=|>=|[=<>(),]|[^\s=<>!(),'"]+)/y;
/** Tokens that are no values. */
const PUNCTUATION = /^(?:[(),=<>]|!=|<=|>=)$/;

/** The conditions that a row must all meet; throws a misuse that says what is wrong. */
export function parseFilter(text: string): Condition[] {
  const tokens = tokensOf(text);
  const conditions: Condition[] = [];
  let at = 0;
  const next = (expected: string, isRight: (token: string) => boolean): string => {
    const token = tokens[at++];
    if (token === undefined) throw wrong(text, `expected ${expected} at its end`);
    if (!isRight(token)) throw wrong(text, `expected ${expected}, got "${token}"`);
    return token;
  };
  const value = (expected: string) => plain(next(expected, (token) => !PUNCTUATION.test(token)));
  do {
    const column = value('a column');
    const isOperator = (token: string) => OPERATORS.includes(token.toLowerCase());
    const operator = next(`one of ${OPERATORS.join(' ')}`, isOperator).toLowerCase();
    const values: string[] = [];
    if (operator === 'in') next('"(" after in', (token) => token === '(');
    const isListed = () => next('"," or ")"', (token) => /^[,)]$/.test(token)) === ',';
    do values.push(value('a value'));
    while (operator === 'in' && isListed());
    conditions.push({ column, operator, values });
  } while (at < tokens.length && next(AND, (token) => token.toLowerCase() === 'and'));
  return conditions;
}

const AND = '"and" (quote values that have blanks)';

/** The tokens of a filter, quotes included. */
function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const from = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (match === null) throw wrong(text, `cannot be read from "${text.slice(from).trim()}" on`);
    tokens.push(match[1]);
  }
  return tokens;
}

/** A token without its quotes; a doubled quote within them is one. */
function plain(token: string): string {
  const quote = token[0];
  if (quote !== "'" && quote !== '"') return token;
  return token.slice(1, -1).replaceAll(quote + quote, quote);
}

/** The error of a filter, which shows it whole. */
function wrong(text: string, what: string) {
  return misuse(`--filter ${what}, in: ${text}`);
}

/** Of some positions in a column, those whose values meet a condition. */
export function placesThatMeet(
  { operator, column, values: texts }: Condition,
  values: readonly unknown[],
  places: readonly number[],
): number[] {
  const test = TESTS[operator];
  const sample = values.find((value) => value !== null && value !== undefined);
  const wanted = texts.map((text) => likeValue(column, text, sample));
  return places.filter((place) => {
    const value = values[place];
    if (value === null || value === undefined) return false;
    return wanted.some((one) =>
      test(typeof one === 'string' ? String(value) : (value as Value), one),
    );
  });
}

/** The text of a filter as a value of its column. */
function likeValue(column: string, text: string, sample: unknown): Value {
  if (typeof sample === 'bigint' && /^[+-]?\d+$/.test(text)) return BigInt(text);
  if (typeof sample !== 'number' && typeof sample !== 'bigint') return text;
  const number = Number(text);
  if (text.trim() !== '' && !Number.isNaN(number)) return number;
  throw misuse(`--filter: column "${column}" holds numbers, got "${text}"`);
}
