// Long work yields by counts of what it has done, so that neither the event loop nor a signal waits:
// each of these was one step.

import { expect, it } from 'vitest';
import { LongWork } from '../../src/base/long-work';
import { alea } from '../../src/base/random';
import { densityGraph } from '../../src/clusters/density';
import { Codes } from '../../src/codes/codes';
import { measureDropped } from '../../src/near/dedup';
import { headsOf } from '../../src/near/groups';
import { eachPairs } from '../../src/near/pairs';
import { reordered, rowsOf } from '../../src/near/rows';

/** Work that counts its steps. */
class CountedWork extends LongWork {
  steps = 0;

  constructor() {
    super({ threads: 1 });
  }

  override async step(): Promise<void> {
    this.steps++;
  }

  override part(): LongWork {
    return this;
  }
}

it('rows without pairs are passed in steps', async () => {
  const random = alea('far');
  const counts: number[] = [];
  for (const count of [2 ** 12, 2 ** 17]) {
    const bytes = Uint8Array.from({ length: 32 * count }, () => 256 * random());
    bytes.copyWithin(32 * (count - 1), 0, 31); // one pair, within 8 bits
    const codes = Codes.from(bytes, { bits: 256 });
    const work = new CountedWork();
    await eachPairs(rowsOf('source', codes), null, { maxDistance: 8 }, () => undefined, work);
    counts.push(work.steps);
  }
  const [few, many] = counts;
  expect(many - few).toBeGreaterThan(12);
});

/** Codes that count up, so that all are distinct. */
function countingCodes(count: number): Codes {
  return Codes.from(
    new Uint8Array(BigUint64Array.from({ length: count }, (_, i) => BigInt(i)).buffer),
    { bits: 64 },
  );
}

it('codes are put in another order in steps', async () => {
  const rows = rowsOf('source', countingCodes(400_000));
  const order = Uint32Array.from({ length: 400_000 }, (_, i) => 399_999 - i);
  const work = new CountedWork();
  const { codes } = await reordered(rows, order, work);
  expect(work.steps).toBeGreaterThan(5);
  expect(codes.at(0)).toEqual(rows.codes.at(399_999));
  expect(codes.at(399_998)).toEqual(rows.codes.at(1));
});

it.each(['components', 'star'] as const)('%s are gathered in steps', async (grouping) => {
  const count = 2 ** 19;
  const rows = rowsOf('source', countingCodes(count));
  rows.codes.at(count - 1).set(rows.codes.at(3));
  const order = Uint32Array.from({ length: count }, (_, row) => row);
  const work = new CountedWork();
  const heads = await headsOf(rows, order, { grouping, near: { maxDistance: 0 } }, work);
  expect(work.steps).toBeGreaterThan(2 ** 4); // a step for 2 ** 15 rows
  expect(heads[count - 1]).toBe(3);
  expect(heads.subarray(0, -1)).toEqual(order.subarray(0, -1));
});

it('dropped rows are measured in steps', async () => {
  const count = 2 ** 17;
  const rows = rowsOf('source', countingCodes(count));
  const duplicateOf = new Uint32Array(count);
  const distances = new Uint16Array(count);
  const plan = { duplicateOf, distances, similarities: null };
  const dropped = Uint32Array.from({ length: count - 1 }, (_, i) => i + 1);
  const work = new CountedWork();
  await measureDropped(plan, dropped, rows, work);
  expect(work.steps).toBeGreaterThan(2);
  expect([...distances.subarray(0, 8)]).toEqual([0, 1, 1, 2, 1, 2, 2, 3]);
});

it('the graph of a density is made in steps', { tags: 'thorough' }, async () => {
  const count = 2 ** 18;
  const pass = count / 2 ** 16;
  const codes = countingCodes(count);
  const making = new CountedWork();
  await densityGraph(codes, 1, making);
  expect(making.steps).toBeGreaterThan(16 * pass); // lists of 16, put in order by their lengths
});
