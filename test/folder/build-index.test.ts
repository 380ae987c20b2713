import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FolderFiles } from '../../src/folder/folder-files';
import { PieceVectors } from '../../src/folder/new-segments';
import { partsOf } from '../../src/index/simhash-index';
import { IndexFolder, openIndex, SimHashIndex } from '../../src/node';
import { manifestText, parseManifest } from '../../src/stored/manifest';
import { openStored } from '../../src/stored/open-stored';
import type { SegmentRows } from '../../src/table/sealed/segment-tables';
import { clustered, DIMENSIONS, found } from '../stored/places';
import { temporaryFolder } from './collection';

/** An index that is built in a folder batch by batch, next to the same rows in memory. */

const root = await temporaryFolder();
const COUNT = 6000;
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
  return values.slice(300 * i * DIMENSIONS, (300 * i + 1) * DIMENSIONS).map((v) => v + 0.01);
});

describe('a build', () => {
  it('has the centroids and the partitions of an index in memory, and answers like it', async () => {
    const folder = join(root, 'equal.hs');
    const built = await IndexFolder.build(folder, batches(), {
      ...{ ...OPTIONS, optimize: OPTIMIZE, memory: '300KB' },
    });
    const index = new SimHashIndex<string>(OPTIONS);
    index.addAll({ values, dimensions: DIMENSIONS }, ids);
    index.optimize(OPTIMIZE);
    const read = await openIndex(folder);
    const own = partsOf(index as unknown as SimHashIndex).partitions;
    expect(partsOf(read).partitions?.centroids).toEqual(own?.centroids);
    expect(partsOf(read).partitions?.starts).toEqual(own?.starts);
    const stored = await openIndex(folder, { memory: '16MB' });
    for (const query of queries) {
      for (const options of [{}, { method: 'scan' }, { rank: 'hamming' }] as const) {
        const wanted = found(read.search(query, options));
        expect(found(await stored.search(query, options))).toEqual(wanted);
      }
      const exact = { k: 8, method: 'scan', rank: 'hamming' } as const;
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
    index.addAll({ values, dimensions: DIMENSIONS }, ids);
    const inMemory = index.optimize(optimize);
    expect(inMemory.reached).toBe(true); // else it would have chosen again, with other queries
    expect({ ...report, queriesPerSecond: 0 }).toEqual({ ...inMemory, queriesPerSecond: 0 });
  });

  it('ends searches as early as an index in memory, and reads less for it', {
    tags: 'thorough',
  }, async () => {
    const folder = join(root, 'gaps.hs');
    await IndexFolder.build(folder, batches(), {
      ...{ ...OPTIONS, optimize: { ...OPTIMIZE, partitions: 300 }, memory: '900KB' },
    });
    const index = new SimHashIndex<string>(OPTIONS);
    index.addAll({ values, dimensions: DIMENSIONS }, ids);
    index.optimize({ ...OPTIMIZE, partitions: 300 });
    const gaps = partsOf(await openIndex(folder)).partitions?.gaps ?? [];
    const wanted = partsOf(index as unknown as SimHashIndex).partitions?.gaps ?? [];
    expect(wanted).toHaveLength(9); // after 1, 2, 4, ... 256 of 300
    gaps.forEach((gap, i) => {
      expect(gap).toBeCloseTo(wanted[i], 6);
    });
    expect(gaps).toHaveLength(wanted.length);
    const without = await openStored(new WithoutGaps(folder), { memory: '16MB' });
    const stored = await openIndex(folder, { memory: '16MB' });
    const read = await openIndex(folder);
    const wide = {
      k: 10,
      probes: 16,
      oversample: 10,
      method: 'partitions',
      explain: true,
    } as const;
    let [visited, all] = [0, 0];
    for (const query of queries) {
      const result = await stored.search(query, wide);
      expect(found(result)).toEqual(found(read.search(query, wide)));
      visited += result.explain?.probes ?? 0;
      all += (await without.search(query, wide)).explain?.probes ?? 0;
    }
    expect(all).toBe(16 * queries.length);
    expect(visited).toBeLessThan(all);
    expect(stored.figures.bytesRead).toBeLessThan(without.figures.bytesRead);
    await stored.close();
    await without.close();
  });

  it('without optimize keeps the order of rows', async () => {
    const folder = join(root, 'plain.hs');
    await IndexFolder.build(folder, batches(1000), { ...OPTIONS, memory: '100KB' });
    const read = await openIndex(folder);
    const index = new SimHashIndex<string>(OPTIONS);
    index.addAll({ values, dimensions: DIMENSIONS }, ids);
    for (const query of queries) {
      expect(found(read.search(query))).toEqual(found(index.search(query) as never));
    }
    expect((await IndexFolder.verify(folder)).problems).toEqual([]);
  });

  it('refuses an id that is there twice, and leaves nothing', async () => {
    const folder = join(root, 'twice.hs');
    const all = ids.map((id, row) => (row === 5000 ? idOf(12) : id));
    const building = IndexFolder.build(folder, batches(700, all), { ...OPTIONS, memory: '8MB' });
    await expect(building).rejects.toThrow(
      '"ids"[5000] expected an id that is not there yet, got "row 12 é"',
    );
    expect(readdirSync(folder)).toEqual([]);
  });

  it('refuses rows for which the disk has no room, before it reads them', async () => {
    const folder = join(root, 'full.hs');
    const unread = (function* () {
      yield* batches();
      throw new Error('it was read');
    })();
    const options = { ...OPTIONS, memory: '8MB', expectedRows: 1e13 };
    await expect(IndexFolder.build(folder, unread, options)).rejects.toThrow(
      /full\.hs: the disk has \d+ MiB free, building this index takes about \d+ MiB/,
    );
    expect(readdirSync(folder)).toEqual([]);
  });

  it('leaves an index that is there whole, unless it may replace it', async () => {
    const folder = join(root, 'there.hs');
    await IndexFolder.build(folder, batches(), { ...OPTIONS, memory: '8MB' });
    const building = IndexFolder.build(folder, batches(), { ...OPTIONS, memory: '8MB' });
    await expect(building).rejects.toThrow('holds an index, "replace: true" puts this one in');
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

  it('trains fewer centroids where the usual number does not fit its limit', {
    tags: 'thorough',
  }, async () => {
    const optimize = { ...OPTIMIZE, partitions: undefined };
    const partitionsOf = async (memory: string) => {
      const folder = join(root, `usual-${memory}.hs`);
      const { report } = await IndexFolder.build(folder, batches(), {
        ...{ ...OPTIONS, optimize, memory },
      });
      expect(report?.reached).toBe(true);
      return report?.partitions;
    };
    // 3.5 times the root of 6,000 is 271; 256 centroids need 64 bytes for each of 24 integers.
    expect(await partitionsOf('400KB')).toBe(256);
    expect(await partitionsOf('380KB')).toBe(128);
  });

  it('refuses a limit that the training of centroids does not fit', async () => {
    const folder = join(root, 'small.hs');
    const options = { ...OPTIONS, memory: '40KB', optimize: OPTIMIZE };
    await expect(IndexFolder.build(folder, batches(), options)).rejects.toThrow(
      '"memory" expected at least 49152 to train 32 centroids, got 40960',
    );
    expect(readdirSync(folder)).toEqual([]);
  });
});

/** The files of an index whose searches visit all partitions that they may. */
class WithoutGaps extends FolderFiles {
  override async manifest() {
    const found = await super.manifest(undefined);
    if (found === null) throw new Error('no manifest');
    const manifest = parseManifest(found.bytes, found.name, found.generation);
    const text = manifestText({ ...manifest, index: { ...manifest.index, gaps: [] } });
    return { ...found, bytes: Buffer.from(text) };
  }
}

describe('vectors of a piece', () => {
  it('are points, however many rows it has', () => {
    const vectors = new PieceVectors({ parts: partsOf(new SimHashIndex(OPTIONS)) });
    vectors.piece = pieceOf(1);
    const own = vectors.points(1);
    expect(Math.hypot(...own)).toBeGreaterThan(1000);
    vectors.piece = pieceOf(70_000);
    expect(vectors.points(70_000).subarray(-own.length)).toEqual(own);
  });
});

/** A piece of rows that are all the same. */
function pieceOf(count: number): SegmentRows {
  const row = Int8Array.from({ length: DIMENSIONS }, (_, i) => (i % 5) - 2);
  const held = new Int8Array(count * DIMENSIONS);
  for (let at = 0; at < held.length; at += DIMENSIONS) held.set(row, at);
  const empty = { ids: null, validity: null, sparse: null, residuals: null, residualScales: null };
  return {
    ...{ count, partition: 0, rows: new Uint32Array(count), codes: new Uint8Array(8 * count) },
    ...{ ...empty, vectors: held, scales: new Float32Array(count).fill(1), checks: null },
  };
}
