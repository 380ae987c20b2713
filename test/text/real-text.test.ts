// @module-tag thorough

import { readFileSync } from 'node:fs';
import { tableFromIPC } from 'apache-arrow';
import { cut } from 'jieba-wasm';
import { describe, expect, it } from 'vitest';
import { hammingDistance } from '../../src/codes/codes';
import { COSINE, catchShare, distanceFor, shareOf } from '../../src/codes/measure';
import { SimHashIndex } from '../../src/index/simhash-index';
import { pairs } from '../../src/near/pairs';
import { TextHasher, type TextHasherOptions } from '../../src/text/text-hasher';
import { hashWord, splitterOf, type Tokens } from '../../src/text/tokens';

const dataset = (name: string) => readFileSync(new URL(`../../datasets/${name}`, import.meta.url));
const mean = (numbers: readonly number[]) =>
  numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

/** Passages, each followed by its copies with planted edits. */
interface Edited {
  passage: number;
  words: number;
  share: number;
  text: string;
}
const edited: Edited[] = tableFromIPC(dataset('edits/edits.arrow'))
  .toArray()
  .map(({ passage, words, share, text }) => ({ passage, words, share, text }));
const SHARES = [0.01, 0.02, 0.05, 0.1, 0.2];
const messages: string[] = [
  ...(tableFromIPC(dataset('messages/messages.arrow')).getChild('zh') ?? []),
];

/** Weights of tokens in plain loops, by the formula that the docs give. */
function weigher(texts: readonly string[], tokens: (text: string) => Iterable<string>) {
  const having = new Map<string, number>();
  for (const text of texts) {
    for (const token of new Set(tokens(text))) having.set(token, (having.get(token) ?? 0) + 1);
  }
  return (text: string) => {
    const weights = new Map<string, number>();
    for (const token of tokens(text)) {
      const rarity = Math.log((1 + texts.length) / (1 + (having.get(token) ?? 0))) + 1;
      weights.set(token, (weights.get(token) ?? 0) + rarity);
    }
    return weights;
  };
}

function cosineOf(a: Map<string, number>, b: Map<string, number>): number {
  let dot = 0;
  for (const [token, weight] of a) dot += weight * (b.get(token) ?? 0);
  return dot / (Math.hypot(...a.values()) * Math.hypot(...b.values()));
}

/** Bits that differ, counted one by one. */
function differing(a: Uint8Array, b: Uint8Array): number {
  const numberOf = (code: Uint8Array) => BigInt(`0x${Buffer.from(code).toString('hex')}`);
  return (numberOf(a) ^ numberOf(b)).toString(2).replaceAll('0', '').length;
}

const KINDS: Tokens[] = ['words', 'shingles:3', 'characters:4'];

describe.each(KINDS.map((tokens) => [splitterOf(tokens).kind, tokens] as const))(
  'edits by %s',
  (_, tokens) => {
    const texts = edited.map(({ text }) => text);
    const vectorsOf = texts.map(weigher(texts, splitterOf(tokens).split));

    it.each([64, 128, 256])('move a code of %i bits as the cosine says', (bits) => {
      const frequencies = new TextHasher({ tokens }).fit(texts);
      const hasher = new TextHasher({ bits, tokens, frequencies, seed: 7 });
      const codes = texts.map((text) => hasher.hash(text));
      const means = SHARES.map((share) => {
        const copies = edited.flatMap((one, row) => (one.share === share ? [row] : []));
        expect(copies).toHaveLength(48);
        const [distances, expected] = [[], []] as [number[], number[]];
        for (const row of copies) {
          const original = row - 1 - SHARES.indexOf(share);
          expect(edited[original]).toMatchObject({ passage: edited[row].passage, share: 0 });
          distances.push(differing(codes[original], codes[row]));
          expected.push(bits * shareOf(cosineOf(vectorsOf[original], vectorsOf[row])));
        }
        // Bits are as coins: five standard errors of the mean of all copies.
        const variance = mean(expected.map((distance) => distance * (1 - distance / bits)));
        const error = Math.sqrt(variance / copies.length);
        expect(Math.abs(mean(distances) - mean(expected))).toBeLessThan(5 * error);
        return mean(distances);
      });
      for (let i = 1; i < means.length; i++) expect(means[i]).toBeGreaterThan(means[i - 1]);
      expect(means[0]).toBeGreaterThan(0);
    });
  },
);

