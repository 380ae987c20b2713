import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  Codes,
  FormatError,
  type FrequencyTable,
  frequenciesToArrow,
  indexToArrow,
  SimHashIndex,
  TextHasher,
} from '../../src/index';
import { coreOf } from '../../src/index/simhash-index';
import { newestManifest } from '../../src/store/generations';
import { IndexFolder, openIndex, saveIndex } from '../../src/store/index-folder';
import type { Manifest } from '../../src/store/manifest';
import { RowBatch } from '../../src/table/row-batch';
import { Draws } from '../reference/random';
import { quickIf } from '../reference/tags';
import {
  codesFor,
  expectModel,
  type Model,
  modelOf,
  partitioned,
  temporaryFolder,
} from './collection';

const root = await temporaryFolder();
let made = 0;
const newFolder = () => join(root, `index ${made++}.hs`);
const filesIn = async (folder: string, kind: string) =>
  (await IndexFolder.open(folder)).files.filter((file) => file.kind === kind);

/** How many rows each segment has, and how many of all were removed. */
async function countsIn(folder: string) {
  const { segments, rows } = (await newestManifest(folder)) as Manifest;
  const counts = segments.map(({ count }) => count);
  return { counts, removed: counts.reduce((sum, count) => sum + count, 0) - rows };
}

const DIMENSIONS = 12;
function vectorsFor(count: number, seed: number) {
  return { values: new Draws(seed).gaussians(count * DIMENSIONS), dimensions: DIMENSIONS };
}

const kinds = {
  'row numbers': undefined,
  strings: (row: number) => `word ${row} ü`,
  numbers: (row: number) => 3 * row - 100,
  'large numbers': (row: number) => 2 ** 40 + row,
  'big integers': (row: number) => 2n ** 62n + BigInt(row),
};

/** Ids of every kind next to one kind of vectors, of two kinds next to the others. */
const kindsNextTo = (keep: string) =>
  Object.entries(kinds).slice(0, keep === 'float32' ? undefined : 2);

describe.each(['none', 'float32', 'int8'] as const)('keep %s', (keep) => {
  it.each(kindsNextTo(keep))('is the same when it is opened, ids being %s', async (_, idOf) => {
    const folder = newFolder();
    const vectors = vectorsFor(700, 3);
    const ids = idOf && Array.from({ length: 700 }, (_, row) => idOf(row));
    const index = new SimHashIndex({ bits: 60, dimensions: DIMENSIONS, vectors: keep, seed: 9n });
    await index.addAll(vectors, ids as string[]);
    for (let row = 0; row < 700; row += 5) index.remove(idOf ? idOf(row) : row);
    await saveIndex(index, folder);
    const back = await openIndex(folder);
    expect(indexToArrow(back)).toEqual(indexToArrow(index));
    for (const one of [index, back]) {
      await one.addAll(
        vectorsFor(50, 4),
        idOf && (Array.from({ length: 50 }, (_, i) => idOf(700 + i)) as string[]),
      );
      one.remove(idOf ? idOf(701) : 701);
      one.remove(idOf ? idOf(6) : 6);
    }
    await saveIndex(back, folder);
    expect(indexToArrow(await openIndex(folder))).toEqual(indexToArrow(index));
    expect(await filesIn(folder, 'rows')).toHaveLength(2);
    expect((await IndexFolder.verify(folder)).problems).toEqual([]);
  });
});

