import { describe, expect, it } from 'vitest';
import xxhash from 'xxhash-wasm';
import { FormatError } from '../../src/base/check';
import { SimHasher } from '../../src/hashing/simhash';
import { frequenciesFromArrow, frequenciesToArrow } from '../../src/text/frequency-file';
import type { FrequencyTable } from '../../src/text/frequency-table';
import { logOf, TextHasher, type TextHasherOptions } from '../../src/text/text-hasher';
import { hashWord, words } from '../../src/text/tokens';
import { Draws } from '../reference/random';

/** Texts to vectors and codes, against plain Maps and the rules of other programs. */

const draws = new Draws(1);
const VOCABULARY = Array.from({ length: 500 }, (_, i) => `word${i}`);
const text = () =>
  Array.from(
    { length: 5 + draws.integer(80) },
    () => VOCABULARY[Math.floor(500 * draws.uniform() ** 3)],
  ).join(' ');
const texts = Array.from({ length: 300 }, text);

const u64 = (code: Uint8Array) => Buffer.from(code).readBigUInt64LE();

it('the logarithm is right to the last digits', () => {
  for (const value of [1, 1.5, 2, 3, Math.E, 10, 1e6, 1 + 1e-9, 123456.789]) {
    expect(Math.abs(logOf(value) - Math.log(value))).toBeLessThan(1e-15 * (1 + Math.log(value)));
  }
});

describe('weights', () => {
  const documents = new Map<string, number>();
  for (const one of texts) {
    for (const word of new Set(one.split(' '))) documents.set(word, (documents.get(word) ?? 0) + 1);
  }
  const frequencies = new TextHasher().fit(texts);
  const cases: [TextHasherOptions, (word: string, count: number) => number][] = [
    [{}, (_, count) => count],
    [{ counting: 'log' }, (_, count) => 1 + Math.log(count)],
    [{ counting: 'binary' }, () => 1],
    [
      { frequencies },
      (word, count) => count * (Math.log(301 / (1 + (documents.get(word) ?? 0))) + 1),
    ],
  ];

  it.each(cases)('%j', (options, weightOf) => {
    const hasher = new TextHasher(options);
    for (const one of [...texts.slice(0, 20), 'word3 never seen seen']) {
      const expected = new Map<string, number>();
      for (const word of one.split(' ')) expected.set(word, (expected.get(word) ?? 0) + 1);
      for (const [word, count] of expected) expected.set(word, weightOf(word, count));
      const found = hasher.keywords(one);
      expect(found.map(({ word }) => word).sort()).toEqual(
        [...expected.keys()].filter((word) => expected.get(word) !== 0).sort(),
      );
      for (const { word, weight } of found) expect(weight).toBeCloseTo(expected.get(word) ?? 0, 12);
      const { indices, values } = hasher.vectorize(one);
      expect(values.length).toBe(found.length);
      for (let i = 1; i < indices.length; i++) expect(indices[i] > indices[i - 1]).toBe(true);
      expect([...values].sort()).toEqual(found.map(({ weight }) => weight).sort());
      expect(hasher.hash(one)).toEqual(new SimHasher({ bits: 64 }).hash({ indices, values }));
    }
  });

  it('do not depend on what was read before', () => {
    const [fresh, used] = [new TextHasher(), new TextHasher()];
    for (const one of texts) used.hash(one);
    for (const one of texts.slice(0, 50).reverse()) {
      expect(new TextHasher().hash(one)).toEqual(used.hash(one));
      expect(fresh.hash(one)).toEqual(used.hash(one));
    }
  });

  it('are equal after 300,000 other words', () => {
    const hasher = new TextHasher();
    const before = hasher.hash(texts[0]);
    for (let i = 0; i < 60; i++) {
      hasher.hash(Array.from({ length: 5000 }, (_, j) => `w${i}x${j}`).join(' '));
    }
    expect(hasher.hash(texts[0])).toEqual(before);
  });
});

