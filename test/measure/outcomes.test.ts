import { describe, expect, it } from 'vitest';
import { hammingDistance, SimHasher, TextHasher, words } from '../../src';
import { contest, labelledHalf, plantedHalf, type Setting } from '../../src/measure/contest';
import { f1Interval, leastGain } from '../../src/measure/f1-limits';
import { labelledHalves } from '../../src/measure/labelled';
import { plantedHalves, withCopies } from '../../src/measure/planted';
import { packVectors } from '../../src/vectors/vectors';
import { Draws } from '../reference/random';

const draws = new Draws('outcomes');
const texts = Array.from({ length: 200 }, () =>
  Array.from({ length: 30 }, () => `w${draws.integer(500)}`).join(' '),
);

/** Fewest single words that are put in, taken out or replaced to make one text the other. */
function editsBetween(one: readonly string[], other: readonly string[]): number {
  let before = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (const [i, word] of one.entries()) {
    const row = [i + 1];
    for (const [j, another] of other.entries()) {
      row.push(Math.min(row[j] + 1, before[j + 1] + 1, before[j] + Number(word !== another)));
    }
    before = row;
  }
  return before[other.length];
}

describe('planted copies', () => {
  const share = 0.1;
  const { texts: all, originals } = withCopies(texts, { copies: 80, share, seed: 'a' });

  it('have some of the words edited, by all parts of the share', () => {
    expect(all.slice(0, 200)).toEqual(texts);
    expect(all.length).toBe(280);
    const counts = new Map<number, number>();
    for (let row = 200; row < 280; row++) {
      const found = editsBetween(
        all[originals[row]].split(' '),
        all[row].split(' ').filter((word) => word !== ''),
      );
      counts.set(found, (counts.get(found) ?? 0) + 1);
    }
    // Of 30 words 1, 1, 2 (rounded) and 3 are edited; exchanging two is two replacements.
    expect(Math.min(...counts.keys())).toBe(1);
    expect(Math.max(...counts.keys())).toBeLessThanOrEqual(6);
    expect(counts.get(1)).toBeGreaterThan(20);
    expect(new Set(originals.slice(200)).size).toBe(80);
  });

  it('are the same for the same seed, and others for others', () => {
    expect(withCopies(texts, { copies: 80, share, seed: 'a' }).texts).toEqual(all);
    expect(withCopies(texts, { copies: 80, share, seed: 'b' }).texts).not.toEqual(all);
  });

  it('are made of texts in which one word is no larger share', () => {
    const short = texts.map((text) => text.split(' ').slice(0, 9).join(' '));
    expect(withCopies(short, { copies: 80, share, seed: 'a' }).texts).toEqual(short);
  });

  it('of scripts without blanks have characters edited', () => {
    const poem = '床前明月光疑是地上霜舉頭望明月低頭思故鄉';
    const [, copy] = withCopies([poem], { copies: 1, share: 0.5, seed: 'a' }).texts;
    expect(copy).not.toBe(poem);
    expect(copy).not.toContain(' ');
  });
});

describe('limits of F1', () => {
  const unit = (same: number, right: number, wrong = 0) => ({ same, right, wrong });

  it('leave doubt where all pairs are right: those of Clopper and Pearson', () => {
    const [low, high] = f1Interval(Array.from({ length: 50 }, () => unit(1, 1)));
    // The recall is at least .025^(1/50) = .929, which is an F1 of .963.
    expect(low).toBeCloseTo((2 * 0.929) / 1.929, 2);
    expect(high).toBe(1);
  });

  it('hold the true F1 in about 95 of 100 samples', () => {
    let held = 0;
    for (let run = 0; run < 200; run++) {
      const units = Array.from({ length: 80 }, () =>
        unit(1, Number(draws.uniform() < 0.8), Number(draws.uniform() < 0.1)),
      );
      const [low, high] = f1Interval(units);
      const truth = (2 * 0.8) / (1 + 0.8 + 0.1);
      if (low <= truth && truth <= high) held++;
    }
    expect(held).toBeGreaterThanOrEqual(184);
  });

  it('say that a setting is better as the sign test does', () => {
    const usual = Array.from({ length: 40 }, (_, i) => unit(1, Number(i >= 8)));
    const betterBy = (count: number) =>
      leastGain(
        usual.map((one, i) => (i < count ? unit(1, 1) : one)),
        usual,
      );
    // The chance of so many pairs all for one setting is 2^-count: 1 in 8, 1 in 16, ... 1 in 256.
    expect(betterBy(3)).toBeLessThan(0);
    expect(betterBy(4)).toBeLessThan(0);
    expect(betterBy(8)).toBeGreaterThan(0);
    expect(leastGain(usual, usual)).toBeLessThan(0);
  });
});

/** Codes of the words of texts at a width. */
function byDistance(bits: number): Setting<string> {
  const hasher = new TextHasher({ bits, tokens: words, empty: 'null' });
  return { by: 'maxDistance', compare: (rows) => ({ codes: hasher.hashAll(rows) }) };
}

const bySets: Setting<string> = {
  by: 'minJaccard',
  compare(rows) {
    const hasher = new TextHasher({ bits: 64, projection: 'minwise', empty: 'null' });
    const vectors = packVectors(rows.map((text) => hasher.vectorize(text)));
    return { codes: hasher.hashAll(rows), vectors };
  },
};

