import { beforeAll, describe, expect, it } from 'vitest';
import { coreOf, SimHashIndex } from '../../src/index/simhash-index';
import type { Space } from '../../src/index/space';
import { indexFromArrow, indexToArrow } from '../../src/store/arrow-index';
import { Draws } from '../reference/random';
import { quickIf } from '../reference/tags';
import { denseVectors, segmentsOf, spreadIndex } from './spread';

/** Answers do not depend on how rows are spread over segments, also where searches miss rows. */

const DIMENSIONS = 12;
const COUNT = 1500;
const draws = new Draws('spread');
const vectors = denseVectors(draws, COUNT, DIMENSIONS);
const ids = vectors.map((_, i) => `row ${i}`);
const queries = denseVectors(draws, 25, DIMENSIONS).filter((query) => query.some((v) => v !== 0));

describe.each([
  ['float32', false],
  ['float32', true],
  ['int8', false],
  ['none', false],
] as const)('vectors %s, copies %s', (storage, copies) => {
  const options = { bits: 64, dimensions: DIMENSIONS, vectors: storage, zero: 'null' } as const;
  const spread: SimHashIndex[] = [];
  let space: Space | null;

  beforeAll(async () => {
    const whole = new SimHashIndex(options);
    await whole.addAll(vectors, ids);
    const isAsked = storage === 'none' ? {} : { copies };
    await whole.optimize({ partitions: 40, queries: 60, k: 5, recall: 0.7, ...isAsked });
    ({ space } = coreOf(whole).rows);
    const added = async (tailRows: number, batch: number) => {
      const index = spreadIndex(options, tailRows, space);
      for (let first = 0; first < COUNT; first += batch) {
        await index.addAll(vectors.slice(first, first + batch), ids.slice(first, first + batch));
      }
      coreOf(index).report = whole.report;
      return index;
    };
    spread.push(whole, await added(4096, 1500), await added(500, 500), await added(30, 30));
  });

  const title = 'are equal from one segment, a tail, three and fifty, and from a file';
  it(title, quickIf(copies), async () => {
    expect(spread.map(segmentsOf)).toEqual([1, 0, 3, 50]);
    const all = [...spread, indexFromArrow(indexToArrow(spread[2]))];
    for (const removed of [0, 1, 2]) {
      for (const index of all)
        for (let row = removed; row < COUNT; row += 9) index.remove(ids[row]);
      for (const query of queries) {
        for (const asked of [{}, { k: 3, probes: 3 }, { k: 200, oversample: 1, probes: 20 }]) {
          const [first, ...others] = all.map((index) => index.search(query, asked));
          expect(first.rows.length).toBeGreaterThan(0);
          for (const other of others) expect(other).toEqual(first);
        }
      }
    }
  });

  it('are those of searches one by one, for many queries', async () => {
    const [index] = spread;
    const many = await index.searchAll(queries, { k: 7 });
    expect(many).toEqual(queries.map((query) => index.search(query, { k: 7 })));
  });
});