describe('thresholds', () => {
  /** What docs/text.md recommends for passages of hundreds of words, and for short ones. */
  const RECOMMENDED = [
    { bits: 256, tokens: 'shingles:3' as Tokens, isWeighed: false, usual: 54, short: 59 },
    { bits: 128, tokens: 'words' as Tokens, isWeighed: true, usual: 17, short: 21 },
  ];

  it.each(RECOMMENDED)('of $bits bits find copies and nothing else', async (one) => {
    const { bits, tokens, isWeighed, usual, short } = one;
    for (const [length, maxDistance] of [
      [50, short],
      [200, usual],
      [800, usual],
    ]) {
      const rows = edited.filter((row) => row.words === length);
      const fitted = new TextHasher({ tokens }).fit(rows.map(({ text }) => text));
      const options: TextHasherOptions = { bits, tokens, seed: 7 };
      const hasher = new TextHasher({ ...options, ...(isWeighed && { frequencies: fitted }) });
      const index = new SimHashIndex({ bits, seed: 7 });
      for (const { text } of rows) index.add(hasher.vectorize(text));
      const found = new Set<string>();
      for await (const { a, b } of pairs(index, { maxDistance })) {
        for (let i = 0; i < a.length; i++) found.add(`${a[i]} ${b[i]}`);
      }

      const near = new Set<string>();
      const codes = rows.map(({ text }) => hasher.hash(text));
      for (let b = 0; b < rows.length; b++) {
        for (let a = 0; a < b; a++) {
          if (differing(codes[a], codes[b]) <= maxDistance) near.add(`${a} ${b}`);
        }
      }
      expect(found).toEqual(near);
      for (const pair of found) {
        const [a, b] = pair.split(' ').map(Number);
        expect(rows[a].passage).toBe(rows[b].passage);
      }
      const copies = rows.flatMap((row, b) =>
        row.share > 0 && row.share <= 0.05 ? [`${b - 1 - SHARES.indexOf(row.share)} ${b}`] : [],
      );
      expect(copies).toHaveLength(48);
      expect(mean(copies.map((pair) => Number(found.has(pair))))).toBeGreaterThan(0.9);
    }
  });

  it('of 3 in 64 miss most copies by shingles, and some by words', () => {
    const beyond = (options: TextHasherOptions, share: number) => {
      const hasher = new TextHasher({ bits: 64, seed: 7, ...options });
      const rows = edited.flatMap((row, i) =>
        row.share === share && row.words === 200 ? [i] : [],
      );
      return mean(
        rows.map((row) => {
          const original = edited[row - 1 - SHARES.indexOf(share)];
          const codes = [original, edited[row]].map(({ text }) => hasher.hash(text));
          return Number(differing(codes[0], codes[1]) > 3);
        }),
      );
    };
    const frequencies = new TextHasher().fit(edited.map(({ text }) => text));
    expect(beyond({ tokens: 'shingles:3' }, 0.01)).toBeGreaterThan(0.5);
    expect(beyond({ tokens: 'shingles:3' }, 0.02)).toBeGreaterThan(0.75);
    expect(beyond({ frequencies }, 0.02)).toBeGreaterThan(0.1);
  });

  it('by cosine catch the share of real near-duplicates that they promise', () => {
    const vectors = messages.map(weigher(messages, splitterOf('words').split));
    const frequencies = new TextHasher().fit(messages);
    const hasher = new TextHasher({ bits: 256, frequencies, seed: 7 });
    const codes = messages.map((text) => hasher.hash(text));
    const maxDistance = distanceFor(0.9, 256, 0.9);
    const [caught, promised] = [[], []] as [number[], number[]];
    for (const { a, b, cosine } of nearPairs(vectors, 0.9)) {
      caught.push(Number(differing(codes[a], codes[b]) <= maxDistance));
      promised.push(catchShare(COSINE, { least: cosine, bits: 256, maxDistance }));
    }
    expect(caught.length).toBeGreaterThan(50);
    expect(mean(caught)).toBeGreaterThan(0.9);
    expect(Math.abs(mean(caught) - mean(promised))).toBeLessThan(0.05);
  });
});