for (const seed of [1, 2]) {
  const options = { ...quickIf(seed === 1), timeout: 240_000 };
  it(
    `is what a plain model says after any appends, removals, compactions and saves: ${seed}`,
    options,
    async () => {
      const draws = new Draws(seed);
      const folder = newFolder();
      let index = new SimHashIndex({ bits: 9, zero: 'null' });
      const model: Model = new Map();
      for (let generation = 1; generation <= 19; generation++) {
        const count = draws.integer(30);
        const ids = Array.from({ length: count }, (_, i) => `${generation}/${i}`);
        const bytes = Uint8Array.from({ length: 2 * count }, (_, i) =>
          draws.integer(i % 2 ? 2 : 8),
        );
        const validity = Uint8Array.from({ length: 4 }, () => 128 | draws.integer(256));
        const codes = Codes.from(bytes, { bits: 9, validity });
        await index.addAll(codes, ids);
        ids.forEach((id, i) => {
          model.set(id, codes.isNull(i) ? null : codes.at(i));
        });
        const gone = [...model.keys()].filter(() => draws.integer(draws.integer(4) + 2) === 1);
        for (const id of gone) expect(index.remove(id) && model.delete(id)).toBe(true);
        await saveIndex(index, folder);
        if (generation % 9 === 0) await (await IndexFolder.open(folder)).compact();
        if (generation % 9 === 0 || draws.integer(3) > 0) index = await openIndex(folder);
        expectModel(await openIndex(folder), model);
        expectModel(index, model);
        expect(await IndexFolder.verify(folder)).toMatchObject({ rows: model.size, problems: [] });
        expect((await filesIn(folder, 'rows')).length).toBeLessThan(8);
      }
    },
  );
}

it('refuses ids beyond signed integers of 64 bits, in memory and in folders', async () => {
  const folder = newFolder();
  const index = new SimHashIndex({ bits: 40 });
  await index.addAll(codesFor(2, 1), [-(2n ** 63n), 2n ** 63n - 1n]);
  await saveIndex(index, folder);
  for (const wrong of [[2n ** 63n], [-(2n ** 63n) - 1n], BigUint64Array.of(2n ** 63n)]) {
    await expect(index.addAll(codesFor(1, 2), wrong)).rejects.toThrow('from -2^63 to 2^63 - 1');
    const appending = (await IndexFolder.open(folder)).append(codesFor(1, 2), wrong);
    await expect(appending).rejects.toThrow('from -2^63 to 2^63 - 1');
  }
  const opened = await openIndex(folder);
  expect(opened.search(codesFor(2, 1).at(1)).ids[0]).toBe(2n ** 63n - 1n);
  expect(opened.get(2n ** 64n + 2n ** 63n - 1n)).toBeUndefined();
});

it('writes only what changed', async () => {
  const folder = newFolder();
  const index = new SimHashIndex({ bits: 40 });
  await index.addAll(codesFor(1000, 1));
  await saveIndex(index, folder);
  const [first] = await filesIn(folder, 'rows');
  await index.addAll(codesFor(10, 2));
  index.remove(17);
  await saveIndex(index, folder);
  const files = await filesIn(folder, 'rows');
  expect(await countsIn(folder)).toEqual({ counts: [1000, 10], removed: 1 });
  expect(files[0]).toEqual(first);
  // Ten more take the ten before along; so files stay few.
  await index.addAll(codesFor(10, 3));
  await saveIndex(index, folder);
  expect((await countsIn(folder)).counts).toEqual([1000, 20]);
  for (let row = 100; row < 200; row++) index.remove(row);
  await saveIndex(index, folder);
  expect((await countsIn(folder)).removed).toBe(101);
  await (await IndexFolder.open(folder)).compact();
  expect((await countsIn(folder)).counts).toEqual([919]);
  expect(await filesIn(folder, 'removed')).toEqual([]);
  expect(indexToArrow(await openIndex(folder))).toEqual(indexToArrow(index));
});

it('compaction reports the rows of the new files, and changes nothing where it is stopped', async () => {
  const folder = newFolder();
  const index = new SimHashIndex({ bits: 40 });
  await index.addAll(codesFor(3000, 1));
  await saveIndex(index, folder);
  const opened = await IndexFolder.open(folder);
  for (const from of [2, 3]) await opened.append(codesFor(1000, from));
  await opened.remove([7, 3005]);
  const before = readdirSync(folder).sort();
  const files = (await IndexFolder.open(folder)).files;
  const stopping = new AbortController();
  const onProgress = () => stopping.abort(new Error('enough'));
  const stopped = opened.compact({ signal: stopping.signal, onProgress });
  await expect(stopped).rejects.toThrow('enough');
  expect(readdirSync(folder).sort()).toEqual(before);
  expect((await IndexFolder.open(folder)).files).toEqual(files);
  const seen: [number, number][] = [];
  await opened.compact({ onProgress: (done, total) => seen.push([done, total]) });
  expect(seen.at(-1)).toEqual([4998, 4998]);
  seen.forEach(([done, total], i) => {
    expect(total).toBe(4998);
    expect(done).toBeGreaterThanOrEqual(seen[i - 1]?.[0] ?? 0);
  });
  expect((await countsIn(folder)).counts).toEqual([4998]);
});

