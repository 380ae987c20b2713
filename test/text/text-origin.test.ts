import { describe, expect, it } from 'vitest';
import {
  Codes,
  codesFromArrow,
  codesToArrow,
  type FrequencyTable,
  indexFromArrow,
  indexToArrow,
  pairs,
  SimHashIndex,
  TextHasher,
  type TextHasherOptions,
} from '../../src';
import { collected } from '../reference/collected';

/** Codes of texts that were read otherwise are not compared. */

const texts = [
  'a cup of green tea',
  'a cup of black tea',
  'rain on the roof again',
  'a cup of tea',
];
const near = { maxDistance: 40 };
const codesOf = (options: TextHasherOptions = {}, some = texts) =>
  new TextHasher({ bits: 64, ...options }).hashAll(some);
/** Without what they say of texts, as files of before have it. */
const silent = ({ bits, bytes, origin }: Codes) => {
  const { projection = '', seed = '' } = origin ?? {};
  return Codes.from(bytes, { bits, origin: { projection, seed } });
};
const paired = async (left: Codes, right: Codes) =>
  (await collected(pairs(left, right, near))).length;

const frequencies = new TextHasher().fit(texts);
const others = new TextHasher().fit([...texts, 'one more text about tea']);

describe.each<[string, TextHasherOptions, TextHasherOptions]>([
  ['tokens', {}, { tokens: 'shingles:2' }],
  [
    'tokens of their own',
    { tokens: Object.assign((text: string) => text.split(' '), { kind: 'mine' }) },
    {},
  ],
  ['counting', {}, { counting: 'log' }],
  ['frequencies', {}, { frequencies }],
  ['frequencies of other texts', { frequencies: others }, { frequencies }],
  ['tokens of sets', { projection: 'minwise' }, { projection: 'minwise', tokens: 'shingles:2' }],
])('codes of texts with other %s', async (_, one, other) => {
  const [left, right] = [await codesOf(one), await codesOf(other)];
  const named = [left, right].map(({ origin }) => origin?.texts as string);
  const refusal = { message: expect.stringMatching(/expected codes of texts that were read by: /) };
  /** Both are named, in full. */
  const refusing = async (call: () => unknown) => {
    const called = async () => call();
    await expect(called()).rejects.toThrow(expect.objectContaining(refusal));
    for (const name of named) {
      await expect(called()).rejects.toThrow(expect.objectContaining(containing(name)));
    }
  };
  const containing = (name: string) => ({ message: expect.stringContaining(name) });

  it('are refused by pairs', async () => {
    expect(named[0]).not.toBe(named[1]);
    await refusing(() => pairs(left, right, near));
  });

  it('are not joined, nor added to an index of the others, before and after a save', async () => {
    await refusing(() => Codes.join([left, right], { bits: 64 }));
    const { hasher, origin } = new TextHasher({ bits: 64, ...one });
    const index = new SimHashIndex({ ...hasher.options, texts: origin.texts as string });
    await index.addAll(left);
    await refusing(() => index.addAll(right));
    await refusing(() => indexFromArrow(indexToArrow(index)).addAll(right));
    await index.addAll(silent(right));
    expect(index.count).toBe(8);
    await refusing(() => pairs(index, right, near));
  });

  it('are refused when they come from files, and compared where one does not say', async () => {
    const read = codesFromArrow(codesToArrow(left)).codes;
    expect(read.origin).toEqual(left.origin);
    await refusing(() => pairs(read, right, near));
    await paired(silent(left), right);
    await paired(left, silent(right));
  });
});

describe('codes of texts', () => {
  it('that were read alike are compared, whatever came between', async () => {
    const one = { tokens: 'shingles:2' as const, frequencies: tableOf(2) };
    const other = { tokens: 'shingles:2' as const, frequencies: tableOf(2) };
    expect(await paired(await codesOf(one), await codesOf(other))).toBeGreaterThan(0);
    const hasher = new TextHasher({ bits: 64, ...one });
    const streamed = await hasher.hashAll(texts.values());
    const threaded = await hasher.hashAll(texts);
    expect([streamed.origin, threaded.origin]).toEqual([hasher.origin, hasher.origin]);
  });

  it('do not depend on weights where they are of sets', async () => {
    const set = { projection: 'minwise' } as const;
    const weighed = await codesOf({ ...set, counting: 'log', frequencies });
    expect(weighed.origin).toEqual((await codesOf(set)).origin);
    expect(Buffer.compare(weighed.bytes, (await codesOf(set)).bytes)).toBe(0);
  });

  it('follow a table that grows', async () => {
    const table = tableOf(1);
    const hasher = new TextHasher({ bits: 64, frequencies: table });
    const before = await hasher.hashAll(texts);
    table.merge(new TextHasher().fit(['tea in the rain']));
    const after = await hasher.hashAll(texts);
    expect(() => pairs(before, after, near)).toThrow(/frequencies of 5 documents/);
  });
});

/** A table whose words were counted in other orders and parts, by `parts`. */
function tableOf(parts: number): FrequencyTable {
  const hasher = new TextHasher({ tokens: parts === 1 ? 'words' : 'shingles:2' });
  const table = hasher.fit([]);
  const size = Math.ceil(texts.length / parts);
  for (let part = parts - 1; part >= 0; part--) {
    table.merge(hasher.fit(texts.slice(part * size, (part + 1) * size)));
  }
  return table;
}
