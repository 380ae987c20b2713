import { describe, expect, it } from 'vitest';
import {
  angleOf,
  bitsFor,
  COSINE,
  catchShare,
  distanceFor,
  estimateAngle,
  estimatedCosine,
  shareOf,
  wilson,
} from '../../src/codes/measure';
import { Draws } from '../reference/random';

/** The probability that a pair at a cosine is within a distance. */
const caughtAt = (cosine: number, bits: number, maxDistance: number) =>
  catchShare(COSINE, { least: cosine, bits, maxDistance });

/** Share of differing bits at a cosine (Charikar 2002). */
const shareAt = (cosine: number) => Math.acos(cosine) / Math.PI;

/**
 * P(distance <= d) for d = 0, 1, … of Binomial(bits, share) by whole numbers alone: the share is taken
 * as m / 2^52, as which a float of its size is exact or nearly so.
 */
function exactCumulative(bits: number, share: number): number[] {
  const one = 2n ** 52n;
  const m = BigInt(Math.round(share * 2 ** 52));
  const whole = one ** BigInt(bits);
  const scale = 10n ** 20n;
  let choose = 1n;
  let sum = 0n;
  const cumulative: number[] = [];
  for (let k = 0; k <= bits; k++) {
    sum += choose * m ** BigInt(k) * (one - m) ** BigInt(bits - k);
    cumulative.push(Number((sum * scale) / whole) / 1e20);
    choose = (choose * BigInt(bits - k)) / BigInt(k + 1);
  }
  return cumulative;
}

/** P(distance = d), each from the one before. */
function probabilities(bits: number, share: number): number[] {
  const cumulative = exactCumulative(bits, share);
  return cumulative.map((sum, k) => (k === 0 ? sum : sum - cumulative[k - 1]));
}

describe('distance, angle and cosine', () => {
  it.each([
    [0, 64, 0, 1],
    [16, 64, Math.PI / 4, Math.SQRT1_2],
    [32, 64, Math.PI / 2, 0],
    [64, 64, Math.PI, -1],
    [1, 3, Math.PI / 3, 0.5],
    [65_535, 65_535, Math.PI, -1],
  ])(
    'go together: %i of %i bits is the angle %d and the cosine %d',
    (distance, bits, angle, cosine) => {
      expect(angleOf(distance, bits)).toBeCloseTo(angle, 12);
      expect(estimatedCosine(distance, bits)).toBeCloseTo(cosine, 12);
      expect(bits * shareOf(cosine)).toBeCloseTo(distance, 8);
    },
  );

  it('go there and back for every distance', () => {
    for (const bits of [1, 7, 64, 1000]) {
      for (let distance = 0; distance <= bits; distance++) {
        expect(bits * shareOf(estimatedCosine(distance, bits))).toBeCloseTo(distance, 4);
      }
    }
  });

  it('expect a mean that is no integer', () => {
    expect(64 * shareOf(0.99)).toBeCloseTo(64 * 0.04505, 3);
  });
});

describe('what is caught within a distance', () => {
  it('is about two thirds of the pairs at cosine .99, with 3 of 64 bits', () => {
    const caught = caughtAt(0.99, 64, 3);
    expect(caught).toBeGreaterThan(0.65);
    expect(caught).toBeLessThan(0.69);
    expect(caught).toBeCloseTo(exactCumulative(64, shareAt(0.99))[3], 9);
    // Simulated: 200,000 pairs, 64 bits each.
    const draws = new Draws('two thirds');
    const share = shareAt(0.99);
    let hits = 0;
    for (let pair = 0; pair < 200_000; pair++) {
      let distance = 0;
      for (let j = 0; j < 64 && distance <= 3; j++) if (draws.uniform() < share) distance++;
      if (distance <= 3) hits++;
    }
    expect(Math.abs(hits / 200_000 - caught)).toBeLessThan(4.5 * Math.sqrt(0.22 / 200_000));
  });

  it.each([1, 8, 64, 300])('is the exact binomial sum with %i bits', (bits) => {
    for (const cosine of [-0.95, -0.2, 0, 0.3, 0.8, 0.99, 0.999_99]) {
      const exact = exactCumulative(bits, shareAt(cosine));
      for (let distance = 0; distance <= bits; distance += Math.ceil(bits / 40)) {
        expect(caughtAt(cosine, bits, distance)).toBeCloseTo(exact[distance], 9);
      }
      expect(caughtAt(cosine, bits, bits)).toBeCloseTo(1, 9);
    }
  });

  it('is all at cosine 1, and nothing but the last distance at cosine -1', () => {
    expect(caughtAt(1, 64, 0)).toBe(1);
    expect(caughtAt(-1, 64, 63)).toBe(0);
    expect(caughtAt(-1, 64, 64)).toBe(1);
  });

  it('does not underflow with 65,535 bits, and is half at the mean', () => {
    for (const cosine of [-0.9, 0, 0.5, 0.99]) {
      const mean = Math.round(65_535 * shareOf(cosine));
      expect(Math.abs(caughtAt(cosine, 65_535, mean) - 0.5)).toBeLessThan(0.02);
    }
  });
});

