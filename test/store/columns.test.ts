import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { IndexFolder, openIndex, RowBatch, SimHashIndex, saveIndex } from '../../src/node';
import { temporaryFolder } from './collection';
import { fileOf } from './files';

const COUNT = 5000;
const root = await temporaryFolder();
let folder = '';
const titleOf = (row: number) => `title ${row} ${'long '.repeat(row % 40)}`;
const yearOf = (row: number) => (row % 11 === 0 ? null : 1900 + (row % 120));
const carried = (first: number, count: number) => {
  const rows = Array.from({ length: count }, (_, i) => first + i);
  return RowBatch.of({
    tag: rows.map((row) => (row % 3 === 0 ? null : `tag ${row % 5}`)),
    title: rows.map(titleOf),
    isOld: rows.map((row) => row % 2 === 0),
    year: rows.map(yearOf),
  });
};
const vectorOf = (row: number) => [Math.sin(row), Math.cos(row), Math.sin(3 * row)];

async function made(name: string, ids: boolean): Promise<string> {
  const path = join(root, name);
  const index = new SimHashIndex({ bits: 64, dimensions: 3, vectors: 'float32' });
  const rows = Array.from({ length: COUNT }, (_, row) => row);
  const idOf = (row: number) => `row ${row}`;
  await index.addAll(rows.map(vectorOf), ids ? rows.map(idOf) : undefined);
  await saveIndex(index, path, { columns: carried(0, COUNT) });
  const opened = await IndexFolder.open(path);
  await opened.append([vectorOf(COUNT)], ids ? [idOf(COUNT)] : undefined, {
    columns: carried(COUNT, 1),
  });
  await opened.remove(ids ? [idOf(7), idOf(COUNT - 1)] : [7, COUNT - 1]);
  return path;
}

beforeAll(async () => {
  folder = await made('ids.hs', true);
});

describe.each(['ids', 'rows'])('the carried columns of a stored index, %s', (kind) => {
  it('are those of the folder, by row', async () => {
    const path = kind === 'ids' ? folder : await made('rows.hs', false);
    const opened = await IndexFolder.open(path);
    const all = (await opened.columns()) as RowBatch;
    const index = await openIndex(path, { memory: '64MB' });
    expect(index.columnNames).toEqual(['tag', 'title', 'isOld', 'year']);
    for (const name of index.columnNames) {
      const own = await index.columns([name]);
      expect(own.values(name)).toEqual(all.values(name));
    }
    const rows = [4000, 3, COUNT, 0, 4000];
    const some = await index.columns(['title', 'year'], { rows });
    expect(some.values('title')).toEqual(rows.map(titleOf));
    expect(some.values('year')).toEqual(rows.map(yearOf));
    await index.close();
  });
});

it('are read one by one: a filter reads its own column', async () => {
  const index = await openIndex(folder, { memory: '64MB' });
  const bytes = readFileSync(fileOf(folder, 'columns')).length;
  const before = index.figures.bytesRead;
  const years = (await index.columns(['year'])).values('year');
  const filter = (await index.rows()).filter((_, i) => Number(years[i]) >= 2000);
  expect(index.figures.bytesRead - before).toBeLessThan(bytes / 4);
  const wanted = Array.from({ length: COUNT + 1 }, (_, row) => row).filter(
    (row) => row !== 7 && row !== COUNT - 1 && Number(yearOf(row)) >= 2000,
  );
  expect([...filter]).toEqual(wanted);
  const memory = await openIndex(folder);
  const { rows } = await index.search(vectorOf(50), { filter, k: 20 });
  expect([...rows]).toEqual([...memory.search(vectorOf(50), { filter, k: 20 }).rows]);
  await index.close();
});

it('reads the batches of the rows alone', async () => {
  const index = await openIndex(folder, { memory: '64MB' });
  const before = index.figures.bytesRead;
  await index.columns(['title'], { rows: [2500, 2501] });
  const some = index.figures.bytesRead - before;
  await index.columns(['title']);
  const all = index.figures.bytesRead - before - some;
  expect(some).toBeLessThan(all / 2);
  await index.close();
});

it('refuses columns and rows that are not there, and names a damaged column', async () => {
  const index = await openIndex(folder, { memory: '64MB' });
  await expect(index.columns(['none'])).rejects.toThrow(
    '"names" expected some of tag, title, isOld, year, got "none"',
  );
  await expect(index.columns(['year'], { rows: [7] })).rejects.toThrow(
    '"rows" expected rows of the index, got 7',
  );
  await expect(index.columns(['year'], { rows: [99_999] })).rejects.toThrow(RangeError);
  for (const wrong of [[1.5], ['x'], [Number.NaN], [null], [2 ** 32 + 3], '12', [-1]]) {
    const asked = index.columns(['year'], { rows: wrong as number[] });
    await expect(asked).rejects.toThrow(/"rows"\[0\] expected a(n integer in 0| number)/);
  }
  await expect(index.columns(undefined as never)).rejects.toThrow('"names" expected an array');
  const reason = new Error('of the caller');
  const stopped = index.columns(['year'], { rows: [1], signal: AbortSignal.abort(reason) });
  await expect(stopped).rejects.toBe(reason);
  const path = fileOf(folder, 'columns');
  const bytes = readFileSync(path);
  bytes[bytes.indexOf('title 2500')] ^= 1;
  writeFileSync(path, bytes);
  for (const options of [{}, { rows: [2049] }]) {
    await expect(index.columns(['title'], options)).rejects.toThrow(
      `${path}: damaged: column "title" of batch 2 fails its checksum`,
    );
  }
  expect((await index.columns(['title'], { rows: [5] })).count).toBe(1);
  const years = await index.columns(['year'], { rows: [2500] });
  expect(years.values('year')).toEqual([yearOf(2500)]);
  await index.close();
});

it('are those of all rows, or of none', async () => {
  const [none, some] = [{ vectors: [vectorOf(0)] }, { vectors: [vectorOf(1)] }];
  const columns = carried(1, 1);
  const options = { bits: 64, dimensions: 3, memory: '1MB' };
  const path = join(root, 'mixed.hs');
  // The values of the second batch were lost without a word.
  const build = IndexFolder.build(path, [none, { ...some, columns }], options);
  await expect(build).rejects.toThrow('the carried columns are none; those given are tag: Utf8');
  const folder = await IndexFolder.build(path, [none], options);
  const append = folder.append([vectorOf(1)], undefined, { columns });
  await expect(append).rejects.toThrow('the carried columns are none; those given are tag: Utf8');
  expect(folder.rowCount).toBe(1);
});

it('may have the names that every object has', async () => {
  const path = join(root, 'names.hs');
  const index = new SimHashIndex({ bits: 64, dimensions: 2 });
  await index.addAll(
    [
      [1, 2],
      [2, 1],
      [1, 1],
    ],
    ['a', 'b', '__proto__'],
  );
  const names = ['__proto__', 'constructor', 'toString'];
  const given = Object.fromEntries(names.map((name) => [name, [`${name} 0`, null, `${name} 2`]]));
  await saveIndex(index, path, { columns: RowBatch.of(given) });
  const stored = await openIndex(path, { memory: '64MB' });
  const batch = await stored.columns(names);
  expect(names.map((name) => [name, batch.values(name)])).toEqual(Object.entries(given));
  await stored.close();
});
