/** The nearest other rows of some rows of an index by exact cosine: brute force, block by block. */

import type { SimHashIndex } from '../index/simhash-index';
import { scanVectorsAll } from '../vectors/scan-vectors';
import type { DenseMatrix, SparseMatrix } from '../vectors/vectors';
import { heldOf, type IndexSample } from './index-sample';
import { sparseCosinesTo } from './pair-cosines';

const BLOCK_ROWS = 4096;

interface Candidate {
  readonly row: number;
  readonly cosine: number;
}

/** By query the rows of its k nearest among `rows`, itself left out; of equals the first. */
export async function trueNeighbors(
  index: SimHashIndex,
  { rows, queries, k }: { rows: Uint32Array; queries: IndexSample; k: number },
  step: (done: number) => Promise<void>,
): Promise<Set<number>[]> {
  const best = Array.from(queries.rows, (): Candidate[] => []);
  for (let first = 0; first < rows.length; first += BLOCK_ROWS) {
    const held = heldOf(index, rows.subarray(first, first + BLOCK_ROWS));
    nearestIn(held, queries, k).forEach((found, query) => {
      const others = found.filter(({ row }) => row !== queries.rows[query]);
      best[query] = [...best[query], ...others]
        .sort((a, b) => b.cosine - a.cosine || a.row - b.row)
        .slice(0, k);
    });
    await step(Math.min(rows.length, first + BLOCK_ROWS));
  }
  return best.map((some) => new Set(some.map(({ row }) => row)));
}

/** By query at least its k nearest others of a block. */
function nearestIn({ rows, vectors }: IndexSample, queries: IndexSample, k: number): Candidate[][] {
  if (vectors === null || 'dimensions' in vectors) {
    const [block, asked] = [vectors as DenseMatrix, queries.vectors as DenseMatrix];
    return scanVectorsAll(block, asked, { k: k + 1 }).map((found) =>
      Array.from(found.rows, (place, i) => ({ row: rows[place], cosine: found.cosines[i] })),
    );
  }
  const cosines = sparseCosinesTo(vectors, queries.vectors as SparseMatrix);
  return Array.from(queries.rows, (_, query) =>
    Array.from(cosines.of(query), (cosine, place) => ({ row: rows[place], cosine }))
      .sort((a, b) => b.cosine - a.cosine || a.row - b.row)
      .slice(0, k + 1),
  );
}