describe('the distance that catches enough', () => {
  it.each([1, 8, 64, 300])('is the least one, with %i bits', (bits) => {
    for (const cosine of [-0.6, 0, 0.5, 0.9, 0.99]) {
      const exact = exactCumulative(bits, shareAt(cosine));
      for (const probability of [0.01, 0.25, 0.5, 0.66, 0.9, 0.95, 0.999]) {
        const least = exact.findIndex((sum) => sum >= probability);
        expect(distanceFor(cosine, bits, probability)).toBe(least);
      }
    }
  });

  it('is 0 at cosine 1, all bits at cosine -1, and all bits for certainty', () => {
    expect(distanceFor(1, 64, 0.999)).toBe(0);
    expect(distanceFor(-1, 64, 0.001)).toBe(64);
    expect(distanceFor(0.5, 20, 1)).toBe(20);
    expect(distanceFor(0.5, 20, 0)).toBe(0);
  });
});

describe('the interval of a share', () => {
  // Published values of Wilson's interval, to four digits (Wilson 1927; Newcombe 1998, table I).
  it.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])('is Wilson’s: %i of %i from %d to %d', (hits, count, low, high) => {
    const found = wilson(hits, count);
    expect(found[0]).toBeCloseTo(low, 4);
    expect(found[1]).toBeCloseTo(high, 4);
  });

  // With no hit in n, the interval ends at z² / (n + z²): the quantile can be read from it.
  it('takes .95 for 1.959964 standard errors', () => {
    const [, high] = wilson(0, 10);
    expect(Math.sqrt((10 * high) / (1 - high))).toBeCloseTo(1.959_964, 5);
  });

  it('covers the true share as often as it says', () => {
    for (const bits of [64, 200]) {
      let total = 0;
      let worst = 1;
      let cosines = 0;
      for (let cosine = -0.9; cosine < 0.91; cosine += 0.075, cosines++) {
        const share = shareAt(cosine);
        let covered = 0;
        probabilities(bits, share).forEach((probability, distance) => {
          const [low, high] = wilson(distance, bits);
          if (low <= share && share <= high) covered += probability;
        });
        total += covered;
        worst = Math.min(worst, covered);
      }
      expect(Math.abs(total / cosines - 0.95)).toBeLessThan(0.012);
      expect(worst).toBeGreaterThan(0.95 - 0.06);
    }
  });
});

