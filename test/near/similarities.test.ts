import { describe, expect, it } from 'vitest';
import { Codes } from '../../src/codes/codes';
import { SimHasher } from '../../src/hashing/simhash';
import { SimHashIndex } from '../../src/index/simhash-index';
import { dedup } from '../../src/near/dedup';
import { pairs } from '../../src/near/pairs';
import { indexFromArrow, indexToArrow } from '../../src/store/arrow-index';
import { packVectors, type SparseMatrix } from '../../src/vectors/vectors';
import { collected } from '../reference/collected';
import { Draws } from '../reference/random';
import { groupRows } from './group-rows';

/** Sets, many of which share most of their members; some are equal. */
function setsOf(count: number, seed: string): number[][] {
  const draws = new Draws(seed);
  const sets: number[][] = [];
  for (let i = 0; i < count; i++) {
    const from = i > 5 && draws.uniform() < 0.7 ? draws.pick(sets) : [];
    const own = new Set(from.filter(() => draws.uniform() < 0.95 || i % 9 === 0));
    const size = from.length > 0 ? from.length : 5 + draws.integer(60);
    while (own.size < size) own.add(draws.integer(5000));
    sets.push([...own]);
  }
  return sets;
}

function jaccardOf(a: readonly number[], b: readonly number[]): number {
  const all = new Set([...a, ...b]);
  return a.filter((one) => b.includes(one)).length / all.size;
}

const sets = setsOf(150, 'similarities');
const vectors = packVectors(sets.map((indices) => ({ indices, values: indices.map(() => 1) })));
const matrix = vectors as SparseMatrix;
const hasher = new SimHasher({ bits: 512, projection: 'minwise', seed: 3 });
const codes = await hasher.hashAll(matrix);

/** All pairs at a Jaccard similarity, by brute force. */
function truePairs(least: number): [number, number, number][] {
  return sets.flatMap((a, i) =>
    sets.slice(i + 1).flatMap((b, j): [number, number, number][] => {
      const jaccard = jaccardOf(a, b);
      return jaccard >= least ? [[i, i + 1 + j, jaccard]] : [];
    }),
  );
}

async function listed(found: ReturnType<typeof pairs>): Promise<[number, number, number][]> {
  return (await collected(found)).flatMap(({ a, b, similarities }) =>
    Array.from(a, (row, i): [number, number, number] => [
      row,
      b[i],
      similarities?.[i] ?? Number.NaN,
    ]),
  );
}

describe('pairs by minJaccard', () => {
  it.each([0.05, 0.3, 0.5, 0.8, 1])(
    'are exactly those at %f, by sets and by codes',
    async (least) => {
      const truth = truePairs(least);
      expect(truth.length).toBeGreaterThan(3);
      const found = pairs(codes, { minJaccard: least, vectors: matrix });
      expect(await listed(found)).toEqual(truth);
      const byCodes = pairs(codes, { minJaccard: least, vectors: matrix, maxDistance: 512 });
      expect(await listed(byCodes)).toEqual(truth);
      expect((await collected(found)).flatMap(({ distances }) => [...distances])).toEqual(
        truth.map(([a, b]) => codes.distance(a, b)),
      );
    },
  );

  it('are estimated from the distance without sets', async () => {
    const found = pairs(codes, { minJaccard: 0.6 });
    const batches = await collected(found);
    expect(batches[0].similarities).toBeNull();
    const distances = batches.flatMap(({ distances }) => [...distances]);
    const largest = Math.max(...distances);
    expect(largest).toBeLessThanOrEqual(Math.floor(0.2 * 512));
  });

  it('of an index that holds sets are the same, also after it is written and read', async () => {
    const index = new SimHashIndex<number>({
      ...{ bits: 512, projection: 'minwise', seed: 3, vectors: 'sparse' },
    });
    await index.addAll(matrix);
    const expected = await listed(pairs(codes, { minJaccard: 0.5, vectors: matrix }));
    expect(await listed(pairs(index as never, { minJaccard: 0.5 }))).toEqual(expected);
    const read = indexFromArrow(indexToArrow(index as never));
    expect(read.hasher.projection).toBe('minwise');
    expect(await listed(pairs(read, { minJaccard: 0.5 }))).toEqual(expected);
  });
});

