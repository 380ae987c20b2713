import { describe, expect, it } from 'vitest';
import {
  checkBits,
  checkInteger,
  checkMaxDistance,
  checkNumber,
  checkOneOf,
  checkOptions,
  checkSeed,
  checkText,
  describe as describeValue,
  MAX_BITS,
  wrongType,
  wrongValue,
} from '../../src/base/check';

/** Every message is `"name" expected X, got Y`: TypeError for a wrong type, RangeError for a wrong value. */
type Case = [run: () => unknown, type: typeof RangeError | typeof TypeError, words: string];
const CASES: Case[] = [
  [() => checkBits(0), RangeError, '"bits" expected an integer in 1..65535, got 0'],
  [() => checkBits(65_536), RangeError, '"bits" expected an integer in 1..65535, got 65536'],
  [() => checkBits(1.5), RangeError, '"bits" expected an integer in 1..65535, got 1.5'],
  [() => checkBits(Number.NaN), RangeError, '"bits" expected an integer in 1..65535, got NaN'],
  [() => checkBits('64'), TypeError, '"bits" expected a number, got "64"'],
  [() => checkBits(64n), TypeError, '"bits" expected a number, got 64n'],
  [() => checkBits(undefined), TypeError, '"bits" expected a number, got undefined'],
  [
    () => checkOptions({ k: 0 }, { k: { min: 1 } }),
    RangeError,
    '"k" expected an integer from 1 on, got 0',
  ],
  [
    () => checkOptions({ k: Number.POSITIVE_INFINITY }, { k: { min: 1 } }),
    RangeError,
    '"k" expected an integer from 1 on, got Infinity',
  ],
  [
    () => checkOptions({ k: null }, { k: { min: 1 } }),
    TypeError,
    '"k" expected a number, got null',
  ],
  [
    () => checkMaxDistance(-1, 64),
    RangeError,
    '"maxDistance" expected an integer in 0..64, got -1',
  ],
  [
    () => checkMaxDistance(65, 64),
    RangeError,
    '"maxDistance" expected an integer in 0..64, got 65',
  ],
  [() => checkInteger('rows', 7, 1, 6), RangeError, '"rows" expected an integer in 1..6, got 7'],
  [() => checkInteger('rows', [], 1, 6), TypeError, '"rows" expected a number, got Array'],
  [
    () => checkNumber('share', 1.01, 0, 1),
    RangeError,
    '"share" expected a number in 0..1, got 1.01',
  ],
  [
    () => checkNumber('share', Number.NaN, 0, 1),
    RangeError,
    '"share" expected a number in 0..1, got NaN',
  ],
  [() => checkNumber('share', true, 0, 1), TypeError, '"share" expected a number, got true'],
  [
    () => checkSeed(-1),
    RangeError,
    '"seed" expected an integer in 0..2^64 - 1 (a bigint from 2^53 on), got -1',
  ],
  [
    () => checkSeed(2 ** 53),
    RangeError,
    '"seed" expected an integer in 0..2^64 - 1 (a bigint from 2^53 on), got 9007199254740992',
  ],
  [
    () => checkSeed(2n ** 64n),
    RangeError,
    '"seed" expected an integer in 0..2^64 - 1 (a bigint from 2^53 on), got 18446744073709551616n',
  ],
  [() => checkSeed('7'), TypeError, '"seed" expected a number or a bigint, got "7"'],
  [
    () => checkOneOf('zero', 'skip', ['error', 'null']),
    RangeError,
    `"zero" expected one of 'error', 'null', got "skip"`,
  ],
  [
    () => checkOneOf('zero', null, ['error', 'null']),
    TypeError,
    `"zero" expected one of 'error', 'null', got null`,
  ],
  [() => checkOptions<object>(5 as never, {}), TypeError, '"options" expected an object, got 5'],
  [
    () => checkOptions<object>(null as never, {}),
    TypeError,
    '"options" expected an object, got null',
  ],
  [
    () => checkOptions<object>([] as never, {}),
    TypeError,
    '"options" expected an object, got Array',
  ],
];

