import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LongWork } from '../../src/base/long-work';
import { IndexCore } from '../../src/index/index-core';
import { checkIndexOptions } from '../../src/index/index-options';
import { MemoryIndex } from '../../src/index/memory-index';
import { coreOf } from '../../src/index/simhash-index';
import type { Space } from '../../src/index/space';
import { IndexFolder, openIndex, RowBatch, SimHashIndex } from '../../src/node';
import { FolderChange } from '../../src/store/change';
import { prepareNew } from '../../src/store/generations';
import { spaceToArrow } from '../../src/store/space-file';
import { temporaryFolder } from './collection';
import { clustered, DIMENSIONS, found } from './kinds';

/** An index that is built in a folder batch by batch, next to the same rows in memory. */

const root = await temporaryFolder();
const COUNT = 3000;
const OPTIONS = { bits: 64, dimensions: DIMENSIONS, vectors: 'int8', zero: 'null' } as const;
const OPTIMIZE = { recall: 0.9, k: 5, queries: 60, partitions: 32 };
const values = clustered(3, COUNT);
values.fill(0, 7 * DIMENSIONS, 8 * DIMENSIONS);
const idOf = (row: number) => `row ${row} é`;
const ids = Array.from({ length: COUNT }, (_, row) => idOf(row));

function* batches(step = 700, all = ids) {
  for (let first = 0; first < COUNT; first += step) {
    const end = Math.min(COUNT, first + step);
    const own = values.subarray(first * DIMENSIONS, end * DIMENSIONS);
    yield { vectors: { values: own, dimensions: DIMENSIONS }, ids: all.slice(first, end) };
  }
}

const queries = Array.from({ length: 20 }, (_, i) => {
  return values.slice(150 * i * DIMENSIONS, (150 * i + 1) * DIMENSIONS).map((v) => v + 0.01);
});