describe('an index of sets', async () => {
  const index = new SimHashIndex<number>({ bits: 512, projection: 'minwise', vectors: 'sparse' });
  await index.addAll(matrix);
  const query = { indices: sets[7], values: sets[7].map(() => 1) };

  it('finds by exact similarity, best first', () => {
    const { rows, similarities, rank } = index.within(query, {
      minJaccard: 0.4,
      maxDistance: 512,
    });
    const truth = sets
      .map((set, row) => ({ row, jaccard: jaccardOf(sets[7], set) }))
      .filter(({ jaccard }) => jaccard >= 0.4)
      .sort((a, b) => b.jaccard - a.jaccard || a.row - b.row);
    expect(Array.from(rows, (row, i) => ({ row, jaccard: similarities[i] }))).toEqual(truth);
    expect(rank).toBe('exact');
  });

  it('searches by distance, and estimates the similarity', async () => {
    const { ids, distances, similarities, rank } = index.search(query, { k: 3 });
    expect([ids[0], distances?.[0], rank]).toEqual([7, 0, 'hamming']);
    expect(similarities).toEqual(
      Float64Array.from(distances ?? [], (distance) => Math.max(0, 1 - distance / 256)),
    );
    expect((await index.searchAll([query], { k: 3 }))[0].ids).toEqual(ids);
  });

  it('refuses what sets do not have', async () => {
    expect(() => index.within(query, { minCosine: 0.5 })).toThrow(
      '"minCosine" needs codes of hyperplanes',
    );
    await expect(index.optimize()).rejects.toThrow("projection 'minwise' needs no optimize()");
    expect(() => index.search({ indices: [], values: [] })).toThrow(RangeError);
    const options = { projection: 'minwise', vectors: 'float32', dimensions: 3 } as const;
    expect(() => new SimHashIndex(options)).toThrow(`"vectors" expected 'none' or 'sparse'`);
    const cosines = await new SimHasher().hashAll([[1], [2]]);
    expect(() => pairs(cosines, { minJaccard: 0.5 })).toThrow(
      '"minJaccard" needs codes by projection',
    );
    expect(() => pairs(codes, { minJaccard: 0.5, minCosine: 0.5 })).toThrow('give one of them');
    expect(() => pairs(codes, { minJaccard: 2 })).toThrow('"minJaccard" expected a number in 0..1');
    const few = { ...matrix, offsets: [0, 1] };
    expect(() => pairs(codes, { minJaccard: 0.5, vectors: few })).toThrow(
      'one for each of 150 rows',
    );
  });
});

describe('groups of rows whose pairs are checked', () => {
  it.each(['star', 'components'] as const)('%s: as by all true pairs', async (grouping) => {
    const least = 0.7;
    const options = { minJaccard: least, vectors: matrix, maxDistance: 512, grouping } as const;
    const isNear = (a: number, b: number) => jaccardOf(sets[a], sets[b]) >= least;
    const groupOf = naiveGroups(sets.length, grouping, isNear);
    expect(Array.from((await groupRows(codes, options)).groupOf)).toEqual(groupOf);
    const plan = await dedup(codes, options);
    expect(plan.measure).toBe('jaccard');
    plan.duplicateOf.forEach((kept, row) => {
      expect(plan.similarities?.[row]).toBe(jaccardOf(sets[row], sets[kept]));
    });
  });

  it('cosines of sparse vectors, given or held', async () => {
    const signs = await new SimHasher({ bits: 256, seed: 1 }).hashAll(matrix);
    const index = new SimHashIndex({ bits: 256, seed: 1, vectors: 'sparse' });
    await index.addAll(matrix);
    const given = await dedup(signs, { minCosine: 0.8, vectors: matrix });
    expect(await dedup(index, { minCosine: 0.8 })).toEqual(given);
    const cosine = (a: number[], b: number[]) =>
      a.filter((one) => b.includes(one)).length / Math.sqrt(a.length * b.length);
    given.duplicateOf.forEach((kept, row) => {
      expect(given.similarities?.[row]).toBeCloseTo(cosine(sets[row], sets[kept]), 6);
      expect(given.similarities?.[row]).toBeGreaterThanOrEqual(0.8 - 1e-9);
    });
    expect(given.kept.some((kept) => kept === 0)).toBe(true);
  });

  it.each([
    ['cosines of zeros', { values: new Float32Array([0, 0, 0, 0, 1, 0, 1, 0]) }],
    ['cosines of nulls', { values: new Float32Array(8).fill(1), validity: Uint8Array.of(0b1100) }],
    ['sets without members', { offsets: [0, 0, 0, 1, 2], indices: [5, 5], values: [1, 1] }],
  ])('%s are near to none, also where their codes are equal', async (_, given) => {
    const isSets = 'offsets' in given;
    const vectors = isSets ? given : { ...given, dimensions: 2 };
    const bytes = Uint8Array.of(1, 1, 1, 1);
    const origin = { projection: isSets ? 'minwise' : 'signs', seed: '0' };
    const equal = Codes.from(bytes, { bits: 8, origin });
    const near = { ...(isSets ? { minJaccard: 0.5 } : { minCosine: 0.5 }), vectors };
    for (const grouping of ['star', 'components'] as const) {
      expect((await groupRows(equal, { ...near, grouping })).groupOf).toEqual(
        Uint32Array.of(0, 1, 2, 2),
      );
    }
    expect((await dedup(equal, near)).kept).toEqual(Uint8Array.of(1, 1, 1, 0));
  });

  it('twenty thousand equal rows are not compared with each other', {
    tags: 'thorough',
  }, async () => {
    const count = 20_000;
    const one = sets[0];
    const offsets = Uint32Array.from({ length: count + 1 }, (_, row) => row * one.length);
    const indices = Uint32Array.from({ length: count * one.length }, (_, i) => one[i % one.length]);
    const equal = { offsets, indices, values: new Float64Array(indices.length).fill(1) };
    const plan = await dedup(await hasher.hashAll(equal), { minJaccard: 0.9, vectors: equal });
    expect(plan.kept.reduce((sum, kept) => sum + kept, 0)).toBe(1);
  });
});

