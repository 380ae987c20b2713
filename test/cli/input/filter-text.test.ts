import { Decimal, Field, makeData, Schema } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { comparable, parseFilter } from '../../../src/cli/input/filter-text';
import { recordBatch } from '../../../src/table/columns/make';
import { RowBatch } from '../../../src/table/row-batch';

/** The numbers of rows that meet a filter, by values of the columns. */
const rowsOf = (text: string, columns: Record<string, readonly unknown[]>) => {
  const rows = [...Object.values(columns)[0].keys()];
  const { meets } = parseFilter(text);
  return rows.filter((row) => meets((name) => columns[name][row]));
};

describe('parseFilter', () => {
  it('reads conditions joined by and', () => {
    const text = `category = 'animal' and year >= 2000 AND "my name" in (a, 'b c')`;
    expect(parseFilter(text).columns).toEqual(['category', 'year', 'my name']);
    const category = ['animal', 'animal', 'plant', 'animal'];
    const columns = { category, year: [2000, 1999, 2001, 2020], 'my name': ['b c', 'a', 'a', 'b'] };
    expect(rowsOf(text, columns)).toEqual([0]);
  });

  it('needs no blanks, and takes doubled quotes as one', () => {
    const columns = { a: [1, 2, 2], b: ["it's", "it's", 'its'] };
    expect(rowsOf(`a!=1 and b='it''s'`, columns)).toEqual([1]);
  });

  it.each([
    [
      'a = 1 or b = 1 and c = 1',
      (a: number, b: number, c: number) => a === 1 || (b === 1 && c === 1),
    ],
    [
      '(a = 1 or b = 1) and c = 1',
      (a: number, b: number, c: number) => (a === 1 || b === 1) && c === 1,
    ],
    ['a not in (0, 2) and (c)=0', (a: number, _: number, c: number) => a === 1 && c === 0],
  ])('%j is what it says, of all truths', (text, isRight) => {
    const bits = (i: number) => [0, 1, 2, 3, 4, 5, 6, 7].map((row) => (row >> i) & 1);
    const columns = { a: bits(0), b: bits(1), c: bits(2) };
    const right = [0, 1, 2, 3, 4, 5, 6, 7].filter((row) => {
      return isRight(columns.a[row], columns.b[row], columns.c[row]);
    });
    expect(rowsOf(text.replace('(c)', 'c'), columns)).toEqual(right);
  });

  it('takes texts by their form, in time that does not explode', () => {
    const a = ['green tea', 'tea', 'black team', 'te', '100%', null];
    expect(rowsOf(`a like '%tea'`, { a })).toEqual([0, 1]);
    expect(rowsOf(`a like '%tea%'`, { a })).toEqual([0, 1, 2]);
    expect(rowsOf(`a like 't_a'`, { a })).toEqual([1]);
    expect(rowsOf(`a not like '%e%'`, { a })).toEqual([4]);
    expect(rowsOf(`a like '1__%'`, { a })).toEqual([4]);
    const hostile = `a like '${'%a'.repeat(200)}%b'`;
    expect(rowsOf(hostile, { a: ['a'.repeat(5000)] })).toEqual([]);
  });

  it('leaves out what is not known, whichever way it is asked, and finds it by is null', () => {
    const columns = { a: [1, null, 2], b: [null, null, 5] };
    expect(rowsOf('a is null', columns)).toEqual([1]);
    expect(rowsOf('a IS NOT NULL and b is null', columns)).toEqual([0]);
    expect(rowsOf('a = 1 or b = 5', columns)).toEqual([0, 2]);
    for (const text of ['a not in (1)', 'a != 1', "a not like '1'", 'a > 1']) {
      expect(rowsOf(text, columns)).toEqual([2]);
    }
  });

  it.each([
    ['', 'expected a column at its end'],
    ['a', 'expected one of = != < <= > >= in like is at its end'],
    ['a =', 'expected a value at its end'],
    ['a = null', 'expected a value ("is null" finds missing ones), got "null"'],
    ['a in (b, NULL)', 'expected a value ("is null" finds missing ones), got "null"'],
    ['a ~ 3', 'expected one of = != < <= > >= in like is, got "~"'],
    ['a = b c', 'expected "and" or "or" (quote values that have blanks), got "c"'],
    ['(a = b', 'expected ")" at its end'],
    ['a not = b', 'expected in or like after "not", got "="'],
    ['a is 3', 'expected "null" after is, got "3"'],
    ['not a = b', 'expected one of = != < <= > >= in like is, got "a"'],
    ['('.repeat(9999), 'has more than 100 parts in parts'],
    ['a = b and', 'expected a column at its end'],
    ['a in b', 'expected "(" after in'],
    ['a in (b', 'expected "," or ")" at its end'],
    ['a in (b c)', 'expected "," or ")", got "c"'],
    ['a = )', 'expected a value, got ")"'],
    [`a = 'b`, `cannot be read from "'b" on`],
  ])('refuses %j', (text, message) => {
    expect(() => parseFilter(text)).toThrow(message);
  });
});