/** Every pair at a cosine of `least` or more, by what its words add up to. */
function nearPairs(vectors: readonly Map<string, number>[], least: number) {
  const rowsWith = new Map<string, { row: number; weight: number }[]>();
  const found: { a: number; b: number; cosine: number }[] = [];
  for (const [b, vector] of vectors.entries()) {
    const length = Math.hypot(...vector.values());
    const cosines = new Float64Array(b);
    for (const [word, given] of vector) {
      const weight = given / length;
      const rows = rowsWith.get(word) ?? [];
      for (const other of rows) cosines[other.row] += other.weight * weight;
      rows.push({ row: b, weight });
      rowsWith.set(word, rows);
    }
    for (const [a, cosine] of cosines.entries()) {
      if (cosine >= least) found.push({ a, b, cosine: Math.min(1, cosine) });
    }
  }
  return found;
}

/** Chinese words, by the dictionary of another package. */
const chinese = (text: string) =>
  cut(text.normalize('NFKC').toLowerCase(), true).filter((word) => /[\p{L}\p{N}]/u.test(word));

describe('two Chinese passages, one the last two thirds of the other and a sentence more', () => {
  const [long, short] = ['long', 'short'].map((name) => dataset(`messages/${name}.txt`).toString());
  const stop = new Set(
    '的 了 在 是 我 有 和 就 不 都 一 也 这 那 你 他 她 们 着 与 而 之 以 为'.split(' '),
  );
  const tokens = (text: string) => chinese(text).filter((word) => !stop.has(word));
  const options: TextHasherOptions = { bits: 64, projection: 'direct', tokens };
  const frequencies = new TextHasher(options).fit(messages);
  const hasher = new TextHasher({ ...options, frequencies });
  const codeBy = (text: string, keywords?: number) => {
    const words = hasher.keywords(text, keywords);
    const indices = words.map(({ word }) => hashWord(word));
    return hasher.hasher.hash({ indices, values: words.map(({ weight }) => weight) });
  };

  const weightsOf = weigher(messages, tokens);

  /** The classic recipe: the heaviest words, their weights added by the bits of their hashes. */
  function codeOf(text: string, keywords = Number.POSITIVE_INFINITY): bigint {
    const heaviest = [...weightsOf(text)]
      .map(([word, weight]) => ({ hash: hashWord(word), weight }))
      .sort((a, b) => b.weight - a.weight || (a.hash < b.hash ? -1 : 1))
      .slice(0, keywords);
    let code = 0n;
    for (let bit = 0n; bit < 64n; bit++) {
      const sum = heaviest.reduce(
        (total, { hash, weight }) => total + ((hash >> bit) & 1n ? weight : -weight),
        0,
      );
      if (sum > 0) code |= 1n << bit;
    }
    return code;
  }

  it('are what they are said to be', () => {
    const shared = short.slice(0, short.trimEnd().slice(0, -1).lastIndexOf('。') + 1);
    expect(long.trimEnd().endsWith(shared)).toBe(true);
    expect(shared.length / long.length).toBeGreaterThan(0.6);
    expect(shared.length / long.length).toBeLessThan(0.7);
    expect(long.length).toBeGreaterThan(600);
  });

  it.each([
    { forLong: 22, forShort: 22 },
    { forLong: 11, forShort: 11 },
    { forLong: 22, forShort: 11 },
    { forLong: undefined, forShort: undefined },
  ])('have the codes of the recipe by $forLong and $forShort keywords', (one) => {
    const [longCode, shortCode] = [codeBy(long, one.forLong), codeBy(short, one.forShort)];
    expect(Buffer.from(longCode).readBigUInt64LE()).toBe(codeOf(long, one.forLong));
    expect(Buffer.from(shortCode).readBigUInt64LE()).toBe(codeOf(short, one.forShort));
    // The articles find such passages within 3; the recipe does not.
    expect(hammingDistance(longCode, shortCode)).toBeGreaterThan(3);
  });

  it('are nearer by all words than by keywords, on average over such passages', () => {
    const made = Array.from({ length: 80 }, (_, i) => {
      const sentences = messages.slice(24 * i, 24 * i + 24);
      const other = messages[(24 * i + 1064) % messages.length];
      return [sentences.join(''), [...sentences.slice(8), other].join('')];
    });
    const [all, twentyTwo, eleven] = [undefined, 22, 11].map((keywords) => {
      return mean(made.map(([a, b]) => differing(codeBy(a, keywords), codeBy(b, keywords))));
    });
    expect(all).toBeLessThan(twentyTwo);
    expect(twentyTwo).toBeLessThan(eleven);
  });
});
