import { describe, expect, it } from 'vitest';
import { estimateJaccard, hammingDistance, SimHasher, TextHasher } from '../../src/index';
import { calibrate } from '../../src/measure/calibrate';
import { Draws } from '../reference/random';

const draws = new Draws('sets of a calibration');
let used = 0;
/** Members that no other set has. */
const fresh = (count: number) => Array.from({ length: count }, () => BigInt(++used) << 20n);
const half = (members: readonly bigint[]) => members.filter(() => draws.uniform() < 0.5);

/** Fifty families of four: each set has most of its family's members, and some of its own. */
const sets = Array.from({ length: 50 }, () => fresh(60)).flatMap((family) =>
  Array.from({ length: 4 }, () => {
    const lost = 0.3 * draws.uniform();
    return [...family.filter(() => draws.uniform() >= lost), ...fresh(Math.round(60 * lost))];
  }),
);

/** By the definition, with the sets of the language. */
function jaccard(a: readonly bigint[], b: readonly bigint[]): number {
  const [one, other] = [new Set(a), new Set(b)];
  const common = [...one].filter((member) => other.has(member)).length;
  return common / new Set([...one, ...other]).size;
}

/** A set as people may have it: in any order, with weights, a 0 that is no member, a repetition. */
function sparseOf(members: readonly bigint[]) {
  const indices = [...members.slice(1), 5n, members[0], members[0]];
  return { indices, values: indices.map((one) => (one === 5n ? 0 : 0.5 + draws.uniform())) };
}
const rows = sets.map(sparseOf);

describe('a calibration of sets', async () => {
  const minJaccard = 0.6;
  const found = await calibrate(rows, { minJaccard, seed: 3, jaccardError: 0.06 });
  const { recommended, tally } = found;
  const hasher = new SimHasher({ bits: recommended.bits, seed: 3, projection: 'minwise' });
  const codes = rows.map((row) => hasher.hash(row));
  const pairs = sets.flatMap((a, i) =>
    sets.slice(i + 1).map((b, j) => {
      return { distance: hammingDistance(codes[i], codes[i + 1 + j]), exact: jaccard(a, b) };
    }),
  );
  const near = pairs.filter(({ exact }) => exact >= minJaccard);

  it('counts all pairs by distance, the near ones, and the nearest of each row', {
    tags: 'thorough',
  }, () => {
    expect(near.length).toBeGreaterThan(60);
    expect([found.measure, found.minSimilarity, found.projection]).toEqual([
      ...['jaccard', 0.6, 'minwise'],
    ]);
    expect([found.rows, found.pairs, found.nearPairs]).toEqual([200, pairs.length, near.length]);
    const countAt = (some: readonly { distance: number }[]) =>
      Array.from(
        { length: recommended.bits + 1 },
        (_, distance) => some.filter((pair) => pair.distance === distance).length,
      );
    expect([...tally.pairs]).toEqual(countAt(pairs));
    expect([...tally.near]).toEqual(countAt(near));
    const nearest = sets.map((set, a) => {
      const others = sets.map((_, b) => b).filter((b) => b !== a);
      const best = others.reduce((one, b) =>
        jaccard(set, sets[b]) > jaccard(set, sets[one]) ? b : one,
      );
      return { distance: hammingDistance(codes[a], codes[best]) };
    });
    expect([...tally.nearest]).toEqual(countAt(nearest));
  });

  it('recommends the distance of the best F1, with its precision and recall', () => {
    const f1s = tally.thresholds().map((threshold, maxDistance) => {
      const within = pairs.filter(({ distance }) => distance <= maxDistance);
      const right = within.filter(({ exact }) => exact >= minJaccard).length;
      expect([threshold.found, threshold.right]).toEqual([within.length, right]);
      return (2 * right) / (within.length + near.length);
    });
    expect(recommended.basis).toBe('measured');
    expect(f1s[recommended.maxDistance]).toBe(Math.max(...f1s));
  });

  it('measures errors and intervals of the estimated similarity', () => {
    const { bits } = recommended;
    const told = pairs.map(({ distance, exact }) => Math.max(0, 1 - (2 * distance) / bits) - exact);
    const error = (some: readonly number[]) =>
      Math.sqrt(some.reduce((sum, one) => sum + one * one, 0) / some.length);
    const width = found.widths.find((one) => one.bits === bits);
    expect(width?.error).toBeCloseTo(error(told), 10);
    const edge = told.filter((_, i) => Math.abs(pairs[i].exact - minJaccard) <= 0.05);
    expect(found.edgePairs).toBe(edge.length);
    expect(width?.edgeError).toBeCloseTo(error(edge), 10);
    // (1 - .36) / .06²; at similarity 0 it is 1 / .06².
    expect(found.theoryBits).toEqual({ edge: 178, zero: 278 });
    const inside = pairs.filter(({ distance, exact }) => {
      const [low, high] = estimateJaccard(distance, bits).jaccardInterval;
      return low <= exact && exact <= high;
    });
    expect(found.coverage).toBeCloseTo(inside.length / pairs.length, 10);
    expect(found.coverage).toBeGreaterThan(0.93);
  });

  it('has the band of similarities at each distance', () => {
    for (const { from, to, pairs: count, mean, low, high } of tally.similaritySteps()) {
      const own = pairs
        .filter(({ distance }) => distance >= from && distance <= to)
        .map(({ exact }) => exact)
        .sort((a, b) => a - b);
      expect(count).toBe(own.length);
      expect(mean).toBeCloseTo(own.reduce((sum, one) => sum + one, 0) / own.length, 10);
      // Quantiles are true to a step of the similarity, 0.0025.
      expect(Math.abs(low - own[Math.ceil(0.05 * own.length) - 1])).toBeLessThanOrEqual(0.0013);
      expect(Math.abs(high - own[Math.ceil(0.95 * own.length) - 1])).toBeLessThanOrEqual(0.0013);
    }
  });

  it('is asked for by the projection too, at 0.6', async () => {
    const one = await calibrate(rows, { projection: 'minwise', seed: 3, jaccardError: 0.06 });
    expect(one).toEqual(found);
  });
});

