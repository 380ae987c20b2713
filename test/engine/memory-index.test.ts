import { beforeAll, describe, expect, it } from 'vitest';
import { FilterMemory } from '../../src/engine/filter-memory';
import { type Layout, MemoryIndex } from '../../src/engine/memory-index';
import { type Asked, nearestByCosine } from '../../src/engine/search';
import { SimHasher } from '../../src/hashing/simhash';
import { checkIndexOptions } from '../../src/index/index-options';
import { IndexParts } from '../../src/index/index-parts';
import { queryOf } from '../../src/index/query';
import { DenseVectors } from '../../src/index/vectors/dense-vectors';
import { Draws } from '../reference/random';
import { Model } from './model';

const [bits, dimensions] = [64, 12];
const hasher = new SimHasher({ bits, dimensions });
const queryMaker = IndexParts.of(checkIndexOptions({ bits, dimensions, vectors: 'float32' }));

/** Clusters of vectors, with some that are equal, and some all-zero rows, which are null. */
function vectorsOf(draws: Draws, count: number): number[][] {
  const centers = Array.from({ length: 12 }, () => Array.from(draws.gaussians(dimensions)));
  return Array.from({ length: count }, () => {
    const center = centers[draws.integer(centers.length)];
    if (draws.integer(40) === 0) return center.map(() => 0);
    if (draws.integer(10) === 0) return center.map(Math.fround);
    const noise = draws.gaussians(dimensions);
    return center.map((value, i) => Math.fround(value + 0.7 * noise[i]));
  });
}

const emptyIndex = (tailRows: number, maxSegmentRows = 4096) =>
  new MemoryIndex({
    ...{ bits, bytesPerCode: bits / 8, kernel: 'auto', seed: 0n, tailRows, maxSegmentRows },
    newVectors: () => new DenseVectors('float32', dimensions),
  });

function append(index: MemoryIndex, vectors: readonly number[][], ids: readonly string[]): void {
  const isNull = (i: number) => vectors[i].every((value) => value === 0);
  const codes = new Uint8Array((vectors.length * bits) / 8);
  for (const [i, vector] of vectors.entries()) {
    if (!isNull(i)) codes.set(hasher.hash(vector), (i * bits) / 8);
  }
  const matrix = { values: Float32Array.from(vectors.flat()), dimensions };
  index.append({
    ...{ count: vectors.length, codes, isNull, ids },
    appendVectors: (to) => to.append(matrix, 0, vectors.length, (i) => !isNull(i)),
  });
}

const search = (index: MemoryIndex, query: number[], asked: Partial<Asked>) => {
  const setting = { k: 10, probes: null, want: 40, margin: 8, filter: null };
  const work = { codesCompared: 0, candidates: 0, probes: 0 };
  const ready = queryOf(queryMaker, query);
  if (ready === null) throw new Error('a query has a direction');
  return nearestByCosine(index.searched(), ready, { ...setting, ...asked }, true, work);
};

