/**
 * Filters as text: `category = 'animal' and year >= 2000`, with =, !=, <, <=, >, >=, in (…) and
 * `and`. Numbers are compared as numbers, strings by their code units; a null matches nothing,
 * and NaN only `!=`.
 */

import { misuse } from '../parse';

/** Whether a value meets an operator, by its order next to the wanted one: below 0, 0 or above. */
const TESTS = {
  '=': (order: number) => order === 0,
  '!=': (order: number) => order !== 0,
  '<': (order: number) => order < 0,
  '<=': (order: number) => order <= 0,
  '>': (order: number) => order > 0,
  '>=': (order: number) => order >= 0,
  in: (order: number) => order === 0,
};

type Operator = keyof typeof TESTS;

/** One comparison of a column with values. */
export interface Condition {
  readonly column: string;
  readonly operator: Operator;
  /** One, or several of `in`. */
  readonly values: readonly string[];
}

/** A quoted text, an operator, punctuation, or a word. */
const TOKEN = /\s*('(?:[^']|'')*'|"(?:[^"]|"")*"|!=|<=|>=|[=<>(),]|[^\s=<>!(),'"]+)/y;
const OPERATORS = Object.keys(TESTS);
const PUNCTUATION = ['(', ')', ',', ...OPERATORS.filter((operator) => operator !== 'in')];

/** The conditions that a row must all meet; throws a misuse that says what is wrong. */
export function parseFilter(text: string): Condition[] {
  const tokens = tokensOf(text);
  const conditions: Condition[] = [];
  let at = 0;
  const next = (expected: string): string => {
    const token = tokens[at++];
    if (token === undefined) throw wrong(text, `expected ${expected} at its end`);
    return token;
  };
  const value = (expected: string): string => {
    const token = next(expected);
    if (PUNCTUATION.includes(token)) throw wrong(text, `expected ${expected}, got "${token}"`);
    return plain(token);
  };
  do {
    const column = value('a column');
    const given = next('an operator');
    const operator = given.toLowerCase() as Operator;
    if (!OPERATORS.includes(operator)) {
      throw wrong(text, `expected one of ${OPERATORS.join(' ')}, got "${given}"`);
    }
    if (operator !== 'in') {
      conditions.push({ column, operator, values: [value('a value')] });
      continue;
    }
    if (next('"("') !== '(') throw wrong(text, 'expected "(" after in');
    const values = [value('a value')];
    let end = next('")"');
    for (; end === ','; end = next('")"')) values.push(value('a value'));
    if (end !== ')') throw wrong(text, `expected "," or ")", got "${end}"`);
    conditions.push({ column, operator, values });
  } while (at < tokens.length && isAnd(next('and'), text));
  return conditions;
}

/** True of `and`; anything else between conditions is an error. */
function isAnd(token: string, text: string): boolean {
  if (token.toLowerCase() === 'and') return true;
  throw wrong(text, `expected "and", got "${token}" (quote values that have blanks)`);
}

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
  condition: Condition,
  values: readonly unknown[],
  places: readonly number[],
): number[] {
  const test = TESTS[condition.operator];
  const sample = values.find((value) => value !== null && value !== undefined);
  const wanted = condition.values.map((text) => likeValue(condition.column, text, sample));
  return places.filter((place) => {
    const value = values[place];
    if (value === null || value === undefined) return false;
    return wanted.some((one) => test(orderOf(value as never, one as never)));
  });
}

/** The text of a filter as a value of its column. */
function likeValue(column: string, text: string, sample: unknown): string | number | bigint {
  if (typeof sample === 'bigint' && /^[+-]?\d+$/.test(text)) return BigInt(text);
  if (typeof sample === 'number' || typeof sample === 'bigint') {
    const number = Number(text);
    if (text.trim() === '' || Number.isNaN(number)) {
      throw misuse(`--filter: column "${column}" holds numbers, got "${text}"`);
    }
    return number;
  }
  return text;
}

/** Below 0, 0 or above; NaN where the value is NaN, which is only unequal to everything. */
function orderOf(value: unknown, wanted: string | number | bigint): number {
  const own = typeof wanted === 'string' ? String(value) : (value as number | bigint);
  if (Number.isNaN(own)) return Number.NaN;
  return own < wanted ? -1 : own > wanted ? 1 : 0;
}
