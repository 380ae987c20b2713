import { describe, expect, it } from 'vitest';
import { Codes } from '../../src/codes/codes';
import { SimHashIndex } from '../../src/index/simhash-index';
import { type DedupOptions, dedup } from '../../src/near/dedup';
import type { DedupPlan } from '../../src/near/plan';
import { bitsApart, collection, namesByLoops } from './collections';

/** Plans of a wanted size, against groups by plain loops at every distance. */

const GROUPINGS = ['star', 'components'] as const;
const staysIn = ({ kept }: DedupPlan) => kept.reduce((sum, one) => sum + one, 0);
const rowsOf = ({ count }: Codes) => Array.from({ length: count }, (_, row) => row);

/** A plan is one: each dropped row has a kept one of its group, at the distance that it says. */
function expectSound(plan: DedupPlan, codes: Codes): void {
  for (let row = 0; row < codes.count; row++) {
    const other = plan.duplicateOf[row];
    expect([plan.kept[other], plan.groups[other]]).toEqual([1, plan.groups[row]]);
    expect(other === row).toBe(plan.kept[row] === 1);
    expect(plan.distances[row]).toBe(bitsApart(codes.at(row), codes.at(other)));
  }
}

describe.each(GROUPINGS)('by %s', (grouping) => {
  // By the number of rows wanted, across all steps of the distance.
  it.each(['clustered', 'crowded block', 'repeated'] as const)('%s codes', async (shape) => {
    const codes = collection(shape, 130, 64, 11);
    const maxDistance = 14;
    const groupsWithin = (distance: number) => {
      const near = (a: number, b: number) => bitsApart(codes.at(a), codes.at(b)) <= distance;
      return namesByLoops(grouping, rowsOf(codes), near);
    };
    const names = Array.from({ length: maxDistance + 1 }, (_, distance) => groupsWithin(distance));
    const stays = names.map((own) => new Set(own.values()).size);
    const distinct = new Set(rowsOf(codes).map((row) => codes.at(row).join())).size;
    expect(stays[0]).toBe(distinct);
    for (let targetRows = 1; targetRows <= 131; targetRows += 14) {
      const plan = await dedup(codes, { maxDistance, grouping, targetRows });
      expectSound(plan, codes);
      const least = stays[maxDistance];
      expect(staysIn(plan)).toBe(Math.min(130, Math.max(targetRows, least)));
      if (targetRows <= least) expect(plan).toEqual(await dedup(codes, { maxDistance, grouping }));
      const kept = rowsOf(codes).filter((row) => plan.kept[row] === 1);
      // No exact copies stay while others go.
      const own = new Set(kept.map((row) => codes.at(row).join())).size;
      expect(own).toBe(Math.min(kept.length, distinct));
      const dropped = rowsOf(codes).filter((row) => plan.kept[row] === 0);
      // The groups are those of a distance at which too few rows stay, one bit less being enough.
      const isOf = (to: number) =>
        dropped.every((row) => names[to].get(row) === names[to].get(plan.duplicateOf[row])) &&
        (grouping === 'components' || dropped.every((row) => plan.distances[row] <= to));
      const isStep = (to: number) =>
        (stays[to - 1] ?? 130) >= targetRows && stays[to] < targetRows && isOf(to);
      if (targetRows > least) expect(stays.some((_, to) => isStep(to))).toBe(true);
      if (grouping !== 'components') continue;
      // Single linkage: rows that stay are in different groups of the narrower distance.
      const narrower = names[stays.findIndex((stay) => stay < targetRows) - 1];
      if (narrower) expect(new Set(kept.map((row) => narrower.get(row))).size).toBe(kept.length);
    }
    expect(stays[maxDistance]).toBeLessThan(130);
  });

  it('takes the rows that --keep prefers, groups and several of a group', async () => {
    const codes = collection('clustered', 120, 64, 12);
    const group = Int32Array.from({ length: 120 }, (_, row) => row % 2);
    const all: DedupOptions = { maxDistance: 14, grouping, keep: 'last', group };
    const least = staysIn(await dedup(codes, all));
    const plan = await dedup(codes, { ...all, targetRows: least + 7 });
    expectSound(plan, codes);
    expect(staysIn(plan)).toBe(least + 7);
    plan.duplicateOf.forEach((other, row) => void expect(group[other]).toBe(group[row]));
    const two = await dedup(codes, { ...all, keepAtMost: 2, targetRows: 100 });
    expectSound(two, codes);
    expect(staysIn(two)).toBe(100);
  });
});

