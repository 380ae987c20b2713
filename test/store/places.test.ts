import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { SimHashIndex } from '../../src/index/simhash-index';
import { FolderPlace } from '../../src/store/folder-place';
import { newestManifest } from '../../src/store/generations';
import { IndexFolder, loadFolder, openIndex, saveIndex } from '../../src/store/index-folder';
import { openIndexUrl, openStored } from '../../src/store/stored-index';
import { verifyFolder } from '../../src/store/verify';
import { Draws } from '../reference/random';
import { quickIf } from '../reference/tags';
import { temporaryFolder } from './collection';
import { clustered, DIMENSIONS, found, KINDS, searchesOf, shaped, writeFolder } from './kinds';
import { startHost } from './web-host';

const dimensions = 24;

function vectorsOf(draws: Draws, count: number): number[][] {
  const centers = Array.from({ length: 20 }, () => Array.from(draws.gaussians(dimensions)));
  return Array.from({ length: count }, () => {
    const center = centers[draws.integer(centers.length)];
    if (draws.integer(50) === 0) return center.map(() => 0);
    if (draws.integer(10) === 0) return center.map(Math.fround);
    const noise = draws.gaussians(dimensions);
    return center.map((value, i) => Math.fround(value + 0.5 * noise[i]));
  });
}

describe.each([
  ['float32', true],
  ['int8', false],
  ['none', false],
] as const)('an index with vectors %s, copies %s', async (vectors, copies) => {
  const folder = join(await temporaryFolder(), 'index');
  const draws = new Draws(42);
  const rows = vectorsOf(draws, 2000);
  const queries = vectorsOf(draws, 3).filter((query) => query.some((value) => value !== 0));
  let index: SimHashIndex<string>;

  beforeAll(async () => {
    index = new SimHashIndex<string>({ bits: 64, dimensions, vectors, zero: 'null' });
    const ids = rows.map((_, i) => `row ${i}`);
    await index.addAll(rows.slice(0, 1500), ids.slice(0, 1500));
    await index.optimize({ partitions: 30, queries: 100, copies: copies || undefined });
    await index.addAll(rows.slice(1500), ids.slice(1500));
    for (let i = 0; i < 2000; i += 7) index.remove(`row ${i}`);
    await saveIndex(index as SimHashIndex, folder);
    for (let i = 1; i < 2000; i += 70) index.remove(`row ${i}`);
    index.set(rows[1], 'row 2');
    await saveIndex(index as SimHashIndex, folder);
  });

  it('is sound', async () => {
    expect((await verifyFolder(folder, undefined)).problems).toEqual([]);
  });

  it('answers alike in memory, loaded, from a folder and from a host', async () => {
    const manifest = await newestManifest(folder);
    if (manifest === null) throw new Error('a generation was saved');
    const loaded = await loadFolder(folder, manifest, {});
    const stored = await openStored(new FolderPlace(folder), { memory: '64MB' });
    const small = await openStored(new FolderPlace(folder), { memory: 400_000 });
    const host = await startHost(folder);
    const remote = await openIndexUrl(host.url, { memory: '64MB' });
    const even = (id: unknown) => Number(String(id).slice(4)) % 2 === 0;
    const rare = (id: unknown) => Number(String(id).slice(4)) % 500 === 3;
    for (const query of queries) {
      for (const options of [
        {},
        { k: 100 },
        { rank: 'hamming' as const },
        { filter: even },
        { filter: rare },
        { filter: [1501, 1502, 5, 6, 1999] },
        { probes: 1000, k: 3 },
      ]) {
        const wanted = index.search(query, options);
        expect(wanted.rows.length).toBeGreaterThan(0);
        expect(loaded.search(query, options as never)).toEqual(wanted);
        expect(await stored.search(query, options as never)).toEqual(wanted);
        expect(await small.search(query, options as never)).toEqual(wanted);
        expect(await remote.search(query, options as never)).toEqual(wanted);
      }
      const near = index.within(query, { maxDistance: 12 });
      expect(await stored.within(query, { maxDistance: 12 })).toEqual(near);
    }
    const all = await stored.searchAll(queries, { k: 5 });
    expect(all).toEqual(await index.searchAll(queries, { k: 5 }));
    expect(await stored.get('row 5')).toEqual(index.get('row 5'));
    expect(await stored.get('row 7')).toBeUndefined();
    for (const one of [stored, small, remote]) await one.close();
    await host.close();
  });
});

// Rows that are sparse, or lack vectors; ids of each kind, in a column or not.
const QUICK = ['sparse', 'no vectors'];
describe.each(KINDS)('segments of $name', (kind) => {
  const title = 'answers alike in memory, from a folder with and without room, and from a host';
  it(title, quickIf(QUICK.includes(kind.name)), async () => {
    const folder = await writeFolder(await temporaryFolder(), kind);
    const files = (await IndexFolder.open(folder)).files.filter(({ kind: of }) => of === 'rows');
    expect(files.length).toBeGreaterThan(1);
    const index = await openIndex(folder);
    const host = await startHost(folder);
    const [large, small] = [
      await openIndex(folder, { memory: '64MB' }),
      await openIndex(folder, { memory: '1MB' }),
    ];
    const remote = await openIndexUrl(host.url, { memory: '64MB' });
    const queries = shaped(kind, clustered(3, QUERIES));
    const searches = [...searchesOf(kind), { k: 900 }, { k: 900, rank: 'hamming' as const }];
    const counts: number[] = [];
    for (let i = 0; i < QUERIES; i++) {
      const query = Array.isArray(queries)
        ? queries[i]
        : queries.values.subarray(i * DIMENSIONS, (i + 1) * DIMENSIONS);
      for (const options of searches) {
        const wanted = found(index.search(query, options as never));
        counts.push(wanted.rows.length);
        for (const stored of [large, small, remote]) {
          expect(found(await stored.search(query, options as never))).toEqual(wanted);
        }
      }
      const maxDistance = Math.floor(index.bits / 4);
      const near = found(index.within(query, { maxDistance }));
      for (const stored of [large, small, remote]) {
        const within = await stored.within(query, { maxDistance });
        expect(found(within)).toEqual(near);
      }
    }
    expect(Math.max(...counts)).toBe(900);
    expect(Math.min(...counts)).toBeGreaterThan(0);
    const ids = kind.ids(0, 20) ?? Uint32Array.from({ length: 20 }, (_, i) => i);
    for (const id of Array.from(ids as unknown as ArrayLike<never>)) {
      for (const stored of [large, remote]) expect(await stored.get(id)).toEqual(index.get(id));
    }
    for (const stored of [large, small, remote]) await stored.close();
    await host.close();
  });
});

const QUERIES = 1;
