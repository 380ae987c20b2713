/** Some rows of an index, and those nearest to them. */

import type { IndexSample } from '../../measure/rows';
import type { Id, LongCall, SimHashIndex } from '../../node';

export interface ExampleRow {
  readonly row: number;
  readonly id: Id;
  readonly distance: number;
  readonly cosine: number;
}

export interface Example {
  readonly row: number;
  readonly id: Id;
  /** Without the row itself, nearest first. */
  readonly nearest: readonly ExampleRow[];
  /** Whether cosines are exact, or estimated from the distance. */
  readonly isExact: boolean;
}

const NEAREST = 5;

export function examplesOf(index: SimHashIndex, rows: readonly number[]): Example[] {
  return rows.flatMap((row) => {
    const held = index.get(index.idOf(row) as Id);
    if (held === undefined || held.code === null) return [];
    const found = index.search(held.vector ?? held.code, { k: NEAREST + 1 });
    const nearest = Array.from(found.rows, (other, i) => ({
      ...{ row: other, id: found.ids[i] },
      ...{ distance: found.distances[i], cosine: found.cosines[i] },
    }));
    const others = nearest.filter((one) => one.row !== row).slice(0, NEAREST);
    return [{ row, id: held.id, nearest: others, isExact: found.rank === 'exact' }];
  });
}

/** By row of a sample, the distance to the row that is nearest to it in the whole index. */
export async function nearestDistances(
  index: SimHashIndex,
  { rows, codes }: IndexSample,
  call: LongCall,
): Promise<number[]> {
  if (rows.length === 0) return [];
  const found = await index.searchAllAsync(codes, { k: 2, rank: 'hamming', ...call });
  return found.flatMap((result, i) => {
    const place = result.rows.findIndex((row) => row !== rows[i]);
    return place < 0 ? [] : [result.distances[place]];
  });
}