describe('the table of frequencies', () => {
  const hasher = new TextHasher();

  it('weighs words otherwise after documents without words were merged into it', () => {
    const frequencies = hasher.fit(['red wine', 'red car']);
    const tfIdf = new TextHasher({ frequencies });
    tfIdf.vectorize('red wine');
    frequencies.merge(hasher.fit(['', '', '']));
    const fresh = new TextHasher({ frequencies });
    expect(tfIdf.vectorize('red wine')).toEqual(fresh.vectorize('red wine'));
  });

  it('of parts is that of the whole', () => {
    const [one, other] = [hasher.fit(texts.slice(0, 100)), hasher.fit(texts.slice(100))];
    one.merge(other);
    expect(frequenciesToArrow(one)).toEqual(frequenciesToArrow(hasher.fit(texts)));
    expect(one.documents).toBe(300);
    expect(one.size).toBe(new Set(texts.flatMap((one) => one.split(' '))).size);
  });

  it('is read and merged in proportion to its words', { tags: 'full' }, () => {
    const tableOf = (count: number) =>
      hasher.fit([Array.from({ length: count }, (_, i) => `w${i}`).join(' ')]);
    const timeOf = (table: FrequencyTable) => {
      const start = performance.now();
      const read = frequenciesFromArrow(frequenciesToArrow(table));
      const other = hasher.fit([]);
      other.merge(read);
      expect(frequenciesToArrow(other)).toEqual(frequenciesToArrow(table));
      return performance.now() - start;
    };
    timeOf(tableOf(1000));
    const times = [3000, 48_000].map((count) => timeOf(tableOf(count)));
    // An exponent of 1 is expected; of 2, it would be 256 times.
    expect(Math.log(times[1] / times[0]) / Math.log(16)).toBeLessThan(1.6);
    const table = tableOf(10);
    expect(() => table.merge(table)).toThrow('"other" expected a table of other documents');
  });

  it('that grows gives new weights to words that were seen before', () => {
    const frequencies = hasher.fit(texts.slice(0, 50));
    const used = new TextHasher({ frequencies });
    used.hash(texts[0]);
    frequencies.merge(hasher.fit(texts.slice(50)));
    expect(used.vectorize(texts[0])).toEqual(new TextHasher({ frequencies }).vectorize(texts[0]));
  });

  it('takes at most 16 bytes a word beyond small ones', () => {
    const table = hasher.fit(
      Array.from({ length: 300 }, (_, i) =>
        Array.from({ length: 99 }, (_, j) => `${i}x${j}`).join(' '),
      ),
    );
    expect(table.size).toBe(29_700);
    expect(table.bytes / table.size).toBeLessThan(16.1);
  });

  it('comes back from Arrow, and a damaged one does not', () => {
    const bytes = frequenciesToArrow(hasher.fit(texts));
    expect(frequenciesToArrow(frequenciesFromArrow(bytes))).toEqual(bytes);
    expect(frequenciesFromArrow(frequenciesToArrow(hasher.fit([]))).documents).toBe(0);
    for (let at = 300; at < bytes.length; at += 997) {
      const damaged = bytes.slice();
      damaged[at] ^= 0x10;
      let read: FrequencyTable | null = null;
      try {
        read = frequenciesFromArrow(damaged, { file: 'table.arrow' });
      } catch (error) {
        expect(error).toBeInstanceOf(FormatError);
      }
      if (read !== null) expect(frequenciesToArrow(read)).toEqual(bytes); // a byte that is never read
    }
  });

  it('is refused by other tokens', () => {
    const frequencies = hasher.fit(texts);
    expect(() => new TextHasher({ frequencies, tokens: 'characters:3' })).toThrow(
      "the frequency table was made with tokens 'words', not 'characters:3'",
    );
  });
});

it('codes are those of the rules, from the bytes of a word on', async () => {
  const { h64, h64Raw } = await xxhash();
  const bits = (value: bigint) => Array.from({ length: 64 }, (_, j) => (value >> BigInt(j)) & 1n);
  const hasher = new TextHasher();
  for (const one of [...texts.slice(0, 20), '近似重复检测，重复。', 'Ünïté ﬁne 한국어 Σίσυφος']) {
    const weights = new Map<bigint, number>();
    for (const word of words(one)) weights.set(h64(word), (weights.get(h64(word)) ?? 0) + 1);
    const sums = new Array(64).fill(0);
    for (const [dimension, weight] of weights) {
      const pattern = h64Raw(new Uint8Array(BigUint64Array.of(dimension).buffer), 0n);
      for (const [j, bit] of bits(pattern).entries()) sums[j] += bit === 1n ? weight : -weight;
    }
    const expected = sums.reduce((code, sum, j) => code | (sum > 0 ? 1n << BigInt(j) : 0n), 0n);
    expect(u64(hasher.hash(one))).toBe(expected);
  }
});

it('words whose hashes are crowded are put in order all the same', () => {
  const crowded: string[] = [];
  for (let i = 0; crowded.length < 400; i++)
    if (hashWord(`w${i}`) >> 54n === 0n) crowded.push(`w${i}`);
  const { indices } = new TextHasher().vectorize(crowded.join(' '));
  const hashes = crowded.map((word) => hashWord(word));
  expect([...indices]).toEqual(hashes.sort((a, b) => (a < b ? -1 : 1)));
});

