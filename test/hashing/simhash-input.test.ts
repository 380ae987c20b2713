import { describe, expect, it } from 'vitest';
import { SimHasher, type SimHasherOptions } from '../../src/hashing/simhash';

/** What SimHasher refuses: each with the class and the words of its error, the row named. */
type ErrorClass = typeof RangeError | typeof TypeError;
type Refusal = [what: string, run: () => unknown, type: ErrorClass, words: RegExp | string];

function refuses(cases: Refusal[]): void {
  it.each(cases)('%s', async (_, run, type, words) => {
    await expect((async () => run())()).rejects.toThrow(type);
    await expect((async () => run())()).rejects.toThrow(words);
  });
}

// biome-ignore lint/suspicious/noExplicitAny: wrong types are the matter here
type Any = any;
const make = (options: Any) => () => new SimHasher(options as SimHasherOptions);
const hasher = new SimHasher({ bits: 12 });
const three = new SimHasher({ bits: 12, dimensions: 3 });
const hash = (vector: Any) => () => hasher.hash(vector);
const hashAll = (batch: Any, options?: Any) => () => hasher.hashAll(batch, options);
const { NaN: NAN, POSITIVE_INFINITY: INFINITE } = Number;

describe('new SimHasher refuses', () => {
  refuses([
    ...[0, -1, 65_536, 1.5, NAN, INFINITE, 2 ** 53].map(
      (bits): Refusal => [
        `${bits} bits`,
        make({ bits }),
        RangeError,
        `"bits" expected an integer in 1..65535, got ${bits}`,
      ],
    ),
    ['bits as text', make({ bits: '64' }), TypeError, '"bits" expected a number, got "64"'],
    ['bits as bigint', make({ bits: 64n }), TypeError, '"bits" expected a number, got 64n'],
    ['bits null', make({ bits: null }), TypeError, '"bits" expected a number, got null'],
    ...[-1, 1.5, 2 ** 53, NAN, -1n, 2n ** 64n].map(
      (seed): Refusal => [
        `the seed ${seed}`,
        make({ seed }),
        RangeError,
        /^"seed" expected an integer in 0\.\.2\^64 - 1/,
      ],
    ),
    [
      'a seed as text',
      make({ seed: '7' }),
      TypeError,
      /^"seed" expected a number or a bigint, got "7"$/,
    ],
    [
      'an unknown projection',
      make({ projection: 'sign' }),
      RangeError,
      `"projection" expected one of 'signs', 'gaussian', 'hadamard', 'direct', 'minwise', got "sign"`,
    ],
    ['a projection as number', make({ projection: 1 }), TypeError, /^"projection" expected one of/],
    [
      '0 dimensions',
      make({ dimensions: 0 }),
      RangeError,
      /^"dimensions" expected an integer.*got 0$/,
    ],
    ['1.5 dimensions', make({ dimensions: 1.5 }), RangeError, /^"dimensions" expected an integer/],
    ['dimensions as text', make({ dimensions: '3' }), TypeError, /^"dimensions" expected a number/],
    [
      'hadamard without dimensions',
      make({ projection: 'hadamard' }),
      TypeError,
      /^"dimensions" expected a number, got undefined/,
    ],
    [
      'hadamard of more dimensions than memory holds',
      make({ projection: 'hadamard', dimensions: 2 ** 40 }),
      RangeError,
      /^"dimensions" expected an integer in 1\.\./,
    ],
    [
      'direct with 65 bits',
      make({ projection: 'direct', bits: 65 }),
      RangeError,
      /^"bits" expected at most 64 .*got 65$/,
    ],
    [
      'an unknown way with zeros',
      make({ zero: 'skip' }),
      RangeError,
      /^"zero" expected one of 'error', 'null'/,
    ],
    [
      'a pattern that is no function',
      make({ pattern: 5 }),
      TypeError,
      '"pattern" expected a function, got 5',
    ],
    [
      'a pattern and a projection',
      make({ pattern: () => new Uint8Array(8), projection: 'signs' }),
      TypeError,
      /"pattern".*"projection"/,
    ],
    [
      'an unknown option',
      make({ bit: 64 }),
      TypeError,
      '"options" has no option "bit", did you mean "bits"?',
    ],
    ['options that are a number', make(64), TypeError, '"options" expected an object, got 64'],
    ['options that are null', make(null), TypeError, '"options" expected an object, got null'],
    ['options that are an array', make([]), TypeError, '"options" expected an object, got Array'],
  ]);
});

