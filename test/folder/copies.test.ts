import { cpSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { partsOf } from '../../src/index/simhash-index';
import { IndexFolder, openIndex, SimHashIndex, saveIndex } from '../../src/node';
import { manifestText, parseManifest } from '../../src/stored/manifest';
import { fileOf } from '../stored/files';
import { clustered, DIMENSIONS, found } from '../stored/places';
import { temporaryFolder } from './collection';

/** Folders whose rows are in two partitions each: built, changed, merged, verified and damaged. */

const root = await temporaryFolder();
const COUNT = 6000;
const OPTIONS = { bits: 64, dimensions: DIMENSIONS, vectors: 'int8', zero: 'null' } as const;
const OPTIMIZE = { recall: 0.9, k: 5, queries: 60, partitions: 32, copies: true };
const values = clustered(3, COUNT);
values.fill(0, 7 * DIMENSIONS, 8 * DIMENSIONS);
const ids = Array.from({ length: COUNT }, (_, row) => `row ${row} é`);

function batch(first: number, end: number, all = values) {
  const own = all.subarray(first * DIMENSIONS, end * DIMENSIONS);
  return { vectors: { values: own, dimensions: DIMENSIONS }, ids: ids.slice(first, end) };
}

function* batches(first = 0, last = COUNT) {
  for (let at = first; at < last; at += 700) yield batch(at, Math.min(last, at + 700));
}

const queries = Array.from({ length: 15 }, (_, i) => {
  return values.slice(390 * i * DIMENSIONS, (390 * i + 1) * DIMENSIONS).map((v) => v + 0.01);
});

const SEARCHES = [
  {},
  { method: 'partitions', probes: 2, oversample: 1 },
  { method: 'partitions', probes: 32, oversample: 200, k: 40 },
  { rank: 'estimate', method: 'partitions', probes: 3 },
] as const;

/** The folder answers alike wherever it is searched, and is sound. */
async function expectSound(folder: string): Promise<SimHashIndex> {
  const memory = await openIndex(folder);
  expect(partsOf(memory).partitions?.hasCopies).toBe(true);
  for (const limit of ['16MB', '120KB']) {
    const stored = await openIndex(folder, { memory: limit });
    for (const query of queries) {
      for (const options of SEARCHES) {
        const wanted = found(memory.search(query, options));
        expect(found(await stored.search(query, options))).toEqual(wanted);
      }
    }
    await stored.close();
  }
  const everywhere = { ...SEARCHES[2] };
  for (const query of queries) {
    const scan = found(memory.search(query, { k: 40, method: 'scan', oversample: 200 }));
    expect(found(memory.search(query, everywhere))).toEqual(scan);
  }
  expect((await IndexFolder.verify(folder)).problems).toEqual([]);
  return memory;
}

async function built(name: string, more: object = {}, rows = batches()): Promise<string> {
  const folder = join(root, `${name}.hs`);
  await IndexFolder.build(folder, rows, {
    ...{ ...OPTIONS, optimize: OPTIMIZE, memory: '300KB' },
    ...more,
  });
  return folder;
}

const kinds = (folder: string) =>
  new Set(readdirSync(folder).map((name) => name.replace(/-.*/, '')));

describe('a folder with rows in second partitions', () => {
  it('is built with the partitions, copies and report of an index in memory', async () => {
    const own = { ...OPTIONS, vectors: 'float32' } as const;
    const optimize = { ...OPTIMIZE, queries: 120, k: 3 };
    const folder = await built('equal', { ...own, optimize });
    const index = new SimHashIndex<string>(own);
    index.addAll({ values, dimensions: DIMENSIONS }, ids);
    const wanted = index.optimize(optimize);
    const read = await expectSound(folder);
    const [a, b] = [read, index as unknown as SimHashIndex].map(partsOf);
    const { count } = a.distinctCodes;
    expect(a.partitions?.starts).toEqual(b.partitions?.starts);
    expect(a.partitions?.secondOfEach(count)).toEqual(b.partitions?.secondOfEach(count));
    expect({ ...read.report, queriesPerSecond: 0 }).toEqual({ ...wanted, queriesPerSecond: 0 });
    expect(kinds(folder)).toContain('copies');
  });

  it('takes rows whose codes are there already to both partitions of the first', {
    tags: 'thorough',
  }, async () => {
    const folder = await built('append', {}, batches(0, 4000));
    const opened = await IndexFolder.open(folder);
    const again = values.slice(0, 500 * DIMENSIONS);
    await opened.append({ values: again, dimensions: DIMENSIONS }, ids.slice(4000, 4500));
    await expectSound(folder);
    await opened.append(batch(4500, COUNT).vectors, ids.slice(4500));
    await opened.remove(ids.filter((_, row) => row % 4 === 1));
    const before = await expectSound(folder);
    await opened.compact();
    const after = await expectSound(folder);
    for (const query of queries) {
      const options = { k: 12, method: 'scan' } as const;
      expect(found(after.search(query, options))).toEqual(found(before.search(query, options)));
    }
  });

  it('is saved from memory, also with what came and went since it was opened', {
    tags: 'thorough',
  }, async () => {
    const index = new SimHashIndex<string>(OPTIONS);
    index.addAll(batch(0, 5000).vectors, ids.slice(0, 5000));
    index.optimize(OPTIMIZE);
    const folder = join(root, 'saved.hs');
    await saveIndex(index as unknown as SimHashIndex, folder);
    const read = await expectSound(folder);
    read.addAll(batch(5000, COUNT).vectors, ids.slice(5000) as never);
    for (let row = 0; row < 3000; row += 2) read.remove(ids[row]);
    await saveIndex(read, folder);
    const again = await expectSound(folder);
    for (const query of queries) {
      expect(found(again.search(query))).toEqual(found(read.search(query)));
    }
  });

  it('has copies with ids of the type of all, though only a row without a code needs it', {
    tags: 'thorough',
  }, async () => {
    const index = new SimHashIndex<number>(OPTIONS);
    const own = Array.from({ length: COUNT }, (_, row) => (row === 7 ? 2 ** 40 : row));
    index.addAll({ values, dimensions: DIMENSIONS }, own);
    index.optimize(OPTIMIZE);
    const folder = join(root, 'wide-ids.hs');
    await saveIndex(index as unknown as SimHashIndex, folder);
    const read = await expectSound(folder);
    expect(read.idOf(7)).toBe(2 ** 40);
  });

  it('takes the partitions of the folder that it is like, and refuses others', async () => {
    const like = await built('like', {}, batches(0, 5000));
    const building = IndexFolder.build(join(root, 'unlike.hs'), batches(), {
      ...{ like, memory: '1MB', optimize: { copies: false } },
    });
    await expect(building).rejects.toThrow(`"copies" expected nothing: rows go where those of`);
  });

  it('gets them by optimize where it is, and loses them by it', { tags: 'thorough' }, async () => {
    const folder = await built('optimized', { optimize: { ...OPTIMIZE, copies: false } });
    expect(kinds(folder)).not.toContain('copies');
    const opened = await IndexFolder.open(folder);
    await opened.optimize({ ...OPTIMIZE, memory: '300KB' });
    await expectSound(folder);
    await opened.optimize({ ...OPTIMIZE, copies: false, memory: '300KB' });
    expect(partsOf(await openIndex(folder)).partitions?.hasCopies).toBe(false);
    expect((await IndexFolder.verify(folder)).problems).toEqual([]);
  });

  it('is merged from folders that are like one', { tags: 'thorough' }, async () => {
    const model = await built('model', {}, batches(0, 5000));
    const codes = new SimHashIndex(OPTIONS);
    codes.addAll({ values, dimensions: DIMENSIONS });
    // Rows of one code must be in one of the folders.
    const isFirst = (row: number) => {
      const { code } = codes.get(row) ?? {};
      return code != null && code[0] % 2 === 0;
    };
    const parts: string[] = [];
    let firstRow = 0;
    for (const half of [true, false]) {
      const rows = ids.map((_, row) => row).filter((row) => isFirst(row) === half);
      const folder = join(root, `part-${half}.hs`);
      const vectors = Float32Array.from(
        rows.flatMap((row) => [...values.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS)]),
      );
      const given = {
        vectors: { values: vectors, dimensions: DIMENSIONS },
        ids: rows.map((row) => ids[row]),
      };
      await IndexFolder.build(folder, [given], { like: model, firstRow, memory: '1MB' });
      parts.push(folder);
      firstRow += rows.length;
    }
    const merged = join(root, 'merged.hs');
    await IndexFolder.merge(merged, parts, { optimize: { k: 5, recall: 0.9 }, memory: '1MB' });
    await expectSound(merged);
  });
});

