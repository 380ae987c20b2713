import { expect, it } from 'vitest';
import { hammingDistance, SimHasher } from '../../src/index';
import { setRecall } from '../../src/measure/set-recall';
import { Draws } from '../reference/random';

const BITS = 96;
const draws = new Draws('recall of sets');
/** 300 sets of 40 numbers, and of each a copy, of which 10 numbers or any number of them differ. */
const sets = Array.from({ length: 300 }, (_, i) => {
  const set = Array.from({ length: 40 }, (_, j) => 1000 * i + j);
  const changed = i < 240 ? 10 : draws.integer(40);
  return [set, set.map((one, j) => (j < changed ? one + 500 : one))];
}).flat();
const vectors = {
  offsets: Uint32Array.from({ length: sets.length + 1 }, (_, i) => 40 * i),
  indices: Uint32Array.from(sets.flat()),
  values: new Float32Array(40 * sets.length).fill(1),
};

/** The least distance within which 99 of 100 pairs lie whose bits differ with a probability. */
function distanceFor(probability: number): number {
  let one = (1 - probability) ** BITS;
  let sum = one;
  let distance = 0;
  while (sum < 0.99) {
    one *= ((BITS - distance) / (distance + 1)) * (probability / (1 - probability));
    sum += one;
    distance++;
  }
  return distance;
}

it('counts the pairs of sets, and those within the distance of a plan, as brute force does', async () => {
  const codes = new SimHasher({ bits: BITS, projection: 'minwise' }).hashAll(vectors);
  const found = await setRecall(codes, vectors, {});
  expect(found.map(({ least }) => least)).toEqual(
    Array.from({ length: 81 }, (_, i) => (20 + i) / 100),
  );
  const all = sets.flatMap((one, a) => {
    const own = new Set(one);
    return sets.slice(0, a).map((other, b) => {
      const common = other.filter((number) => own.has(number)).length;
      const distance = hammingDistance(codes.at(a), codes.at(b));
      return { jaccard: common / (80 - common), distance };
    });
  });
  for (const { least, pairs, recall } of found) {
    const near = all.filter(({ jaccard }) => jaccard >= least);
    const within = distanceFor((1 - least) / 2);
    const caught = near.filter(({ distance }) => distance <= within);
    expect([least, pairs]).toEqual([least, near.length]);
    expect(recall).toBeCloseTo(near.length === 0 ? 1 : caught.length / near.length, 12);
  }
  expect(found[0].pairs).toBeGreaterThan(240);
  expect(found.some(({ recall }) => recall < 1)).toBe(true);
});
