import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { coreOf } from '../../src/index/simhash-index';
import type { Space } from '../../src/index/space';
import {
  type Id,
  type IdList,
  IndexFolder,
  openIndex,
  RowBatch,
  SimHashIndex,
  type SimHashIndexOptions,
  saveIndex,
} from '../../src/node';
import { spaceToArrow } from '../../src/store/space-file';
import { Draws } from '../reference/random';
import { quickIf } from '../reference/tags';
import { temporaryFolder } from './collection';
import { clustered, DIMENSIONS, found } from './kinds';

/** Folders that are optimized where they are, next to the same rows in memory. */

const root = await temporaryFolder();
const COUNTS = [4200, 900, 500];
const COUNT = 5600;
const OPTIMIZE = { recall: 0.9, k: 5, queries: 60, partitions: 32 };
const DENSE = { bits: 64, dimensions: DIMENSIONS, zero: 'null' } as const;
const values = clustered(3, COUNT);
for (const row of [7, 4300]) values.fill(0, row * DIMENSIONS, (row + 1) * DIMENSIONS);
const matrixOf = (first: number, end: number) => {
  return {
    values: values.subarray(first * DIMENSIONS, end * DIMENSIONS),
    dimensions: DIMENSIONS,
  };
};
const queries = Array.from({ length: 12 }, (_, i) => {
  return values.slice(400 * i * DIMENSIONS, (400 * i + 1) * DIMENSIONS).map((v) => v + 0.01);
});

interface Kind {
  readonly name: string;
  readonly options: SimHashIndexOptions;
  /** Null where rows are the ids. */
  readonly idOf: ((row: number) => Id) | null;
  readonly hasColumns: boolean;
  /** Whether rows are in partitions before. */
  readonly isPartitioned: boolean;
}

const KINDS: readonly Kind[] = [
  {
    ...{ name: 'float32', options: { ...DENSE, vectors: 'float32' }, isPartitioned: true },
    ...{ idOf: (row) => `row ${row} é`, hasColumns: true },
  },
  {
    ...{ name: 'int8', options: { ...DENSE, bits: 72, vectors: 'int8' }, isPartitioned: false },
    ...{ idOf: null, hasColumns: false },
  },
];

const idsOf = ({ idOf }: Kind, first: number, end: number) =>
  idOf === null
    ? undefined
    : (Array.from({ length: end - first }, (_, i) => idOf(first + i)) as IdList);
const columnsOf = (first: number, end: number) =>
  RowBatch.of({ title: Array.from({ length: end - first }, (_, i) => `title ${first + i}`) });
type Removed = (row: number) => boolean;
const SOME: Removed = (row) => row % 9 === 4 || (row >= 2000 && row < 2300);
/** No first row of a code, which would change the order of codes in memory; and one of no code. */
const COPIES: Removed = (row) => row % 20 === 19 || row === 7;

/** Folders that were written, by their kind and the rows that are removed. */
const written = new Map<string, Promise<string>>();

/** A folder of its own, copied from one that is written once. */
async function writeFolder(kind: Kind, name: string, isRemoved = SOME): Promise<IndexFolder> {
  const key = `${isRemoved === SOME ? 'some' : 'copies'} ${kind.name}`;
  const made = written.get(key) ?? written.set(key, write(kind, key, isRemoved)).get(key);
  const folder = join(root, `${name} ${kind.name}.hs`);
  cpSync((await made) as string, folder, { recursive: true });
  return IndexFolder.open(folder);
}

/** Three segments, of which rows were removed; some have no code, others the code of others. */
async function write(kind: Kind, name: string, isRemoved: Removed): Promise<string> {
  const folder = join(root, `${name}.hs`);
  const columns = (first: number, end: number) =>
    kind.hasColumns ? { columns: columnsOf(first, end) } : {};
  const index = new SimHashIndex(kind.options);
  await index.addAll(matrixOf(0, COUNTS[0]), idsOf(kind, 0, COUNTS[0]));
  if (kind.isPartitioned) await index.optimize({ ...OPTIMIZE, partitions: 20, seed: 5 });
  await saveIndex(index, folder, { ...columns(0, COUNTS[0]), text: { tokens: 'words' } });
  const opened = await IndexFolder.open(folder);
  let first = COUNTS[0];
  for (const count of COUNTS.slice(1)) {
    const end = first + count;
    await opened.append(matrixOf(first, end), idsOf(kind, first, end), columns(first, end));
    first = end;
  }
  await opened.remove(removedOf(kind, isRemoved));
  return folder;
}

const removedOf = ({ idOf }: Kind, isRemoved = SOME) =>
  [...Array(COUNT).keys()].filter(isRemoved).map((row) => idOf?.(row) ?? row);

