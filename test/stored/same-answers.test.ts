// @module-tag full

import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { openIndex, openIndexUrl, SimHashIndex, saveIndex } from '../../src/node';
import type { StoredIndex } from '../../src/stored/stored-index';
import { temporaryFolder } from '../folder/collection';
import { Draws } from '../reference/random';
import { blobsIn, bytesIn } from './files';
import { clustered, DIMENSIONS, found, KINDS, searchesOf, shaped, writeFolder } from './places';
import { startHost } from './web-host';

/** The same searches over an index in memory and the same index wherever its rows stay. */

const root = await temporaryFolder();
const QUERIES = 2;

describe.each(KINDS)('$name', (kind) => {
  const queries = clustered(1, 3000).slice(-QUERIES * DIMENSIONS);
  const batch = shaped(kind, queries);
  const at = (i: number) =>
    Array.isArray(batch) ? batch[i] : queries.subarray(i * DIMENSIONS, (i + 1) * DIMENSIONS);
  let folder = '';
  let memory: SimHashIndex;
  const stored: StoredIndex[] = [];

  beforeAll(async () => {
    folder = await writeFolder(root, kind);
    memory = await openIndex(folder);
    stored.push(await openIndex(folder, { memory: '64MB' }));
    stored.push(await openIndex(folder, { memory: '600KB' }));
    const host = await startHost(folder);
    stored.push(await openIndexUrl(host.url, { memory: '64MB' }));
    stored.push(await openIndexUrl(bytesIn(folder), { memory: '64MB' }));
    stored.push(await openIndexUrl(blobsIn(folder), { memory: '600KB' }));
    return async () => {
      for (const one of stored) await one.close();
      await host.close();
    };
  });

  it('tells what it is', () => {
    for (const one of stored) {
      expect([one.count, one.bits, one.rank]).toEqual([memory.count, memory.bits, memory.rank]);
      expect(one.report).toEqual(memory.report);
    }
  });

  it('finds the same rows by vectors', async () => {
    for (const options of searchesOf(kind)) {
      for (let i = 0; i < QUERIES; i++) {
        const wanted = found(memory.search(at(i), options));
        for (const one of stored) {
          const answer = await one.search(at(i), options);
          expect({ options, ...found(answer) }).toEqual({ options, ...wanted });
        }
      }
    }
  });

  it('finds the same rows for all queries in one call, and by codes', async () => {
    const codes = await memory.hasher.hashAll(batch);
    for (const [given, options] of [
      [batch, { k: 7 }],
      [batch, { k: 7, rank: 'hamming' }],
      [codes, { k: 30 }],
    ] as const) {
      const wanted = memory.searchAll(given, options).map(found);
      for (const one of stored) {
        expect((await one.searchAll(given, options)).map(found)).toEqual(wanted);
      }
    }
  });

  it('finds the same rows within a distance, or from a cosine on', async () => {
    const filter = (_: unknown, row: number) => row % 2 === 0;
    for (const options of [
      { maxDistance: Math.round(memory.bits / 6) },
      { maxDistance: Math.round(memory.bits / 4), filter },
      { minCosine: 0.9 },
    ]) {
      const wanted = found(memory.within(at(1), options));
      expect(wanted.rows.length).toBeGreaterThan(0);
      const all = memory.withinAll(batch, options).map(found);
      for (const one of stored) {
        expect(found(await one.within(at(1), options))).toEqual(wanted);
        expect((await one.withinAll(batch, options)).map(found)).toEqual(all);
      }
    }
  });

  it('gets the same row by its id', async () => {
    const ids = memory.search(at(0), { k: 3 }).ids;
    const nullRow = memory.idOf(5);
    for (const id of [...ids, nullRow ?? ids[0]]) {
      for (const one of stored) {
        const { bytesRead } = one.figures;
        expect(await one.get(id)).toEqual(memory.get(id));
        // A bucket of each segment, and one block with its vectors.
        expect(one.figures.bytesRead - bytesRead).toBeLessThan(700_000);
      }
    }
    const removed = [memory.idOf(2), 'none', 2n ** 40n, -1].filter((id) => id !== undefined);
    for (const id of removed.filter((one) => !memory.has(one))) {
      for (const one of stored) expect(await one.get(id)).toBe(undefined);
    }
  });

  it('reads nothing again where all fits, and stays within its limit', async () => {
    const [large] = stored;
    const before = large.figures;
    for (let i = 0; i < QUERIES; i++) await large.search(at(i));
    if (kind.isPartitioned) expect(large.figures.reads).toBe(before.reads);
    expect(large.figures.evictions).toBe(0);
  });
});

it('finds the same rows where the nearest of wide centroids are found by their codes', async () => {
  const [count, dimensions] = [3000, 700];
  const draws = new Draws(70);
  const middles = draws.gaussians(100 * dimensions);
  const values = Float32Array.from({ length: count * dimensions }, (_, at) => {
    const middle = Math.floor(at / dimensions) % 100;
    return middles[middle * dimensions + (at % dimensions)];
  });
  draws.gaussians(values.length).forEach((value, at) => {
    values[at] += value;
  });
  const index = new SimHashIndex({ bits: 64, dimensions, vectors: 'int8', projection: 'hadamard' });
  index.addAll(values);
  index.optimize({ partitions: 1000, queries: 20, recall: 0.5, k: 5 });
  const folder = join(root, 'wide.hs');
  await saveIndex(index, folder);
  const opened = await openIndex(folder);
  const stored = [
    await openIndex(folder, { memory: '64MB' }),
    await openIndex(folder, { memory: '4MB' }),
    await openIndexUrl(blobsIn(folder), { memory: '64MB' }),
  ];
  const queries = { values: values.subarray(0, 40 * dimensions), dimensions };
  for (const probes of [3, 24, 62, 63]) {
    const options = { k: 7, method: 'partitions', probes } as const;
    const alone = Array.from({ length: 40 }, (_, row) =>
      found(index.search(values.subarray(row * dimensions, (row + 1) * dimensions), options)),
    );
    expect(index.searchAll(queries, options).map(found)).toEqual(alone);
    expect(opened.searchAll(queries, options).map(found)).toEqual(alone);
    const onThreads = await opened.searchAllAsync(queries, { ...options, threads: 2 });
    expect(onThreads.map(found)).toEqual(alone);
    for (const one of stored) {
      expect((await one.searchAll(queries, options)).map(found)).toEqual(alone);
    }
  }
  for (const one of stored) await one.close();
});