it('keeps partitions and the report; optimize makes all rows new', async () => {
  const folder = newFolder();
  const vectors = vectorsFor(1500, 4);
  const index = new SimHashIndex({
    ...{ bits: 128, dimensions: DIMENSIONS, projection: 'hadamard', vectors: 'float32' },
  });
  await index.addAll(vectors);
  await saveIndex(index, folder);
  await partitioned(index, { recall: 0.9, k: 5, queries: 50, partitions: 24 });
  await saveIndex(index, folder);
  expect(index.report?.partitions).toBe(24);
  const back = await openIndex(folder);
  for (const one of [index, back]) {
    await one.addAll(vectorsFor(100, 5));
    for (let row = 0; row < 1600; row += 11) one.remove(row);
  }
  const [space] = await filesIn(folder, 'space');
  await saveIndex(back, folder);
  expect(await filesIn(folder, 'space')).toEqual([space]);
  expect(await filesIn(folder, 'rows')).toHaveLength(2);
  const again = await openIndex(folder);
  expect(again.report).toEqual(index.report);
  expect((await IndexFolder.open(folder)).report).toEqual(index.report);
  for (let row = 0; row < 1500; row += 117) {
    const query = vectors.values.slice(row * DIMENSIONS, (row + 1) * DIMENSIONS);
    for (const options of [{ k: 5 }, { k: 5, probes: 3 }]) {
      expect(again.search(query, options)).toEqual(index.search(query, options));
    }
  }
});

describe('columns next to the rows', () => {
  const columnsFor = (ids: readonly number[]) =>
    RowBatch.of({
      title: ids.map((id) => (id % 7 === 0 ? null : `title ${id}`)),
      size: Float64Array.from(ids, (id) => id / 4),
    });
  const titles = (ids: readonly number[]) => columnsFor(ids).values('title');

  it('stay with their rows through appends, removals and compaction', async () => {
    const folder = newFolder();
    const ids = Array.from({ length: 500 }, (_, i) => 1000 + i);
    const index = new SimHashIndex({ bits: 40 });
    await index.addAll(codesFor(500, 1), ids);
    await saveIndex(index, folder, { columns: columnsFor(ids) });
    let expected = ids;
    const check = async () => {
      const opened = await IndexFolder.open(folder);
      const batch = (await opened.columns()) as RowBatch;
      expect(batch.values('title')).toEqual(titles(expected));
      expect(batch.values('size')).toEqual(expected.map((id) => id / 4));
      const one = (await opened.columns(['size'])) as RowBatch;
      expect(one.columns.map(({ name }) => name)).toEqual(['size']);
      expect(opened.columnInfo.map(({ name }) => name)).toEqual(['title', 'size']);
      expect((await IndexFolder.verify(folder)).problems).toEqual([]);
    };
    await check();
    await (await IndexFolder.open(folder)).remove([1003, 1400, 5]);
    expected = expected.filter((id) => id !== 1003 && id !== 1400);
    await check();
    for (const from of [2000, 3000, 4000]) {
      const more = Array.from({ length: 20 }, (_, i) => from + i);
      const first = await (await IndexFolder.open(folder)).append(codesFor(20, from), more, {
        columns: columnsFor(more),
      });
      expect(first).toBe(500 + (from / 1000 - 2) * 20);
      expected = [...expected, ...more];
      await check();
    }
    await (await IndexFolder.open(folder)).remove([2001, 2002, 4019]);
    expected = expected.filter((id) => ![2001, 2002, 4019].includes(id));
    await check();
    await (await IndexFolder.open(folder)).compact();
    await check();
  });

  it('must be given for new rows, and be the same columns', async () => {
    const folder = newFolder();
    const index = new SimHashIndex({ bits: 40 });
    await index.addAll(codesFor(3, 1), [1, 2, 3]);
    await expect(saveIndex(index, folder, { columns: columnsFor([1]) })).rejects.toThrow(
      '"columns" expected 3 rows, as the index has, got 1',
    );
    await saveIndex(index, folder, { columns: columnsFor([1, 2, 3]) });
    await expect((await IndexFolder.open(folder)).append(codesFor(1, 2), [4])).rejects.toThrow(
      /"columns"/,
    );
    const other = RowBatch.of({ title: ['x'] });
    await expect(
      (await IndexFolder.open(folder)).append(codesFor(1, 2), [4], { columns: other }),
    ).rejects.toThrow(
      /the carried columns are title: Utf8, size: Float64; those given are title: Utf8/,
    );
    expect((await IndexFolder.open(folder)).generation).toBe(1);
    expect(readdirSync(folder)).toHaveLength(5);
  });
});