it('the distance by theory finds the promised share of pairs at the similarity', async () => {
  const apart = Array.from({ length: 40 }, () => sparseOf(fresh(50)));
  const { recommended } = await calibrate(apart, { minJaccard: 0.6, bits: 256 });
  expect(recommended.basis).toBe('theory');
  expect(recommended.theoryRecall).toBeGreaterThanOrEqual(0.95);
  const hasher = new SimHasher({ bits: 256, projection: 'minwise' });
  const pairCount = 1000;
  let within = 0;
  for (let i = 0; i < pairCount; i++) {
    // 60 members of both, of 100 that either has.
    const [both, ...own] = [fresh(60), fresh(20), fresh(20)];
    const [a, b] = own.map((members) => hasher.hash(sparseOf([...both, ...members])));
    within += Number(hammingDistance(a, b) <= recommended.maxDistance);
  }
  const deviation = Math.sqrt((0.95 * 0.05) / pairCount);
  expect(within / pairCount).toBeGreaterThan(0.95 - 4 * deviation);
  expect(Math.abs(within / pairCount - recommended.theoryRecall)).toBeLessThan(4 * deviation);
});

it('takes the sets of texts', async () => {
  const hasher = new TextHasher({ projection: 'minwise', bits: 64 });
  const words = Array.from({ length: 400 }, (_, i) => `w${i}`);
  const texts = Array.from({ length: 20 }, () => half(words.map((_, i) => BigInt(i)))).map((some) =>
    some.map((i) => words[Number(i)]),
  );
  const exact = texts.flatMap((a, i) =>
    texts.slice(i + 1).map((b) => {
      const common = a.filter((word) => b.includes(word)).length;
      return common / (a.length + b.length - common);
    }),
  );
  const vectors = texts.map((some) => hasher.vectorize(some.join(' ')));
  const found = await calibrate(vectors, { minJaccard: 0.33 });
  expect(found.nearPairs).toBe(exact.filter((one) => one >= 0.33).length);
  expect(found.nearPairs).toBeGreaterThan(0);
});

it('refuses what does not go together, and says what', async () => {
  const dense = rows.map(() => [draws.gaussian(), draws.gaussian()]);
  const wrong: [unknown, object, RegExp][] = [
    [rows, { minJaccard: 0.6, minCosine: 0.9 }, /"minJaccard" takes the place of "minCosine"/],
    [rows, { minCosine: 0.9, projection: 'minwise' }, /"minCosine" needs codes of hyperplanes/],
    [rows, { minJaccard: 0.6, projection: 'signs' }, /"minJaccard" needs codes by projection 'mi/],
    [rows, { minJaccard: 0 }, /"minJaccard" expected a number above 0, got 0/],
    [rows, { minJaccard: 1.2 }, /"minJaccard" expected a number in 0..1, got 1.2/],
    [rows, { minJaccard: 0.6, cosineError: 0.1 }, /"cosineError" is not of sets: give "jaccardE/],
    [rows, { jaccardError: 0.1 }, /"jaccardError" is not of vectors: give "cosineError"/],
    [rows, { minJaccard: 0.6, jaccardError: 0 }, /"jaccardError" expected a number in 0.001..1/],
    [dense, { minJaccard: 0.6 }, /"vectors" expected sparse vectors, whose dimensions are sets/],
    [dense, { projection: 'minwise' }, /"vectors" expected sparse vectors/],
    [[{ indices: [1n], values: [0] }, rows[0]], { minJaccard: 0.6 }, /two rows or more.*got 1/],
  ];
  for (const [vectors, given, message] of wrong) {
    await expect(calibrate(vectors as never, given)).rejects.toThrow(message);
  }
});