/** Groups in the order of rows, by what the documentation says of each grouping. */
function naiveGroups(
  count: number,
  grouping: 'star' | 'components',
  isNear: (a: number, b: number) => boolean,
): number[] {
  const groups: number[][] = [];
  for (let row = 0; row < count; row++) {
    const joins = groups.filter((group) => {
      if (grouping === 'star') return isNear(group[0], row);
      return group.some((other) => isNear(other, row));
    });
    if (joins.length === 0) groups.push([row]);
    else if (grouping !== 'components') joins[0].push(row);
    else {
      const merged = [...joins.flat(), row];
      for (const group of joins) groups.splice(groups.indexOf(group), 1);
      groups.push(merged);
    }
  }
  const groupOf: number[] = Array(count);
  for (const group of groups) for (const row of group) groupOf[row] = Math.min(...group);
  return groupOf;
}

it('pairs no row without a direction or members, however low the similarity', async () => {
  const vectors = { values: Float64Array.of(1, 0, 0, 0, 0, 1), dimensions: 2 };
  const all = Codes.from(new Uint8Array([1, 2, 3]), { bits: 8 });
  const options = { vectors, minCosine: 0, maxDistance: 8 };
  expect(await listed(pairs(all, options))).toEqual([[0, 2, 0]]);
  const sets = { offsets: [0, 1, 1, 2], indices: [1, 2], values: [1, 1] };
  const origin = { projection: 'minwise', seed: '0' };
  const ofSets = Codes.from(new Uint8Array([1, 2, 3]), { bits: 8, origin });
  expect(await listed(pairs(ofSets, { vectors: sets, minJaccard: 0 }))).toEqual([[0, 2, 0]]);
});

it('a new row joins the kept row of the highest cosine, whatever the distance', async () => {
  const codes = Codes.from(new Uint8Array([0b0111, 0b1000_0000, 0b0000]), { bits: 8 });
  const vectors = { values: Float64Array.of(1, 0.1, 0.4, 1, 1, 0), dimensions: 2 };
  const first = { values: vectors.values.slice(0, 4), dimensions: 2 };
  const near = { minCosine: 0.3, maxDistance: 8, keepAtMost: 1 };
  const two = Codes.from(codes.bytes.slice(0, 2), { bits: 8 });
  const extend = await dedup(two, { ...near, minCosine: 0.9, vectors: first });
  expect([...extend.kept]).toEqual([1, 1]);
  expect([...(await dedup(codes, { ...near, vectors, extend })).duplicateOf]).toEqual([0, 1, 0]);
});