it('carries how texts became vectors', async () => {
  const folder = newFolder();
  const texts = ['one two', 'two three', 'three four five'];
  const frequencies = new TextHasher().fit(texts);
  const hasher = new TextHasher({ frequencies });
  const index = new SimHashIndex({ bits: 64 });
  await index.addAll(texts.map((text) => hasher.vectorize(text)));
  const text = { tokens: 'words', counting: 'raw' };
  await saveIndex(index, folder, { text, frequencies });
  await (await IndexFolder.open(folder)).remove([1]);
  const opened = await IndexFolder.open(folder);
  expect(opened.text).toEqual(text);
  const table = (await opened.frequencies()) as FrequencyTable;
  expect(frequenciesToArrow(table)).toEqual(frequenciesToArrow(frequencies));
  expect([opened.generation, opened.rowCount, opened.options.bits]).toEqual([2, 2, 64]);
});

it('does not lose what the folder carried when it is saved to another one', async () => {
  const [folder, other] = [newFolder(), newFolder()];
  const index = new SimHashIndex({ bits: 40 });
  await index.addAll(codesFor(2, 1));
  const given = { columns: RowBatch.of({ size: [1, 2] }), text: { tokens: 'words' } };
  await saveIndex(index, folder, given);
  const opened = await openIndex(folder);
  await expect(saveIndex(opened, other)).rejects.toThrow('opened with "columns"');
  const { columns } = given;
  await expect(saveIndex(opened, other, { columns })).rejects.toThrow('opened with "text"');
  await saveIndex(opened, other, given);
  expect((await (await IndexFolder.open(other)).columns())?.values('size')).toEqual([1, 2]);
  opened.remove(1);
  await saveIndex(opened, other);
  expect((await (await IndexFolder.open(other)).columns())?.values('size')).toEqual([1]);
});

