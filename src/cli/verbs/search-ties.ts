/**
 * `search --ties id`: rows at equal distance, or of equal similarity, come in the order of their
 * ids in place of their rows. An answer then does not depend on the order in which rows came into
 * the index. Searches order ties by row, and return only some of the rows that tie with the k-th;
 * so they are repeated for more rows until the answer has all of these.
 */

import { compareIds } from '../../base/ids';
import { similaritiesOf } from '../../index/search';
import type { SearchResult } from '../../node';

/** Each further search asks for this many times the rows of the one before. */
const GROWTH = 4;

/** How many rows an answer has, and how to search for more. */
interface TiesOptions {
  /** Rows of the answer, at most. */
  readonly k: number;
  /** Rows of the index. */
  readonly count: number;
  /** Repeats the search for `k` rows. */
  readonly again: (k: number) => Promise<SearchResult>;
}

/** Rows of the first search: k + 1, since the last shows whether the k-th ties; or all rows. */
export function firstCount(k: number, count: number): number {
  return Math.min(k + 1, Math.max(1, count));
}

/**
 * The k nearest rows, ties by id. `first` is the answer for `firstCount(k, count)` rows; searches
 * again while the k-th row ties with the last one found.
 */
export async function tiesById(
  first: SearchResult,
  { k, count, again }: TiesOptions,
): Promise<SearchResult> {
  let found = first;
  for (let wanted = firstCount(k, count); ; ) {
    const ranks = ranksOf(found);
    // Whole if the index has no further rows, or if the last row found ranks behind the k-th.
    const isAll = found.rows.length < wanted || wanted >= count;
    if (isAll || ranks[k - 1] !== ranks[wanted - 1]) return sortedById(found, k);
    wanted = Math.min(count, wanted * GROWTH);
    found = await again(wanted);
  }
}

/** The first k rows of an answer, ties by id; a copy. */
export function sortedById(found: SearchResult, k = found.rows.length): SearchResult {
  const { ids } = found;
  const ranks = ranksOf(found);
  const order = Array.from(found.rows.keys());
  // The answer is in the order of the ranks already: only ties must be compared.
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

/**
 * What the search ordered rows by. With rank 'hamming' that is the distance: similarities that two
 * distances estimate may be equal, as Jaccard similarities are 0 from half of the bits on.
 */
function ranksOf(found: SearchResult): ArrayLike<number> {
  return found.rank === 'hamming' ? found.distances : similaritiesOf(found);
}
