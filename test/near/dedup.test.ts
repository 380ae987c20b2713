import { describe, expect, it } from 'vitest';
import { Codes } from '../../src/codes/codes';
import { SimHashIndex } from '../../src/index/simhash-index';
import { dedup } from '../../src/near/dedup';
import type { DedupPlan } from '../../src/near/plan';
import { eachPlanBatch, type PlanPart, planOf } from '../../src/near/plan-table';
import type { RowBatch } from '../../src/table/row-batch';
import { angleBetween, Draws } from '../reference/random';
import { bitsApart, collection, namesByLoops } from './collections';

/** Plans: what each row becomes, as tables, and as the collection grows. */

const some = (codes: Codes, first: number, end: number) =>
  Codes.from(codes.bytes.slice(first * codes.bytesPerCode, end * codes.bytesPerCode), {
    bits: codes.bits,
  });

describe.each(['star', 'components'] as const)('by %s', async (grouping) => {
  const codes = collection('clustered', 200, 64, 1);
  const plan = await dedup(codes, { maxDistance: 3, grouping });

  it('reports the group of each row, the row that it duplicates and the distance to it', async () => {
    const all = Array.from({ length: 200 }, (_, row) => row);
    const isNear = (a: number, b: number) => bitsApart(codes.at(a), codes.at(b)) <= 3;
    const names = namesByLoops(grouping, all, isNear);
    expect([...plan.groups]).toEqual(all.map((row) => names.get(row)));
    for (let row = 0; row < 200; row++) {
      expect(plan.duplicateOf[row]).toBe(names.get(row));
      expect(plan.kept[row]).toBe(Number(plan.duplicateOf[row] === row));
      expect(plan.distances[row]).toBe(bitsApart(codes.at(row), codes.at(plan.duplicateOf[row])));
    }
    expect(plan.kept).toContain(0);
    expect(plan.similarities).toBeNull();
  });
});

it('goes on with more rows: what was decided stays', async () => {
  const codes = collection('clustered', 200, 64, 1);
  const first = await dedup(some(codes, 0, 120), { maxDistance: 3 });
  const grown = await dedup(codes, { maxDistance: 3, extend: first });
  expect(grown.groups.subarray(0, 120)).toEqual(first.groups);
  expect(grown.kept.subarray(0, 120)).toEqual(first.kept);
  expect(grown.count).toBe(200);
  const near = (a: number, b: number) => bitsApart(codes.at(a), codes.at(b)) <= 3;
  const rows = Array.from({ length: 200 }, (_, row) => row);
  for (let row = 0; row < 200; row++) {
    const kept = grown.duplicateOf[row];
    expect(grown.distances[row]).toBe(bitsApart(codes.at(row), codes.at(kept)));
    expect(grown.kept[row]).toBe(Number(kept === row));
    expect(grown.kept[kept]).toBe(1);
    const others = rows.filter((other) => grown.groups[other] === grown.groups[row]);
    expect(near(row, kept) || row < 120).toBe(true);
    if (row < 120 || others.length > 1) continue;
    // A new row stays alone only where there is nothing that it could join.
    const joinable = rows.filter((other) => other !== row && near(row, other));
    expect(joinable.filter((other) => grown.kept[other])).toEqual([]);
  }
});

it('is the same in whatever blocks rows come', async () => {
  const codes = collection('repeated', 500, 64, 2);
  const plan = await dedup(codes, { maxDistance: 3 });
  expect(await dedup(codes, { maxDistance: 3 })).toEqual(plan);
  const index = new SimHashIndex({ bits: 64 });
  for (let row = 0; row < 500; row += 70)
    await index.addAll(some(codes, row, Math.min(500, row + 70)));
  expect(await dedup(index, { maxDistance: 3 })).toEqual(plan);
});

it('reports exact cosines where vectors are kept', async () => {
  const draws = new Draws(7);
  const vectors = Array.from({ length: 60 }, () => draws.pairAt(0.97, 12)).flat();
  const index = new SimHashIndex({
    bits: 64,
    dimensions: 12,
    projection: 'hadamard',
    vectors: 'float32',
  });
  await index.addAll(vectors);
  const plan = await dedup(index, { maxDistance: 12, keep: 'last' });
  expect(plan.kept).toContain(0);
  for (let row = 0; row < 120; row++) {
    const cosine = Math.cos(angleBetween(vectors[row], vectors[plan.duplicateOf[row]]));
    expect(plan.similarities?.[row]).toBeCloseTo(cosine, 5);
  }
  await index.addAll(vectors);
  const grown = await dedup(index, { maxDistance: 12, extend: plan });
  for (let row = 0; row < 120; row++) {
    expect(grown.kept[120 + row]).toBe(0); // each is there already
    const kept = vectors[grown.duplicateOf[120 + row]];
    expect(grown.similarities?.[120 + row]).toBeCloseTo(
      Math.cos(angleBetween(vectors[row], kept)),
      5,
    );
  }
});