describe('hash refuses', () => {
  const aVector =
    /^"vector" expected a Float32Array, a Float64Array, an array of numbers or \{ indices, values \}, got /;
  refuses([
    ...[
      undefined,
      null,
      5,
      'abc',
      true,
      {},
      new Int32Array(3),
      { indices: [1] },
      { values: [1] },
    ].map(
      (vector, i): Refusal => [
        `no vector (${i}: ${String(vector)})`,
        hash(vector),
        TypeError,
        aVector,
      ],
    ),
    [
      'text among numbers',
      hash([1, '2', 3]),
      TypeError,
      /expected a number at position 1, got "2"$/,
    ],
    [
      'a hole',
      hash(Object.assign([1], { 2: 3 })),
      TypeError,
      /expected a number at position 1, got undefined$/,
    ],
    ['a bigint value', hash([1n]), TypeError, /expected a number at position 0, got 1n$/],
    ['NaN', hash([1, 2, NAN]), RangeError, 'row 0: expected finite values, got NaN at dimension 2'],
    [
      'an infinity',
      hash(Float32Array.of(1, INFINITE)),
      RangeError,
      'row 0: expected finite values, got Infinity at dimension 1',
    ],
    [
      'minus infinity',
      hash([-INFINITE]),
      RangeError,
      'row 0: expected finite values, got -Infinity',
    ],
    [
      'an infinity and its opposite',
      hash([INFINITE, -INFINITE]),
      RangeError,
      /finite values, got Infinity/,
    ],
    [
      'values whose sums overflow',
      hash([1.7e308, 1.7e308]),
      RangeError,
      /^row 0: .*too large.*overflow/,
    ],
    ['zeros', hash([0, 0, -0]), RangeError, /^row 0: an all-zero vector.* has no direction/],
    ['no values', hash([]), RangeError, /row 0: an all-zero vector.* has no direction/],
    ['no entries', hash({ indices: [], values: [] }), RangeError, /^row 0: an all-zero vector/],
    [
      'entries of zero',
      hash({ indices: [4], values: [0] }),
      RangeError,
      /^row 0: an all-zero vector/,
    ],
    [
      'fewer values than indices',
      hash({ indices: [1, 2], values: [1] }),
      RangeError,
      '"values" expected 2 numbers, one an index, got 1',
    ],
    [
      'indices that are text',
      hash({ indices: 'ab', values: [1, 2] }),
      TypeError,
      /^"indices" expected an array/,
    ],
    [
      'values that are integers',
      hash({ indices: [1], values: Int8Array.of(1) }),
      TypeError,
      /^"values" expected a Float32Array/,
    ],
    [
      'text among the values',
      hash({ indices: [1], values: ['1'] }),
      TypeError,
      /row 0: expected a number at position 0, got "1"$/,
    ],
    [
      'NaN at a dimension',
      hash({ indices: [7, 9], values: [1, NAN] }),
      RangeError,
      'row 0: expected finite values, got NaN at dimension 9',
    ],
    [
      'NaN out of order',
      hash({ indices: [9, 7], values: [NAN, 1] }),
      RangeError,
      'row 0: expected finite values, got NaN at dimension 9',
    ],
    [
      'NaN at 2^64 - 1',
      hash({ indices: [2n ** 64n - 1n], values: [NAN] }),
      RangeError,
      'row 0: expected finite values, got NaN at dimension 18446744073709551615',
    ],
    [
      'repeats whose sum overflows',
      hash({ indices: [7, 7], values: [1.7e308, 1.7e308] }),
      RangeError,
      /^row 0: /,
    ],
    ...[-1, 1.5, NAN, INFINITE, 2 ** 53, -1n, 2n ** 64n].map(
      (index): Refusal => [
        `the index ${index}`,
        hash({ indices: [3, index], values: [1, 1] }),
        RangeError,
        /^row 0: "indices" expected integers in 0\.\.2\^64 - 1 \(bigint from 2\^53 on\), got /,
      ],
    ),
    [
      'a negative Int32',
      hash({ indices: Int32Array.of(-1), values: [1] }),
      RangeError,
      /"indices" expected integers.*got -1/,
    ],
    [
      'a negative Int64',
      hash({ indices: BigInt64Array.of(4n, -1n), values: [1, 1] }),
      RangeError,
      /"indices" expected integers.*got -1n/,
    ],
    [
      'an index as text',
      hash({ indices: ['3'], values: [1] }),
      TypeError,
      /^row 0: "indices" expected integers.*got "3"/,
    ],
    [
      'an index that is null',
      hash({ indices: [null], values: [1] }),
      TypeError,
      /"indices" expected integers.*got null/,
    ],
    [
      'a vector of another width',
      () => three.hash([1, 2]),
      RangeError,
      /expected a vector of 3 dimensions, got 2/,
    ],
    [
      'a dimension beyond the width',
      () => three.hash({ indices: [1, 3], values: [1, 1] }),
      RangeError,
      'row 0: expected dimensions below 3, got 3',
    ],
    [
      'a sparse vector with hadamard',
      () =>
        new SimHasher({ projection: 'hadamard', dimensions: 3 }).hash({
          indices: [1],
          values: [1],
        }),
      TypeError,
      /'hadamard' takes dense vectors/,
    ],
    [
      'a dense vector with direct',
      () => new SimHasher({ projection: 'direct' }).hash([1, 2]),
      TypeError,
      /'direct' takes sparse vectors/,
    ],
    [
      'a pattern of the wrong type',
      () => new SimHasher({ pattern: (() => [1]) as Any }).hash([1]),
      TypeError,
      '"pattern" expected to return a Uint8Array, got Array',
    ],
    [
      'a pattern of the wrong length',
      () =>
        new SimHasher({ pattern: () => new Uint8Array(7) }).hash({ indices: [66], values: [1] }),
      RangeError,
      '"pattern" expected to return 8 bytes, got 7 for dimension 66',
    ],
  ]);
});