describe('damage in the files of copies', () => {
  it('is found by verify, and named where a search reads it', { tags: 'thorough' }, async () => {
    const sound = await built('sound');
    let number = 0;
    for (const kind of ['copies', 'places'] as const) {
      const size = readFileSync(fileOf(sound, kind)).length;
      for (const at of [0, 100, size >> 2, size >> 1, size - 400, size - 9]) {
        const folder = join(root, `damaged-${number++}.hs`);
        cpSync(sound, folder, { recursive: true });
        const path = fileOf(folder, kind);
        const bytes = readFileSync(path);
        bytes[at] ^= 4;
        writeFileSync(path, bytes);
        const { problems } = await IndexFolder.verify(folder);
        expect(problems.map(({ file }) => join(folder, file))).toContain(path);
        await expect(openIndex(folder)).rejects.toThrow(path);
      }
      const cut = join(root, `cut-${kind}.hs`);
      cpSync(sound, cut, { recursive: true });
      truncateSync(fileOf(cut, kind), size >> 1);
      await expect(openIndex(cut)).rejects.toThrow(fileOf(cut, kind));
    }
    const folder = join(root, 'read.hs');
    cpSync(sound, folder, { recursive: true });
    const stored = await openIndex(folder, { memory: '16MB' });
    const path = fileOf(folder, 'copies');
    const bytes = readFileSync(path);
    bytes.fill(7, 2000, bytes.length - 2000);
    writeFileSync(path, bytes);
    await expect(stored.search(queries[0])).rejects.toThrow(
      /copies-.*damaged: block \d+ fails its checksum/,
    );
    await stored.close();
  });

  it('is found by verify where checksums hold: copies of other rows', {
    tags: 'thorough',
  }, async () => {
    const [one, two] = [await built('one'), await built('two', {}, batches(0, 5000))];
    const [own, other] = [one, two].map((folder) => {
      return parseManifest(readFileSync(join(folder, 'manifest-000001.json')), folder, 1);
    });
    // The files of another folder, which are sound in themselves, named by a sound manifest.
    const files = own.files.map((file) => {
      if (file.kind !== 'copies' && file.kind !== 'places') return file;
      const taken = other.files.find(({ kind }) => kind === file.kind) ?? file;
      cpSync(join(two, taken.name), join(one, taken.name));
      return taken;
    });
    const { checksum: _, ...rest } = own;
    for (const name of ['manifest-000001.json', 'manifest.json']) {
      writeFileSync(join(one, name), manifestText({ ...rest, files }));
    }
    const messages = (await IndexFolder.verify(one)).problems.map(({ message }) => message);
    expect(messages).toEqual([
      expect.stringMatching(/copies-.*: damaged: its copies are not those of the rows$/),
    ]);
  });
});