describe('a writer', () => {
  it('with stale knowledge is refused, with both generations', async () => {
    const folder = newFolder();
    const index = new SimHashIndex({ bits: 40 });
    await index.addAll(codesFor(20, 1));
    await saveIndex(index, folder);
    const other = await openIndex(folder);
    other.remove(3);
    await saveIndex(other, folder);
    index.remove(4);
    await expect(saveIndex(index, folder)).rejects.toThrow(
      `${folder} is at generation 2, this index is of generation 1: open it again`,
    );
    expect((await openIndex(folder)).has(4)).toBe(true);
    await saveIndex(index, folder, { replace: true });
    expect(indexToArrow(await openIndex(folder))).toEqual(indexToArrow(index));
  });

  it('must say so to put an index in the place of another', async () => {
    const folder = newFolder();
    const index = new SimHashIndex({ bits: 40 });
    await index.addAll(codesFor(20, 1));
    await saveIndex(index, folder);
    const other = new SimHashIndex({ bits: 8 });
    await expect(saveIndex(other, folder)).rejects.toThrow(/holds an index, "replace: true"/);
    await saveIndex(other, folder, { replace: true });
    expect((await openIndex(folder)).bits).toBe(8);
  });

  it('leaves alone what is not its own, and clears what killed writers left', async () => {
    const folder = newFolder();
    const index = new SimHashIndex({ bits: 40 });
    await index.addAll(codesFor(20, 1));
    await saveIndex(index, folder);
    const notes = ['notes.txt', 'rows.arrow', 'rows-000001-0.arrow', 'manifest-1.json'];
    const left = ['rows-000001-7-00112233aabb.arrow', 'manifest-000002-1-00112233aabb.tmp'];
    const later = 'rows-000009-0-00112233aabb.arrow'; // of a writer that may be at work
    for (const name of [...notes, ...left, later]) writeFileSync(join(folder, name), 'x');
    index.remove(1);
    await saveIndex(index, folder);
    const names = readdirSync(folder);
    for (const name of [...notes, later]) expect(names).toContain(name);
    for (const name of left) expect(names).not.toContain(name);
    await expect(saveIndex(index, join(folder, 'notes.txt'))).rejects.toThrow(/is a file/);
    const foreign = join(root, 'foreign');
    const { mkdirSync } = await import('node:fs');
    mkdirSync(foreign);
    writeFileSync(join(foreign, 'thesis.txt'), 'x');
    await expect(saveIndex(index, foreign)).rejects.toThrow(/holds other files and no index/);
    expect(readdirSync(foreign)).toEqual(['thesis.txt']);
  });

  it('is told when the index changes under its hands', async () => {
    const folder = newFolder();
    const index = new SimHashIndex({ bits: 40 });
    await index.addAll(codesFor(2000, 1));
    const saving = saveIndex(index, folder, { onProgress: () => index.remove(1) });
    await expect(saving).rejects.toThrow(/changed while it was saved/);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is told when the index is optimized under its hands', async () => {
    const folder = newFolder();
    const index = new SimHashIndex({ bits: 64, dimensions: DIMENSIONS, vectors: 'float32' });
    await index.addAll(vectorsFor(800, 1));
    const core = coreOf(index);
    const { rows } = core;
    await index.optimize({ partitions: 4, queries: 20 });
    const optimized = core.rows;
    core.rows = rows;
    const onProgress = () => {
      core.rows = optimized; // the last step of `optimize`
    };
    await expect(saveIndex(index, folder, { onProgress })).rejects.toThrow(/changed while it was/);
    await saveIndex(index, folder);
    expect((await openIndex(folder)).count).toBe(800);
  });
});

describe('a reader', () => {
  it('goes on with its generation through the next, and is told when it is gone', async () => {
    const folder = newFolder();
    const index = new SimHashIndex({ bits: 40 });
    const ids = Array.from({ length: 20 }, (_, i) => i + 100);
    await index.addAll(codesFor(20, 1), ids);
    const model = modelOf(index, ids);
    await saveIndex(index, folder);
    const reader = await IndexFolder.open(folder);
    for (let id = 100; id < 112; id++) index.remove(id);
    await saveIndex(index, folder);
    expectModel(await reader.index(), model);
    await index.addAll(
      codesFor(50, 2),
      ids.map((id) => id + 500).concat(Array.from({ length: 30 }, (_, i) => i)),
    );
    await saveIndex(index, folder);
    expectModel(await reader.index(), model); // as long as its files are there
    for (let i = 0; i < 2; i++) await (await IndexFolder.open(folder)).compact();
    await expect(reader.index()).rejects.toThrow(
      /generation 5 was saved since: open the index again/,
    );
    expect(indexToArrow(await openIndex(folder))).toEqual(indexToArrow(index));
  });

  it('is told what is no index', async () => {
    await expect(openIndex(join(root, 'nothing'))).rejects.toThrow(/there is no folder/);
    await expect(openIndex(root)).rejects.toThrow(/no manifest/);
    const file = join(root, 'file');
    writeFileSync(file, 'x');
    await expect(openIndex(file)).rejects.toThrow(FormatError);
    await expect(IndexFolder.verify(join(root, 'nothing'))).rejects.toThrow(/ENOENT/);
  });

  it('refuses the folders of another version, and says to build them again', async () => {
    const folder = newFolder();
    await saveIndex(new SimHashIndex({ bits: 8 }), folder);
    const path = join(folder, 'manifest-000001.json');
    const text = readFileSync(path, 'utf8').replace('"version": 12', '"version": 5');
    writeFileSync(path, text);
    await expect(openIndex(folder)).rejects.toThrow(
      /manifest-000001.json: .*it is of format version 5, this release reads version 12 only: build the index again/,
    );
  });
});

