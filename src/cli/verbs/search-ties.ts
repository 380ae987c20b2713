/**
 * `search --ties id`: rows at the same distance, or of the same similarity, in the order of their
 * ids in place of that of their rows. Searches go by row, so the last rows of an answer may be some
 * of many that tie: more are asked for until the answer ends behind all of these. An answer then
 * depends on the rows alone, not on the order in which an index got them.
 */

import { compareIds } from '../../base/ids';
import { similaritiesOf } from '../../index/search';
import type { SearchResult } from '../../node';

/** How many times as many rows are asked for as before. */
const GROWTH = 4;

/** What an answer is made of. */
interface TiesOptions {
  /** Most rows of an answer. */
  readonly k: number;
  /** Rows of the index. */
  readonly count: number;
  /** Asks again, for more rows. */
  readonly again: (k: number) => Promise<SearchResult>;
}

/** Rows to ask for at first: one more shows whether the last ties with others. */
export function firstWish(k: number, count: number): number {
  return Math.min(k + 1, Math.max(1, count));
}

/** The first k of an answer to `firstWish(k, count)` rows, ties by id. */
export async function tiesById(
  first: SearchResult,
  { k, count, again }: TiesOptions,
): Promise<SearchResult> {
  let found = first;
  for (let wish = firstWish(k, count); ; ) {
    const ranks = ranksOf(found);
    // Whole where the index has no more, or where the last row found is behind the k-th.
    const isWhole = found.rows.length < wish || wish >= count || ranks[k - 1] !== ranks[wish - 1];
    if (isWhole) return sortedById(found, k);
    wish = Math.min(count, wish * GROWTH);
    found = await again(wish);
  }
}

/** The first k of the rows of an answer, ties by id. */
export function sortedById(found: SearchResult, k = found.rows.length): SearchResult {
  const { ids } = found;
  const ranks = ranksOf(found);
  const order = Array.from(found.rows.keys());
  order.sort((a, b) => (ranks[a] === ranks[b] ? compareIds(ids[a], ids[b]) : a - b));
  order.length = Math.min(k, order.length);
  const pick = (values: Float64Array) => Float64Array.from(order, (i) => values[i]);
  return {
    ...found,
    rows: Uint32Array.from(order, (i) => found.rows[i]),
    ids: order.map((i) => ids[i]),
    distances: Uint16Array.from(order, (i) => found.distances[i]),
    cosines: found.cosines && pick(found.cosines),
    estimatedCosines: found.estimatedCosines && pick(found.estimatedCosines),
    ...(found.jaccards && { jaccards: pick(found.jaccards) }),
    ...(found.estimatedJaccards && { estimatedJaccards: pick(found.estimatedJaccards) }),
  };
}

/** What rows are ranked by: estimates of different distances may be equal, so then distances. */
function ranksOf(found: SearchResult): ArrayLike<number> {
  return found.rank === 'hamming' ? found.distances : similaritiesOf(found);
}
