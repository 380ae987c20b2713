/**
 * Filters of rows as text: `category = 'animal' and (year >= 2000 or title like '%tea%')`, with =,
 * !=, <, <=, >, >=, in (…), not in, like, not like, is null, is not null, and, or. Numbers are
 * compared as numbers, strings by their UTF-16 units. A missing value meets `is null` alone, and
 * NaN `!=` and `not in` alone.
 */

import type { RowBatch } from '../../node';
import { misuse } from '../talk';

/** A value of a column, compared with one of a filter in the same type. */
type Value = string | number | bigint;

/** Equality by order, so that a number equals a bigint; NaN equals nothing. */
const areEqual = (own: Value, wanted: Value) => own <= wanted && own >= wanted;

/** By operator, whether a value of a column meets the values of the filter, of most one. */
const TESTS: Readonly<Record<string, (own: Value, wanted: readonly Value[]) => boolean>> = {
  '=': (own, [wanted]) => areEqual(own, wanted),
  '!=': (own, [wanted]) => !areEqual(own, wanted),
  '<': (own, [wanted]) => own < wanted,
  '<=': (own, [wanted]) => own <= wanted,
  '>': (own, [wanted]) => own > wanted,
  '>=': (own, [wanted]) => own >= wanted,
  in: (own, wanted) => wanted.some((one) => areEqual(own, one)),
  like: (own, [wanted]) => isLike(String(own), String(wanted)),
};
const OPERATORS = [...Object.keys(TESTS), 'is'];
/** Parentheses within each other, at most: the parser and the tests recurse for each. */
const MAX_DEPTH = 100;

/** The value of a column in the row that is tested; null or undefined for a missing one. */
type ValueIn = (column: string) => unknown;
/** Whether a row meets a part of a filter. */
type Test = (valueIn: ValueIn) => boolean;

export interface Filter {
  /** The columns that it reads, each once. */
  readonly columns: readonly string[];
  /** Whether a row meets it. A misuse where a column has numbers and the filter a text. */
  meets(valueIn: ValueIn): boolean;
}

/** A quoted text, an operator, punctuation, or a word. */
const TOKEN = /\s*('(?:[^']|'')*'|"(?:[^"]|"")*"|!=|<=|>=|[=<>(),]|[^\s=<>!(),'"]+)/y;
/** Tokens that are no values. */
const PUNCTUATION = /^(?:[(),=<>]|!=|<=|>=)$/;

/** Parses a filter; throws a misuse (exit code 2) that says what is wrong and shows the filter. */
export function parseFilter(text: string): Filter {
  const parser = new Parser(text);
  const test = parser.filter();
  return { columns: [...parser.columns], meets: test };
}

/**
 * A recursive-descent parser: `or` joins parts that `and` joins; parentheses bind most.
 * Words of the language are read in any case; names of columns and values as they are.
 */
class Parser {
  readonly columns = new Set<string>();
  readonly #tokens: string[] = [];
  #at = 0;
  #depth = 0;

