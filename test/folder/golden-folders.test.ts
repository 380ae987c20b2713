import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { IndexFolder, openIndex } from '../../src/folder/index-folder';
import type { Id } from '../../src/index';

/** Index folders of every released version, which must load for ever. */

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

it('there are some of this version, with ids of each kind', () => {
  for (const kind of ['rows', 'numbers', 'bigints', 'strings', 'float32', 'int8']) {
    expect(names).toContain(`${kind}-v1.hs`);
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
    const centres = opened.files.find(({ kind }) => kind === 'centres');
    expect(centres?.rows).toBe(expected.partitions);
  });

  it('is sound', async () => {
    const { problems, rows } = await IndexFolder.verify(folder);
    expect([rows, problems]).toEqual([expected.rows.length, []]);
  });
});
