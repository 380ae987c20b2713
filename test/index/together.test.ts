import { expect, it } from 'vitest';
import { runSteps } from '../../src/base/steps';
import type { Weighed } from '../../src/index/partitions/gaps';
import type { Partitions } from '../../src/index/partitions/partitions';
import { weighTogether } from '../../src/index/partitions/together';
import { queriesOf } from '../../src/index/query';
import { partsOf, SimHashIndex } from '../../src/index/simhash-index';
import { Draws } from '../reference/random';

/** Many queries at once, next to one after another. */

const [ROWS, WIDTH, CENTERS, PARTITIONS] = [12_000, 96, 60, 32];

/** Rows around some directions; some are repeated, so that codes are shared. */
function clustered(count: number, seed: number): Float32Array {
  const draws = new Draws(seed);
  const centers = new Draws(1).gaussians(CENTERS * WIDTH);
  const values = new Float32Array(count * WIDTH);
  for (let row = 0; row < count; row++) {
    const at = draws.integer(CENTERS) * WIDTH;
    const noise = 0.2 + draws.uniform();
    draws.gaussians(WIDTH).forEach((value, i) => {
      values[row * WIDTH + i] = centers[at + i] + noise * value;
    });
    if (row % 50 === 49) values.copyWithin(row * WIDTH, (row - 7) * WIDTH, (row - 6) * WIDTH);
  }
  return values;
}

const queries = clustered(120, 5);

function indexOf() {
  const options = {
    bits: 128,
    dimensions: WIDTH,
    projection: 'hadamard',
    vectors: 'int8',
  } as const;
  const index = new SimHashIndex(options);
  index.addAll(clustered(ROWS, 2));
  index.optimize({ queries: 50, partitions: PARTITIONS });
  return index;
}

const listed = ({ search, codes, visited }: Weighed) => {
  const hits = search.hits();
  return {
    ...{ codes, visited, limit: search.limit, held: search.held },
    hits: Array.from({ length: hits.count }, (_, i) => [hits.codes[i], hits.weights[i]]),
  };
};

it('queries weigh what each weighs alone', () => {
  const index = indexOf();
  // Rows that are added lie behind their partitions, until there are many.
  index.addAll(clustered(300, 9));
  for (let row = 3; row < ROWS; row += 11) index.remove(row);
  const parts = partsOf(index);
  const partitions = parts.partitions as Partitions;
  expect(partitions.addedCount).toBeGreaterThan(100);
  const all = queriesOf(parts, queries);
  const points = Array.from({ length: all.count }, (_, i) => {
    const unit = all.at(i)?.unit as Float64Array;
    return { unit, point: partitions.space.queryOf([], unit) };
  });
  const visits = new Set<number>();
  for (const [probes, ask] of [
    [12, 100],
    [12, 300],
    [32, 300],
    [9, 100],
    [3, 10],
    [1, 5],
  ]) {
    const alone = points.map((one) => {
      return listed(runSteps(partitions.weighResiduals(one, probes, ask), {}));
    });
    const asked = { probes, ask };
    const together = runSteps(weighTogether(partitions, points, asked), {}).map(listed);
    expect(together).toEqual(alone);
    for (const { visited } of alone) if (probes === 12) visits.add(visited);
  }
  expect(visits.size).toBeGreaterThan(3); // some searches end early, each elsewhere
});

it('searchAll answers as search does, and notices rows that are removed meanwhile', () => {
  const index = indexOf();
  for (const options of [
    { k: 10, probes: 16, oversample: 12 },
    { k: 10 },
    { k: 3, probes: 2 },
    { k: 400, probes: 2 }, // more than two partitions hold: more are visited
    { k: 10, probes: 16, filter: (_: unknown, row: number) => row % 3 > 0 },
  ]) {
    const alone = Array.from({ length: 120 }, (_, i) => {
      return index.search(queries.subarray(i * WIDTH, (i + 1) * WIDTH), options);
    });
    expect(index.searchAll(queries, options)).toEqual(alone);
  }
});

it('rows that are removed between answers are in none that follow', async () => {
  const index = indexOf();
  const gone = new Set<unknown>();
  const found = await index.searchAllAsync(queries, {
    ...{ k: 10, probes: 16, threads: 1 },
    onProgress(done) {
      // The nearest of the next query.
      if (done >= 120 || gone.size > 40) return;
      const [id] = index.search(queries.subarray(done * WIDTH, (done + 1) * WIDTH)).ids;
      if (id !== undefined && index.remove(id)) gone.add(id);
    },
  });
  expect(gone.size).toBeGreaterThan(5);
  for (const id of gone) expect(found.at(-1)?.ids).not.toContain(id);
  const after = index.searchAll(queries, { k: 10, probes: 16 });
  expect(found.at(-1)).toEqual(after.at(-1));
});