describe('an estimate', () => {
  it('is angle and cosine with the standard errors of a binomial', () => {
    for (const [distance, bits] of [
      [16, 64],
      [3, 64],
      [500, 1000],
      [900, 1000],
    ]) {
      const found = estimateAngle(distance, bits);
      const share = distance / bits;
      const error = Math.sqrt((share * (1 - share)) / bits);
      expect(found.angle).toBe(angleOf(distance, bits));
      expect(found.estimatedCosine).toBe(estimatedCosine(distance, bits));
      expect(found.angleError).toBeCloseTo(Math.PI * error, 12);
      expect(found.cosineError).toBeCloseTo(Math.sin(Math.PI * share) * Math.PI * error, 12);
    }
  });

  it('errs as it says: angles and cosines of simulated pairs scatter by the errors', () => {
    const draws = new Draws('scatter');
    for (const cosine of [0, 0.5, 0.9]) {
      const [bits, pairs, share] = [512, 4000, shareAt(cosine)];
      let angles = 0;
      let cosines = 0;
      for (let pair = 0; pair < pairs; pair++) {
        let distance = 0;
        for (let j = 0; j < bits; j++) if (draws.uniform() < share) distance++;
        angles += (angleOf(distance, bits) - Math.acos(cosine)) ** 2;
        cosines += (estimatedCosine(distance, bits) - cosine) ** 2;
      }
      const stated = estimateAngle(Math.round(bits * share), bits);
      expect(Math.sqrt(angles / pairs) / stated.angleError).toBeCloseTo(1, 1);
      expect(Math.sqrt(cosines / pairs) / stated.cosineError).toBeCloseTo(1, 1);
    }
  });

  it('has intervals around it, of angle and of cosine, that are the interval of the share', () => {
    for (const distance of [0, 1, 30, 63, 64]) {
      const found = estimateAngle(distance, 64);
      const [low, high] = wilson(distance, 64);
      expect(found.angleInterval[0]).toBeCloseTo(Math.PI * low, 12);
      expect(found.angleInterval[1]).toBeCloseTo(Math.PI * high, 12);
      expect(found.cosineInterval[0]).toBeCloseTo(Math.cos(Math.PI * high), 12);
      expect(found.cosineInterval[1]).toBeCloseTo(Math.cos(Math.PI * low), 12);
      expect(found.angleInterval[0]).toBeLessThanOrEqual(found.angle + 1e-12);
      expect(found.angleInterval[1]).toBeGreaterThanOrEqual(found.angle - 1e-12);
      expect(found.cosineInterval[0]).toBeLessThan(found.cosineInterval[1]);
    }
  });
});

describe('the bits needed for a wanted error of the cosine', () => {
  it('are those of the published table, turned around', () => {
    // 1,000, 3,000 and 10,000 bits gave .0493, .0273 and .0156 near cosine .2, within 10 %: a tenth
    // of the error is a fifth of the bits.
    for (const [cosineError, bits] of [
      [0.0493, 1000],
      [0.0273, 3000],
      [0.0156, 10_000],
    ]) {
      const ratio = bitsFor({ cosineError, cosine: 0.2 }) / bits;
      expect(ratio).toBeGreaterThan(0.8);
      expect(ratio).toBeLessThan(1.2);
    }
  });

  it('are for cosine 0 where none is given, and the least that do', () => {
    expect(bitsFor({ cosineError: 0.05 })).toBe(bitsFor({ cosineError: 0.05, cosine: 0 }));
    // At cosine 0 the error is π / (2 √bits).
    expect(bitsFor({ cosineError: 0.05 })).toBe(Math.ceil((Math.PI / 0.1) ** 2));
    expect(bitsFor({ cosineError: 1 })).toBe(3);
  });

  it.each([0.003, 0.001, 0.0005, 0.0002, 0.0001])(
    'are those of the first order where the error is small: %d',
    (cosineError) => {
      // Once the exact error was the difference of large numbers: at an error of .0001 three times
      // the bits were asked for.
      for (const cosine of [-0.9, -0.5, 0, 0.2, 0.5, 0.7, 0.9]) {
        const share = shareAt(cosine);
        const slope = Math.PI * Math.sin(Math.PI * share);
        const firstOrder = (slope ** 2 * share * (1 - share)) / cosineError ** 2;
        expect(bitsFor({ cosineError, cosine }) / firstOrder).toBeGreaterThan(0.99);
        expect(bitsFor({ cosineError, cosine }) / firstOrder).toBeLessThan(1.01);
      }
    },
  );

  it.each([-0.9, -0.5, 0, 0.2, 0.5, 0.8, 0.9])(
    'give the error when simulated, at cosine %d',
    (cosine) => {
      const draws = new Draws(`bits for ${cosine}`);
      const cosineError = 0.04;
      const bits = bitsFor({ cosineError, cosine });
      const share = shareAt(cosine);
      const pairs = 3000;
      let squares = 0;
      for (let pair = 0; pair < pairs; pair++) {
        let distance = 0;
        for (let j = 0; j < bits; j++) if (draws.uniform() < share) distance++;
        squares += (estimatedCosine(distance, bits) - cosine) ** 2;
      }
      expect(Math.sqrt(squares / pairs) / cosineError).toBeGreaterThan(0.92);
      expect(Math.sqrt(squares / pairs) / cosineError).toBeLessThan(1.08);
    },
  );

  // Near cosine 1 the first-order error goes to 0 with the sine, and the true one does not: the
  // exact root mean square over all distances is asked here.
  it.each([0, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, -0.99, -0.9999])(
    'keep the exact error within a fifth of the wanted, at cosine %d',
    (cosine) => {
      for (const cosineError of [0.2, 0.1, 0.05]) {
        const bits = bitsFor({ cosineError, cosine });
        let squares = 0;
        probabilities(bits, shareAt(cosine)).forEach((probability, distance) => {
          squares += probability * (estimatedCosine(distance, bits) - cosine) ** 2;
        });
        expect(Math.sqrt(squares)).toBeLessThan(1.2 * cosineError);
      }
    },
  );
});