describe('meets', () => {
  const met = (text: string, values: readonly unknown[]) => {
    return rowsOf(
      text,
      Object.fromEntries(parseFilter(text).columns.map((name) => [name, values])),
    );
  };

  it('compares numbers as numbers', () => {
    const values = [9, 10, 11, 100];
    expect(met('a < 11', values)).toEqual([0, 1]);
    expect(met('a <= 11', values)).toEqual([0, 1, 2]);
    expect(met('a > 10', values)).toEqual([2, 3]);
    expect(met('a >= 10', values)).toEqual([1, 2, 3]);
    expect(met('a = 10.0', values)).toEqual([1]);
    expect(met('a != 10', values)).toEqual([0, 2, 3]);
    expect(met('a in (9, 100)', values)).toEqual([0, 3]);
  });

  it('compares strings as strings, and truths by their names', () => {
    expect(met('a < b', ['a', 'b', 'c', 'B'])).toEqual([0, 3]);
    expect(met('a = 10', ['10', '10.0'])).toEqual([0]);
    expect(met('a = true', [true, false])).toEqual([0]);
  });

  it('compares 64-bit integers beyond the safe ones', () => {
    expect(met('a = 9007199254740993', [2n ** 53n, 2n ** 53n + 1n])).toEqual([1]);
    expect(met('a < 1.5', [1n, 2n])).toEqual([0]);
  });

  it('matches nothing with a null, whatever the condition', () => {
    expect(met('a = x', [null, 'x'])).toEqual([1]);
    expect(met('a != x', [null, 'y'])).toEqual([1]);
    expect(met('a != x', [null, null])).toEqual([]);
  });

  it('matches NaN with != alone', () => {
    const values = [Number.NaN, 5, 6];
    expect(met('x = 5', values)).toEqual([1]);
    expect(met('x in (5, 6)', values)).toEqual([1, 2]);
    expect(met('x <= 5', values)).toEqual([1]);
    expect(met('x >= 5', values)).toEqual([1, 2]);
    expect(met('x != 5', values)).toEqual([0, 2]);
  });

  it('refuses a word for a column of numbers', () => {
    expect(() => met('a = many', [1, 2])).toThrow('column "a" holds numbers, got "many"');
    expect(() => met('a in (9, many)', [1, 2])).toThrow('numbers, got "many"');
  });
});

it('decimals are compared as numbers', () => {
  const cents = [-250n, 0n, 900n, 1000n];
  const words = cents.flatMap((value) => [0n, 32n, 64n, 96n].map((bit) => value >> bit));
  const data = makeData({
    type: new Decimal(2, 38, 128),
    length: cents.length,
    nullCount: 0,
    data: Uint32Array.from(words, (word) => Number(BigInt.asUintN(32, word))),
  });
  const schema = new Schema([new Field('price', data.type, true)]);
  const batch = RowBatch.fromArrow(recordBatch(schema, [data], cents.length));
  expect(batch.values('price').slice(0, 3)).toEqual(['-2.50', '0.00', '9.00']);
  expect(comparable(batch, 'price')).toEqual([-2.5, 0, 9, 10]);
});
