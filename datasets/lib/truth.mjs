// The nearest train rows of each query by exact cosine. The library finds the rows; their cosines
// are then summed here in one plain order, so that the file's bytes hold whatever order of additions
// the library's kernels come to take.

import { scanVectorsAll } from '../../dist/index.js';

/** Far above the difference of two orders of additions in float64, far below one of cosines. */
const TOLERANCE = 1e-12;

/** One `{ rows, cosines }` for each query, ordered by cosine, then row. */
export async function nearest(train, queries, k, onProgress) {
  const found = await scanVectorsAll(train, queries, { k, onProgress });
  return found.map(({ rows, cosines }, query) => {
    const hits = Array.from(rows, (row, i) => {
      const exact = cosine(queries, query, train, row);
      if (!(Math.abs(exact - cosines[i]) < TOLERANCE)) {
        throw new Error(`query ${query}, row ${row}: two cosines, ${exact} and ${cosines[i]}`);
      }
      return { row, cosine: exact };
    });
    hits.sort((a, b) => b.cosine - a.cosine || a.row - b.row);
    return { rows: hits.map(({ row }) => row), cosines: hits.map((hit) => hit.cosine) };
  });
}

function cosine(a, rowA, b, rowB) {
  let [dot, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.dimensions; i++) {
    const x = a.values[rowA * a.dimensions + i];
    const y = b.values[rowB * b.dimensions + i];
    dot += x * y;
    aa += x * x;
    bb += y * y;
  }
  return dot / Math.sqrt(aa * bb);
}
