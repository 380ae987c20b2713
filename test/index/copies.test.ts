import { describe, expect, it } from 'vitest';
import { LongWork } from '../../src/base/long-work';
import type { SearchResult } from '../../src/index/answer';
import { copiesPay } from '../../src/index/choice';
import { type Query, queryOf } from '../../src/index/query';
import { coreOf } from '../../src/index/simhash-index';
import { trainSpace, untrainedSpace } from '../../src/index/train';
import { allocatePoints } from '../../src/k-means/k-means';
import { indexFromArrow, indexToArrow, SimHashIndex } from '../../src/node';
import { pointsFrom } from '../kernels/scalar/products';
import { Draws } from '../reference/random';

/** An optimized index whose rows are in two partitions each, next to brute force. */

const DIMENSIONS = 40;
const COUNT = 3000;

/** Vectors without clusters, which lie far from all centroids; some are equal to others. */
function scattered(seed: number, count: number): Float32Array {
  const values = new Draws(seed).gaussians(count * DIMENSIONS);
  const all = Float32Array.from(values);
  for (let row = 20; row < count; row += 20) all.copyWithin(row * DIMENSIONS, 0, DIMENSIONS);
  return all;
}

const values = scattered(1, COUNT);
/** Rows and their cosines. */
const found = ({ rows, similarities }: SearchResult) => [rows, similarities];
const vectorOf = (all: Float32Array, i: number) =>
  all.subarray(i * DIMENSIONS, (i + 1) * DIMENSIONS);
const queries = Array.from({ length: 12 }, (_, i) => vectorOf(scattered(2, 40), 3 * i + 1));

/** Without partitions: a search ranks all rows that its `oversample` allows. */
async function unplaced(options: object = {}): Promise<SimHashIndex> {
  const index = new SimHashIndex({
    ...{ bits: 128, dimensions: DIMENSIONS, vectors: 'float32', projection: 'hadamard' },
    ...options,
  });
  await index.addAll({ values, dimensions: DIMENSIONS });
  return index;
}

async function made(options: object = {}, optimize: object = {}): Promise<SimHashIndex> {
  const index = await unplaced(options);
  await index.optimize({ partitions: 64, queries: 60, recall: 0.9, copies: true, ...optimize });
  return index;
}

const everywhere = { probes: 64, oversample: 500 } as const;

