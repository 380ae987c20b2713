// Long work yields by counts of what it has done, so that neither the event loop nor a signal waits:
// each of these was one step.

import { expect, it } from 'vitest';
import { alea } from '../../src/base/random';
import { UnionFind } from '../../src/base/union-find';
import { densityGraph } from '../../src/clustering/density-graph';
import { cutAt } from '../../src/clustering/density-tree';
import { Codes } from '../../src/codes/codes';
import { measureDropped } from '../../src/groups/dedup';
import { gather } from '../../src/groups/grouping';
import { checksInSteps, checksOf } from '../../src/groups/plan';
import { IdTable } from '../../src/index/id-table';
import { pairSteps } from '../../src/join/pairs';
import { DistinctRows, reordered, reorderedInSteps, rowsOf } from '../../src/join/source';

/** The number of steps that some work takes, and what it returns. */
function stepsOf<T>(steps: Generator<unknown, T, void>): [count: number, result: T] {
  for (let count = 0; ; count++) {
    const step = steps.next();
    if (step.done) return [count, step.value];
  }
}

it('ids are checked in steps, and those of rows before are entered in steps', () => {
  const table = new IdTable();
  const ids = Array.from({ length: 100_000 }, (_, i) => `id ${i}`);
  const [few, checked] = stepsOf(table.check(ids, ids.length));
  expect(few).toBeGreaterThan(5);
  table.append(checked, ids.length);
  const [one] = stepsOf(table.check(['another'], 1));
  expect(one).toBeGreaterThan(5);
  expect(() => stepsOf(table.check(['id 70000'], 1))).toThrow('got "id 70000"');
});

it('the rows of distinct codes are listed in steps', () => {
  const distinctOfRow = Uint32Array.from({ length: 300_000 }, (_, row) => row % 1000);
  const [count, rows] = stepsOf(DistinctRows.of(distinctOfRow, 0, 300_000, 1000));
  expect(count).toBeGreaterThan(3);
  expect([rows.firstOf(17), rows.nextOf(17), rows.lastOf(17)]).toEqual([17, 1017, 299_017]);
});

it('rows without pairs are passed in steps', () => {
  const random = alea('far');
  const [few, many] = [2 ** 12, 2 ** 17].map((count) => {
    const bytes = Uint8Array.from({ length: 32 * count }, () => 256 * random());
    bytes.copyWithin(32 * (count - 1), 0, 31); // one pair, within 8 bits
    const codes = Codes.from(bytes, { bits: 256 });
    return stepsOf(pairSteps(rowsOf('source', codes), null, { maxDistance: 8 }))[0];
  });
  expect(many - few).toBeGreaterThan(12);
});

/** Codes that count up, so that all are distinct. */
function countingCodes(count: number): Codes {
  return Codes.from(
    new Uint8Array(BigUint64Array.from({ length: count }, (_, i) => BigInt(i)).buffer),
    { bits: 64 },
  );
}

it('codes are put in another order in steps, and their checksums are made in steps', () => {
  const rows = rowsOf('source', countingCodes(400_000));
  const order = Uint32Array.from({ length: 400_000 }, (_, i) => 399_999 - i);
  const [copies, { codes }] = stepsOf(reorderedInSteps(rows, order));
  expect(copies).toBeGreaterThan(5);
  expect(codes.at(0)).toEqual(rows.codes.at(399_999));
  expect(codes.at(399_998)).toEqual(rows.codes.at(1));
  expect(reordered(rows, order).codes.bytes).toEqual(codes.bytes);
  const [count, checks] = stepsOf(checksInSteps(codes));
  expect(count).toBeGreaterThan(2);
  expect(checks).toEqual(checksOf(codes));
});

it('the sets of rows are listed in steps', () => {
  const sets = new UnionFind(300_000);
  sets.union(299_999, 7);
  const [count, leasts] = stepsOf(sets.all());
  expect(count).toBeGreaterThan(3);
  expect([leasts[6], leasts[7], leasts[299_999]]).toEqual([6, 7, 7]);
});

it.each(['components', 'star'] as const)('%s are gathered in steps', (grouping) => {
  const count = 2 ** 19;
  const rows = rowsOf('source', countingCodes(count));
  const pairs = { a: Uint32Array.of(3), b: Uint32Array.of(count - 1) };
  const request = { grouping, near: { pairs } };
  const order = Uint32Array.from({ length: count }, (_, row) => row);
  const [steps, groups] = stepsOf(gather(rows, order, request));
  // Counting heads, sorting by them and cutting take a step for 2 ** 15 rows each.
  expect(steps).toBeGreaterThan(3 * 2 ** 4 + 6);
  expect(groups).toEqual([{ rows: Uint32Array.of(3, count - 1), kept: 3 }]);
});

it('dropped rows are measured in steps', () => {
  const count = 2 ** 17;
  const rows = rowsOf('source', countingCodes(count));
  const duplicateOf = new Uint32Array(count);
  const distances = new Uint16Array(count);
  const plan = { duplicateOf, distances, cosines: null, jaccards: null };
  const dropped = Uint32Array.from({ length: count - 1 }, (_, i) => i + 1);
  const here = { rows, first: 0 };
  const [steps] = stepsOf(measureDropped(plan, dropped, here, here));
  expect(steps).toBeGreaterThan(2);
  expect([...distances.subarray(0, 8)]).toEqual([0, 1, 1, 2, 1, 2, 2, 3]);
});

it('the graph of a density is made and cut in steps', () => {
  const count = 2 ** 18;
  const pass = count / 2 ** 16;
  const codes = countingCodes(count);
  const [making, graph] = stepsOf(
    densityGraph(codes, { minSamples: 1, maxDistance: 1, kernel: undefined }),
  );
  expect(making).toBeGreaterThan(18 * pass); // 18 edges a code, put in order by their lengths
  const [cutting, groups] = stepsOf(cutAt(graph, 1, 2));
  expect(cutting).toBeGreaterThan(18 * pass);
  expect(new Set(groups)).toEqual(new Set([0]));
});
