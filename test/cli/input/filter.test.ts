import { describe, expect, it } from 'vitest';
import { parseFilter, placesThatMeet } from '../../../src/cli/input/filter';

describe('parseFilter', () => {
  it('reads conditions joined by and', () => {
    expect(parseFilter(`category = 'animal' and year >= 2000 AND "my name" in (a, 'b c')`)).toEqual(
      [
        { column: 'category', operator: '=', values: ['animal'] },
        { column: 'year', operator: '>=', values: ['2000'] },
        { column: 'my name', operator: 'in', values: ['a', 'b c'] },
      ],
    );
  });

  it('needs no blanks, and takes doubled quotes as one', () => {
    expect(parseFilter(`a!=1 and b='it''s'`)).toEqual([
      { column: 'a', operator: '!=', values: ['1'] },
      { column: 'b', operator: '=', values: ["it's"] },
    ]);
  });

  it.each([
    ['', 'expected a column at its end'],
    ['a', 'expected one of = != < <= > >= in at its end'],
    ['a =', 'expected a value at its end'],
    ['a ~ 3', 'expected one of = != < <= > >= in, got "~"'],
    ['a = b c', 'expected "and" (quote values that have blanks), got "c"'],
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

describe('placesThatMeet', () => {
  const met = (text: string, values: readonly unknown[]) =>
    placesThatMeet(
      parseFilter(text)[0],
      values,
      values.map((_, place) => place),
    );

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

  it('looks only at the places that are left', () => {
    expect(placesThatMeet(parseFilter('a > 1')[0], [1, 2, 3, 4], [0, 2])).toEqual([2]);
  });

  it('refuses a word for a column of numbers', () => {
    expect(() => met('a = many', [1, 2])).toThrow('column "a" holds numbers, got "many"');
  });
});