it('checks its arguments', async () => {
  const index = new SimHashIndex({ bits: 8 });
  const folder = newFolder();
  await expect(saveIndex({} as never, folder)).rejects.toThrow(TypeError);
  await expect(saveIndex(index, 7 as never)).rejects.toThrow(TypeError);
  await expect(saveIndex(index, folder, { replaced: true } as never)).rejects.toThrow(/"replace"/);
  await expect(saveIndex(index, folder, { columns: {} as never })).rejects.toThrow(TypeError);
  await expect(saveIndex(index, folder, { text: {} as never })).rejects.toThrow(TypeError);
  await expect(saveIndex(index, folder, { frequencies: {} as never })).rejects.toThrow(TypeError);
  await expect(openIndex(7 as never)).rejects.toThrow(TypeError);
  await expect(IndexFolder.verify(7 as never)).rejects.toThrow(TypeError);
  expect(readdirSync(root)).not.toContain(folder);
});

it('can be stopped, and tells how far it is', async () => {
  const folder = newFolder();
  const index = new SimHashIndex({ bits: 40 });
  await index.addAll(codesFor(3000, 1));
  const signal = AbortSignal.abort(new Error('enough'));
  await expect(saveIndex(index, folder, { signal })).rejects.toThrow('enough');
  // After the last row, before anything is published.
  const late = new AbortController();
  const onProgress = () => late.abort(new Error('enough'));
  const stopped = saveIndex(index, folder, { signal: late.signal, onProgress });
  await expect(stopped).rejects.toThrow('enough');
  expect(readdirSync(folder)).toEqual([]);
  const told: [number, number][] = [];
  await saveIndex(index, folder, { onProgress: (done, total) => told.push([done, total]) });
  expect(told.at(-1)).toEqual([3000, 3000]);
  await expect(openIndex(folder, { signal })).rejects.toThrow('enough');
  await openIndex(folder, { onProgress: (done, total) => told.push([done, total]) });
  expect(told.at(-1)).toEqual([3000, 3000]);
});

it('keeps sparse vectors through appends, removals and compaction', async () => {
  const folder = newFolder();
  const draws = new Draws(2);
  const drawn = (count: number) =>
    Array.from({ length: count }, () => ({
      indices: Array.from({ length: 6 }, (_, i) => 1000 * i + draws.integer(1000)),
      values: Array.from({ length: 6 }, () => draws.gaussian()),
    }));
  const index = new SimHashIndex({ bits: 64, vectors: 'sparse' });
  const first = drawn(40);
  await index.addAll(first);
  await saveIndex(index, folder);
  const more = drawn(10);
  await (await IndexFolder.open(folder)).append(more);
  await (await IndexFolder.open(folder)).remove([3, 44]);
  const expectRows = async () => {
    const back = await openIndex(folder);
    expect(back.count).toBe(48);
    for (const [row, { indices, values }] of [...first, ...more].entries()) {
      const isRemoved = row === 3 || row === 44;
      expect(back.get(row)?.vector).toEqual(
        isRemoved
          ? undefined
          : { indices: BigUint64Array.from(indices, BigInt), values: Float32Array.from(values) },
      );
    }
  };
  await expectRows();
  await (await IndexFolder.open(folder)).compact();
  await expectRows();
  expect((await IndexFolder.verify(folder)).problems).toEqual([]);
});