describe('a build', () => {
  it('has the centroids and the partitions of an index in memory, and answers like it', {
    tags: 'thorough',
  }, async () => {
    const folder = join(root, 'equal.hs');
    const built = await IndexFolder.build(folder, batches(), {
      ...{ ...OPTIONS, optimize: OPTIMIZE, memory: '300KB' },
    });
    const index = new SimHashIndex<string>(OPTIONS);
    await index.addAll({ values, dimensions: DIMENSIONS }, ids);
    await index.optimize(OPTIMIZE);
    const read = await openIndex(folder);
    const [own, other] = [read, index as unknown as SimHashIndex].map((one) => {
      return coreOf(one).rows.space;
    });
    const [here, there] = [own, other].map((one) => spaceToArrow(one as Space));
    expect(here).toEqual(there);
    const stored = await openIndex(folder, { memory: '16MB' });
    for (const query of queries) {
      for (const options of [{}, { probes: 5 }, { rank: 'hamming' }] as const) {
        const wanted = found(read.search(query, options));
        expect(found(await stored.search(query, options))).toEqual(wanted);
      }
      const exact = { k: 8, rank: 'hamming' } as const;
      expect(found(read.search(query, exact))).toEqual(found(index.search(query, exact) as never));
    }
    expect(built.report?.recall).toBeGreaterThan(0.85);
    expect(built.report?.method).toBe('partitions');
    await stored.close();
    expect((await IndexFolder.verify(folder)).problems).toEqual([]);
  });

  it('chooses the setting that an index in memory chooses, and says the same of it', async () => {
    const own = { ...OPTIONS, vectors: 'float32' } as const;
    const optimize = { ...OPTIMIZE, queries: 120, k: 3 };
    const { report } = await IndexFolder.build(join(root, 'report.hs'), batches(), {
      ...{ ...own, optimize, memory: '300KB' },
    });
    const index = new SimHashIndex<string>(own);
    await index.addAll({ values, dimensions: DIMENSIONS }, ids);
    const inMemory = await index.optimize(optimize);
    expect(inMemory.reached).toBe(true); // else it would have chosen again, with other queries
    expect(report).toEqual(inMemory);
  });

  it('without optimize keeps the order of rows', async () => {
    const folder = join(root, 'plain.hs');
    await IndexFolder.build(folder, batches(1000), { ...OPTIONS, memory: '100KB' });
    const read = await openIndex(folder);
    const index = new SimHashIndex<string>(OPTIONS);
    await index.addAll({ values, dimensions: DIMENSIONS }, ids);
    for (const query of queries) {
      expect(found(read.search(query))).toEqual(found(index.search(query) as never));
    }
    expect((await IndexFolder.verify(folder)).problems).toEqual([]);
  });

  it('refuses an id that is there twice, and leaves nothing', async () => {
    const folder = join(root, 'twice.hs');
    const all = ids.map((id, row) => (row === 2900 ? idOf(12) : id));
    const building = IndexFolder.build(folder, batches(700, all), { ...OPTIONS, memory: '8MB' });
    await expect(building).rejects.toThrow(
      '"ids"[2900] expected an id that is not there yet, got "row 12 é"',
    );
    expect(readdirSync(folder)).toEqual([]);
  });

  it('counts the rows of all batches where one is refused', async () => {
    const rows = (ids: string[]) => ({ vectors: ids.map(() => [1, 2]), ids });
    const build = (...batches: object[]) =>
      IndexFolder.build(join(root, 'counted.hs'), batches as never, { bits: 64, memory: '8MB' });
    const first = rows(['a', 'b', 'c']);
    await expect(
      build(first, {
        vectors: [
          [1, 2],
          [1, Number.NaN],
        ],
        ids: ['d', 'e'],
      }),
    ).rejects.toThrow(/^row 4: expected finite values, got NaN/);
    await expect(build(first, rows(['b']))).rejects.toThrow(/^"ids"\[3\] expected an id that/);
    await expect(build(first, rows(['d', 'd']))).rejects.toThrow(/^"ids"\[4\] expected an id that/);
    await expect(build(rows(['a', 'a']))).rejects.toThrow(/^"ids"\[1\] expected an id that/);
  });

  it('leaves an index that is there whole, unless it may replace it', async () => {
    const folder = join(root, 'there.hs');
    await IndexFolder.build(folder, batches(), { ...OPTIONS, memory: '8MB' });
    const building = IndexFolder.build(folder, batches(), { ...OPTIONS, memory: '8MB' });
    await expect(building).rejects.toThrow(
      'holds an index, "replace: true" (--force) puts this one in',
    );
    const cut = (function* () {
      yield batches().next().value as never;
      throw new Error('the source ended');
    })();
    await expect(
      IndexFolder.build(folder, cut, { ...OPTIONS, memory: '8MB', replace: true }),
    ).rejects.toThrow('the source ended');
    expect((await IndexFolder.verify(folder)).rows).toBe(COUNT);
    expect(readdirSync(folder).filter((name) => name.includes('000002'))).toEqual([]);
  });

  it('refuses a limit that a partition does not fit', async () => {
    const folder = join(root, 'small.hs');
    const options = { ...OPTIONS, memory: '20KB', optimize: OPTIMIZE };
    await expect(IndexFolder.build(folder, batches(), options)).rejects.toThrow(
      /^"memory" is too small: a partition takes [1-9]\d* bytes, there is room for \d+/,
    );
    expect(readdirSync(folder)).toEqual([]);
  });

  // All columns went to the first segment, and the second failed for want of any.
  it('carries columns where rows become several segments at once', async () => {
    const folder = join(root, 'segments.hs');
    const core = new IndexCore(checkIndexOptions(OPTIONS));
    const options = { ...core.rows.options, maxSegmentRows: 100 };
    core.rows = new MemoryIndex(options, core.rows.space, 0);
    const how = { memory: 2 ** 26, call: {} };
    await FolderChange.fresh(folder, await prepareNew(folder, false), core, how, async (change) => {
      for (const [first, end] of [
        [0, 90],
        [90, 170],
      ]) {
        const own = values.subarray(first * DIMENSIONS, end * DIMENSIONS);
        const columns = RowBatch.of({ text: ids.slice(first, end).map((id) => `of ${id}`) });
        const vectors = { values: own, dimensions: DIMENSIONS };
        await change.add({ vectors, ids: ids.slice(first, end), columns }, false);
        await core.rows.settle(new LongWork({}), true);
      }
      await change.flush();
      return change.publish(null);
    });
    const made = await IndexFolder.open(folder);
    expect(made.files.filter(({ kind }) => kind === 'columns')).toHaveLength(2);
    const texts = (await made.columns())?.texts('text');
    expect(texts).toEqual(ids.slice(0, 170).map((id) => `of ${id}`));
    expect((await IndexFolder.verify(folder)).problems).toEqual([]);
  });
});
