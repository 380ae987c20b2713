import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  codesFromArrow,
  frequenciesFromArrow,
  indexFromArrow,
  openIndex,
  openRows,
  readPlan,
  type SimHashIndex,
} from '../../src/node';

/** Files of every kind that version 0.1 wrote (write-files.mjs); they must be read for ever. */
const path = (name: string) => fileURLToPath(new URL(`../fixtures/files/${name}`, import.meta.url));
const expected = JSON.parse(readFileSync(path('expected.json'), 'utf8'));

describe('what version 0.1 wrote', () => {
  it('is an index of dense vectors, and a file of its codes', () => {
    const bytes = readFileSync(path('index-v1.arrow'));
    const index = indexFromArrow(bytes) as SimHashIndex<string>;
    expect(index.count).toBe(expected.vectors.length - 1);
    expected.ids.forEach((id: string, row: number) => {
      const found = index.get(id);
      if (row === 3) expect(found).toBeUndefined();
      else
        expect(Array.from(found?.vector as Float32Array)).toEqual(
          expected.vectors[row].map(Math.fround),
        );
    });
    const { codes, ids } = codesFromArrow(bytes);
    expect(ids).toEqual(expected.ids.filter((id: string) => id !== 'doc 3'));
    expect(codes.at(0)).toEqual(index.hasher.hash(expected.vectors[0]));
  });

  it('is an index of sparse vectors, as a file and as a folder', async () => {
    const bytes = readFileSync(path('sparse-index-v1.arrow'));
    for (const index of [indexFromArrow(bytes), await openIndex(path('sparse-v1.hs'))]) {
      expect(index.vectors).toBe('sparse');
      expect(index.count).toBe(expected.rows.length);
      expected.rows.forEach((vector: { indices: number[]; values: number[] }, row: number) => {
        expect(index.get(row)?.code).toEqual(index.hasher.hash(vector));
        expect(index.search(vector, { k: 1 }).ids).toEqual([row]);
      });
    }
  });

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