describe('rows in second partitions', async () => {
  const index = await made();

  it('are two entries of each row, in different partitions', () => {
    const { parts, space } = coreOf(index).rows;
    expect(space?.parts.hasCopies).toBe(true);
    let count = 0;
    for (const part of parts) {
      const entries = new Set<number>();
      for (let position = 0; position < part.rows.count; position++) {
        expect(part.secondOf(position)).not.toBe(part.partitionOf(position));
        entries.add(part.entryOf(position, false)).add(part.entryOf(position, true));
      }
      expect(entries.size).toBe(2 * part.rows.count);
      count += part.rows.count;
    }
    expect(count).toBe(COUNT);
  });

  it('are found once each, as by brute force, where all partitions are visited', async () => {
    const whole = await unplaced();
    for (const query of queries) {
      const wanted = found(whole.search(query, { k: 30, oversample: 500 }));
      const answer = index.search(query, { ...everywhere, k: 30 });
      expect(found(answer)).toEqual(wanted);
      expect(new Set(answer.rows).size).toBe(30);
    }
  });

  it('are as many as asked for, however few are ranked', () => {
    for (const k of [1, 7, 100, 600]) {
      for (const probes of [1, 3, 64]) {
        const own = { k, probes, oversample: 1 };
        const { rows } = index.search(queries[0], own);
        expect([k, probes, new Set(rows).size]).toEqual([k, probes, k]);
      }
    }
  });

  it('need fewer probes for a recall than rows in one partition', async () => {
    const one = await made({}, { copies: false });
    const [copied, single] = [index, one].map((own) => {
      return queries.reduce((sum, query) => {
        const truth = new Set(index.search(query, everywhere).rows);
        const { rows } = own.search(query, { ...everywhere, probes: 8 });
        return sum + rows.filter((row) => truth.has(row)).length;
      }, 0);
    });
    expect(copied).toBeGreaterThan(1.2 * single);
    const [a, b] = [index, one].map((own) => own.report?.probes ?? 0);
    expect(a).toBeLessThan(b);
  });

  it('are the same rows for many queries in one call', async () => {
    for (const options of [{ k: 9 }, { k: 9, probes: 40, oversample: 12 }] as const) {
      const together = (await index.searchAll(queries, options)).map(found);
      expect(together).toEqual(queries.map((query) => found(index.search(query, options))));
    }
  });

  it('follow rows that come and go', { tags: 'thorough' }, async () => {
    const own = await made({ vectors: 'int8' });
    const whole = await unplaced({ vectors: 'int8' });
    const more = scattered(3, 900);
    for (const index of [own, whole]) {
      await index.addAll({ values: more, dimensions: DIMENSIONS });
      for (let row = 0; row < COUNT + 900; row += 3) index.remove(row);
    }
    const check = () => {
      for (const query of queries) {
        const wanted = found(whole.search(query, { k: 20, oversample: 500 }));
        expect(found(own.search(query, { ...everywhere, k: 20 }))).toEqual(wanted);
      }
    };
    check();
    await own.optimize({ partitions: 16, queries: 100, recall: 0.9, copies: true });
    check();
  });

  it('are in the one Arrow file of an index, with their residual codes', () => {
    const read = indexFromArrow(indexToArrow(index));
    const placesOf = (own: SimHashIndex) =>
      Array.from({ length: COUNT }, (_, row) => {
        const place = coreOf(own).rows.find(row);
        return (
          place && [place.part.partitionOf(place.position), place.part.secondOf(place.position)]
        );
      });
    expect(placesOf(read)).toEqual(placesOf(index));
    for (const query of queries) {
      expect(found(read.search(query))).toEqual(found(index.search(query)));
    }
  });

  it('need vectors, and are wanted by true or false', async () => {
    await expect(made({ vectors: 'none' })).rejects.toThrow(
      '"copies" expected false without dense vectors of up to 4096 dimensions, got true',
    );
    await expect(made({}, { copies: 'yes' })).rejects.toThrow(
      '"copies" expected true or false, got "yes"',
    );
    const wide = new SimHashIndex({ dimensions: 4097, vectors: 'float32' });
    wide.add(new Float32Array(4097).fill(1));
    await expect(wide.optimize({ copies: true })).rejects.toThrow(
      '"copies" expected false without dense vectors of up to 4096 dimensions, got true',
    );
  });

  it('are made by default where they save much of what a search looks at', {
    tags: 'thorough',
  }, async () => {
    const [width, count] = [40, 3000];
    const pointsOf = (vectors: readonly Float64Array[]) => {
      const { values, width } = pointsFrom(vectors);
      const all = allocatePoints(vectors.length, width);
      all.set(values);
      return all;
    };
    const around = (seed: number, near: readonly Float64Array[] | null) => {
      const draws = new Draws(seed);
      return Array.from({ length: count }, (_, i) => {
        const noise = draws.gaussians(width);
        const vector = near === null ? noise : noise.map((v, j) => 6 * near[i][j] + 0.8 * v);
        const length = Math.hypot(...vector);
        return Float64Array.from(vector, (value) => value / length);
      });
    };
    const neighbors = around(1, null);
    const untrained = untrainedSpace({ bits: 64, dimensions: width, seed: 1n });
    const sample = pointsOf(around(2, null));
    const space = await trainSpace(untrained, sample, 1024, new LongWork({}));
    const core = coreOf(new SimHashIndex({ bits: 64, dimensions: width, vectors: 'float32' }));
    const paysFor = (queries: readonly Float64Array[], rows: number, recall: number) => {
      const asked = queries.map((vector, row) => ({
        ...{ own: new Set<number>(), query: queryOf(core, vector) as Query },
        truth: { rows: Uint32Array.of(row), size: 1 },
      }));
      return copiesPay(space, { asked, points: pointsOf(neighbors), rows }, recall);
    };
    // A search of few rows mostly compares centroids, which copies do not change.
    const queries = around(3, neighbors);
    expect([10_000, 10_000_000].map((rows) => paysFor(queries, rows, 0.95))).toEqual([false, true]);
    // Each query is its neighbour: one partition holds it.
    expect(paysFor(neighbors, 10_000_000, 0.9)).toBe(false);
  });
});
