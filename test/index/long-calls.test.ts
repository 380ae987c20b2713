/** What may happen while a long call of an index runs, and what it leaves behind. */

import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { type LongCall, SimHashIndex } from '../../src/index';
import { Draws } from '../reference/random';

const DIMENSIONS = 8;
const COUNT = 1500;
const draws = new Draws('long calls');
const values = Float32Array.from(draws.gaussians(COUNT * DIMENSIONS));
const vectors = { values, dimensions: DIMENSIONS };
const first = values.slice(0, DIMENSIONS);
const queries = { values: values.slice(0, 400 * DIMENSIONS), dimensions: DIMENSIONS };

const idsOf = (name: string) => Array.from({ length: COUNT }, (_, i) => `${name} ${i}`);

async function made(): Promise<SimHashIndex<string>> {
  const index = new SimHashIndex<string>({ bits: 64, dimensions: DIMENSIONS, vectors: 'float32' });
  await index.addAll(vectors, idsOf('row'));
  return index;
}

type Index = SimHashIndex<string>;
let added = 0;
const CALLS = {
  addAll: (index: Index, call: LongCall) => index.addAll(vectors, idsOf(`call ${added++}`), call),
  optimize: (index: Index, call: LongCall) => index.optimize({ queries: 40, ...call }),
  searchAll: (index: Index, call: LongCall) => index.searchAll(queries, { k: 3, ...call }),
  withinAll: (index: Index, call: LongCall) =>
    index.withinAll(queries, { maxDistance: 4, ...call }),
};

const CHANGES: [string, (index: Index) => unknown][] = [
  ['add', (index) => index.add(first, 'new')],
  ['set', (index) => index.set(first, 'row 5')],
  ['remove', (index) => index.remove('row 5')],
  ['addAll', (index) => index.addAll(vectors, idsOf('others'))],
  ['optimize', (index) => index.optimize({ queries: 40 })],
];

describe.each(['addAll', 'optimize'] as const)('inside onProgress of %s', (name) => {
  it.each(CHANGES)('%s is refused, and changes nothing', async (_, change) => {
    const index = await made();
    const before = index.search(first);
    const errors: unknown[] = [];
    const refused: Promise<unknown>[] = [];
    const onProgress = () => {
      try {
        refused.push(Promise.resolve(change(index)).catch((error) => errors.push(error)));
      } catch (error) {
        errors.push(error);
      }
      expect(index.search(first, { k: 10 })).toEqual(before);
    };
    await CALLS[name](index, { onProgress });
    await Promise.all(refused);
    expect(errors.length).toBeGreaterThan(0);
    for (const error of errors) {
      expect(error).toEqual(new Error(`${name}() is still at work on this index`));
    }
    expect(index.count).toBe(name === 'addAll' ? 2 * COUNT : COUNT);
    expect(index.get('row 5')?.vector).toEqual(values.slice(5 * DIMENSIONS, 6 * DIMENSIONS));
    // It was the call that refused, not the index for ever.
    await change(index);
  });
});

describe.each(Object.entries(CALLS))('%s', (_, run) => {
  it.each([1, 2])(
    'leaves few listeners on its signal, threads %i',
    {
      tags: 'thorough',
    },
    async (threads) => {
      const index = await made();
      const { signal } = new AbortController();
      for (let i = 0; i < 6; i++) {
        await run(index, { signal, threads, onProgress: () => {} });
        expect(getEventListeners(signal, 'abort').length).toBeLessThan(5);
      }
    },
  );
});