describe('bad input is refused', () => {
  // biome-ignore lint/suspicious/noExplicitAny: wrong types are the matter here
  const any = (value: unknown) => value as any;
  it.each<[string, () => unknown, typeof RangeError | typeof TypeError, string | RegExp]>([
    ['0 bits', () => angleOf(0, 0), RangeError, '"bits" expected an integer in 1..65535, got 0'],
    [
      '65,536 bits',
      () => estimatedCosine(0, 65_536),
      RangeError,
      /"bits" expected an integer in 1\.\.65535/,
    ],
    [
      'a distance beyond the bits',
      () => angleOf(65, 64),
      RangeError,
      /istance" expected an integer in 0\.\.64, got 65/,
    ],
    [
      'a negative distance',
      () => estimatedCosine(-1, 64),
      RangeError,
      /istance" expected an integer in 0\.\.64, got -1/,
    ],
    [
      'half a bit',
      () => estimateAngle(1.5, 64),
      RangeError,
      /istance" expected an integer in 0\.\.64, got 1\.5/,
    ],
    [
      'a distance as text',
      () => angleOf(any('3'), 64),
      TypeError,
      /istance" expected a number, got "3"/,
    ],
    [
      'a cosine above 1',
      () => shareOf(1.01),
      RangeError,
      '"cosine" expected a number in -1..1, got 1.01',
    ],
    [
      'NaN',
      () => caughtAt(Number.NaN, 64, 3),
      RangeError,
      '"cosine" expected a number in -1..1, got NaN',
    ],
    [
      'a cosine as text',
      () => distanceFor(any('1'), 64, 0.5),
      TypeError,
      '"cosine" expected a number, got "1"',
    ],
    [
      'a radius beyond the bits',
      () => caughtAt(0.5, 64, 65),
      RangeError,
      '"maxDistance" expected an integer in 0..64, got 65',
    ],
    [
      'a probability above 1',
      () => distanceFor(0.5, 64, 1.5),
      RangeError,
      /^"probability" expected a number in 0\.\.1, got 1\.5/,
    ],
    [
      'no error wanted',
      () => bitsFor({ cosineError: 0 }),
      RangeError,
      /^"cosineError" expected a number .*got 0$/,
    ],
    [
      'a negative error',
      () => bitsFor({ cosineError: -0.1 }),
      RangeError,
      /^"cosineError" expected a number .*got -0\.1$/,
    ],
    [
      'no options',
      () => bitsFor(any(undefined)),
      TypeError,
      '"cosineError" expected a number, got undefined',
    ],
    [
      'an unknown option',
      () => bitsFor(any({ cosinError: 0.1 })),
      TypeError,
      '"options" has no option "cosinError", did you mean "cosineError"?',
    ],
  ])('%s', (_, run, type, words) => {
    expect(run).toThrow(type);
    expect(run).toThrow(words);
  });

  it('names the distance by its own name, not by that of a radius', () => {
    expect(() => angleOf(65, 64)).toThrow('"distance" expected an integer in 0..64, got 65');
  });
});
