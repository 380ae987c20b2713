import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parquetMetadata, parquetReadObjects, parquetSchema } from 'hyparquet';
import { expect, it } from 'vitest';
import { SimHashIndex } from '../../src/index';
import { RowBatch, saveIndex } from '../../src/node';
import { ownFolder, run } from './run';

/** What `explore -o map.parquet` writes: columns as Embedding Atlas documents them. */

interface Row {
  id: string;
  body?: string;
  x: number;
  y: number;
  cluster: number;
  label: string;
  neighbors: { ids: number[]; distances: number[] };
}

async function read(path: string) {
  const { buffer, byteOffset, byteLength } = await readFile(path);
  const file = buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
  const { children } = parquetSchema(parquetMetadata(file));
  const names = children.map(({ element }) => element.name);
  return { names, rows: (await parquetReadObjects({ file })) as unknown as Row[] };
}

it('writes place, cluster and neighbours of each text', async () => {
  const cwd = await ownFolder();
  const words = ['explore', 'datasets/sample/docs.jsonl', '--text', 'body', '-q'];
  const out = join(cwd, 'map.parquet');
  expect(await run([...words, '-o', out])).toMatchObject({ code: 0, stderr: '' });
  const { names, rows } = await read(out);
  const own = ['x', 'y', 'cluster', 'label', 'neighbors'];
  expect(names).toEqual(['id', 'body', 'title', ...own]);
  expect(rows).toHaveLength(40);
  expect(new Set(rows.map(({ label }) => label)).size).toBeGreaterThan(1);
  for (const [i, { x, y, cluster, neighbors }] of rows.entries()) {
    expect([x, y, cluster].every(Number.isFinite)).toBe(true);
    expect(neighbors.ids).not.toContain(i);
    expect(neighbors.ids.every((id) => id >= 0 && id < rows.length)).toBe(true);
    expect(neighbors.distances).toHaveLength(neighbors.ids.length);
  }
  // Two texts of the sample that are nearly the same (docs/with.md).
  const [one, other] = ['cat-1', 'cat-2'].map((id) => rows.findIndex((row) => row.id === id));
  expect(rows[one].neighbors.ids[0]).toBe(other);
  expect(rows[one].neighbors.distances[0]).toBeLessThan(0.2);
});

it('keeps columns that are called like its own under another name', async () => {
  const cwd = await ownFolder();
  const lines = Array.from({ length: 12 }, (_, i) => {
    const body = `words of text ${i} and ${i % 3}`;
    return `${JSON.stringify({ word: `w${i}`, id: `own ${i}`, body, x: `x${i}`, label: 'mine' })}\n`;
  });
  await writeFile(join(cwd, 'own.jsonl'), lines.join(''));
  const words = ['explore', 'own.jsonl', '--text', 'body', '--id', 'word', '-o', 'own.parquet'];
  expect(await run([...words, '-q'], { cwd })).toMatchObject({ code: 0 });
  const { names, rows } = await read(join(cwd, 'own.parquet'));
  const own = ['x', 'y', 'cluster', 'label', 'neighbors'];
  expect(names).toEqual(['id', 'body', 'row_id', 'row_x', 'row_label', ...own]);
  expect(rows[5]).toMatchObject({ id: 'w5', row_id: 'own 5', row_x: 'x5', row_label: 'mine' });
});

it('has the distances of texts by which they are near, ascending', async () => {
  const cwd = await ownFolder();
  // All words but the common one are in two texts, so that they weigh the same: a text has 3 of 8
  // in common with the next, and 1 with that after.
  const lines = Array.from({ length: 20 }, (_, i) => {
    const at = (step: number) => (i + 20 - step) % 20;
    const wordsFrom = (from: number) => `a${from}x b${from}x c${from}x`;
    const far = [at(0), at(2)].map((from) => `d${from}x`);
    return `${JSON.stringify({ body: [wordsFrom(at(0)), wordsFrom(at(1)), ...far, 'common'].join(' ') })}\n`;
  });
  await writeFile(join(cwd, 'ring.jsonl'), lines.join(''));
  const words = ['explore', 'ring.jsonl', '--text', 'body', '-o', 'ring.parquet', '-q'];
  expect(await run(words, { cwd })).toMatchObject({ code: 0 });
  const { rows } = await read(join(cwd, 'ring.parquet'));
  for (const [i, { neighbors }] of rows.entries()) {
    const steps = neighbors.ids.map((id) => Math.min((id + 20 - i) % 20, (i + 20 - id) % 20));
    expect(steps).toEqual([1, 1, 2]);
    for (const [n, near] of [5 / 8, 5 / 8, 7 / 8].entries()) {
      expect(neighbors.distances[n]).toBeCloseTo(near, 5);
    }
  }
});

it('measures distances of vectors exactly, in an index with removed rows', async () => {
  const folder = join(await ownFolder(), 'vectors.hs');
  const angles = Array.from({ length: 30 }, (_, i) => (i * i) / 150);
  const index = new SimHashIndex<string>({ bits: 128, dimensions: 2, vectors: 'float32' });
  const vectorOf = (angle: number) => [Math.cos(angle), Math.sin(angle)];
  await index.addAll(angles.map(vectorOf), angles.map(String));
  index.remove(String(angles[3]));
  const left = angles.filter((_, i) => i !== 3);
  await saveIndex(index, folder, { columns: RowBatch.of({ angle: Float64Array.from(left) }) });
  const out = `${folder}.parquet`;
  expect(await run(['explore', folder, '-q', '-o', out])).toMatchObject({ code: 0 });
  const { rows } = await read(out);
  expect(rows.map(({ id }) => Number(id))).toEqual(left);
  for (const [row, { neighbors }] of rows.entries()) {
    neighbors.ids.forEach((id, i) => {
      const distance = 1 - Math.cos(left[row] - left[id]);
      expect(neighbors.distances[i]).toBeCloseTo(distance, 5);
    });
    expect(neighbors.distances).toEqual([...neighbors.distances].sort((a, b) => a - b));
  }
});

it('is refused under another name', async () => {
  const words = ['explore', 'datasets/sample/docs.jsonl', '--text', 'body', '-o', 'map.csv'];
  const { code, stderr } = await run(words);
  expect([code, stderr]).toEqual([2, expect.stringContaining('ends in .html or .parquet')]);
});
