import { describe, expect, it } from 'vitest';
import { LongWork } from '../../src/base/long-work';
import { SimHasher } from '../../src/hashing/simhash';
import { SimHashIndex } from '../../src/index/simhash-index';
import { pairs } from '../../src/near/pairs';
import { rowsOf, withVectors } from '../../src/near/rows';
import { setPairs } from '../../src/near/set-join';
import { collected } from '../reference/collected';
import { Draws } from '../reference/random';

type Members = readonly (number | bigint)[];

const hasher = new SimHasher({ bits: 64, projection: 'minwise', zero: 'null' });

/** Sparse rows of sets; an empty one has one entry, of value 0. */
function matrixOf(sets: readonly Members[]) {
  const rows = sets.map((set) => (set.length === 0 ? [7n] : set.map(BigInt)));
  const offsets = Uint32Array.from([0, ...rows], () => 0);
  rows.forEach((row, i) => {
    offsets[i + 1] = offsets[i] + row.length;
  });
  const values = Float64Array.from(
    sets.flatMap((set) => (set.length === 0 ? [0] : set.map(() => 1))),
  );
  return { offsets, indices: BigUint64Array.from(rows.flat()), values };
}

/** Pairs and similarities, as `a-b: similarity`. */
async function found(
  sets: readonly Members[],
  options: { minJaccard: number; group?: Int32Array },
) {
  const vectors = matrixOf(sets);
  const batches = await collected(pairs(await hasher.hashAll(vectors), { ...options, vectors }));
  return batches.flatMap(({ a, b, similarities }) =>
    Array.from(a, (row, i) => `${row}-${b[i]}: ${similarities?.[i]}`),
  );
}

function jaccardOf(ours: Members, theirs: Members): number {
  const other = new Set(theirs);
  const common = ours.filter((member) => other.has(member)).length;
  return common === 0 ? 0 : common / (ours.length + theirs.length - common);
}

/** The same by all pairs; a similarity as a fraction is compared with `least` without rounding. */
function truth(
  sets: readonly Members[],
  least: number,
  isWanted = (_a: number, _b: number) => true,
) {
  return sets.flatMap((ours, a) =>
    sets.flatMap((theirs, b) => {
      // An empty set is near to none.
      if (b <= a || !isWanted(a, b) || ours.length * theirs.length === 0) return [];
      const jaccard = jaccardOf(ours, theirs);
      return jaccard >= least - 1e-12 ? [`${a}-${b}: ${jaccard}`] : [];
    }),
  );
}

const range = (first: number, end: number) =>
  Array.from({ length: end - first }, (_, i) => first + i);

/** By name, sets that are hard in some way. */
function* collections(): Generator<[string, Members[]]> {
  const draws = new Draws('set join');
  const some = (count: number, of: number) => {
    const set = new Set<number>();
    while (set.size < count) set.add(draws.integer(of));
    return [...set];
  };
  yield ['sets of one and none', range(0, 60).map((i) => (i % 7 === 0 ? [] : [i % 5]))];
  yield ['equal sets', range(0, 40).map((i) => range(0, 1 + (i % 3)))];
  yield [
    'intervals, at each ratio of small sizes',
    range(0, 90).map((i) => range(i % 4, 4 + (i % 13))),
  ];
  yield ['few members', range(0, 120).map(() => some(1 + draws.integer(6), 9))];
  yield [
    'many rare and a few common members',
    range(0, 120).map((i) => [...some(5, 400), 1000, 1001 + (i % 2)]),
  ];
  // All low halves are equal: members differ where lists do not look first.
  yield [
    'members above 2^32',
    range(0, 80).map(() => some(8, 14).map((one) => BigInt(one) << 32n)),
  ];
  const copies: number[][] = [];
  for (let i = 0; i < 200; i++) {
    const from =
      i > 4 && draws.uniform() < 0.7 ? draws.pick(copies) : some(1 + draws.integer(80), 3000);
    copies.push([
      ...new Set(from.map((one) => (draws.uniform() < 0.1 ? draws.integer(3000) : one))),
    ]);
  }
  yield ['copies of copies', copies];
}

describe.each([...collections()])('pairs of sets: %s', (_, sets) => {
  it.each([0, 0.05, 1 / 3, 0.5, 0.6, 2 / 3, 0.75, 0.9, 1])(
    'all at %f, and no others',
    async (least) => {
      expect(await found(sets, { minJaccard: least })).toEqual(truth(sets, least));
    },
  );

  it('within groups', async () => {
    const group = Int32Array.from(sets, (_, row) => (row % 4) - 1);
    const isWanted = (a: number, b: number) => group[a] >= 0 && group[a] === group[b];
    expect(await found(sets, { minJaccard: 0.5, group })).toEqual(truth(sets, 0.5, isWanted));
  });

  it('of two collections', async () => {
    const options = { bits: 64, projection: 'minwise', vectors: 'sparse', zero: 'null' } as const;
    const half = Math.floor(sets.length / 2);
    const held = [sets.slice(0, half), sets.slice(half)].map(async (part) => {
      const index = new SimHashIndex<number>(options);
      await index.addAll(matrixOf(part));
      return index;
    });
    const [left, right] = await Promise.all(held);
    const pairsFound = await collected(pairs(left as never, right as never, { minJaccard: 0.5 }));
    const listed = pairsFound.flatMap(({ a, b, similarities }) =>
      Array.from(a, (row, i) => `${row}-${half + b[i]}: ${similarities?.[i]}`),
    );
    expect(listed).toEqual(truth(sets, 0.5, (a, b) => a < half && b >= half));
  });
});

describe('pairs of sets that have the similarity to the last digit', () => {
  it('are found for every fraction of small sizes', async () => {
    for (let common = 1; common <= 12; common++) {
      for (let all = common; all <= 24; all++) {
        const [ours, theirs] = [range(0, common), range(0, all)];
        const split = common + Math.floor((all - common) / 2);
        const others = [range(0, split), [...range(0, common), ...range(split, all)]];
        for (const sets of [[ours, theirs], others]) {
          expect(await found(sets, { minJaccard: common / all })).toEqual([`0-1: ${common / all}`]);
        }
      }
    }
  });
});

describe('lists of members', () => {
  it('skip what has no near rows: few entries are read where members are rare', async () => {
    const sets = range(0, 4000).map((i) =>
      [...range(10 * i, 10 * i + 8), -1 - (i % 2)].map((one) => one + 2),
    );
    const vectors = matrixOf(sets);
    const rows = withVectors(rowsOf('codes', await hasher.hashAll(vectors)), vectors);
    let compared = 0; // of 8,000,000 pairs, half of which share a member
    const take = ({ a }: { a: Uint32Array }) => {
      compared += a.length;
    };
    await setPairs(rows, null, { least: 0.8 }, take, new LongWork());
    expect(compared).toBeLessThan(20_000);
  });

  it('are not read for a row that is no head, where all sets are near to each other', async () => {
    const sets = range(0, 300).map((i) => [...range(0, 12), 1000 + i]);
    const vectors = matrixOf(sets);
    const rows = withVectors(rowsOf('codes', await hasher.hashAll(vectors)), vectors);
    const found: number[][] = [];
    const take = ({ a, b }: { a: Uint32Array; b: Uint32Array }) => {
      for (let i = 0; i < a.length; i++) found.push([a[i], b[i]]);
    };
    const isHead = (row: number) => row % 100 === 0;
    await setPairs(rows, null, { least: 0.6, isHead }, take, new LongWork());
    expect(found).toEqual([0, 100, 200].flatMap((a) => range(a + 1, 300).map((b) => [a, b])));
  });
});