describe('a contest', () => {
  it('counts what brute force counts', async () => {
    const { texts: rows, originals } = withCopies(texts, { copies: 60, share: 0.2, seed: 'c' });
    const isRight = (a: number, b: number) => a + b === 7;
    const half = plantedHalf({ rows, originals, isRight, scale: 1 });
    const { settings } = await contest([byDistance(64)], [half, half], { usual: 17 });
    const codes = rows.map((text) => new TextHasher({ bits: 64, tokens: words }).hash(text));
    const counts = (limit: number) => {
      let [right, wrong] = [0, 0];
      for (let a = 0; a < rows.length; a++) {
        for (let b = a + 1; b < rows.length; b++) {
          if (hammingDistance(codes[a], codes[b]) > limit) continue;
          const [one, other] = [originals[a], originals[b]];
          if (one === other) right++;
          else if (!isRight(one, other)) wrong++;
        }
      }
      return { right, wrong, f1: (2 * right) / (60 + right + wrong) };
    };
    expect(settings[0].threshold).toBe(17);
    expect(settings[0].held).toMatchObject(counts(17));
    expect(counts(17).wrong).toBeGreaterThan(0);
    const f1s = Array.from({ length: 25 }, (_, limit) => counts(limit).f1);
    expect(settings[1].chosen.f1).toBe(Math.max(...f1s));
    expect(f1s[settings[1].threshold]).toBe(Math.max(...f1s));
  });

  it('recommends the setting that finds what the default misses', async () => {
    const options = { copies: 80, share: 0.3, seed: 1, fileRows: 200 };
    const halves = await plantedHalves(texts, options);
    const found = await contest([bySets, byDistance(256)], halves, { usual: 0.95 });
    expect(found.settings[0].held.recall).toBeLessThan(0.5);
    expect(found.recommended).toBe(1);
    expect(found.settings[1].held.f1).toBeGreaterThan(0.95);
  });

  it('recommends the default where nothing is better by more than chance', async () => {
    const options = { copies: 80, share: 0.1, seed: 1, fileRows: 200 };
    const halves = await plantedHalves(texts, options);
    const found = await contest([bySets, byDistance(64)], halves, { usual: 0.6 });
    expect(found.settings[0].held.f1).toBe(1);
    expect(found.recommended).toBe(0);
  });

  it('weighs a wrong pair by how many more others a row meets in the whole input', async () => {
    const { texts: rows, originals } = withCopies(texts, { copies: 60, share: 0.2, seed: 'c' });
    const of = (scale: number) => {
      const half = plantedHalf({ rows, originals, isRight: () => false, scale });
      return contest([byDistance(64)], [half, half], { usual: 17 });
    };
    const [one, ten] = [await of(1), await of(10)];
    expect(one.settings[0].held.wrong).toBeGreaterThan(0);
    expect(ten.settings[0].held.wrong).toBe(10 * one.settings[0].held.wrong);
    expect(ten.settings[1].threshold).toBeLessThanOrEqual(one.settings[1].threshold);
  });
});

describe('labelled pairs', () => {
  it('of rows that are the same stay in one half', async () => {
    // Rows 3i, 3i + 1 and 3i + 2 are the same; 3i and 3i + 3 are not.
    const vectors = Array.from({ length: 20 }, () => draws.gaussians(16)).flatMap((centre) =>
      Array.from({ length: 3 }, () => Array.from(centre, (one) => one + 0.2 * draws.gaussian())),
    );
    const labels = Array.from({ length: 19 }, (_, i) => [
      { a: 3 * i, b: 3 * i + 1, isSame: true },
      { a: 3 * i + 1, b: 3 * i + 2, isSame: true },
      { a: 3 * i, b: 3 * i + 3, isSame: false },
    ]).flat();
    const halves = labelledHalves(vectors, labels, 5);
    const same = halves.map((half) => half.same.reduce((sum, one) => sum + one, 0));
    expect(same[0] + same[1]).toBe(38);
    expect(Math.abs(same[0] - same[1])).toBeLessThanOrEqual(2);
    const hasher = new SimHasher({ bits: 256, projection: 'hadamard', dimensions: 16 });
    const setting = (by: 'minCosine' | 'maxDistance'): Setting<number[]> => ({
      by,
      compare(rows) {
        const vectors = packVectors(rows);
        const codes = hasher.hashAll(vectors);
        return by === 'minCosine' ? { codes, vectors } : { codes };
      },
    });
    const { settings } = await contest([setting('minCosine'), setting('maxDistance')], halves, {
      usual: 0.999,
    });
    expect(settings[0].held.recall).toBeLessThan(0.1);
    expect([settings[1].held.f1, settings[2].held.f1]).toEqual([1, 1]);
  });

  it('with a row that has no code are never found', async () => {
    const half = labelledHalf(['a b c', ''], {
      ...{ a: Uint32Array.of(0), b: Uint32Array.of(1), unit: Uint32Array.of(0) },
      isSame: [true],
    });
    const { settings } = await contest([byDistance(64)], [half, half], { usual: 64 });
    expect(settings[0].held.right).toBe(0);
  });
});