it("codes by 'direct' add up the bits of hashes, weighted by counts", () => {
  const hasher = new TextHasher({ projection: 'direct' });
  for (const one of texts.slice(0, 50)) {
    const sums = new Array(64).fill(0);
    for (const word of one.split(' ')) {
      const hash = hashWord(word);
      for (let bit = 0n; bit < 64n; bit++) sums[Number(bit)] += (hash >> bit) & 1n ? 1 : -1;
    }
    const expected = sums.reduce((code, sum, bit) => code | (sum > 0 ? 1n << BigInt(bit) : 0n), 0n);
    expect(u64(hasher.hash(one))).toBe(expected);
  }
});

it('members are the dimensions of the tokens, of new words too', () => {
  // More words than the vocabulary has room for at first: its arrays are replaced meanwhile.
  const words = Array.from({ length: 1500 }, (_, i) => `word${i}`);
  const hasher = new TextHasher();
  expect(hasher.members(words.join(' '))).toEqual(
    BigUint64Array.from(words, (word) => hashWord(word)),
  );
});

describe('many texts', () => {
  it('have the codes of each, in order', async () => {
    const hasher = new TextHasher({ bits: 100 });
    const many = Array.from({ length: 2500 }, (_, i) => texts[i % 300]);
    const whole = await hasher.hashAll(many);
    expect([whole.bits, whole.count, whole.origin]).toEqual([100, 2500, hasher.origin]);
    for (const [row, text] of many.entries()) expect(whole.at(row)).toEqual(hasher.hash(text));
  });

  it('are hashed in steps, with their progress, and alike', async () => {
    const hasher = new TextHasher({ empty: 'null' });
    const many = Array.from({ length: 2500 }, (_, i) => (i === 1500 ? '' : texts[i % 300]));
    const seen: number[] = [];
    const onProgress = (done: number, total: number) => {
      expect(total).toBe(2500);
      seen.push(done);
    };
    const codes = await hasher.hashAll(many, { onProgress });
    expect(seen.at(-1)).toBe(2500);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(codes.bytes).toEqual((await hasher.hashAll(many)).bytes);
    expect(codes.isNull(1500)).toBe(true);
    expect(codes.isNull(1499)).toBe(false);
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(hasher.hashAll(many, { signal })).rejects.toThrow('enough');
    const generated = (function* () {
      yield* many;
    })();
    expect((await hasher.hashAll(generated)).bytes).toEqual(codes.bytes);
    expect((await hasher.hashAll([])).count).toBe(0);
  });

  it('are named in errors by their row, beyond the first batch too', async () => {
    const many = Array.from({ length: 2500 }, (_, i) => (i === 1500 ? '' : texts[i % 300]));
    await expect(new TextHasher().hashAll(many)).rejects.toThrow('row 1500: an all-zero vector');
  });

  it('are refused when they are one text, or none, and so are unknown options', async () => {
    const hasher = new TextHasher();
    await expect(hasher.hashAll('a text')).rejects.toThrow(
      '"texts" expected texts, as in an array',
    );
    await expect(hasher.hashAll(undefined as never)).rejects.toThrow('"texts" expected texts');
    await expect(hasher.hashAll(['a'], { onprogress: 1 } as never)).rejects.toThrow('"onProgress"');
  });

  it('are null where there are no words, or an error', async () => {
    const codes = await new TextHasher({ empty: 'null' }).hashAll(['a', '...', 'b']);
    expect([0, 1, 2].map((row) => codes.isNull(row))).toEqual([false, true, false]);
    expect(() => new TextHasher().hash('')).toThrow('all-zero');
  });

  it('take one long line', () => {
    const line = 'one two three four '.repeat(200_000);
    expect(new TextHasher().keywords(line).map(({ weight }) => weight)).toEqual(
      Array(4).fill(200_000),
    );
  });
});

it('passes on the dimensions of tokens in the order of the text', () => {
  const text = 'to be or not to be';
  for (const projection of ['minwise', 'signs'] as const) {
    const own = new TextHasher({ tokens: 'shingles:2', projection });
    const members = ['to be', 'be or', 'or not', 'not to'].map((pair) => own.members(pair)[0]);
    expect([...new Set(own.members(text))]).toEqual(members);
    expect([...own.vectorize(text).indices].sort()).toEqual(members.sort());
  }
});

it('refuses what it does not know', () => {
  const make = (options: object) => () => new TextHasher(options as never);
  expect(make({ counting: 'sqrt' })).toThrow(/"counting" expected one of/);
  expect(make({ tokens: 'bigrams' })).toThrow(`"tokens" expected 'words', 'characters:N'`);
  expect(make({ projection: 'direct', bits: 65 })).toThrow(/at most 64/);
  expect(make({ projection: 'hadamard' })).toThrow(/"projection" expected one of/);
  expect(make({ frequencies: {} })).toThrow('"frequencies" expected a FrequencyTable');
  expect(() => new TextHasher().hash(7 as never)).toThrow('"text" expected a string');
});
