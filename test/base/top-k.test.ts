import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Highest, rowOf, Smallest, weightOf } from '../../src/base/top-k';

/** Candidates with many ties, each row once, in any order of rows. */
const candidates = fc
  .uniqueArray(fc.nat({ max: 0xffff_ffff }), { maxLength: 400 })
  .chain((rows) =>
    fc
      .array(fc.nat({ max: 30 }), { minLength: rows.length, maxLength: rows.length })
      .map((weights) => rows.map((row, i) => ({ row, weight: weights[i] }))),
  );
const ks = fc.integer({ min: 0, max: 450 });
const options = { seed: 20261, numRuns: 150 };

describe('top-k', () => {
  it('selects the smallest weights, then rows, as a full sort does', () => {
    fc.assert(
      fc.property(candidates, ks, (given, k) => {
        const best = new Smallest(k);
        for (const { weight, row } of given) best.take(weight, row);
        const sorted = [...given].sort((a, b) => a.weight - b.weight || a.row - b.row).slice(0, k);
        const keys = best.result();
        expect(Array.from(keys, rowOf)).toEqual(sorted.map(({ row }) => row));
        expect(Array.from(keys, weightOf)).toEqual(sorted.map(({ weight }) => weight));
        expect(best.unordered().sort()).toEqual(keys);
      }),
      options,
    );
  });

  it('selects the highest scores, then rows, as a full sort does', () => {
    fc.assert(
      fc.property(candidates, ks, (given, k) => {
        const scored = given.map(({ row, weight }) => ({ row, score: Math.cos(weight) }));
        const best = new Highest(k);
        for (const { score, row } of scored) best.take(score, row);
        const sorted = [...scored].sort((a, b) => b.score - a.score || a.row - b.row).slice(0, k);
        const { rows, scores } = best.result();
        expect([...rows]).toEqual(sorted.map(({ row }) => row));
        expect([...scores]).toEqual(sorted.map(({ score }) => score));
      }),
      options,
    );
  });

  it('keeps keys exact up to the largest row and weight', () => {
    const best = new Smallest(3);
    best.take(2 ** 21 - 1, 2 ** 32 - 1);
    best.take(2 ** 21 - 1, 2 ** 32 - 2);
    best.take(2 ** 21 - 2, 2 ** 32 - 1);
    expect(Array.from(best.result(), (key) => [weightOf(key), rowOf(key)])).toEqual([
      [2 ** 21 - 2, 2 ** 32 - 1],
      [2 ** 21 - 1, 2 ** 32 - 2],
      [2 ** 21 - 1, 2 ** 32 - 1],
    ]);
  });
});
