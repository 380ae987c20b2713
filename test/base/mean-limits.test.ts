import { describe, expect, it } from 'vitest';
import { meanAtLeast, meanInterval } from '../../src/base/mean-limits';
import { Draws } from '../reference/random';

const draws = new Draws('mean limits');

/** Probability of at most `hits` successes of `count`, term by term. */
function binomialAtMost(hits: number, count: number, share: number): number {
  let logTerm = count * Math.log1p(-share);
  let sum = Math.exp(logTerm);
  for (let i = 1; i <= hits; i++) {
    logTerm += Math.log((count - i + 1) / i) + Math.log(share / (1 - share));
    sum += Math.exp(logTerm);
  }
  return sum;
}

/** The share at which `chance`, which falls with the share, is `level`: by bisection. */
function shareWhere(chance: (share: number) => number, level: number): number {
  let [low, high] = [1e-12, 1 - 1e-12];
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (chance(middle) > level) low = middle;
    else high = middle;
  }
  return low;
}

describe('limits of a mean', () => {
  it.each([
    [90, 100],
    [475, 500],
    [3, 40],
    [20, 20],
    [0, 20],
  ])('are those of Clopper and Pearson for %i ones of %i', (ones, count) => {
    const values = Array.from({ length: count }, (_, i) => (i < ones ? 1 : 0));
    const low =
      ones === 0 ? 0 : shareWhere((share) => binomialAtMost(ones - 1, count, share), 1 - 0.025);
    const high = ones === count ? 1 : shareWhere((p) => binomialAtMost(ones, count, p), 0.025);
    const found = meanInterval(values);
    const width = high - low;
    // 2,000 draws: quantiles are off by some 3 % of the width.
    expect(Math.abs(found[0] - low)).toBeLessThan(0.06 * width);
    expect(Math.abs(found[1] - high)).toBeLessThan(0.06 * width);
  });

  const samples: [string, () => number, number][] = [
    ['nearly all is found', () => 1 - 0.1 * Number(draws.uniform() < 0.3), 0.97],
    ['a query finds all or nothing', () => Number(draws.uniform() < 0.95), 0.95],
    ['recalls are even', () => draws.integer(11) / 10, 0.5],
    [
      'a few queries find little',
      () => (draws.uniform() < 0.05 ? draws.integer(11) / 10 : 1),
      0.975,
    ],
  ];
  for (const [name, value, mean] of samples) {
    const tags = name === 'a query finds all or nothing' ? 'thorough' : 'full';
    it(`hold the true mean in 95 of 100 samples where ${name}`, { tags }, () => {
      const rounds = 1000;
      let [covered, surelyTooHigh] = [0, 0];
      for (let round = 0; round < rounds; round++) {
        const values = Array.from({ length: 250 }, value);
        const [low, high] = meanInterval(values);
        covered += Number(low <= mean && mean <= high);
        if (round % 4 === 0) surelyTooHigh += Number(meanAtLeast(values, 0.05) > mean);
      }
      // Three standard deviations of 1,000 rounds are 2 %; no wider than 99.7 % of samples need.
      expect(covered / rounds).toBeGreaterThan(0.93);
      expect(covered / rounds).toBeLessThan(0.997);
      expect(surelyTooHigh / (rounds / 4)).toBeLessThan(0.1);
    });
  }

  it('are equal for equal values, hold the mean, and are 0 to 1 for none', () => {
    const values = Float64Array.from({ length: 50 }, () => draws.uniform());
    expect(meanInterval(values)).toEqual(meanInterval(values.slice().reverse()));
    const [low, high] = meanInterval(values);
    const mean = values.reduce((sum, one) => sum + one, 0) / 50;
    expect(low).toBeLessThan(mean);
    expect(high).toBeGreaterThan(mean);
    expect(meanInterval([])).toEqual([0, 1]);
  });

  it('hold the true mean of values that count several times', () => {
    const [rounds, count] = [120, 40];
    let [apart, together] = [0, 0];
    for (let round = 0; round < rounds; round++) {
      const drawn = Array.from({ length: count }, () => Number(draws.uniform() < 0.7));
      const times = drawn.map(() => 1 + draws.integer(15));
      const values = drawn.flatMap((value, i) => new Array<number>(times[i]).fill(value));
      const holds = ([low, high]: [number, number]) => low <= 0.7 && 0.7 <= high;
      apart += Number(holds(meanInterval(values)));
      together += Number(holds(meanInterval(drawn, times)));
    }
    expect(together / rounds).toBeGreaterThan(0.92);
    expect(apart / rounds).toBeLessThan(0.8);
  });

  it('of values that count once are those of single values', () => {
    const values = Float64Array.from({ length: 50 }, () => draws.integer(5) / 4);
    expect(meanInterval(values, new Array<number>(50).fill(1))).toEqual(meanInterval(values));
  });
});