  constructor(readonly text: string) {
    // A sticky pattern keeps its position from the filter before.
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.trimEnd().length) {
      const from = TOKEN.lastIndex;
      const match = TOKEN.exec(text);
      if (match === null) throw this.#wrong(`cannot be read from "${text.slice(from).trim()}" on`);
      this.#tokens.push(match[1]);
    }
  }

  filter(): Test {
    const all = this.#joined('or');
    if (this.#at === this.#tokens.length) return all;
    const found = this.#tokens[this.#at];
    throw this.#wrong(`expected "and" or "or" (quote values that have blanks), got "${found}"`);
  }

  /** Parts joined by `or`, or by `and`. */
  #joined(word: 'or' | 'and'): Test {
    const parts: Test[] = [];
    do parts.push(word === 'or' ? this.#joined('and') : this.#part());
    while (this.#takes(word));
    if (parts.length === 1) return parts[0];
    if (word === 'or') return (valueIn) => parts.some((test) => test(valueIn));
    return (valueIn) => parts.every((test) => test(valueIn));
  }

  /** A filter in parentheses, or a condition. */
  #part(): Test {
    if (!this.#takes('(')) return this.#condition();
    if (++this.#depth > MAX_DEPTH) throw this.#wrong(`has more than ${MAX_DEPTH} parts in parts`);
    const test = this.#joined('or');
    this.#next('")"', (token) => token === ')');
    this.#depth--;
    return test;
  }

  /** A column, an operator, before `in` and `like` perhaps `not`, and its values. */
  #condition(): Test {
    const column = this.#value('a column');
    this.columns.add(column);
    const isNot = this.#takes('not');
    const operators = isNot ? ['in', 'like'] : OPERATORS;
    const operator = this.#next(
      isNot ? 'in or like after "not"' : `one of ${operators.join(' ')}`,
      (token) => operators.includes(token.toLowerCase()),
    ).toLowerCase();
    if (operator === 'is') {
      const isThere = this.#takes('not');
      this.#next('"null" after is', (token) => token.toLowerCase() === 'null');
      return (valueIn) => isMissing(valueIn(column)) !== isThere;
    }
    const test = compared(column, operator, operator === 'in' ? this.#list() : [this.#operand()]);
    return (valueIn) => {
      const value = valueIn(column);
      return !isMissing(value) && test(value) !== isNot;
    };
  }

  /** Values in parentheses, by commas. */
  #list(): string[] {
    const values: string[] = [];
    this.#next('"(" after in', (token) => token === '(');
    do values.push(this.#operand());
    while (this.#next('"," or ")"', (token) => token === ',' || token === ')') === ',');
    return values;
  }

  /** A value to compare with; without quotes null is none, since nothing equals it. */
  #operand(): string {
    const isNull = this.#takes('null');
    if (isNull) throw this.#wrong(`expected a value ("is null" finds missing ones), got "null"`);
    return this.#value('a value');
  }

  /** Takes the next token if it is this word, in any case. */
  #takes(word: string): boolean {
    const isIt = this.#tokens[this.#at]?.toLowerCase() === word;
    if (isIt) this.#at++;
    return isIt;
  }

  /** Takes the next token; throws where it is missing or not right, with what is expected. */
  #next(expected: string, isRight: (token: string) => boolean): string {
    const token = this.#tokens[this.#at++];
    if (token === undefined) throw this.#wrong(`expected ${expected} at its end`);
    if (!isRight(token)) throw this.#wrong(`expected ${expected}, got "${token}"`);
    return token;
  }

  /** Takes a name or a value, without its quotes; within these, a doubled quote stands for one. */
  #value(expected: string): string {
    const token = this.#next(expected, (one) => !PUNCTUATION.test(one));
    const quote = token[0];
    if (quote !== "'" && quote !== '"') return token;
    return token.slice(1, -1).replaceAll(quote + quote, quote);
  }

  #wrong(what: string) {
    return misuse(`--filter ${what}, in: ${this.text}`);
  }
}

const isMissing = (value: unknown) => value === null || value === undefined;

/** Whether a value of a column, which is not missing, meets an operator with its values. */
function compared(column: string, operator: string, texts: readonly string[]) {
  const test = TESTS[operator];
  const isText = operator === 'like';
  const wanted = texts.map((text) => valueLike(column, text));
  return (value: unknown): boolean => {
    const isNumber = typeof value === 'number' || typeof value === 'bigint';
    const own = !isText && isNumber ? value : String(value);
    return test(
      own,
      wanted.map((one) => one(own)),
    );
  };
}

/**
 * Returns a function that gives a text of a filter in the type of a column's value; it throws a
 * misuse where that is a number and the text is none.
 */
function valueLike(column: string, text: string): (own: Value) => Value {
  const number = text.trim() === '' ? Number.NaN : Number(text);
  const integer = /^[+-]?\d+$/.test(text) ? BigInt(text) : null;
  return (own) => {
    if (typeof own === 'string') return text;
    if (typeof own === 'bigint' && integer !== null) return integer;
    if (!Number.isNaN(number)) return number;
    throw misuse(`--filter: column "${column}" holds numbers, got "${text}"`);
  };
}

/**
 * Whether a text has a form in which % stands for any characters and _ for one (a UTF-16 unit).
 * After a mismatch it goes back to the last % alone, so that the steps are at most the product of
 * the lengths, for every pattern.
 */
function isLike(text: string, form: string): boolean {
  let [at, next] = [0, 0]; // positions in the text, and in the form
  let [mark, from] = [-1, 0]; // the last % of the form, and where what it stands for ends
  while (at < text.length) {
    if (form[next] === '%') [mark, from] = [next++, at];
    else if (next < form.length && (form[next] === '_' || form[next] === text[at]))
      [at, next] = [at + 1, next + 1];
    else if (mark >= 0) [at, next] = [++from, mark + 1];
    else return false;
  }
  while (form[next] === '%') next++;
  return next === form.length;
}

/**
 * The values of a column to be compared. Decimals are numbers, of float64; JSON, which a column has
 * whose first rows are all null or of several types, is compared as numbers if all of it are
 * numbers, else as texts without quotes.
 */
export function comparable(batch: RowBatch, name: string): readonly unknown[] {
  const values = batch.values(name);
  const type = batch.columns.find((column) => column.name === name)?.type ?? '';
  if (type !== 'Json' && !type.startsWith('Decimal')) return values;
  const plain = values.map((value) => {
    const text = String(value);
    if (/^-?\d+$/.test(text)) return BigInt(text); // float64 does not hold all of them
    return /^[-\d"]/.test(text) ? (JSON.parse(text) as number | string) : value;
  });
  const areNumbers = plain.every((value) => value === null || typeof value !== 'string');
  return areNumbers ? plain : plain.map((value) => (value === null ? null : String(value)));
}