describe('accumulate refuses what hash refuses', () => {
  const accumulate = (vector: Any) => () => hasher.accumulate(vector);
  refuses([
    ['no vector', accumulate(undefined), TypeError, /^"vector" expected/],
    [
      'NaN',
      accumulate([1, NAN]),
      RangeError,
      'row 0: expected finite values, got NaN at dimension 1',
    ],
    ['overflow', accumulate([1.7e308, 1.7e308]), RangeError, /overflow/],
    ['another width', () => three.accumulate([1]), RangeError, /3 dimensions, got 1/],
  ]);

  it('but gives the sums of a zero vector, which are zero', () => {
    expect([...hasher.accumulate([0, 0])]).toEqual(new Array(12).fill(0));
  });
});

describe('hashAll refuses', () => {
  const csr = { offsets: [0, 2, 3, 5], indices: [1, 2, 3, 4, 5], values: [1, 2, 3, 4, 5] };
  const with3 = (values: number[]) => ({ ...csr, values });
  const far = new Float64Array(3 * 9000).fill(1);
  far[3 * 8999 + 1] = NAN;
  refuses([
    ...[undefined, null, 5, 'abc', {}, new Int8Array(4), { values: far }].map(
      (batch, i): Refusal => [
        `no batch (${i})`,
        hashAll(batch),
        TypeError,
        /^"batch" expected \{ values, dimensions \}, \{ offsets, indices, values \} or an array of vectors, got /,
      ],
    ),
    [
      'a matrix of plain numbers',
      hashAll({ values: [1, 2], dimensions: 2 }),
      TypeError,
      /^"values" expected a Float32Array or a Float64Array, got Array$/,
    ],
    [
      'a matrix of 0 dimensions',
      hashAll({ values: far, dimensions: 0 }),
      RangeError,
      /^"dimensions" expected an integer from 1 on, got 0$/,
    ],
    [
      'dimensions as text',
      hashAll({ values: far, dimensions: '3' }),
      TypeError,
      /^"dimensions" expected a number/,
    ],
    [
      'half a row',
      hashAll({ values: new Float64Array(7), dimensions: 3 }),
      RangeError,
      '"values" expected a multiple of 3 values, got 7',
    ],
    [
      'a matrix of another width',
      () => three.hashAll({ values: new Float64Array(8), dimensions: 4 }),
      RangeError,
      /3 dimensions, got 4/,
    ],
    [
      'NaN, far down',
      hashAll({ values: far, dimensions: 3 }),
      RangeError,
      'row 8999: expected finite values, got NaN at dimension 1',
    ],
    [
      'a zero row',
      hashAll({ values: Float32Array.of(1, 1, 0, 0), dimensions: 2 }),
      RangeError,
      /^row 1: an all-zero vector/,
    ],
    [
      'overflow',
      hashAll({ values: Float64Array.of(1, 1, 1.7e308, 1.7e308), dimensions: 2 }),
      RangeError,
      /^row 1: .*overflow/,
    ],
    [
      'validity of another type',
      hashAll({ values: new Float32Array(4), dimensions: 2, validity: [1] }),
      TypeError,
      /^"validity" expected a Uint8Array, got Array$/,
    ],
    [
      'too short a validity',
      hashAll({ values: new Float32Array(9).fill(1), dimensions: 1, validity: Uint8Array.of(1) }),
      RangeError,
      /^"validity" expected a bit for each of 9 rows, got .*1 bytes/,
    ],

    [
      'NaN in sparse rows',
      hashAll(with3([1, 2, 3, NAN, 5])),
      RangeError,
      'row 2: expected finite values, got NaN at dimension 4',
    ],
    [
      'an infinity in unsorted rows',
      hashAll({ ...csr, indices: [2, 1, 3, 4, 5], values: [1, 2, INFINITE, 4, 5] }),
      RangeError,
      'row 1: expected finite values, got Infinity at dimension 3',
    ],
    [
      'a zero sparse row',
      hashAll(with3([1, 2, 0, 4, 5])),
      RangeError,
      /^row 1: an all-zero vector/,
    ],
    [
      'an empty sparse row',
      hashAll({ ...csr, offsets: [0, 2, 2, 5] }),
      RangeError,
      /^row 1: an all-zero vector/,
    ],
    [
      'a bad index in a sparse row',
      hashAll({ ...csr, indices: [1, 2, 3, 4.5, 5] }),
      RangeError,
      /^row 2: "indices" expected integers.*got 4\.5/,
    ],
    [
      'a bad Int32 index',
      hashAll({ ...csr, indices: Int32Array.of(1, 2, -3, 4, 5) }),
      RangeError,
      /^row 1: "indices" expected integers.*got -3/,
    ],
    [
      'a bad Int64 index',
      hashAll({ ...csr, indices: BigInt64Array.of(1n, 2n, 3n, 4n, -5n) }),
      RangeError,
      /^row 2: "indices" expected integers.*got -5n/,
    ],
    [
      'text among sparse values',
      hashAll(with3([1, 2, 3, 4, '5' as Any])),
      TypeError,
      /^row 2: expected a number at position 1, got "5"$/,
    ],
    [
      'a dimension beyond the width in a row',
      () => new SimHasher({ dimensions: 5 }).hashAll(csr),
      RangeError,
      'row 2: expected dimensions below 5, got 5',
    ],
    [
      'offsets that fall',
      hashAll({ ...csr, offsets: [0, 3, 2, 5] }),
      RangeError,
      /offsets.*\[2\].*expected an integer from 3 on, got 2$/,
    ],
    [
      'offsets that are no integers',
      hashAll({ ...csr, offsets: [0, 1.5, 2, 5] }),
      RangeError,
      /offsets.*\[1\].*expected an integer/,
    ],
    [
      'negative offsets',
      hashAll({ ...csr, offsets: Int32Array.of(-1, 2, 3, 5) }),
      RangeError,
      /offsets.*\[0\].*expected an integer from 0 on, got -1$/,
    ],
    [
      'offsets beyond the entries',
      hashAll({ ...csr, offsets: [0, 2, 3, 6] }),
      RangeError,
      '"offsets" expected at most 5, the entries, got 6',
    ],
    [
      'no offsets',
      hashAll({ ...csr, offsets: [] }),
      RangeError,
      /^"offsets" expected one entry more than rows/,
    ],
    [
      'offsets that are text',
      hashAll({ ...csr, offsets: '0235' }),
      TypeError,
      /^"offsets" expected/,
    ],
    [
      'offsets as bigint',
      hashAll({ ...csr, offsets: BigInt64Array.of(0n, 5n) }),
      TypeError,
      /offsets.*expected/,
    ],
    [
      'more indices than values',
      hashAll(with3([1, 2])),
      RangeError,
      '"values" expected 5 numbers, one an index, got 2',
    ],
    [
      'too short a validity of sparse rows',
      hashAll({ ...csr, validity: new Uint8Array(0) }),
      RangeError,
      /^"validity" expected a bit for each of 3 rows/,
    ],
    [
      'sparse rows with hadamard',
      () => new SimHasher({ projection: 'hadamard', dimensions: 9 }).hashAll(csr),
      TypeError,
      /'hadamard' takes dense vectors/,
    ],

    [
      'vectors of two widths',
      hashAll([
        [1, 2],
        [1, 2, 3],
      ]),
      RangeError,
      'row 1: expected 2 dimensions, got 3',
    ],
    [
      'no vector among vectors',
      hashAll([[1, 2], null]),
      TypeError,
      /^row 1: expected a dense vector as row 0, got null/,
    ],
    [
      'a hole among vectors',
      // biome-ignore lint/suspicious/noSparseArray: a row that is missing.
      hashAll([[1, 2], , [3, 4]]),
      TypeError,
      /^row 1: expected a dense vector as row 0, got undefined/,
    ],
    [
      'no vector as the first',
      hashAll([null, [1, 2]]),
      TypeError,
      /\[0\].*expected a Float32Array/,
    ],
    [
      'text in a row',
      hashAll([
        [1, 2],
        [1, '2'],
      ]),
      TypeError,
      'row 1: expected a number at position 1, got "2"',
    ],
    [
      'a sparse one among dense',
      hashAll([[1, 2], { indices: [1], values: [1] }]),
      TypeError,
      /^row 1: expected a dense vector/,
    ],
    [
      'a dense one among sparse',
      hashAll([{ indices: [1], values: [1] }, [1, 2]]),
      TypeError,
      /^row 1: expected \{ indices, values \}/,
    ],
    [
      'a sparse row of unequal lists',
      hashAll([
        { indices: [1], values: [1] },
        { indices: [1], values: [] },
      ]),
      RangeError,
      /row 1.*values.*expected 1 numbers/,
    ],
    [
      'vectors without values',
      hashAll([[], []]),
      RangeError,
      /^"dimensions" expected an integer from 1 on, got 0|row 0: an all-zero/,
    ],
    [
      'NaN in the second vector',
      hashAll([
        [1, 2],
        [1, NAN],
      ]),
      RangeError,
      'row 1: expected finite values, got NaN at dimension 1',
    ],

    [
      'an unknown option',
      hashAll([[1]], { onprogress: () => {} }),
      TypeError,
      '"options" has no option "onprogress", did you mean "onProgress"?',
    ],
    [
      'progress to no function',
      hashAll([[1]], { onProgress: 5 }),
      TypeError,
      '"onProgress" expected a function, got 5',
    ],
    [
      'a signal that is none',
      hashAll([[1]], { signal: {} }),
      TypeError,
      '"signal" expected an AbortSignal, got Object',
    ],
  ]);
});

it('names a row of a matrix by its place among all rows', async () => {
  const rows = 20_000;
  const indices = Array.from({ length: rows }, (_, row) => row);
  const offsets = [...indices, rows];
  const values: Any = offsets.map((row) => (row === 15_000 ? 'one' : row + 1)).slice(0, rows);
  const hashed = new SimHasher().hashAll({ values, indices, offsets }, { threads: 1 });
  await expect(hashed).rejects.toThrow('row 15000: expected a number at position 0, got "one"');
});
