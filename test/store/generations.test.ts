import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { IndexFolder, openIndex, RowBatch, SimHashIndex, saveIndex } from '../../src/node';
import { GenerationWriter, newestManifest } from '../../src/store/generations';
import type { Manifest } from '../../src/store/manifest';

const root = mkdtempSync(join(tmpdir(), 'halfspace-generations-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;
let folder = '';

/** A folder of two generations, of two rows and three. */
beforeEach(async () => {
  folder = join(root, `${count++}.hs`);
  const index = new SimHashIndex<string>({ bits: 64 });
  await index.addAll(
    [
      [1, 0],
      [0, 1],
    ],
    ['a', 'b'],
  );
  const columns = RowBatch.of({ size: [1, 2], title: ['x', 'y'] });
  await saveIndex(index, folder, { columns });
  const added = RowBatch.of({ size: [3], title: ['z'] });
  await (await IndexFolder.open(folder)).append([[1, 1]], ['c'], { columns: added });
});

const idsOf = async () => {
  const index = await openIndex(folder);
  return ['a', 'b', 'c', 'd', 'e'].filter((id) => index.has(id)).join('');
};
const damage = (kind: string, generation: number) => {
  const start = `${kind}-00000${generation}`;
  const name = readdirSync(folder).find((one) => one.startsWith(start)) as string;
  const bytes = readFileSync(join(folder, name));
  bytes[bytes.length >> 1] ^= 1;
  writeFileSync(join(folder, name), bytes);
};

it('a folder without the copy of its manifest is sound', async () => {
  rmSync(join(folder, 'manifest.json'));
  expect((await IndexFolder.verify(folder)).problems).toEqual([]);
  expect(await idsOf()).toBe('abc');
});

describe('an older generation', () => {
  it.each(['manifest', 'rows', 'columns'])(
    'takes the place of a newer one with a damaged file of %s, whose manifest is deleted',
    async (kind) => {
      damage(kind, 2);
      expect((await IndexFolder.verify(folder)).problems).toHaveLength(1);
      for (const name of ['manifest-000002.json', 'manifest.json']) rmSync(join(folder, name));
      expect(await IndexFolder.verify(folder)).toEqual({ generation: 1, rows: 2, problems: [] });
      expect(await idsOf()).toBe('ab');
      const columns = RowBatch.of({ size: [5], title: ['v'] });
      await (await IndexFolder.open(folder)).append([[3, 1]], ['e'], { columns });
      expect(await idsOf()).toBe('abe');
      expect((await IndexFolder.verify(folder)).problems).toEqual([]);
    },
  );

  it('is damaged where its manifest cannot be read, however often it is checked', async () => {
    damage('manifest', 2);
    const { generation, problems } = await IndexFolder.verify(folder);
    expect([generation, problems.length > 0]).toEqual([0, true]);
    expect(problems[0].file).toBe('manifest-000002.json');
  });

  it('is not sound where its manifest states another kind of ids', async () => {
    const newest = (await newestManifest(folder)) as Manifest;
    const { rows, text, columns, segments, files, index } = newest;
    const writer = new GenerationWriter(folder, newest);
    const other = { ...index, ids: 'number' } as const;
    await writer.commit({ rows, text, columns, segments, files, index: other });
    const [{ message }] = (await IndexFolder.verify(folder)).problems;
    expect(message).toContain('ids are of kind number');
  });
});

describe('writers at the same time', () => {
  it('both append, one after the other', async () => {
    const write = async (id: string) => {
      const columns = RowBatch.of({ size: [9], title: [id] });
      await (await IndexFolder.open(folder)).append([[id.charCodeAt(0), 1]], [id], { columns });
    };
    await Promise.all([write('d'), write('e')]);
    expect(await idsOf()).toBe('abcde');
    const { generation, problems } = await IndexFolder.verify(folder);
    expect([generation, problems]).toEqual([4, []]);
  });

  it('append and remove, and both are done', async () => {
    const opened = await IndexFolder.open(folder);
    const columns = RowBatch.of({ size: [9], title: ['d'] });
    const done = Promise.all([opened.append([[5, 1]], ['d'], { columns }), opened.remove(['a'])]);
    expect((await done)[1]).toBe(1);
    expect(await idsOf()).toBe('bcd');
  });
});

describe('carried columns of nulls alone', () => {
  it('fit a column of any type', async () => {
    const opened = await IndexFolder.open(folder);
    const columns = RowBatch.of({ size: [null], title: [null] });
    for (const id of ['d', 'e']) await opened.append([[id.charCodeAt(0), 1]], [id], { columns });
    const all = await (await IndexFolder.open(folder)).columns();
    expect(all?.values('size')).toEqual([1, 2, 3, null, null]);
    expect(all?.values('title')).toEqual(['x', 'y', 'z', null, null]);
    expect(opened.columnInfo.map(({ type }) => type)).toEqual(['Float64', 'Utf8']);
    const other = RowBatch.of({ size: ['five'], title: [null] });
    await expect(opened.append([[2, 7]], ['f'], { columns: other })).rejects.toThrow(
      'the carried columns are',
    );
  });

  it('do so in joined batches; others are refused by name', () => {
    const numbers = RowBatch.of({ a: [1, 2] });
    const nulls = RowBatch.of({ a: [null] });
    expect(RowBatch.join([nulls, numbers, nulls]).values('a')).toEqual([null, 1, 2, null]);
    expect(() => RowBatch.join([numbers, RowBatch.of({ a: ['x'] })])).toThrow(
      'column "a" of type Float64',
    );
    expect(() => RowBatch.join([numbers, RowBatch.of({ b: [1] })])).toThrow(
      '"batches"[1] expected columns a',
    );
    expect(() => RowBatch.join([])).toThrow(RangeError);
    expect(() => RowBatch.join(undefined as never)).toThrow('"batches" expected an array');
    expect(() => RowBatch.join([numbers, {} as never])).toThrow('"batches"[1] expected a RowBatch');
  });
});
