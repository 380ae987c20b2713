import { expect, it } from 'vitest';
import { dedup, distanceFor, pairs, SimHashIndex, scanVectorsAll } from '../../src';
import { COSINE, catchShare } from '../../src/codes/measure';
import { readVectors } from '../reference/arrow';

// 3,000 nouns: all pairs at the cosine or more by brute force, against what codes of several planes
// and widths find of them. Pairs above the least cosine are caught more often than those at it.
it('pairs and dedup by cosine find at least the share of the near pairs that they state', {
  tags: 'full',
}, async () => {
  const { vectors } = await readVectors('datasets/nouns/nouns.arrow', { id: 'word' });
  const { values, dimensions } = vectors as { values: Float32Array; dimensions: number };
  const rows = { values: values.slice(0, 3000 * dimensions), dimensions };
  const minCosine = 0.7;
  const near = new Set<string>();
  const edge = new Set<string>();
  (await scanVectorsAll(rows, rows, { k: 3000, minCosine })).forEach((found, row) => {
    found.rows.forEach((other, i) => {
      if (other <= row) return;
      near.add(`${row} ${other}`);
      if (found.cosines[i] < minCosine + 0.02) edge.add(`${row} ${other}`);
    });
  });
  expect(edge.size).toBeGreaterThan(150);
  for (const projection of ['signs', 'gaussian', 'hadamard'] as const) {
    for (const bits of [64, 256]) {
      const index = new SimHashIndex({ bits, dimensions, projection, vectors: 'float32' });
      await index.addAll(rows);
      const found = new Set<string>();
      for await (const { a, b } of pairs(index, { minCosine })) {
        for (let i = 0; i < a.length; i++) found.add(`${a[i]} ${b[i]}`);
      }
      for (const pair of found) expect(near.has(pair)).toBe(true);
      const maxDistance = distanceFor(minCosine, bits, 0.99);
      const stated = catchShare(COSINE, { least: minCosine, bits, maxDistance });
      expect(stated).toBeGreaterThanOrEqual(0.99);
      // Planes are drawn once, so that pairs err together: 3 % of slack.
      const atEdge = [...edge].filter((pair) => found.has(pair)).length / edge.size;
      expect(atEdge).toBeGreaterThan(stated - 0.05);
      expect(found.size / near.size).toBeGreaterThan(stated - 0.03);
    }
  }
  const index = new SimHashIndex({ bits: 256, dimensions, vectors: 'float32' });
  await index.addAll(rows);
  const { kept, duplicateOf, similarities } = await dedup(index, { minCosine });
  const paired = new Set([...near].flatMap((pair) => pair.split(' ').map(Number)));
  let alone = 0;
  kept.forEach((isKept, row) => {
    if (isKept === 0) {
      const [low, high] = [row, duplicateOf[row]].sort((a, b) => a - b);
      expect(near.has(`${low} ${high}`)).toBe(true);
      expect(similarities?.[row]).toBeGreaterThanOrEqual(minCosine - 1e-9);
    } else if (!paired.has(row)) alone++;
  });
  expect(alone).toBe(3000 - paired.size);
});