/** The rows that are left without copies in memory, never in a folder. */
async function inMemory(kind: Kind): Promise<SimHashIndex> {
  const index = new SimHashIndex(kind.options);
  await index.addAll(matrixOf(0, COUNT), idsOf(kind, 0, COUNT));
  for (const id of removedOf(kind, COPIES)) index.remove(id);
  return index;
}

/** All rows, or all within 64 bits, by exact cosine. */
const EXACT = { minCosine: -1, maxDistance: 64 };

/** What does not depend on partitions: exact answers, rows, columns. */
async function exactOf(folder: IndexFolder, { idOf }: Kind) {
  const index = await folder.index();
  const rows = Array.from({ length: COUNT }, (_, row) => index.get(idOf?.(row) ?? row) ?? null);
  const searches = queries.flatMap((query) => [
    found(index.search(query, { rank: 'hamming', k: 20 })),
    found(index.within(query, { ...EXACT, filter: (_, row) => row % 9 === 2 })),
    [...index.within(query, { maxDistance: 9 }).rows],
  ]);
  return { rows, searches, columns: (await folder.columns())?.values('title') ?? null };
}

describe.each(KINDS)('a folder of $name vectors', (kind) => {
  it(
    'has the rows it had, and answers as it does in memory',
    quickIf(kind.name === 'int8'),
    async () => {
      const folder = await writeFolder(kind, 'equal');
      const before = await exactOf(folder, kind);
      const seen: number[] = [];
      const report = await folder.optimize({
        ...{ ...OPTIMIZE, memory: '300KB' },
        onProgress: (done, total) => seen.push(done / total),
      });
      expect(folder.generation).toBe(5);
      expect(await exactOf(folder, kind)).toEqual(before);
      expect(before.rows.filter((row) => row === null).length).toBe(removedOf(kind).length);
      expect((await IndexFolder.verify(folder.path)).problems).toEqual([]);
      expect(seen.length).toBeGreaterThan(3);
      expect(seen).toEqual([...seen].sort((a, b) => a - b)); // progress never goes back
      expect(seen.at(-1)).toBe(1);

      const rows = COUNT - removedOf(kind).length;
      expect(report).toMatchObject({ method: 'partitions', rows, rowsAdded: 0, rowsRemoved: 0 });
      expect(report.recall).toBeGreaterThan(0.85);
      expect(folder.report).toEqual(report);
      const read = await folder.index();
      const stored = await openIndex(folder.path, { memory: '16MB' });
      for (const query of queries) {
        expect(found(await stored.search(query))).toEqual(found(read.search(query)));
      }
      await stored.close();
      const kinds = folder.files.map(({ kind: own }) => own).sort();
      const columns = kind.hasColumns ? ['columns'] : [];
      const hashes = (name: string) => (kind.idOf === null ? [] : [name]);
      expect(kinds).toEqual([
        ...['blocks', 'codes', ...columns, ...hashes('hashes'), 'rows', 'space', 'vectors'],
      ]);
      expect(folder.text).toEqual({ tokens: 'words' });
      expect(readdirSync(folder.path).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    },
  );

  it('has the partitions of the same rows in memory', { tags: 'thorough' }, async () => {
    const folder = await writeFolder(kind, 'centroids', COPIES);
    await folder.optimize({ ...OPTIMIZE, memory: '300KB' });
    const index = await inMemory(kind);
    await index.optimize(OPTIMIZE);
    const [own, other] = [await folder.index(), index].map((one) => coreOf(one).rows.space);
    expect(own?.count).toBe(32);
    const [here, there] = [own, other].map((one) => spaceToArrow(one as Space));
    expect(here).toEqual(there);
  });
});

describe('optimize of a folder', () => {
  const [kind] = KINDS;

  it('without memory does what an index in memory does', { tags: 'thorough' }, async () => {
    const folder = await writeFolder(kind, 'loaded');
    const index = await folder.index();
    const report = await folder.optimize(OPTIMIZE);
    const wanted = await index.optimize(OPTIMIZE);
    expect(report).toEqual(wanted);
    expect(folder.report).toEqual(report);
    expect((await folder.columns())?.count).toBe(folder.rowCount);
  });

  it('with memory takes queries of the caller, as an index in memory does', async () => {
    const folder = await writeFolder(kind, 'asked');
    const index = await folder.index();
    const asked = { ...OPTIMIZE, queries: matrixOf(5, 40) };
    const report = await folder.optimize({ ...asked, memory: '300KB' });
    expect(report).toMatchObject({ source: 'queries', queries: 17 }); // others are null
    expect(report).toEqual(await index.optimize(asked));
  });

  it('loads a folder of too few distinct codes for partitions', async () => {
    const folder = join(root, 'few.hs');
    const index = new SimHashIndex({ ...DENSE, vectors: 'int8' });
    await index.addAll(matrixOf(0, 200));
    await saveIndex(index, folder);
    const report = await (await IndexFolder.open(folder)).optimize({ k: 3, memory: '1MB' });
    expect(report).toMatchObject({ method: 'scan', k: 3 });
  });

  it('places rows again that lie in two partitions, some at a time', async () => {
    const folder = join(root, 'again.hs');
    const index = new SimHashIndex(kind.options);
    await index.addAll(matrixOf(0, COUNTS[0]));
    await index.optimize({ ...OPTIMIZE, copies: true });
    await saveIndex(index, folder);
    const opened = await IndexFolder.open(folder);
    await opened.optimize({ ...OPTIMIZE, partitions: 24, memory: '300KB' });
    expect((await IndexFolder.verify(folder)).problems).toEqual([]);
    const again = await opened.index();
    for (const query of queries) {
      expect(found(again.within(query, EXACT))).toEqual(found(index.within(query, EXACT)));
    }
  });

  it('refuses what it cannot do in files, and changes nothing', { tags: 'thorough' }, async () => {
    const folder = await writeFolder(kind, 'refused');
    const names = readdirSync(folder.path).sort();
    const refused: [object, string][] = [
      [{ memory: '1MB', queries: [] }, '"queries" expected at least two that are not null'],
      [{ memory: '1MB', memries: 1 }, '"memries"'],
      [{ memory: 'much' }, '"memory" expected'],
      [{ memory: '30KB', partitions: 32 }, '"memory" is too small'],
    ];
    for (const [options, words] of refused) {
      await expect(folder.optimize(options)).rejects.toThrow(words);
    }
    expect(readdirSync(folder.path).sort()).toEqual(names);
    expect(folder.generation).toBe(4);
    const codes = join(root, 'codes.hs');
    const index = new SimHashIndex({ ...DENSE });
    await index.addAll(matrixOf(0, 50));
    await saveIndex(index, codes);
    await expect((await IndexFolder.open(codes)).optimize({ memory: '1MB' })).rejects.toThrow(
      `"vectors" expected 'float32' or 'int8' to optimize rows in files, got "none"`,
    );
  });

  it('leaves the folder as it was where it is stopped', async () => {
    const folder = await writeFolder(kind, 'stopped');
    const names = readdirSync(folder.path).sort();
    for (const stopAt of [1, 3, 8]) {
      const stopping = new AbortController();
      let calls = 0;
      const onProgress = () => {
        if (++calls === stopAt) stopping.abort();
      };
      const { signal } = stopping;
      const stopped = folder.optimize({ ...OPTIMIZE, memory: '300KB', signal, onProgress });
      await expect(stopped).rejects.toThrow(/abort/);
      expect(readdirSync(folder.path).sort()).toEqual(names);
    }
  });

  // In memory it did not, and what had taken minutes was lost.
  for (const memory of [{ memory: '300KB' }, {}]) {
    const title = `begins again where another writer is first, ${JSON.stringify(memory)}`;
    it(title, quickIf(!('memory' in memory)), async () => {
      const folder = await writeFolder(kind, `raced ${JSON.stringify(memory)}`);
      const other = await IndexFolder.open(folder.path);
      let isFirst = true;
      let removing: Promise<number> | null = null;
      await folder.optimize({
        ...{ ...OPTIMIZE, ...memory },
        onProgress: () => {
          if (isFirst) removing = other.remove([kind.idOf?.(1) as Id]);
          isFirst = false;
        },
      });
      expect(await removing).toBe(1);
      expect(folder.generation).toBe(6);
      const index = await folder.index();
      expect(index.has(kind.idOf?.(1) as Id)).toBe(false);
      expect(index.report?.rowsRemoved).toBe(0);
    });
  }
});

// Rows in files had no codes to train a space of codes with: "offset is out of bounds".
it('vectors that are too wide for residual codes are optimized in files as in memory', async () => {
  const options = { bits: 64, dimensions: 4100, vectors: 'int8' } as const;
  const wide = { values: new Draws(41).gaussians(200 * 4100), dimensions: 4100 };
  const wanted = { ...OPTIMIZE, partitions: 4, queries: 20 };
  const index = new SimHashIndex(options);
  await index.addAll(wide);
  const folder = join(root, 'wide.hs');
  await saveIndex(index, folder);
  const report = await (await IndexFolder.open(folder)).optimize({ ...wanted, memory: '8MB' });
  const expected = await index.optimize(wanted);
  expect(report).toEqual(expected);
});
