// Long work yields by counts of what it has done, so that neither the event loop nor a signal waits:
// each of these was one step.

import { expect, it } from 'vitest';
import { alea } from '../../src/base/random';
import { Codes } from '../../src/codes/codes';
import { IdTable } from '../../src/index/id-table';
import { pairSteps } from '../../src/join/pairs';
import { DistinctRows, rowsOf } from '../../src/join/source';

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