it('keeps null rows', async () => {
  const codes = Codes.from(new Uint8Array(32), { bits: 64, validity: Uint8Array.of(0b0101) });
  const { kept, groups } = await dedup(codes, { maxDistance: 0 });
  expect([...kept]).toEqual([1, 1, 0, 1]);
  expect([...groups]).toEqual([0, 1, 0, 3]);
});

describe('as rows', async () => {
  const codes = collection('clustered', 50, 64, 3);
  const plan = await dedup(codes, { maxDistance: 4 });
  const ids = Array.from({ length: 50 }, (_, row) => `doc "${row}",\n`);
  const similarities = Float64Array.from(plan.kept, (kept) => (kept === 1 ? 1 : 0.5));

  const batchesOf = async (given: DedupPlan, part: PlanPart) => {
    const batches: RowBatch[] = [];
    await eachPlanBatch(given, part, (batch) => {
      batches.push(batch);
    });
    return batches;
  };

  // Some shares are not known: those of rows for which a person decided.
  const rests = similarities.map((cosine, row) => (cosine < 1 && row < 25 ? Number.NaN : cosine));
  const common = { rests, commons: similarities.map((cosine) => 1 - cosine) };

  it.each([plan, { ...plan, similarities, measure: 'cosine' as const }, { ...plan, ...common }])(
    'comes back as it was',
    async (given) => {
      expect(planOf(await batchesOf(given, {}), 'plan')).toEqual(given);
      const batches = await batchesOf(given, { ids });
      expect(planOf(batches, 'plan')).toEqual(given);
      expect(batches[0].texts('id')).toEqual(ids);
    },
  );

  it('has the columns that people expect', async () => {
    const [{ columns }] = await batchesOf(plan, { ids });
    const names = columns.map(({ name }) => name);
    const own = ['row', 'id', 'group', 'action', 'duplicate_of', 'distance', 'check', 'rows'];
    expect(names).toEqual(own);
  });
});

describe('rows that are gone', () => {
  const codes = collection('clustered', 60, 64, 8);

  it('null ones are kept, also among new rows', async () => {
    const known = some(codes, 0, 40);
    const plan = await dedup(known, { maxDistance: 3 });
    const validity = Uint8Array.of(0b1111_1010, 0xff, 0xff);
    const added = Codes.from(codes.bytes.slice(320), { bits: 64, validity });
    const all = Codes.join([known, added], { bits: 64 });
    const grown = await dedup(all, { maxDistance: 3, extend: plan });
    for (const row of [40, 42]) expect([grown.kept[row], grown.groups[row]]).toEqual([1, row]);
  });

  it('a plan goes on when its dropped rows were removed', async () => {
    const index = new SimHashIndex({ bits: 64 });
    await index.addAll(codes);
    const plan = await dedup(index, { maxDistance: 3 });
    plan.kept.forEach((kept, row) => {
      if (kept === 0) index.remove(row);
    });
    await index.addAll(some(codes, 0, 10));
    const grown = await dedup(index, { maxDistance: 3, extend: plan });
    expect(grown.kept.subarray(0, 60)).toEqual(plan.kept);
    expect([...grown.kept.subarray(60)]).toEqual(Array(10).fill(0));
    index.remove(plan.kept.indexOf(1));
    await expect(dedup(index, { maxDistance: 3, extend: plan })).rejects.toThrow('is not the one');
  });
});

describe('refuses', async () => {
  const codes = collection('uniform', 20, 64, 4);
  const plan = await dedup(codes, { maxDistance: 3 });

  it('rows that are not those of the plan', async () => {
    const others = some(codes, 0, 20);
    others.at(7)[0] ^= 1;
    const grow = (rows: Codes) => expect(dedup(rows, { maxDistance: 3, extend: plan })).rejects;
    await grow(others).toThrow('row 7 is not the one that the plan was made for');
    await grow(some(codes, 0, 19)).toThrow('"extend" expected a plan of at most 19 rows, got 20');
  });

  it('what does not fit', async () => {
    await expect(dedup(codes, { maxDistance: 99 })).rejects.toThrow('"maxDistance" expected');
    await expect(dedup(codes, { maxDistance: 3, grouping: 'chains' as never })).rejects.toThrow(
      '"grouping"',
    );
    const group = new Int32Array(20);
    await expect(dedup(codes, { maxDistance: 3, group, extend: plan })).rejects.toThrow(
      '"extend" goes by stars, without "group", "keepAtMost" and "targetRows"',
    );
  });
});