describe('an index of segments', () => {
  const draws = new Draws(1125);
  const vectors = vectorsOf(draws, 3000);
  const ids = vectors.map((_, i) => `row ${i}`);
  const queries = vectorsOf(draws, 60).filter((query) => query.some((value) => value !== 0));
  const layouts: Layout[] = [];

  beforeAll(async () => {
    const all = emptyIndex(4096);
    append(all, vectors, ids);
    const space = await all.train(40, '0', () => true, {});
    layouts.push({ space, hasCopies: false }, { space, hasCopies: true });
  });

  it.each([0, 1])(
    'answers alike from one segment, a tail, three and fifty (copies: %s)',
    (copies) => {
      const spread = [
        { tailRows: 4096, batch: 3000, isPlaced: true },
        { tailRows: 4096, batch: 3000, isPlaced: false },
        { tailRows: 1000, batch: 1000, isPlaced: false },
        { tailRows: 60, batch: 60, isPlaced: false },
      ].map(({ tailRows, batch, isPlaced }) => {
        const index = emptyIndex(tailRows, tailRows);
        if (!isPlaced) index.place(layouts[copies]);
        for (let first = 0; first < vectors.length; first += batch) {
          append(index, vectors.slice(first, first + batch), ids.slice(first, first + batch));
        }
        if (isPlaced) index.place(layouts[copies]);
        return index;
      });
      expect(spread.map(({ segmentCount }) => segmentCount)).toEqual([1, 0, 3, 50]);
      for (const query of queries) {
        for (const asked of [
          { probes: 5 },
          { probes: 20, want: 15 },
          { probes: 3, k: 200, want: 200 },
        ]) {
          const [first, ...others] = spread.map((index) => search(index, query, asked));
          expect(first.rows.length).toBeGreaterThan(0);
          for (const other of others) expect(other).toEqual(first);
        }
      }
    },
  );

  it('misses nothing where all partitions are visited and all candidates are ranked', () => {
    const index = emptyIndex(64);
    const model = new Model();
    index.place(layouts[1]);
    for (const [i, vector] of vectors.slice(0, 900).entries()) {
      append(index, [vector], [ids[i]]);
      model.add({ id: ids[i], vector });
    }
    const isThere = (row: number) => vectors[row].some((value) => value !== 0);
    for (const query of queries) {
      const found = search(index, query, { probes: 40, want: 1000, k: 900 });
      expect(Array.from(found.rows)).toEqual(model.nearest(query, 900, isThere));
    }
  });

  it('agrees with the model through additions, removals and changes of the space', async () => {
    const index = emptyIndex(100);
    const model = new Model();
    const isThere = (row: number) => vectors[row % vectors.length].some((value) => value !== 0);
    let next = 0;
    for (let step = 0; step < 120; step++) {
      const action = draws.integer(10);
      if (action < 5) {
        const count = 1 + draws.integer(60);
        const some = Array.from({ length: count }, (_, i) => (next + i) % vectors.length);
        append(
          index,
          some.map((i) => vectors[i]),
          some.map((_, i) => `id ${next + i}`),
        );
        for (const [i, at] of some.entries())
          model.add({ id: `id ${next + i}`, vector: vectors[at] });
        next += count;
      } else if (action < 9) {
        for (const row of model.live) {
          if (draws.integer(8) > 0) continue;
          expect(index.remove(row)).toBe(true);
          model.remove(row);
        }
      } else index.place(layouts[draws.integer(2)]);
      expect([index.nextRow, index.count]).toEqual([next, model.live.length]);
      const id = `id ${draws.integer(Math.max(1, next))}`;
      expect(index.rowOf(id)).toBe(model.rowOf(id));
      const query = queries[step % queries.length];
      const probes = 40;
      const accepts = (row: number) => row % 3 === 0;
      const filter = new FilterMemory({ accepts, isUserCode: true, rows: null });
      const all = search(index, query, { probes, want: 5000, k: 5000 });
      expect(Array.from(all.rows)).toEqual(model.nearest(query, 5000, isThere));
      const some = search(index, query, { probes, want: 5000, k: 20, filter });
      const wanted = model.nearest(query, 20, (row) => isThere(row) && accepts(row));
      expect(Array.from(some.rows)).toEqual(wanted);
    }
  });

  it('asks a filter once a row, and for all rows where it accepts few', () => {
    const index = emptyIndex(500);
    append(index, vectors, ids);
    index.place(layouts[0]);
    const asked: number[] = [];
    const accepts = (row: number) => asked.push(row) > 0 && row % 1000 === 7;
    const filter = new FilterMemory({ accepts, isUserCode: true, rows: null });
    const found = search(index, queries[0], { probes: 10, k: 3, filter });
    expect([...found.rows].sort((a, b) => a - b)).toEqual(
      [7, 1007, 2007].filter((row) => {
        return vectors[row].some((value) => value !== 0);
      }),
    );
    expect(new Set(asked).size).toBe(asked.length);
  });
});