it('says what was expected, and what came', () => {
  expect(wrongType('bits', 'a number', '64')).toEqual(
    new TypeError('"bits" expected a number, got "64"'),
  );
  expect(wrongValue('k', 'more', 3)).toEqual(new RangeError('"k" expected more, got 3'));
});

it.each(CASES.map(([run, type, words]) => ({ run, type, words })))(
  '$words',
  ({ run, type, words }) => {
    expect(run).toThrow(new type(words));
  },
);

describe('what is right comes back', () => {
  it('as it was', () => {
    expect(MAX_BITS).toBe(65_535);
    for (const bits of [1, 64, 65_535]) expect(checkBits(bits)).toBe(bits);
    expect(checkMaxDistance(0, 64)).toBe(0);
    expect(checkMaxDistance(64, 64)).toBe(64);
    expect(checkNumber('share', 1, 0, 1)).toBe(1);
    expect(checkOneOf('zero', 'null', ['error', 'null'])).toBe('null');
  });

  it('and a seed as a bigint', () => {
    expect(checkSeed(0)).toBe(0n);
    expect(checkSeed(2 ** 53 - 1)).toBe(2n ** 53n - 1n);
    expect(checkSeed(2n ** 64n - 1n)).toBe(2n ** 64n - 1n);
  });

  it('and options by what they are declared as', () => {
    const declared = { a: ['x', 'y'], b: { least: 0, most: 0.5 }, c: checkText, d: null };
    const options = { a: 'y', b: 0.5, c: 'text', d: Symbol.iterator };
    expect(checkOptions(options, declared)).toEqual(options);
    const wrong = (own: object) => () => checkOptions({ ...options, ...own }, declared);
    expect(wrong({ a: 'z' })).toThrow(`"a" expected one of 'x', 'y', got "z"`);
    expect(wrong({ b: 0.6 })).toThrow('"b" expected a number in 0..0.5, got 0.6');
    expect(wrong({ c: 7 })).toThrow('"c" expected a string, got 7');
  });

  it('and options without those that are undefined, or none as none', () => {
    const options = { k: 3, kernel: undefined };
    expect(checkOptions(options, { k: null, kernel: null })).toStrictEqual({ k: 3 });
    expect(options).toStrictEqual({ k: 3, kernel: undefined });
    expect(checkOptions<object>(undefined, { k: null })).toEqual({});
  });
});

describe('an unknown option is told the nearest known one', () => {
  const known = { k: null, maxDistance: null, kernel: null, onProgress: null, signal: null };
  it.each([
    ['maxDistnace', 'maxDistance'],
    ['max_distance', 'maxDistance'],
    ['MAXDISTANCE', 'maxDistance'],
    ['distance', 'maxDistance'],
    ['kernels', 'kernel'],
    ['onprogress', 'onProgress'],
    ['progress', 'onProgress'],
    ['K', 'k'],
    ['singal', 'signal'],
  ])('%s: did you mean %s?', (wrong, right) => {
    const words = `"options" has no option "${wrong}", did you mean "${right}"?`;
    expect(() => checkOptions({ [wrong]: 1 }, known)).toThrow(new TypeError(words));
  });

  it('even when its value is undefined', () => {
    expect(() => checkOptions<object>({ bit: undefined }, { bits: null })).toThrow(TypeError);
  });
});

describe('a value in a message is short', () => {
  class Matrix {}
  it.each([
    [undefined, 'undefined'],
    [null, 'null'],
    [-0.5, '-0.5'],
    [7n, '7n'],
    [true, 'true'],
    ['text', '"text"'],
    ['x'.repeat(10_000), `"${'x'.repeat(40)}…"`],
    [new Uint8Array(10_000), 'Uint8Array'],
    [new Array(10_000), 'Array'],
    [{ a: 1 }, 'Object'],
    [new Matrix(), 'Matrix'],
    [Object.create(null), 'an object'],
    [() => 1, 'a function'],
    [Symbol('s'), 'Symbol(s)'],
  ])('%s is %s', (value, text) => {
    expect(describeValue(value)).toBe(text);
  });
});