describe.each(['star', 'components'] as const)('within groups, by %s', (grouping) => {
  const keep = grouping === 'star' ? 'first' : 'last';

  it('plans as for each group alone; rows without one are kept', async () => {
    const codes = collection('repeated', 150, 64, 3);
    const group = Int32Array.from({ length: 150 }, (_, row) => (row % 7 === 6 ? -1 : row % 3));
    const plan = await dedup(codes, { maxDistance: 3, grouping, keep, group });
    for (const one of [0, 1, 2]) {
      const rows = [...group.keys()].filter((row) => group[row] === one);
      const own = Codes.allocate(rows.length, { bits: 64 });
      rows.forEach((row, i) => void own.at(i).set(codes.at(row)));
      const alone = await dedup(own, { maxDistance: 3, grouping, keep });
      expect(rows.map((row) => plan.duplicateOf[row])).toEqual(
        Array.from(alone.duplicateOf, (other) => rows[other]),
      );
      expect(alone.kept).toContain(0);
    }
    group.forEach((one, row) => void (one < 0 && expect(plan.kept[row]).toBe(1)));
  });

  it('keeps as many rows of a group as are asked for, those that are preferred', async () => {
    const codes = collection('repeated', 150, 64, 4);
    const one = await dedup(codes, { maxDistance: 3, grouping, keep: 'last' });
    const three = await dedup(codes, { maxDistance: 3, grouping, keep: 'last', keepAtMost: 3 });
    expect(three.groups).toEqual(one.groups);
    for (const name of new Set(one.groups)) {
      const rows = [...one.groups.keys()].filter((row) => one.groups[row] === name);
      const kept = rows.filter((row) => three.kept[row] === 1);
      const first = rows.find((row) => one.kept[row] === 1) as number;
      const others = rows.filter((row) => row !== first).slice(-2);
      expect(new Set(kept)).toEqual(new Set([first, ...others]));
    }
  });
});

it('refuses groups of another length, and what a plan that grows does not record', async () => {
  const codes = collection('uniform', 10, 64, 5);
  const group = new Int32Array(9);
  await expect(dedup(codes, { maxDistance: 3, group })).rejects.toThrow(
    'a group for each of 10 rows',
  );
  await expect(dedup(codes, { maxDistance: 3, keepAtMost: 0 })).rejects.toThrow(
    '"keepAtMost" expected',
  );
  const extend = await dedup(codes, { maxDistance: 3 });
  await expect(dedup(codes, { maxDistance: 3, extend, keepAtMost: 2 })).rejects.toThrow(
    '"keepAtMost"',
  );
});

it('extends a plan that leaves similarities out as one that has none', async () => {
  const codes = collection('clustered', 60, 64, 1);
  const vectors = { values: Float32Array.from({ length: 120 }, (_, i) => i + 1), dimensions: 2 };
  const plan = await dedup(codes, { maxDistance: 3 });
  const { similarities: _, measure: __, ...without } = plan;
  const grown = (own: object) =>
    dedup(codes, { maxDistance: 3, vectors, extend: own as DedupPlan });
  expect(await grown(without)).toEqual(await grown(plan));
});

it.each([
  [{ count: Symbol('3') }, TypeError, 'extend."count" expected a number'],
  [{ count: -1 }, RangeError, 'extend."count" expected'],
  [{ kept: [1, 1, 0] }, TypeError, 'extend."kept" expected a Uint8Array'],
  [{ checks: new Uint32Array(2) }, RangeError, 'expected one for each of 5 rows, got 2'],
  [{ similarities: 7 }, TypeError, 'extend."similarities" expected a Float64Array, got 7'],
  [{ groups: null }, TypeError, 'extend."groups" expected a Uint32Array, got null'],
])('refuses a plan to extend with %o', async (changed, Kind, words) => {
  const codes = collection('uniform', 5, 64, 9);
  const plan = { ...(await dedup(codes, { maxDistance: 3 })), ...changed } as never;
  const extended = () => dedup(codes, { maxDistance: 3, extend: plan });
  await expect(extended()).rejects.toThrow(Kind);
  await expect(extended()).rejects.toThrow(words);
});
