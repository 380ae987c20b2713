import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { SimHashIndex } from '../../src/index/simhash-index';
import { IndexFolder, openIndex, saveIndex } from '../../src/store/index-folder';
import { RowBatch } from '../../src/table/row-batch';
import { Draws } from '../reference/random';
import { quickIf } from '../reference/tags';

const dimensions = 20;
const root = mkdtempSync(join(tmpdir(), 'folder-'));
afterAll(() => rm(root, { recursive: true }));

function vectorsOf(draws: Draws, count: number): number[][] {
  const centers = Array.from({ length: 30 }, () => Array.from(draws.gaussians(dimensions)));
  return Array.from({ length: count }, () => {
    const center = centers[draws.integer(centers.length)];
    if (draws.integer(50) === 0) return center.map(() => 0);
    if (draws.integer(10) === 0) return center.map(Math.fround);
    const noise = draws.gaussians(dimensions);
    return center.map((value, i) => Math.fround(value + 0.5 * noise[i]));
  });
}

const isZero = (vector: number[]) => vector.every((value) => value === 0);

/** What a folder must answer: exact neighbours by brute force over what was put into it. */
async function expectSame(folder: string, rows: Map<string, number[]>, queries: number[][]) {
  expect((await IndexFolder.verify(folder)).problems).toEqual([]);
  const loaded = (await openIndex(folder)) as SimHashIndex;
  const stored = await openIndex(folder, { memory: '32MB' });
  expect(loaded.count).toBe(rows.size);
  const live = [...rows].filter(([, vector]) => !isZero(vector));
  for (const query of queries) {
    const cosine = (vector: number[]) => {
      const dot = vector.reduce((sum, value, i) => sum + value * query[i], 0);
      return dot / Math.hypot(...vector);
    };
    const wanted = live.map(([id, vector]) => ({ id, cosine: cosine(vector) }));
    wanted.sort((a, b) => b.cosine - a.cosine);
    const options = { k: 10, probes: 1e6, oversample: 400 };
    const found = loaded.search(query, options);
    const norm = Math.hypot(...query);
    for (let i = 0; i < 10; i++) {
      expect(found.similarities[i]).toBeCloseTo(wanted[i].cosine / norm, 5);
    }
    expect(await stored.search(query, options)).toEqual(found);
  }
  await stored.close();
}

describe('a folder that is changed where it is', () => {
  const title = 'agrees with brute force through random changes';
  for (const seed of [2, 3])
    it(`${title} (seed ${seed})`, quickIf(seed === 3), async () => {
      const draws = new Draws(seed);
      const folder = join(root, `changes ${seed}`);
      const rows = new Map<string, number[]>();
      const index = new SimHashIndex<string>({
        ...{ bits: 64, dimensions, vectors: seed === 3 ? 'int8' : 'float32', zero: 'null' },
      });
      const first = vectorsOf(draws, 400);
      await index.addAll(
        first,
        first.map((_, i) => `a${i}`),
      );
      for (const [i, vector] of first.entries()) rows.set(`a${i}`, vector);
      await saveIndex(index as SimHashIndex, folder);
      const queries = vectorsOf(draws, 8).filter((query) => !isZero(query));
      for (let step = 0; step < 14; step++) {
        const opened = await IndexFolder.open(folder);
        const ids = [...rows.keys()];
        const kind = step === 4 ? 5 : draws.integer(5);
        if (kind < 2) {
          const some = vectorsOf(draws, 1 + draws.integer(150));
          const own = some.map((_, i) => `${step}-${i}`);
          if (kind === 1) for (let i = 0; i < own.length; i += 3) own[i] = ids[i % ids.length];
          const names = [...new Set(own)];
          await opened.append(some.slice(0, names.length), names, { replace: true });
          for (const [i, name] of names.entries()) rows.set(name, some[i]);
        } else if (kind === 2) {
          const gone = ids.filter(() => draws.integer(4) === 0);
          expect(await opened.remove(gone)).toBe(gone.length);
          for (const id of gone) rows.delete(id);
        } else if (kind === 3) await opened.compact();
        else if (kind === 4) await opened.optimize({ partitions: 9, queries: 20 });
        else
          await opened.optimize({
            partitions: 12,
            queries: 20,
            memory: 300_000,
            copies: seed === 2,
          });
        if (step % 3 === 1) await expectSame(folder, rows, seed === 3 ? [] : queries);
      }
      await expectSame(folder, rows, seed === 3 ? [] : queries);
    });

  it('is built of more rows than memory holds, and refuses an id twice', {
    tags: 'thorough',
  }, async () => {
    const draws = new Draws(9);
    const folder = join(root, 'built');
    const all = vectorsOf(draws, 2400);
    const batches = Array.from({ length: 12 }, (_, i) => {
      const vectors = all.slice(200 * i, 200 * (i + 1));
      const ids = vectors.map((_, j) => `row ${200 * i + j}`);
      const columns = RowBatch.of({ note: ids.map((id) => `about ${id}`) });
      return { vectors, ids, columns };
    });
    const options = {
      ...{ bits: 64, dimensions, vectors: 'float32' as const, zero: 'null' as const },
      ...{ memory: 200_000, optimize: { recall: 0.9, queries: 60 } },
    };
    const built = await IndexFolder.build(folder, batches, options);
    expect(built.report?.recall).toBeGreaterThan(0.8);
    expect(built.rowCount).toBe(2400);
    const rows = new Map(all.map((vector, i) => [`row ${i}`, vector]));
    const queries = vectorsOf(draws, 6).filter((query) => !isZero(query));
    await expectSame(folder, rows, queries);
    await built.remove(['row 5', 'row 2399']);
    await built.compact();
    const columns = await built.columns(['note']);
    expect(columns?.values('note').slice(4, 6)).toEqual(['about row 4', 'about row 6']);
    const twice = [...batches, { ...batches[0], vectors: all.slice(0, 200) }];
    const again = IndexFolder.build(join(root, 'twice'), twice, options);
    await expect(again).rejects.toThrow(/have the id|not there yet/);
  });
});
