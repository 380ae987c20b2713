import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { IndexFolder, openIndex } from '../../src/folder/index-folder';
import { saveIndex } from '../../src/folder/save-index';
import { Codes, type Id, type IndexRow } from '../../src/index';
import { RowBatch } from '../../src/table/row-batch';
import { temporaryFolder } from './collection';

/** Index folders that write-folders.mjs wrote, with what they must answer. */

const root = fileURLToPath(new URL('../fixtures/folders/', import.meta.url));
const names = readdirSync(root).filter((name) => name.endsWith('.hs'));

interface Expected {
  generation: number;
  bits: number;
  rows: { row: number; id: Id; code?: number[] | null; vector?: number[] }[];
  searches: { query: number[]; rows: number[] }[];
  removed: Id[];
  text?: object;
  titles?: (string | null)[];
  sizes?: number[];
  documents?: number;
  partitions?: number;
}

const bigintsFromText = (_: string, value: unknown) =>
  typeof value === 'string' && /^\d+n$/.test(value) ? BigInt(value.slice(0, -1)) : value;

it('there are some with ids and vectors of each kind', () => {
  for (const kind of ['rows', 'numbers', 'bigints', 'strings', 'float32', 'int8', 'copies']) {
    expect(names).toContain(`${kind}.hs`);
  }
});

describe.each(names)('%s', (name) => {
  const folder = `${root}${name}`;
  const json = readFileSync(folder.replace(/hs$/, 'json'), 'utf8');
  const expected: Expected = JSON.parse(json, bigintsFromText);

  it('answers as it was written', async () => {
    const index = await openIndex(folder);
    expect([index.bits, index.count]).toEqual([expected.bits, expected.rows.length]);
    for (const { row, id, code, vector } of expected.rows) {
      const found = index.get(id);
      expect([found?.row, found?.id]).toEqual([row, id]);
      if (code !== undefined) expect(found?.code && [...found.code]).toEqual(code);
      if (vector === undefined) continue;
      expect(Array.from(found?.vector as Float32Array)).toEqual(vector);
      expect(found?.code).toEqual(index.hasher.hash(vector));
    }
    for (const id of expected.removed) expect(index.has(id)).toBe(false);
    for (const { query, rows } of expected.searches) {
      const isCode = expected.rows.every(({ vector }) => vector === undefined);
      const asked = isCode ? Uint8Array.from(query) : query;
      const options = isCode
        ? ({ rank: 'hamming' } as const)
        : ({ method: 'scan', oversample: 20 } as const);
      expect([...index.search(asked, { k: 5, ...options }).rows]).toEqual(rows);
    }
  });

  it('has next to its rows what was put there', async () => {
    const opened = await IndexFolder.open(folder);
    expect([opened.generation, opened.rowCount]).toEqual([
      expected.generation,
      expected.rows.length,
    ]);
    const files = opened.files.map(({ kind }) => kind);
    expect(files.filter((kind) => kind === 'rows')).toHaveLength(2);
    expect(files).toContain('removed');
    expect(opened.text).toEqual(expected.text ?? null);
    const columns = await opened.columns();
    expect(columns?.values('title')).toEqual(expected.titles);
    expect(columns?.values('size')).toEqual(expected.sizes);
    expect((await opened.frequencies())?.documents).toBe(expected.documents);
    const centroids = opened.files.find(({ kind }) => kind === 'centroids');
    expect(centroids?.rows).toBe(expected.partitions);
  });

  it('takes rows, by a save of its index and by an append, and is sound then', async () => {
    const copy = join(await temporaryFolder(), name);
    cpSync(folder, copy, { recursive: true });
    const opened = await openIndex(copy);
    const { id, vector, code } = opened.get(expected.rows[0].id) as IndexRow;
    const more = vector
      ? [vector as Float32Array]
      : Codes.from(code as Uint8Array, { bits: opened.bits });
    const idOf = (i: number) => {
      if (expected.rows.every((one) => one.row === one.id)) return undefined;
      const number = 2 ** 30 + i;
      return [typeof id === 'bigint' ? BigInt(number) : typeof id === 'number' ? number : `${i}`];
    };
    const columns = expected.titles && RowBatch.of({ title: ['new'], size: Float64Array.of(9) });
    if (columns === undefined) {
      opened.addAll(more as Float32Array[], idOf(1));
      await saveIndex(opened, copy);
    }
    await (await IndexFolder.open(copy)).append(more, idOf(0), columns && { columns });
    const index = await openIndex(copy);
    const count = expected.rows.length + (columns === undefined ? 2 : 1);
    const stored = await openIndex(copy, { memory: '64MB' });
    expect([index.count, stored.count]).toEqual([count, count]);
    for (const one of expected.rows) expect(await stored.get(one.id)).toEqual(index.get(one.id));
    const near = { maxDistance: 0 };
    const { ids } = await stored.within(code as Uint8Array, near);
    expect(ids.length).toBeGreaterThan(1);
    expect(ids).toEqual(index.within(code as Uint8Array, near).ids);
    await stored.close();
    const { problems, rows } = await IndexFolder.verify(copy);
    expect([rows, problems]).toEqual([count, []]);
  });

  it('is sound', async () => {
    const { problems, rows } = await IndexFolder.verify(folder);
    expect([rows, problems]).toEqual([expected.rows.length, []]);
  });
});
