import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openIndex, SimHashIndex, saveIndex } from '../../src/node';
import { Draws } from '../reference/random';
import { temporaryFolder } from '../store/collection';

const DIMENSIONS = 24;

/** Vectors around 200 points, all of them of one collection. */
function clustered(seed: number, count: number): Float32Array {
  const points = new Draws('points').gaussians(200 * DIMENSIONS);
  const draws = new Draws(seed);
  const values = new Float32Array(count * DIMENSIONS);
  for (let row = 0; row < count; row++) {
    const point = DIMENSIONS * draws.integer(200);
    for (let i = 0; i < DIMENSIONS; i++) {
      values[row * DIMENSIONS + i] = points[point + i] + 0.5 * draws.gaussian();
    }
  }
  return values;
}

/** What `optimize` says that a search reads, next to what searches of its folder read. */
for (const copies of [true, false]) {
  const name = `the cost in a report is what searches of a folder read, copies ${copies}`;
  it(name, { tags: 'thorough' }, async () => {
    const folder = join(await temporaryFolder(), 'cost.hs');
    const index = new SimHashIndex({ bits: 256, dimensions: DIMENSIONS, vectors: 'int8' });
    await index.addAll({ values: clustered(1, 8000), dimensions: DIMENSIONS });
    const { cost, method } = await index.optimize({
      recall: 0.95,
      k: 10,
      queries: 100,
      partitions: 60,
      copies,
    });
    expect(method).toBe('partitions');
    await saveIndex(index, folder);

    let [bytes, count] = [0, 0];
    const queries = clustered(9, 20);
    for (let i = 0; i < 20; i++, count++) {
      const stored = await openIndex(folder, { memory: '64MB' });
      const query = queries.subarray(i * DIMENSIONS, (i + 1) * DIMENSIONS);
      const { explain } = await stored.search(query, { explain: true });
      bytes += explain?.read?.bytes ?? 0;
      await stored.close();
    }
    expect(cost?.roundTrips).toBe(2);
    // Vectors are read ahead, ends of blocks are padded.
    expect((cost?.bytes ?? 0) / (bytes / count)).toBeGreaterThan(0.7);
    expect((cost?.bytes ?? 0) / (bytes / count)).toBeLessThan(1.3);
    expect((await openIndex(folder)).report?.cost).toEqual(cost);
  });
}

it('of sparse vectors nothing is said, of codes alone one round trip', async () => {
  const sparse = new SimHashIndex({ bits: 64, vectors: 'sparse' });
  const codes = new SimHashIndex({ bits: 64, dimensions: DIMENSIONS });
  for (let row = 0; row < 300; row++) {
    sparse.add({ indices: [row % 17, 20 + (row % 13)], values: [1, 1 + row] });
  }
  await codes.addAll({ values: clustered(2, 300), dimensions: DIMENSIONS });
  const wanted = { recall: 0.5, k: 2, queries: 10 };
  expect((await sparse.optimize(wanted)).cost).toBe(null);
  // A scan reads each row's code, and its number.
  const { cost, method } = await codes.optimize(wanted);
  expect([method, cost]).toEqual(['scan', { bytes: 300 * (8 + 4), roundTrips: 1 }]);
});