it('refuses an index that a long call is changing', async () => {
  const folder = newFolder();
  const index = new SimHashIndex({ bits: 60, dimensions: DIMENSIONS });
  const adding = index.addAll(vectorsFor(20_000, 1));
  await expect(saveIndex(index, folder)).rejects.toThrow('addAll() is still at work');
  await adding;
  await saveIndex(index, folder);
  expect((await openIndex(folder)).count).toBe(20_000);
});

it('saves an empty index, whose copy of the manifest is there too', async () => {
  const folder = newFolder();
  await saveIndex(new SimHashIndex({ bits: 8 }), folder);
  expect(readdirSync(folder)).toContain('manifest.json');
  expect((await IndexFolder.verify(folder)).problems).toEqual([]);
  expect((await openIndex(folder)).count).toBe(0);
});

it('carries columns of any type through files of several batches', {
  tags: 'thorough',
}, async () => {
  const folder = newFolder();
  const count = 70_001; // more than a batch
  const index = new SimHashIndex({ bits: 16 });
  await index.addAll(codesFor(count, 5, 16));
  const texts = Array.from({ length: count }, (_, row) => `text ${row % 977} ü`);
  const flags = Array.from({ length: count }, (_, row) => (row % 11 === 4 ? null : row % 3 === 0));
  const some = texts.map((text, row) => (row % 5 === 0 ? null : text));
  await saveIndex(index, folder, { columns: RowBatch.of({ texts, flags, some }) });
  expect((await IndexFolder.verify(folder)).problems).toEqual([]);
  const columns = await (await IndexFolder.open(folder)).columns();
  expect(columns?.values('texts')).toEqual(texts);
  expect(columns?.values('flags')).toEqual(flags);
  expect(columns?.values('some')).toEqual(some);
});

it('saves a segment of rows without codes, which have no copies', async () => {
  const folder = newFolder();
  const index = new SimHashIndex({ bits: 64, dimensions: 8, vectors: 'float32', zero: 'null' });
  const draws = new Draws('copies');
  const row = () => Array.from({ length: 8 }, () => draws.uniform() - 0.5);
  await index.addAll(Array.from({ length: 800 }, row));
  await index.optimize({ recall: 0.9, copies: true, partitions: 16, queries: 20 });
  await saveIndex(index, folder);
  index.add(new Array(8).fill(0));
  await saveIndex(index, folder);
  expect((await IndexFolder.verify(folder)).problems).toEqual([]);
  expect((await openIndex(folder)).count).toBe(801);
});

it('keeps the files of all segments of a folder, which are one in memory', async () => {
  const folder = newFolder();
  const index = new SimHashIndex({ bits: 60, dimensions: DIMENSIONS, vectors: 'int8' });
  const vectors = vectorsFor(1000, 5);
  await index.addAll({ ...vectors, values: vectors.values.subarray(0, 700 * DIMENSIONS) });
  await saveIndex(index, folder);
  const more = { ...vectors, values: vectors.values.subarray(700 * DIMENSIONS) };
  await (await IndexFolder.open(folder)).append(more);
  const rowsOf = async () => (await filesIn(folder, 'rows')).map(({ name }) => name);
  const before = await rowsOf();
  expect(before).toHaveLength(2);
  const opened = await openIndex(folder);
  for (const row of [3, 4, 702]) opened.remove(row);
  await saveIndex(opened, folder);
  expect(await rowsOf()).toEqual(before);
  for (let row = 700; row < 1000; row++) if (row !== 702) opened.remove(row);
  await saveIndex(opened, folder);
  await saveIndex(opened, folder);
  const again = await openIndex(folder);
  expect([again.count, again.get(2)?.row, again.get(800)]).toEqual([698, 2, undefined]);
  expect((await IndexFolder.verify(folder)).problems).toEqual([]);
});
