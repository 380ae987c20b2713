/**
 * Search by a text where rows were hashed by more than single words, as by pairs of words for
 * duplicates: in a second index of the same texts by their single words, rare ones weighed more. It
 * is made when it is first needed, and held in memory.
 */

import { SimHashIndex, TextHasher, words } from '../../node';
import { rowsOfTexts } from '../input/texts';

/** An index of texts by their words, and the hasher for queries. */
export interface WordSearch {
  readonly index: SimHashIndex;
  readonly hasher: TextHasher;
}

/** Bits of a code. Rows are ranked by their sparse vectors, so codes need no more. */
const BITS = 256;

/** Row i of the index is text i; a text without words has no code. */
export function wordSearch(texts: readonly string[]): WordSearch {
  const settings = { tokens: words, counting: 'log', empty: 'null' } as const;
  const frequencies = new TextHasher(settings).fit(texts);
  const hasher = new TextHasher({ ...settings, frequencies });
  const index = new SimHashIndex({ bits: BITS, vectors: 'sparse', zero: 'null' });
  for (const rows of rowsOfTexts(hasher, texts)) index.addAll(rows);
  return { index, hasher };
}