it('a copy of a row that stays is a duplicate of that one', async () => {
  const codes = Codes.allocate(4, { bits: 8 });
  codes.bytes.set([0b0, 0b111, 0b111, 0b11]);
  const plan = await dedup(codes, { maxDistance: 3, targetRows: 2 });
  expect([...plan.kept]).toEqual([1, 1, 0, 0]);
  expect([...plan.duplicateOf]).toEqual([0, 1, 1, 0]);
  expect([...plan.distances]).toEqual([0, 0, 0, 2]);
  // Only the copy goes, though row 3 is nearer to row 0 than its first one is.
  expect([...(await dedup(codes, { maxDistance: 3, targetRows: 3 })).kept]).toEqual([1, 1, 0, 1]);
});

it('of equally near rows the last ones stay, and null rows count', async () => {
  const validity = Uint8Array.of(0b1111_1101);
  const codes = Codes.from(new Uint8Array(6), { bits: 8, validity });
  expect([...(await dedup(codes, { maxDistance: 0 })).kept]).toEqual([1, 1, 0, 0, 0, 0]);
  expect([...(await dedup(codes, { maxDistance: 0, targetRows: 4 })).kept]).toEqual([
    1, 1, 0, 0, 1, 1,
  ]);
});

describe('where pairs are checked by vectors', async () => {
  // Row 2 i and its neighbour differ by an angle that grows with i.
  const angleOf = (i: number) => 0.02 + 0.01 * i;
  const vectors = Array.from({ length: 60 }, (_, row) => {
    const i = row >> 1;
    const vector = new Float32Array(64);
    vector[i] = row % 2 === 0 ? 1 : Math.cos(angleOf(i));
    if (row % 2 === 1) vector[63] = Math.sin(angleOf(i));
    return vector;
  });
  const options = { bits: 256, dimensions: 64, projection: 'hadamard' } as const;
  const index = new SimHashIndex({ ...options, vectors: 'float32' });
  await index.addAll(vectors);

  it('the pairs of the largest cosine go', async () => {
    const full = { minCosine: 0.93, maxDistance: 120 };
    expect(staysIn(await dedup(index, full))).toBe(30);
    for (const targetRows of [31, 37, 45, 58, 60]) {
      const plan = await dedup(index, { ...full, targetRows });
      const stays = (row: number) => row % 2 === 0 || row >> 1 >= 60 - targetRows;
      expect([...plan.kept]).toEqual(vectors.map((_, row) => Number(stays(row))));
      for (let row = 1; row < 60; row += 2) {
        const cosine = plan.kept[row] === 1 ? 1 : Math.cos(angleOf(row >> 1));
        expect(plan.similarities?.[row]).toBeCloseTo(cosine, 5);
      }
    }
  });

  it('rows removed from an index do not count', async () => {
    const own = new SimHashIndex({ ...options, vectors: 'float32' });
    await own.addAll(vectors);
    for (const row of [56, 57, 58, 59]) own.remove(row);
    const plan = await dedup(own, { minCosine: 0.93, maxDistance: 120, targetRows: 40 });
    expect(60 - staysIn(plan)).toBe(56 - 40);
  });

  it('rows that are added or removed after the call do not count', async () => {
    const near = { minCosine: 0.93, maxDistance: 120, targetRows: 40 };
    const own = new SimHashIndex({ ...options, vectors: 'float32' });
    await own.addAll(vectors);
    const plans = [dedup(own, near)];
    for (const row of [56, 57, 58, 59]) own.remove(row);
    plans.push(dedup(own, near));
    own.add(vectors[0]);
    expect((await Promise.all(plans)).map(staysIn)).toEqual([40, 44]);
  });
});

it('is the same in steps, and refuses other numbers of rows', async () => {
  const codes = collection('clustered', 200, 64, 13);
  const options = { maxDistance: 12, targetRows: 150 };
  const plan = await dedup(codes, options);
  expect(await dedup(codes, options)).toEqual(plan);
  await expect(dedup(codes, { maxDistance: 3, extend: plan, targetRows: 3 })).rejects.toThrow(
    '"targetRows"',
  );
  for (const targetRows of [0, 1.5, -1]) {
    await expect(dedup(codes, { maxDistance: 3, targetRows })).rejects.toThrow(
      '"targetRows" expected',
    );
  }
});
