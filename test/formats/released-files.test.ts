import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { frequenciesFromArrow, openRows, readPlan } from '../../src/node';

/** Tables of frequencies, plans and pairs that were written once; they must be read. */
const path = (name: string) => fileURLToPath(new URL(`../fixtures/files/${name}`, import.meta.url));
const expected = JSON.parse(readFileSync(path('expected.json'), 'utf8'));

describe('what was written once', () => {
  it('is a table of document frequencies', () => {
    const table = frequenciesFromArrow(readFileSync(path('frequencies-v1.arrow')));
    expect([table.documents, table.size]).toEqual([expected.documents, expected.words]);
  });

  it.each(['plan-v1.arrow', 'plan-v1.csv', 'plan-v1.jsonl'])('is a plan: %s', async (name) => {
    const plan = await readPlan(path(name));
    expect(Array.from(plan.kept)).toEqual(expected.kept);
    expect(Array.from(plan.groups)).toEqual(expected.groups);
    for await (const batch of await openRows(path(name))) {
      expect(batch.values('id')).toEqual(expected.ids);
    }
  });

  it('is a stream of pairs', async () => {
    const found: number[][] = [];
    for await (const batch of await openRows(path('pairs-v1.arrows'))) {
      const [a, b, distance] = ['a', 'b', 'distance'].map((name) => batch.values(name) as number[]);
      a.forEach((row, i) => {
        found.push([row, b[i], distance[i]]);
      });
    }
    expect(found).toEqual(expected.pairs);
    expect(found.length).toBeGreaterThan(0);
  });
});
